"""Further tasks on which nothing was chosen, for shares that twelve tasks cannot tell.

How often a shown interval holds differs between tasks by some ten points, so that the mean over
:mod:`~benchmarks.peers.held_out` is known to about three. These are of the same kinds: functions,
some with noise, mixed spaces, training jobs and a table. None of the functions is of the suite or
of the held-out tasks. The two mixed ones are held out in :mod:`benchmarks.kinds`, too; some of the
training jobs and the table have a model or data in common with tasks that the prior was fitted to.
All were declared before any was searched for this purpose. They serve for intervals alone: of
training jobs and the table, nobody looked for the lowest value.
"""

from __future__ import annotations

import numpy as np

from benchmarks.kinds.tasks import held_out_mixed
from benchmarks.peers import functions, tabular
from benchmarks.peers.tasks import Task
from benchmarks.peers.tuning import training
from calibrant import test_functions
from calibrant.core.typing import FloatArray
from calibrant.test_functions import Problem

_UNKNOWN = float("nan")


def further() -> list[Task]:
    """Return the tasks."""
    return [
        functions.task(qing(5)),
        functions.task(himmelblau()),
        functions.task(holder_table()),
        functions.task(trid(6)),
        functions.task(test_functions.shifted(brown(4), 82), "moved"),
        functions.task(test_functions.shifted(schaffer(), 83), "moved"),
        functions.task(test_functions.shifted(salomon(4), 84), "moved"),
        functions.task(test_functions.shifted(sum_of_powers(8), 85), "moved"),
        functions.task(
            test_functions.shifted(salomon(2), 86), "moved", "noisy", noise=functions.NOISE
        ),
        functions.task(trid(4), "noisy", noise=functions.NOISE),
        *held_out_mixed(),
        training("network", "iris", _UNKNOWN),
        training("forest", "breast cancer", _UNKNOWN, "mixed"),
        training("svm", "wine", _UNKNOWN, "mixed"),
        training("boosting", "wine", _UNKNOWN),
        training("pipeline", "iris", _UNKNOWN, "mixed", "conditional"),
        tabular.cells("imagenet", _UNKNOWN),
    ]


def qing(dim: int) -> Problem:
    """Two equal minima along each axis: 32 in five dimensions."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray(((x**2 - np.arange(1, dim + 1)) ** 2).sum(axis=1))

    where = tuple(np.sqrt(np.arange(1, dim + 1)).tolist())
    return Problem(f"qing-{dim}", value, ((-5.0, 5.0),) * dim, 0.0, where)


def brown(dim: int) -> Problem:
    """A bowl in which the power of each coordinate is set by its neighbour."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x[:, :-1] ** 2, x[:, 1:] ** 2
        return np.asarray((a ** (b + 1.0) + b ** (a + 1.0)).sum(axis=1))

    return Problem(f"brown-{dim}", value, ((-1.0, 4.0),) * dim, 0.0, (0.0,) * dim)


def schaffer() -> Problem:
    """Ripples along hyperbolas, shallower away from the minimum."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x.T**2
        return np.asarray(0.5 + (np.sin(a - b) ** 2 - 0.5) / (1.0 + 0.001 * (a + b)) ** 2)

    return Problem("schaffer", value, ((-10.0, 10.0),) * 2, 0.0, (0.0, 0.0))


def himmelblau() -> Problem:
    """Four equal minima on a bent square."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x.T
        return np.asarray((a**2 + b - 11.0) ** 2 + (a + b**2 - 7.0) ** 2)

    return Problem("himmelblau", value, ((-6.0, 6.0),) * 2, 0.0, (3.0, 2.0))


def holder_table() -> Problem:
    """Waves that are deepest in the four corners."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x.T
        away = np.abs(1.0 - np.hypot(a, b) / np.pi)
        return np.asarray(-np.abs(np.sin(a) * np.cos(b) * np.exp(away)))

    where = (8.055023472141116, 9.664590028909654)
    return Problem("holder-table", value, ((-10.0, 10.0),) * 2, -19.208502567886743, where)


def trid(dim: int) -> Problem:
    """A bowl whose axes are not those of the box."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray(((x - 1.0) ** 2).sum(axis=1) - (x[:, 1:] * x[:, :-1]).sum(axis=1))

    steps = np.arange(1, dim + 1)
    lowest = -dim * (dim + 4) * (dim - 1) / 6.0
    where = tuple((steps * (dim + 1 - steps)).astype(float).tolist())
    return Problem(f"trid-{dim}", value, ((float(-(dim**2)), float(dim**2)),) * dim, lowest, where)


def salomon(dim: int) -> Problem:
    """Rings around the minimum, each a little lower than the next."""

    def value(x: FloatArray) -> FloatArray:
        radius = np.linalg.norm(x, axis=1)
        return np.asarray(1.0 - np.cos(2.0 * np.pi * radius) + 0.1 * radius)

    return Problem(f"salomon-{dim}", value, ((-5.0, 5.0),) * dim, 0.0, (0.0,) * dim)


def sum_of_powers(dim: int) -> Problem:
    """A bowl that is flatter with each coordinate."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray((np.abs(x) ** np.arange(2, dim + 2)).sum(axis=1))

    return Problem(f"sum-of-powers-{dim}", value, ((-1.0, 1.0),) * dim, 0.0, (0.0,) * dim)
