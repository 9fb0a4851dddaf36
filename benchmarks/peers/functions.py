"""Functions with known minima on boxes of 1 to 20 dimensions: as they are, moved, with noise."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.tasks import Task, real
from calibrant import classics
from calibrant.problems import PROBLEMS, Problem

NOISE = 0.05  # of the spread of values in the box


def functions() -> list[Task]:
    """Return the paper's ten, classic ones, and versions moved so that no minimum is central."""
    paper = [p for name, p in PROBLEMS.items() if not name.startswith("gpyopt")]
    plain = [
        classics.branin(),
        classics.goldstein_price(),
        classics.shekel(),
        classics.hartmann(3),
        classics.hartmann(6),
        classics.michalewicz(2),
        classics.michalewicz(5),
        classics.rosenbrock(2),
        classics.rosenbrock(6),
        classics.styblinski_tang(2),
        classics.styblinski_tang(10),
        classics.levy(4),
    ]
    central = [
        classics.ackley(1),
        classics.ackley(2),
        classics.ackley(5),
        classics.ackley(20),
        classics.alpine(3),
        classics.rastrigin(1),
        classics.rastrigin(2),
        classics.rastrigin(6),
        classics.levy(2),
        classics.levy(10),
        classics.levy(20),
        classics.rosenbrock(10),
    ]
    moved = [classics.shifted(problem, seed) for seed, problem in enumerate(central)]
    return [task(p) for p in (*paper, *plain)] + [task(p, "moved") for p in moved]


def noisy() -> list[Task]:
    """Return tasks whose noise is a twentieth of the spread of values in the box."""
    problems = [
        PROBLEMS["forrester"],
        PROBLEMS["six-hump camel"],
        classics.branin(),
        classics.hartmann(3),
        classics.hartmann(6),
        classics.shifted(classics.ackley(4), 30),
        classics.shifted(classics.levy(6), 31),
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
