"""Classic test functions, most of them in any number of dimensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.test_functions.named import PROBLEMS
from calibrant.test_functions.problem import Problem


def ackley(dim: int) -> Problem:
    """Return Ackley's function, as in the paper: a funnel with ripples."""
    return _in_dimensions(PROBLEMS["ackley"], dim)


def alpine(dim: int) -> Problem:
    """Return the Alpine function, as in the paper: folds, with kinks at zero."""
    return _in_dimensions(PROBLEMS["alpine"], dim)


def rastrigin(dim: int) -> Problem:
    """Return Rastrigin's function: a bowl with a grid of local minima."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray((x**2 - 10.0 * np.cos(2.0 * np.pi * x) + 10.0).sum(axis=1))

    return _problem("rastrigin", value, (-5.12, 5.12), dim, 0.0, 0.0)


def levy(dim: int) -> Problem:
    """Return Levy's function: valleys with ripples, and a minimum off the centre."""

    def value(x: FloatArray) -> FloatArray:
        w = 1.0 + (x - 1.0) / 4.0
        inner, last = w[:, :-1], w[:, -1]
        waves = (inner - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * inner + 1.0) ** 2)
        end = (last - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * last) ** 2)
        return np.asarray(np.sin(np.pi * w[:, 0]) ** 2 + waves.sum(axis=1) + end)

    return _problem("levy", value, (-10.0, 10.0), dim, 0.0, 1.0)


def rosenbrock(dim: int) -> Problem:
    """Return Rosenbrock's function, a long curved valley, in at least 2 dimensions."""
    if dim < 2:
        raise ValueError(f"`dim >= 2` must hold for a curved valley, but got dim={dim}.")

    def value(x: FloatArray) -> FloatArray:
        here, after = x[:, :-1], x[:, 1:]
        return np.asarray((100.0 * (after - here**2) ** 2 + (here - 1.0) ** 2).sum(axis=1))

    return _problem("rosenbrock", value, (-5.0, 10.0), dim, 0.0, 1.0)


def styblinski_tang(dim: int) -> Problem:
    """Return the Styblinski–Tang function: two wells per dimension, one of them deeper."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray(0.5 * (x**4 - 16.0 * x**2 + 5.0 * x).sum(axis=1))

    return _problem(
        "styblinski-tang", value, (-5.0, 5.0), dim, -39.16616570377142 * dim, -2.903534027771178
    )


# The minimiser of each coordinate's term of Michalewicz's function, and the minimum of that term.
_GULLIES = (
    (2.2029055189489566, -0.8013034100985534),
    (1.5707963267948966, -1.0),
    (1.284991570195916, -0.959091269896007),
    (1.9230584685014596, -0.938462418472084),
    (1.7204697714368706, -0.9888010806215051),
)


def michalewicz(dim: int) -> Problem:
    """Return Michalewicz's function, steep gullies in a plain, in up to 5 dimensions."""
    if not 1 <= dim <= len(_GULLIES):
        raise ValueError(f"`1 <= dim <= {len(_GULLIES)}` must hold, but got dim={dim}.")

    def value(x: FloatArray) -> FloatArray:
        gully = np.sin(np.arange(1, dim + 1) * x**2 / np.pi) ** 20
        return np.asarray(-(np.sin(x) * gully).sum(axis=1))

    where, depths = zip(*_GULLIES[:dim], strict=True)
    return Problem(f"michalewicz-{dim}", value, ((0.0, np.pi),) * dim, sum(depths), where)


def branin() -> Problem:
    """Return Branin's function: three equal wells in two dimensions."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x.T
        bend = b - 5.1 * a**2 / (4.0 * np.pi**2) + 5.0 * a / np.pi - 6.0
        return np.asarray(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0)

    box = ((-5.0, 10.0), (0.0, 15.0))
    return Problem("branin", value, box, 0.39788735772973816, (np.pi, 2.275))


def goldstein_price() -> Problem:
    """Return the Goldstein–Price function of two variables, over six orders of magnitude."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x.T
        first = 19.0 - 14.0 * a + 3.0 * a**2 - 14.0 * b + 6.0 * a * b + 3.0 * b**2
        second = 18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2
        return np.asarray(
            (1.0 + (a + b + 1.0) ** 2 * first) * (30.0 + (2.0 * a - 3.0 * b) ** 2 * second)
        )

    return Problem("goldstein-price", value, ((-2.0, 2.0),) * 2, 3.0, (0.0, -1.0))


_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])


_HARTMANN = {
    3: (
        np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]]),
        np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
        -3.862779787332663,
        (0.11458886908541062, 0.5556488928322367, 0.8525469854282611),
    ),
    6: (
        np.array(
            [
                [10, 3, 17, 3.5, 1.7, 8],
                [0.05, 10, 17, 0.1, 8, 14],
                [3, 3.5, 1.7, 10, 17, 8],
                [17, 8, 0.05, 10, 0.1, 14],
            ]
        ),
        np.array(
            [
                [1312, 1696, 5569, 124, 8283, 5886],
                [2329, 4135, 8307, 3736, 1004, 9991],
                [2348, 1451, 3522, 2883, 3047, 6650],
                [4047, 8828, 8732, 5743, 1091, 381],
            ]
        ),
        -3.322368011415515,
        (
            0.20168951209480995,
            0.15001069277685197,
            0.476873971833793,
            0.275332431065528,
            0.3116516179851896,
            0.657300535855056,
        ),
    ),
}


def hartmann(dim: int) -> Problem:
    """Return Hartmann's function: four smooth dents in 3 or 6 dimensions."""
    if dim not in _HARTMANN:
        raise ValueError(f"`dim` must be 3 or 6, but got dim={dim}.")
    widths, centres, minimum, where = _HARTMANN[dim]

    def value(x: FloatArray) -> FloatArray:
        away = (widths * (x[:, None] - 1e-4 * centres) ** 2).sum(axis=2)
        return np.asarray(-(_HEIGHTS * np.exp(-away)).sum(axis=1))

    return Problem(f"hartmann-{dim}", value, ((0.0, 1.0),) * dim, minimum, where)


_FLOORS = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])


_DENTS = np.array(
    [[4, 4], [1, 1], [8, 8], [6, 6], [3, 7], [2, 9], [5, 3], [8, 1], [6, 2], [7, 3.6]]
)


def shekel() -> Problem:
    """Return Shekel's function: ten narrow dents in four dimensions."""
    centres = np.tile(_DENTS, 2)

    def value(x: FloatArray) -> FloatArray:
        away = ((x[:, None] - centres) ** 2).sum(axis=2)
        return np.asarray(-(1.0 / (away + _FLOORS)).sum(axis=1))

    where = (4.000746866658956, 3.9995094808675886) * 2
    return Problem("shekel", value, ((0.0, 10.0),) * 4, -10.53644315348353, where)


def _in_dimensions(problem: Problem, dim: int) -> Problem:
    return _problem(problem.name, problem.function, problem.box[0], dim, problem.minimum, 0.0)


def _problem(
    name: str,
    function: Callable[[FloatArray], FloatArray],
    ends: tuple[float, float],
    dim: int,
    minimum: float,
    where: float,
) -> Problem:
    validate.at_least("dim", dim, 1)
    return Problem(f"{name}-{dim}", function, (ends,) * dim, minimum, (where,) * dim)
