"""Problems with constraints: an objective to be minimised, and limits that are met at 0 or below.

Those of ``CHOSEN_ON`` were used to choose how promises are kept, with twelve random landscapes;
those of ``JUDGED_ON`` had no part in it. ``minimum`` is what a problem of the literature is known
to reach; of the speed reducer with the constraints that are kept here it is by descent from many
points, of landscapes the lowest of 4,096 random settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.decisions.kinds import waves
from calibrant import test_functions

Limits = dict[str, float]
Space = Mapping[str, tuple[float, float] | tuple[int, int]]


@dataclass(frozen=True)
class Constrained:
    """A problem: its ranges (of integers where both ends are), and what an evaluation gives."""

    space: Space
    evaluate: Callable[[Mapping[str, float]], tuple[float, Limits]]
    minimum: float  # of feasible settings
    typical: float  # the spread of values: the unit of regret


def _branin_disk(p: Mapping[str, float]) -> tuple[float, Limits]:
    value = float(test_functions.branin().on_cube(np.array([[p["a"], p["b"]]]))[0])
    return value, {"disk": 0.12 - (p["a"] - 0.4) ** 2 - (p["b"] - 0.35) ** 2}


def _hartmann_sum(p: Mapping[str, float]) -> tuple[float, Limits]:
    x = np.array([[p["a"], p["b"], p["c"]]])
    value = float(test_functions.hartmann(3).on_cube(x)[0])
    return value, {"sum": float(x.sum()) - 1.2}


def _ackley_waves(p: Mapping[str, float]) -> tuple[float, Limits]:
    x = np.array([[p[name] for name in "abcd"]])
    value = float(test_functions.shifted(test_functions.ackley(4), 30).on_cube(x)[0])
    waves = float(np.sin(6.0 * x).sum() - 1.0)
    return value, {"waves": waves, "level": 0.9 - float(x.sum())}


def _townsend(p: Mapping[str, float]) -> tuple[float, Limits]:
    a, b = p["a"], p["b"]
    turn = np.arctan2(a, b)
    radius = 2.0 * np.cos(turn) - np.cos(2.0 * turn) / 2.0
    radius -= np.cos(3.0 * turn) / 4.0 + np.cos(4.0 * turn) / 8.0
    heart = a * a + b * b - radius**2 - (2.0 * np.sin(turn)) ** 2
    value = -(np.cos((a - 0.1) * b) ** 2) - a * np.sin(3.0 * a + b)
    return float(value), {"heart": float(heart)}


def _three_bars(p: Mapping[str, float]) -> tuple[float, Limits]:
    outer, inner = p["outer"], p["inner"]
    section = np.sqrt(2.0) * outer**2 + 2.0 * outer * inner
    return 100.0 * (2.0 * np.sqrt(2.0) * outer + inner), {
        "tension": float(2.0 * (np.sqrt(2.0) * outer + inner) / section - 2.0),
        "inner": float(2.0 * inner / section - 2.0),
        "compression": float(2.0 / (np.sqrt(2.0) * inner + outer) - 2.0),
    }


def _welded_beam(p: Mapping[str, float]) -> tuple[float, Limits]:
    weld, joint, height, width = p["weld"], p["joint"], p["height"], p["width"]
    load, span, young, shear_modulus = 6000.0, 14.0, 30e6, 12e6
    cost = 1.10471 * weld**2 * joint + 0.04811 * height * width * (span + joint)
    arm = np.sqrt(joint**2 / 4.0 + ((weld + height) / 2.0) ** 2)
    polar = 2.0 * np.sqrt(2.0) * weld * joint * (joint**2 / 12.0 + ((weld + height) / 2.0) ** 2)
    direct = load / (np.sqrt(2.0) * weld * joint)
    twist = load * (span + joint / 2.0) * arm / polar
    shear = np.sqrt(direct**2 + direct * twist * joint / arm + twist**2)
    buckling = 4.013 * young * height * width**3 / (6.0 * span**2)
    buckling *= 1.0 - height / (2.0 * span) * np.sqrt(young / (4.0 * shear_modulus))
    return cost, {
        "shear": float(shear / 13600.0 - 1.0),
        "bending": 6.0 * load * span / (width * height**2) / 30000.0 - 1.0,
        "weld": weld - width,
        "deflection": 4.0 * load * span**3 / (young * height**3 * width) / 0.25 - 1.0,
        "buckling": 1.0 - buckling / load,
    }


def _rosenbrock_cubic(p: Mapping[str, float]) -> tuple[float, Limits]:
    """The Rosenbrock function between a cubic and a line."""
    a, b = p["a"], p["b"]
    value = (1.0 - a) ** 2 + 100.0 * (b - a * a) ** 2
    return value, {"cubic": (a - 1.0) ** 3 - b + 1.0, "line": a + b - 2.0}


_PULLED = 6  # landscapes of each kind


@cache
def landscape(number: int) -> Constrained:
    """Return a random problem: smooth or rough, one to three limits, each of which half may meet.

    The share of settings that meets each limit is drawn between 30 % and 80 %. From the seventh on
    the objective falls where the first limit rises, so that its optimum lies at the limit.
    """
    rng = np.random.default_rng([number, 77])
    dim, count = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    names = [f"x{i}" for i in range(dim)]
    wave, *limits = (waves(dim, rng) for _ in range(1 + count))
    pull = 1.5 if number >= _PULLED else 0.0

    def value(x: np.ndarray) -> float:
        return wave(x) - pull * limits[0](x)

    shares = rng.uniform(0.3, 0.8, count)
    X = np.random.default_rng(0).random((4096, dim))
    heights = np.array([[limit(x) for limit in limits] for x in X])
    levels = [np.quantile(column, share) for column, share in zip(heights.T, shares, strict=True)]
    values = np.array([value(x) for x in X])
    feasible = (heights <= levels).all(axis=1)

    def evaluate(p: Mapping[str, float]) -> tuple[float, Limits]:
        x = np.array([p[name] for name in names])
        met = zip(limits, levels, strict=True)
        return value(x), {f"limit {i}": limit(x) - level for i, (limit, level) in enumerate(met)}

    space = dict.fromkeys(names, (0.0, 1.0))
    return Constrained(space, evaluate, float(values[feasible].min()), float(values.std()))


def _gramacy(p: Mapping[str, float]) -> tuple[float, Limits]:
    a, b = p["a"], p["b"]
    wave = 1.5 - a - 2.0 * b - 0.5 * np.sin(2.0 * np.pi * (a * a - 2.0 * b))
    return a + b, {"wave": float(wave), "disk": a * a + b * b - 1.5}


def _pressure_vessel(p: Mapping[str, float]) -> tuple[float, Limits]:
    shell, head, radius, length = p["shell"] * 0.0625, p["head"] * 0.0625, p["radius"], p["length"]
    cost = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    volume = np.pi * radius**2 * length + 4.0 / 3.0 * np.pi * radius**3
    return cost, {
        "shell": 0.0193 * radius - shell,
        "head": 0.00954 * radius - head,
        "volume": (1_296_000.0 - volume) / 1_296_000.0,
    }


def _tension_spring(p: Mapping[str, float]) -> tuple[float, Limits]:
    wire, coil, turns = p["wire"], p["coil"], p["turns"]
    stress = (4.0 * coil**2 - wire * coil) / (12566.0 * (coil * wire**3 - wire**4))
    return (turns + 2.0) * coil * wire**2, {
        "deflection": 1.0 - coil**3 * turns / (71785.0 * wire**4),
        "stress": stress + 1.0 / (5108.0 * wire**2) - 1.0,
        "frequency": 1.0 - 140.45 * wire / (coil**2 * turns),
        "diameter": (wire + coil) / 1.5 - 1.0,
    }


def _speed_reducer(p: Mapping[str, float]) -> tuple[float, Limits]:
    face, module, teeth = p["face"], p["module"], p["teeth"]
    l1, l2, d1, d2 = (p[name] for name in ("l1", "l2", "d1", "d2"))
    weight = (
        0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
        - 1.508 * face * (d1**2 + d2**2)
        + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    )
    # Of its eleven constraints those that exclude much of the box.
    return weight, {
        "bending": 27.0 / (face * module**2 * teeth) - 1.0,
        "deflection": 1.93 * l2**3 / (module * teeth * d2**4) - 1.0,
        "first shaft": np.sqrt((745.0 * l1 / (module * teeth)) ** 2 + 16.9e6) / (110.0 * d1**3) - 1,
        "second shaft": np.sqrt((745.0 * l2 / (module * teeth)) ** 2 + 157.5e6) / (85.0 * d2**3)
        - 1,
    }


@cache
def _diabetes() -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X / X.std(axis=0))[order], ((y - y.mean()) / y.std())[order]
    return X[:300], y[:300], X[300:], y[300:]


def _training_job(p: Mapping[str, float]) -> tuple[float, Limits]:
    """Random features and ridge regression on the diabetes data: wider is better, and larger."""
    X, y, X_new, y_new = _diabetes()
    width = int(p["width"])
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((X.shape[1], width)) * 10.0 ** p["log_scale"]
    phases = rng.uniform(0.0, 2.0 * np.pi, width)
    features, new = (np.cos(Z @ frequencies + phases) for Z in (X, X_new))
    gram = features.T @ features + 10.0 ** p["log_ridge"] * np.eye(width)
    error = new @ np.linalg.solve(gram, features.T @ y) - y_new
    megabytes = 8e-6 * (2.0 * gram.size + features.size + new.size)
    return float(np.sqrt(np.mean(error**2))), {"memory": np.log(megabytes / 1.2)}


CHOSEN_ON = {
    "branin outside a disk": Constrained(
        {"a": (0.0, 1.0), "b": (0.0, 1.0)}, _branin_disk, 0.397887, 52.0
    ),
    "hartmann-3 below a plane": Constrained(
        dict.fromkeys("abc", (0.0, 1.0)), _hartmann_sum, -3.55, 0.95
    ),
    "ackley-4 between waves": Constrained(
        dict.fromkeys("abcd", (0.0, 1.0)), _ackley_waves, 0.0, 1.4
    ),
    "townsend": Constrained({"a": (-2.25, 2.25), "b": (-2.5, 1.75)}, _townsend, -2.023988, 1.0),
    "three bars": Constrained(
        {"outer": (0.05, 1.0), "inner": (0.05, 1.0)}, _three_bars, 263.8958, 85.0
    ),
    "welded beam": Constrained(
        {"weld": (0.1, 2.0), "joint": (0.1, 10.0), "height": (0.5, 10.0), "width": (0.1, 2.0)},
        _welded_beam,
        1.724852,
        12.0,
    ),
    "rosenbrock below a line": Constrained(
        {"a": (-1.5, 1.5), "b": (-0.5, 2.5)}, _rosenbrock_cubic, 0.0, 200.0
    ),
}
JUDGED_ON = {
    "gramacy": Constrained({"a": (0.0, 1.0), "b": (0.0, 1.0)}, _gramacy, 0.599788, 0.41),
    "pressure vessel": Constrained(
        {"shell": (1, 30), "head": (1, 30), "radius": (10.0, 100.0), "length": (10.0, 200.0)},
        _pressure_vessel,
        6059.714,
        30000.0,
    ),
    "tension spring": Constrained(
        {"wire": (0.05, 0.12), "coil": (0.25, 1.3), "turns": (2.0, 15.0)},
        _tension_spring,
        0.012665,
        0.03,
    ),
    "speed reducer": Constrained(
        {
            "face": (2.6, 3.6),
            "module": (0.7, 0.8),
            "teeth": (17, 28),
            "l1": (7.3, 8.3),
            "l2": (7.3, 8.3),
            "d1": (2.9, 3.9),
            "d2": (5.0, 5.5),
        },
        _speed_reducer,
        2883.655,
        700.0,
    ),
    "training job": Constrained(
        {"width": (8, 400), "log_scale": (-2.0, 0.5), "log_ridge": (-3.0, 2.0)},
        _training_job,
        0.7069,  # the lowest of 300 random settings
        0.2,
    ),
}
PROBLEMS = {**CHOSEN_ON, **JUDGED_ON}
LANDSCAPES = tuple(f"landscape {number}" for number in range(2 * _PULLED))  # also chosen on


def problem(name: str) -> Constrained:
    """Return a problem by its name."""
    if name in LANDSCAPES:
        return landscape(LANDSCAPES.index(name))
    return PROBLEMS[name]
