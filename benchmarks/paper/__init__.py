"""The paper's experiments, run again: its claims beside our measurements."""
