"""The tasks: functions with known minima, as they are, moved, and with noise.

A task is minimised over named parameters. What a rival is told may be noisy; what it is judged by
is the noise-free value of the points it evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant import classics
from calibrant.problems import PROBLEMS, Problem

Settings = dict[str, float]


@dataclass(frozen=True)
class Task:
    """What is minimised.

    Args:
        name: what it is called.
        problem: the function and its box.
        noise: standard deviation of what is added to each outcome.
    """

    name: str
    problem: Problem
    noise: float = 0.0

    @property
    def minimum(self) -> float:
        return self.problem.minimum

    @property
    def space(self) -> dict[str, tuple[float, float]]:
        return self.problem.space()

    def value(self, settings: Settings) -> float:
        """Return the noise-free value."""
        return self.problem.objective(settings)

    def outcome(self, settings: Settings, rng: np.random.Generator) -> float:
        """Return what an evaluation reports."""
        return self.value(settings) + self.noise * float(rng.standard_normal())

    def first(self, count: int, seed: int) -> list[Settings]:
        """Return a Latin hypercube of first points, the same for all rivals."""
        rng = np.random.default_rng([seed, self.problem.dim])
        cells = np.argsort(rng.random((count, self.problem.dim)), axis=0)
        unit = (cells + rng.random(cells.shape)) / count
        low, high = np.array(self.problem.box).T
        names = list(self.space)
        return [dict(zip(names, row, strict=True)) for row in (low + unit * (high - low)).tolist()]


def _paper() -> list[Task]:
    return [Task(p.name, p) for name, p in PROBLEMS.items() if not name.startswith("gpyopt")]


def _classic() -> list[Task]:
    plain: list[Callable[[], Problem]] = [
        classics.branin,
        classics.goldstein_price,
        classics.shekel,
        lambda: classics.hartmann(3),
        lambda: classics.hartmann(6),
        lambda: classics.michalewicz(2),
        lambda: classics.michalewicz(5),
        lambda: classics.rosenbrock(2),
        lambda: classics.rosenbrock(6),
        lambda: classics.styblinski_tang(2),
        lambda: classics.styblinski_tang(10),
        lambda: classics.levy(4),
    ]
    problems = [make() for make in plain]
    return [Task(problem.name, problem) for problem in problems]


def _moved() -> list[Task]:
    problems = [
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
    moved = [classics.shifted(problem, seed) for seed, problem in enumerate(problems)]
    return [Task(problem.name, problem) for problem in moved]


def _noisy() -> list[Task]:
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
    return [Task(f"{p.name}, noisy", p, 0.05 * _spread(p)) for p in problems]


def _spread(problem: Problem) -> float:
    return float(np.std(problem.on_cube(np.random.default_rng(0).random((4096, problem.dim)))))


TASKS = {task.name: task for task in (*_paper(), *_classic(), *_moved(), *_noisy())}
