"""Benchmarks: each folder regenerates its tables with one command; ``kit`` is what they share."""
