"""The tasks: the suite, the part of it that slow rivals meet, tuning jobs, and what is held out.

Tuning jobs came later than the suite: what is learned across searches is learned from both.
"""

from __future__ import annotations

from benchmarks.peers.functions import functions, noisy
from benchmarks.peers.held_out import held_out
from benchmarks.peers.live import live
from benchmarks.peers.mixed import mixed
from benchmarks.peers.tabular import tabular
from benchmarks.peers.tuning import tuning

_suite = [*functions(), *noisy(), *mixed(), *tabular(), *live()]
_tuning = tuning()
_held_out = held_out()
TASKS = {task.name: task for task in (*_suite, *_tuning, *_held_out)}

SUITE = tuple(task.name for task in _suite)
TUNING = tuple(task.name for task in _tuning)
HELD_OUT = tuple(task.name for task in _held_out)

# Declared before any slow rival was run: one of each kind, and of each number of dimensions.
SUBSET = (
    "forrester",
    "hartmann-6",
    "ackley-2, shifted 1",
    "levy-10, shifted 9",
    "rosenbrock-6",
    "michalewicz-2",
    "branin, noisy",
    "ackley-20, shifted 3",
    "ackley, 2 of 5 whole",
    "three branches",
    "network on protein_structure",
    "svm on digits",
)
