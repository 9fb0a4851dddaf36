"""Functions with known minima on boxes of 1 to 20 dimensions: as they are, moved, with noise."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.tasks import Task, real
from calibrant import test_functions
from calibrant.test_functions import PROBLEMS, Problem

NOISE = 0.05  # of the spread of values in the box


def functions() -> list[Task]:
    """Return the paper's ten, classic ones, and versions moved so that no minimum is central."""
    paper = list(PROBLEMS.values())
    plain = [
        test_functions.branin(),
        test_functions.goldstein_price(),
        test_functions.shekel(),
        test_functions.hartmann(3),
        test_functions.hartmann(6),
        test_functions.michalewicz(2),
        test_functions.michalewicz(5),
        test_functions.rosenbrock(2),
        test_functions.rosenbrock(6),
        test_functions.styblinski_tang(2),
        test_functions.styblinski_tang(10),
        test_functions.levy(4),
    ]
    central = [
        test_functions.ackley(1),
        test_functions.ackley(2),
        test_functions.ackley(5),
        test_functions.ackley(20),
        test_functions.alpine(3),
        test_functions.rastrigin(1),
        test_functions.rastrigin(2),
        test_functions.rastrigin(6),
        test_functions.levy(2),
        test_functions.levy(10),
        test_functions.levy(20),
        test_functions.rosenbrock(10),
    ]
    moved = [test_functions.shifted(problem, seed) for seed, problem in enumerate(central)]
    return [task(p) for p in (*paper, *plain)] + [task(p, "moved") for p in moved]


def noisy() -> list[Task]:
    """Return tasks whose noise is a twentieth of the spread of values in the box."""
    problems = [
        PROBLEMS["forrester"],
        PROBLEMS["six-hump camel"],
        test_functions.branin(),
        test_functions.hartmann(3),
        test_functions.hartmann(6),
        test_functions.shifted(test_functions.ackley(4), 30),
        test_functions.shifted(test_functions.levy(6), 31),
    ]
    return [task(p, "noisy", noise=NOISE) for p in problems]


def task(problem: Problem, *groups: str, noise: float = 0.0) -> Task:
    """Return the function as a task; ``noise`` is relative to the spread of its values."""
    space = tuple(real(name, low, high) for name, (low, high) in problem.space().items())
    some = np.random.default_rng(0).random((4096, problem.dim))
    size = {"20 dimensions"} if problem.dim >= 20 else set()
    return Task(
        f"{problem.name}, noisy" if noise else problem.name,
        space,
        problem.objective,
        problem.minimum,
        noise * float(np.std(problem.on_cube(some))) if noise else 0.0,
        frozenset({"functions", *groups, *size}),
    )
