"""What a task is: named parameters, a function of them to be minimised, and what is known of it.

Parameters are plain dictionaries, as the adapters' :mod:`worker` describes them: they travel to a
rival's own environment as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.adapters.worker import active, from_unit

Settings = dict[str, Any]
Parameter = dict[str, Any]


def real(name: str, low: float, high: float, *, log: bool = False) -> Parameter:
    """Return a real number between two ends."""
    return {"name": name, "type": "float", "low": low, "high": high, "log": log}


def integer(name: str, low: int, high: int, *, log: bool = False) -> Parameter:
    """Return a whole number between two ends, both included."""
    return {"name": name, "type": "int", "low": low, "high": high, "log": log}


def choice(name: str, *choices: str) -> Parameter:
    """Return one of some labels."""
    return {"name": name, "type": "choice", "choices": list(choices)}


def when(parameter: Parameter, on: str, *values: str) -> Parameter:
    """Return the parameter, existing only where another one has one of some values."""
    return {**parameter, "when": [on, list(values)]}


@dataclass(frozen=True)
class Task:
    """What is minimised.

    Args:
        name: what it is called.
        space: its parameters; one that exists under a condition comes after what it depends on.
        values: settings → the possible outcomes of an evaluation there: one, or several where a
            real experiment was repeated and an evaluation reports one of them by chance.
        minimum: the lowest mean outcome; where nobody can know it, the lowest ever seen.
        noise: standard deviation of what is added to each outcome.
        groups: the lines of the summary that it counts in.
    """

    name: str
    space: tuple[Parameter, ...]
    values: Callable[[Settings], float | Sequence[float]]
    minimum: float
    noise: float = 0.0
    groups: frozenset[str] = frozenset()

    def evaluate(self, settings: Mapping[str, Any], rng: np.random.Generator) -> Evaluation:
        """Return what the rival is told, and the mean outcome it is judged by."""
        exists = active(list(self.space), {**self._anything, **settings})
        outcomes = np.atleast_1d(np.asarray(self.values(exists), dtype=float))
        chosen = outcomes[rng.integers(outcomes.size)]
        return Evaluation(
            float(chosen + self.noise * rng.standard_normal()), float(outcomes.mean())
        )

    def first(self, count: int, seed: int) -> list[Settings]:
        """Return a Latin hypercube of first points, the same for all rivals."""
        rng = np.random.default_rng([seed, len(self.space)])
        cells = np.argsort(rng.random((count, len(self.space))), axis=0)
        unit = (cells + rng.random(cells.shape)) / count
        return [
            {p["name"]: from_unit(p, u) for p, u in zip(self.space, row, strict=True)}
            for row in unit.tolist()
        ]

    @property
    def _anything(self) -> Settings:
        """Values for parameters that a rival leaves out because they do not exist."""
        return {p["name"]: from_unit(p, 0.5) for p in self.space}


@dataclass(frozen=True)
class Evaluation:
    """One outcome as reported, and the mean of all that could have been."""

    outcome: float
    mean: float
