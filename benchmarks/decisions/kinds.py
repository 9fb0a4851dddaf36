"""Tasks to learn from: many kinds, drawn at random, none of which is among those held out.

A map from what a search looks like to what it will still gain must have met many kinds of problems.
Each number gives one task: a classic function in some number of dimensions, moved, with or without
noise; a random landscape, smooth or rough; or a table such as tuning gives, with steps, labels,
settings that do not matter, and outcomes rounded as an accuracy is; a single valley, in which a
search refines for long; or a landscape with a flat top, as outcomes have where training diverges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.peers.tasks import Settings, Task, choice, integer, real
from calibrant import test_functions
from calibrant.test_functions import Problem

FAMILIES: tuple[Callable[[int], Problem], ...] = (
    test_functions.ackley,
    test_functions.alpine,
    test_functions.rastrigin,
    test_functions.levy,
    test_functions.rosenbrock,
    test_functions.styblinski_tang,
)
_WAVES = 200  # random cosines of a landscape
FIRST_OF_FIVE = 480  # tasks from here on are of all kinds, those before of the first three
_LABELS = "abcde"


@cache
def task(number: int) -> Task:
    """Return the task of a number: of each kind by turns."""
    rng = np.random.default_rng([number, 20])
    if number < FIRST_OF_FIVE:
        return (_function, _landscape, _table)[number % 3](number, rng)
    return (_function, _landscape, _table, _bowl, _cliff)[number % 5](number, rng)


def _function(number: int, rng: np.random.Generator) -> Task:
    family = FAMILIES[rng.integers(len(FAMILIES))]
    problem = test_functions.shifted(family(int(rng.integers(2, 13))), number)
    space = tuple(real(name, low, high) for name, (low, high) in problem.space().items())
    spread = np.std(problem.on_cube(np.random.default_rng(0).random((2048, problem.dim))))
    return Task(f"kind {number}", space, problem.objective, problem.minimum, _noise(rng, spread))


def _landscape(number: int, rng: np.random.Generator) -> Task:
    """Return a draw of a Gaussian process, with a bowl under it, bent up or down."""
    dim = int(rng.integers(1, 13))
    value = waves(dim, rng)
    bowl, centre, power = rng.exponential(1.0), rng.uniform(0.1, 0.9, dim), rng.uniform(0.0, 1.5)

    def height(x: np.ndarray) -> float:
        level = value(x) + bowl * float(np.sum((x - centre) ** 2))
        return float(np.expm1(power * level) / power) if power > 0.05 else level

    return _on_cube(number, dim, height, float("nan"), rng)


def _on_cube(
    number: int,
    dim: int,
    height: Callable[[np.ndarray], float],
    lowest: float,
    rng: np.random.Generator,
) -> Task:
    """Return a function of points in the unit cube as a task, perhaps a noisy one."""
    spread = np.std([height(x) for x in np.random.default_rng(0).random((512, dim))])
    names = [f"x{i}" for i in range(dim)]
    return Task(
        f"kind {number}",
        tuple(real(name, 0.0, 1.0) for name in names),
        lambda settings: height(np.array([settings[name] for name in names])),
        lowest,
        _noise(rng, spread),
    )


def _bowl(number: int, rng: np.random.Generator) -> Task:
    """Return a valley, flat or steep at its bottom, longer in some directions than in others."""
    dim = int(rng.integers(1, 16))
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    widths = 10.0 ** rng.uniform(-rng.uniform(0.0, 2.0), 0.0, dim)
    centre, power = rng.uniform(0.1, 0.9, dim), rng.uniform(0.5, 2.0)

    def height(x: np.ndarray) -> float:
        return float(np.sum((widths * (turn @ (x - centre))) ** 2) ** power)

    return _on_cube(number, dim, height, 0.0, rng)


def _cliff(number: int, rng: np.random.Generator) -> Task:
    """Return a draw of a Gaussian process whose upper part is flat, and the rest bent."""
    dim = int(rng.integers(1, 13))
    value, share, power = waves(dim, rng), rng.uniform(0.2, 0.9), rng.uniform(0.0, 2.0)
    bowl, centre = rng.exponential(2.0), rng.uniform(0.1, 0.9, dim)

    def level(x: np.ndarray) -> float:
        return value(x) + bowl * float(np.sum((x - centre) ** 2))

    some = np.random.default_rng(1).random((512, dim))
    edge = float(np.quantile([level(x) for x in some], share))

    def height(x: np.ndarray) -> float:
        below = max(edge - level(x), 0.0)
        return -float(np.log1p(power * below) / power) if power > 0.05 else -below

    return _on_cube(number, dim, height, float("nan"), rng)


def _table(number: int, rng: np.random.Generator) -> Task:
    """Return a grid of settings, some of them labels, with outcomes that saturate."""
    sizes = rng.integers(2, 12, int(rng.integers(2, 9)))
    labels = (rng.random(sizes.size) < 0.3) & (sizes <= len(_LABELS))
    value = waves(sizes.size, rng)
    places = [
        rng.permutation(n) if label else np.arange(n)
        for n, label in zip(sizes, labels, strict=True)
    ]
    sharp, steps = rng.uniform(0.3, 2.0), float(rng.choice([50, 200, 2000, 1e9]))
    space = tuple(
        choice(f"x{i}", *_LABELS[:n]) if label else integer(f"x{i}", 0, int(n) - 1)
        for i, (n, label) in enumerate(zip(sizes, labels, strict=True))
    )

    def error(settings: Settings) -> float:
        at = [
            _LABELS.index(settings[f"x{i}"]) if label else settings[f"x{i}"]
            for i, label in enumerate(labels)
        ]
        x = np.array([places[i][k] / (sizes[i] - 1) for i, k in enumerate(at)])
        return float(np.round(steps / (1.0 + np.exp(-sharp * (value(x) - 1.0)))) / steps)

    return Task(f"kind {number}", space, error, float("nan"), _noise(rng, 0.1))


def waves(dim: int, rng: np.random.Generator) -> Callable[[np.ndarray], float]:
    """Return a smooth or rough random function, in which some directions matter little."""
    lengths = np.exp(rng.normal(np.log(0.25 * np.sqrt(dim)), 0.7, dim))
    tails = rng.chisquare(rng.choice([3.0, 5.0, 50.0]), (_WAVES, 1))
    frequencies = rng.standard_normal((_WAVES, dim)) / lengths / np.sqrt(tails / tails.mean())
    phases, heights = rng.uniform(0.0, 2.0 * np.pi, _WAVES), rng.standard_normal(_WAVES)

    def value(x: np.ndarray) -> float:
        return float(heights @ np.cos(frequencies @ x + phases)) * float(np.sqrt(2.0 / _WAVES))

    return value


def _noise(rng: np.random.Generator, spread: float) -> float:
    """Return no noise in two tasks of three, else up to as much as the spread of values."""
    share = np.exp(rng.uniform(np.log(0.01), np.log(0.5)))
    return float(spread * share) if rng.random() < 1.0 / 3.0 else 0.0
