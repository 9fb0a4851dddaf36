"""The command line: only parsing, printing and progress.

Owns: ``calibrant tune``, ``recalibrate`` and ``demo``, the live table, and CSV files.
May use: every room, typer and rich.
Public name: ``app``, in :mod:`~calibrant.cli.main`.
"""
