"""What is minimised: the test functions, tables of online-LDA runs, and networks in training."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.gpyopt import GPYOPT
from calibrant.core import Axis, Cube
from calibrant.core.cube import keys
from calibrant.core.typing import FloatArray
from calibrant.test_functions import PROBLEMS, Problem

FUNCTIONS = PROBLEMS | GPYOPT


@dataclass(frozen=True)
class Task:
    """A function on a cube.

    Args:
        name: what it is called.
        cube: where.
        evaluate: from a point (dim,) and a seed, for what is random in an evaluation, to its value.
        minimum: the lowest value there is; for a network's test error, 0.
    """

    name: str
    cube: Cube
    evaluate: Callable[[FloatArray, int], float]
    minimum: float


@cache
def task(name: str) -> Task:
    """Return the task of a name; data and networks are loaded on first use."""
    if name in FUNCTIONS:
        return _analytic(FUNCTIONS[name])
    if name == "lda-newsgroups":
        from benchmarks.paper.lda import GRID, read_grid

        with resources.as_file(resources.files(__package__) / "lda_newsgroups.jsonl") as path:
            table = read_grid(path)
        return table_task(name, GRID, table)
    if name == "lda-newsgroups-live":
        return _live_lda(name)
    if name == "lda-wikipedia":
        from benchmarks.paper.data import snoek_lda

        rows = snoek_lda()
        grid = {key: tuple(sorted({row[key] for row, _ in rows})) for key in rows[0][0]}
        return table_task(name, grid, {tuple(row.values()): value for row, value in rows})
    if name in ("cifar10", "svhn"):
        return _network(name)
    known = [
        *FUNCTIONS,
        "lda-newsgroups",
        "lda-newsgroups-live",
        "lda-wikipedia",
        "cifar10",
        "svhn",
    ]
    raise ValueError(f"`task` must be one of {', '.join(known)}, but got task={name!r}.")


def prepare(name: str) -> None:
    """Load what a task needs once, before many processes do, or say what is missing."""
    if name in ("cifar10", "svhn"):
        from benchmarks.paper import cnn, data

        data.images(name)
        cnn.load_torch()
    elif name not in FUNCTIONS:
        task(name)


def _analytic(problem: Problem) -> Task:
    return Task(
        problem.name,
        Cube.continuous(problem.dim),
        lambda u, _: float(problem.on_cube(u)),
        problem.minimum,
    )


def table_task(
    name: str,
    grid: Mapping[str, tuple[float, ...]],
    table: Mapping[Any, float],
) -> Task:
    """Return a task on a table of all settings of a grid, evaluated beforehand.

    Values of an axis are spread evenly, whatever they are: these grids are even, or even in
    logarithms.
    """
    places, cube = _grid_cube(grid)
    values = {}
    for settings, value in table.items():
        point = [
            place[axis.index(setting)]
            for place, axis, setting in zip(places, grid.values(), settings, strict=True)
        ]
        values[keys(np.array([point]))[0]] = value
    if len(values) != cube.size:
        raise ValueError(f"The table of {name} must have {cube.size:g} rows, not {len(values)}.")
    return Task(name, cube, lambda u, _: values[keys(u[None])[0]], min(values.values()))


def _grid_cube(grid: Mapping[str, tuple[float, ...]]) -> tuple[list[list[float]], Cube]:
    places = [np.linspace(0.0, 1.0, len(values)).tolist() for values in grid.values()]
    return places, Cube(tuple(Axis(tuple(place)) for place in places))


def _live_lda(name: str) -> Task:
    from benchmarks.paper import lda

    words = lda.corpus()
    places, cube = _grid_cube(lda.GRID)

    def evaluate(u: FloatArray, seed: int) -> float:
        minibatch, kappa, tau0 = (
            values[int(np.argmin(np.abs(np.array(place) - x)))]
            for values, place, x in zip(lda.GRID.values(), places, u, strict=True)
        )
        return lda.perplexity(words, int(minibatch), kappa, tau0)

    return Task(name, cube, evaluate, 1.0)  # no perplexity is lower


def _network(name: str) -> Task:
    from benchmarks.paper import cnn, data

    images = data.images(name)
    trainer = cnn.Trainer(images)
    known = data.cache() / "trainings" / f"{name}-{len(images.train_y)}x{trainer.epochs}"
    return Task(
        name,
        Cube(tuple(cnn.axes())),
        remembered(known, lambda u, seed: trainer.error(cnn.settings(u), seed)),
        0.0,
    )


def remembered(
    folder: Path, evaluate: Callable[[FloatArray, int], float]
) -> Callable[[FloatArray, int], float]:
    """Return an evaluation that is made once: the same point and seed have the same value.

    Searches that start from the same points share them, also between processes, and one that was
    stopped goes on where it was. A file holds one value: there is nothing to lock.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def look_up(u: FloatArray, seed: int) -> float:
        name = hashlib.sha256(keys(u[None])[0] + seed.to_bytes(8, "little")).hexdigest()[:24]
        path = folder / name
        if not path.exists():
            value = evaluate(u, seed)
            new = folder / f"{name}.{os.getpid()}"  # whole before it has its name
            new.write_text(repr(float(value)))
            new.replace(path)
        return float(path.read_text())

    return look_up
