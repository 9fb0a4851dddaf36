"""Problems with two and three objectives, all minimised, and the volume that their fronts dominate.

Those in ``CHOICES`` were used to choose between ways of searching, those in ``HELD_OUT`` never.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.core.front import hypervolume

# Computed once, by benchmarks.objectives.prepare: outcomes of all forests, volumes of fronts.
FORESTS = Path(__file__).parent / "results" / "forests.json"
VOLUMES = Path(__file__).parent / "results" / "volumes.json"

Values = tuple[float, ...]


class Problem(NamedTuple):
    """Objectives to be minimised.

    Args:
        space: the parameters.
        evaluate: takes them as a dict and returns the objectives.
        reference: the values beyond which nothing counts.
        front: returns points of the whole front, (points, objectives); None: there is no need for
            it, as its volume is known, or the best of a long evolution stands for it.
    """

    space: Mapping[str, BaseDistribution]
    evaluate: Callable[[Mapping[str, Any]], Values]
    reference: Values
    front: Callable[[], np.ndarray] | None

    def volume(self, Y: np.ndarray) -> float:
        """Return the volume that outcomes dominate, up to the reference."""
        return hypervolume(np.asarray(Y, dtype=float), np.array(self.reference))


@cache
def best_volumes() -> dict[str, float]:
    """Return the volume that the whole front of each problem dominates, by its name."""
    return dict(json.loads(VOLUMES.read_text()))


def _box(dim: int, low: float, high: float) -> dict[str, BaseDistribution]:
    return {f"x{i}": FloatDistribution(low, high) for i in range(dim)}


def _numbers(params: Mapping[str, Any]) -> np.ndarray:
    return np.array([params[f"x{i}"] for i in range(len(params))], dtype=float)


# Zitzler, Deb and Thiele (2000)

_GRID = np.linspace(0.0, 1.0, 2001)


def _zdt(
    second: Callable[[np.ndarray, np.ndarray], np.ndarray], params: Mapping[str, Any]
) -> Values:
    x = _numbers(params)
    rest = 1.0 + 9.0 * x[1:].mean()
    return float(x[0]), float(rest * second(x[0], rest))


def _zdt1(first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    return 1.0 - np.sqrt(first / rest)


def _zdt2(first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    return 1.0 - (first / rest) ** 2


def _zdt3(first: np.ndarray, rest: np.ndarray) -> np.ndarray:
    share = first / rest
    return 1.0 - np.sqrt(share) - share * np.sin(10.0 * np.pi * first)


def _zdt_problem(second: Callable[..., np.ndarray], dim: int) -> Problem:
    return Problem(
        _box(dim, 0.0, 1.0),
        partial(_zdt, second),
        (1.1, 6.0),
        lambda: np.stack([_GRID, second(_GRID, np.ones(_GRID.size))], axis=1),
    )


# Branin and Currin on the unit square (Belakaria et al. 2019)


def _branin_currin(params: Mapping[str, Any]) -> Values:
    first, second = _numbers(params)
    return tuple(float(one) for one in _branin_currin_at(first, second))


def _branin_currin_at(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = 15.0 * first - 5.0, 15.0 * second
    branin = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6.0) ** 2
    branin = branin + 10.0 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10.0
    fall = 1.0 - np.exp(-0.5 / np.maximum(second, 1e-12))
    above = 2300 * first**3 + 1900 * first**2 + 2092 * first + 60
    return branin, fall * above / (100 * first**3 + 500 * first**2 + 4 * first + 20)


def _branin_currin_front() -> np.ndarray:
    first, second = np.meshgrid(np.linspace(0, 1, 1001), np.linspace(0, 1, 1001))
    return _lowest(np.stack(_branin_currin_at(first.ravel(), second.ravel()), axis=1))


def _lowest(Y: np.ndarray) -> np.ndarray:
    """Return the front of many points with two objectives."""
    Y = Y[np.lexsort(Y.T[::-1])]
    before = np.minimum.accumulate(np.append(np.inf, Y[:-1, 1]))
    return Y[Y[:, 1] < before]


# Quadratics, of different shapes, around points of their own


class _Quadratics(NamedTuple):
    centres: np.ndarray  # (objectives, dim)
    shapes: np.ndarray  # (objectives, dim, dim)

    def at(self, x: np.ndarray) -> Values:
        away = x - self.centres
        return tuple(np.einsum("ki,kij,kj->k", away, self.shapes, away).tolist())

    def evaluate(self, params: Mapping[str, Any]) -> Values:
        return self.at(_numbers(params))

    def front(self, steps: int) -> np.ndarray:
        """Return the front: the minima of all weighted sums."""
        count = len(self.centres)
        grid = np.linspace(0.0, 1.0, steps)
        if count == 2:
            weights = np.stack([grid, 1.0 - grid], axis=1)
        else:
            weights = np.array([(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1])
        weights = np.maximum(weights, 1e-6)
        return np.array([self.at(self._lowest(w)) for w in weights])

    def _lowest(self, weights: np.ndarray) -> np.ndarray:
        shape = np.einsum("k,kij->ij", weights, self.shapes)
        pulled = np.einsum("k,kij,kj->i", weights, self.shapes, self.centres)
        return np.asarray(np.linalg.solve(shape, pulled))


def _quadratics(seed: int, dim: int, objectives: int) -> _Quadratics:
    rng = np.random.default_rng(seed)
    shapes = []
    for _ in range(objectives):
        axes = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        shapes.append(axes @ np.diag(np.geomspace(1.0, 10.0, dim)) @ axes.T)
    return _Quadratics(rng.uniform(0.3, 0.7, (objectives, dim)), np.array(shapes))


def _quadratics_problem(seed: int, dim: int, objectives: int, steps: int) -> Problem:
    functions = _quadratics(seed, dim, objectives)
    corners = np.array([functions.at(centre) for centre in functions.centres])
    reference = tuple((1.5 * corners.max(axis=0)).tolist())
    return Problem(
        _box(dim, 0.0, 1.0), functions.evaluate, reference, partial(functions.front, steps)
    )


# Error and cost of a made-up network: one category, a rate and a width

_KINDS = {"small": (-2.0, 0.25, 0.2), "deep": (-3.5, 0.05, 0.9), "wide": (-3.0, 0.12, 0.6)}


def _error_and_cost(params: Mapping[str, Any]) -> Values:
    best, floor, cost = _KINDS[params["kind"]]
    size = math.log2(params["width"]) / 10.0
    error = floor + 0.3 * math.exp(-4.0 * size) + 0.05 * (math.log10(params["rate"]) - best) ** 2
    return min(error, 1.0), cost * size


def _error_and_cost_front() -> np.ndarray:
    settings = [
        {"kind": kind, "rate": 10.0**best, "width": width}
        for kind, (best, _, _) in _KINDS.items()
        for width in range(8, 1025)
    ]
    return _lowest(np.array([_error_and_cost(setting) for setting in settings]))


# DTLZ2 (Deb et al. 2005): the front is a part of a sphere


def _dtlz2(params: Mapping[str, Any]) -> Values:
    x = _numbers(params)
    radius = 1.0 + ((x[2:] - 0.5) ** 2).sum()
    first, second = 0.5 * np.pi * x[:2]
    return (
        float(radius * np.cos(first) * np.cos(second)),
        float(radius * np.cos(first) * np.sin(second)),
        float(radius * np.sin(first)),
    )


# Vehicle crash safety: mass, acceleration, intrusion (Liao et al. 2008)


def _vehicle(params: Mapping[str, Any]) -> Values:
    a, b, c, d, e = _numbers(params)
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d
    mass += 4.4559504 * e
    acceleration = 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d
    acceleration += 0.0861 * a * e + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2
    acceleration += 0.1764 * d**2
    intrusion = -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c
    intrusion += -0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    return float(mass), float(acceleration), float(intrusion)


# Forests of trees on handwritten digits: error and size, of all settings


@cache
def _forests() -> dict[str, Any]:
    return dict(json.loads(FORESTS.read_text()))


def _forest(params: Mapping[str, Any]) -> Values:
    table = _forests()
    row = 0
    for name, choices in table["settings"].items():
        row = row * len(choices) + int(params[name])
    error, nodes = table["outcomes"][row]
    return float(error), math.log10(nodes)


def _forest_front() -> np.ndarray:
    outcomes = np.array(_forests()["outcomes"])
    return _lowest(np.stack([outcomes[:, 0], np.log10(outcomes[:, 1])], axis=1))


CHOICES: dict[str, Problem] = {
    "ZDT1, 5 parameters": _zdt_problem(_zdt1, 5),
    "Branin and Currin": Problem(
        _box(2, 0.0, 1.0), _branin_currin, (18.0, 6.0), _branin_currin_front
    ),
    "two quadratics, 3 parameters": _quadratics_problem(0, 3, 2, 2001),
    "two quadratics, 6 parameters": _quadratics_problem(1, 6, 2, 2001),
    "three quadratics, 4 parameters": _quadratics_problem(2, 4, 3, 120),
    "error and cost, made up": Problem(
        {
            "kind": CategoricalDistribution(tuple(_KINDS)),
            "rate": FloatDistribution(1e-5, 1e-1, log=True),
            "width": IntDistribution(8, 1024, log=True),
        },
        _error_and_cost,
        (1.0, 1.0),
        _error_and_cost_front,
    ),
}

HELD_OUT: dict[str, Problem] = {
    "ZDT2, 6 parameters": _zdt_problem(_zdt2, 6),
    "ZDT3, 4 parameters": _zdt_problem(_zdt3, 4),
    "DTLZ2, 3 objectives, 6 parameters": Problem(_box(6, 0.0, 1.0), _dtlz2, (1.1, 1.1, 1.1), None),
    "vehicle safety, 3 objectives": Problem(
        _box(5, 1.0, 3.0), _vehicle, (1864.72, 11.82, 0.2904), None
    ),
    "forests on digits, error and size": Problem(
        {
            "trees": IntDistribution(0, 15),
            "depth": IntDistribution(0, 9),
            "leaf": IntDistribution(0, 4),
            "features": IntDistribution(0, 4),
        },
        _forest,
        (0.5, 5.0),
        _forest_front,
    ),
}

PROBLEMS = {**CHOICES, **HELD_OUT}
