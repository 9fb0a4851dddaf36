"""The tasks, and the part of them that slow rivals meet."""

from __future__ import annotations

from benchmarks.peers.functions import functions, noisy
from benchmarks.peers.live import live
from benchmarks.peers.mixed import mixed
from benchmarks.peers.tabular import tabular

TASKS = {task.name: task for task in (*functions(), *noisy(), *mixed(), *tabular(), *live())}

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
