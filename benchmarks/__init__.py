"""Benchmarks: each folder regenerates its tables with one command."""
