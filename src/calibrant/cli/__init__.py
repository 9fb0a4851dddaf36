"""The command line: parsing, printing and progress only.

Owns: ``calibrant tune``, ``recalibrate`` and ``demo``, the live table, CSV files.
May use: every room, typer and rich.
Public name: ``app``, in :mod:`~calibrant.cli.main`.
"""
