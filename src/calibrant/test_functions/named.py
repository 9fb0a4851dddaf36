"""The paper's ten test functions, by name, with their minima."""

from __future__ import annotations

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.test_functions.problem import Problem


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
]


PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _FOUND}
