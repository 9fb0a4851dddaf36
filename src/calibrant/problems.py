"""Functions with known minima, to try an optimiser on: the paper's ten, and GPyOpt's two variants.

>>> from calibrant.problems import PROBLEMS
>>> problem = PROBLEMS["six-hump camel"]
>>> study = calibrant.minimize(problem.objective, problem.space(), n_trials=40)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant import checks
from calibrant.gaussian import FloatArray


@dataclass(frozen=True)
class Problem:
    """A function on a box.

    Args:
        name: what it is called.
        function: from points (n, dim) of the box to values (n,).
        box: lower and upper end of each coordinate.
        minimum: the lowest value in the box.
        where: a point that has it.
    """

    name: str
    function: Callable[[FloatArray], FloatArray]
    box: tuple[tuple[float, float], ...]
    minimum: float
    where: tuple[float, ...]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.box)

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the values at points of the box, shape (..., dim)."""
        points = self._points(x)
        return self.function(points.reshape(-1, self.dim)).reshape(points.shape[:-1])

    def on_cube(self, u: ArrayLike) -> FloatArray:
        """Return the values at points of the unit cube, which is stretched onto the box."""
        low, high = np.array(self.box).T
        return self(low + (high - low) * self._points(u))

    def space(self) -> dict[str, tuple[float, float]]:
        """Return the box as a search space with coordinates x0, x1, …"""
        return {f"x{i}": ends for i, ends in enumerate(self.box)}

    def objective(self, parameters: Mapping[str, float]) -> float:
        """Return the value at a point of :meth:`space`."""
        return float(self([parameters[f"x{i}"] for i in range(self.dim)]))

    def _points(self, x: ArrayLike) -> FloatArray:
        points = checks.finite("x", x)
        if points.ndim < 1 or points.shape[-1] != self.dim:
            raise ValueError(
                f"`x` must have {self.dim} coordinates for {self.name}, but got {points.shape}."
            )
        return points


def _forrester(x: FloatArray) -> FloatArray:
    u = x[:, 0]
    return np.asarray((6.0 * u - 2.0) ** 2 * np.sin(12.0 * u - 4.0))


def _ackley(x: FloatArray) -> FloatArray:
    radius = np.sqrt((x**2).mean(axis=1))
    waves = np.cos(2.0 * np.pi * x).mean(axis=1)
    return np.asarray(20.0 + np.e - 20.0 * np.exp(-0.2 * radius) - np.exp(waves))


def _alpine(x: FloatArray) -> FloatArray:
    return np.asarray(np.abs(x * np.sin(x) + 0.1 * x).sum(axis=1))


def _six_hump_camel(x: FloatArray) -> FloatArray:
    a, b = x.T**2
    return np.asarray((4.0 - 2.1 * a + a**2 / 3.0) * a + x[:, 0] * x[:, 1] + (4.0 * b - 4.0) * b)


def _cosines(x: FloatArray) -> FloatArray:
    u = 1.6 * x - 0.5
    return np.asarray((u**2 - 0.3 * np.cos(3.0 * np.pi * u)).sum(axis=1) - 1.0)


def _beale(x: FloatArray) -> FloatArray:
    a, b = x.T
    return np.asarray(
        (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2
    )


def _mccormick(x: FloatArray) -> FloatArray:
    a, b = x.T
    return np.asarray(np.sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1.0)


def _powers(x: FloatArray) -> FloatArray:
    return np.asarray((np.abs(x) ** np.arange(2, x.shape[1] + 2)).sum(axis=1))


def _cross_in_tray(x: FloatArray) -> FloatArray:
    radius = np.sqrt((x**2).sum(axis=1))
    tray = np.sin(x).prod(axis=1) * np.exp(np.abs(100.0 - radius / np.pi))
    return np.asarray(-1e-4 * (np.abs(tray) + 1.0) ** 0.1)


def _drop_wave(x: FloatArray) -> FloatArray:
    square = (x**2).sum(axis=1)
    return np.asarray(-(1.0 + np.cos(12.0 * np.sqrt(square))) / (0.5 * square + 2.0))


def _minus_rosenbrock(x: FloatArray) -> FloatArray:
    a, b = x.T
    return np.asarray(-100.0 * (b - a**2) ** 2 - (a - 1.0) ** 2)


def _minus_drop_wave(x: FloatArray) -> FloatArray:
    return -_drop_wave(x)


_FOUND = [
    Problem("forrester", _forrester, ((0.0, 1.0),), -6.020740055767083, (0.757248749,)),
    Problem("ackley", _ackley, ((-32.768, 32.768),) * 2, 0.0, (0.0, 0.0)),
    Problem("alpine", _alpine, ((-10.0, 10.0),) * 10, 0.0, (0.0,) * 10),
    Problem(
        "six-hump camel",
        _six_hump_camel,
        ((-2.0, 2.0), (-1.0, 1.0)),
        -1.031628453489877,
        (0.0898420132, -0.7126564030),
    ),
    Problem("cosines", _cosines, ((0.0, 1.0),) * 2, -1.6, (0.3125, 0.3125)),
    Problem("beale", _beale, ((-4.5, 4.5),) * 2, 0.0, (3.0, 0.5)),
    Problem(
        "mccormick",
        _mccormick,
        ((-1.5, 4.0), (-3.0, 4.0)),
        -1.913222954981037,
        (-0.5471975512, -1.5471975512),
    ),
    Problem("powers", _powers, ((-1.0, 1.0),) * 2, 0.0, (0.0, 0.0)),
    Problem(
        "cross-in-tray",
        _cross_in_tray,
        ((-10.0, 10.0),) * 2,
        -2.062611870822739,
        (1.3494066152, 1.3494066152),
    ),
    Problem("drop-wave", _drop_wave, ((-5.12, 5.12),) * 2, -1.0, (0.0, 0.0)),
    # What GPyOpt has under these names: a maximum taken for a minimum, and another function.
    Problem("gpyopt-beale", _minus_rosenbrock, ((-1.0, 1.0),) * 2, -404.0, (-1.0, -1.0)),
    Problem("gpyopt-drop-wave", _minus_drop_wave, ((-1.0, 1.0),) * 2, 0.0, (np.pi / 12.0, 0.0)),
]

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _FOUND}
