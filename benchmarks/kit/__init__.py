"""What the benchmarks share, each in one place.

==============  =================================================================
``lines``       results on disk: JSON lines that a stopped run may have cut off
``statistics``  estimates with intervals, paired tests, corrections for many tests
``words``       numbers and tables as the pages show them
``running``     run what is missing on all cores and keep each result as it ends
==============  =================================================================
"""
