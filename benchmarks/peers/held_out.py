"""Tasks on which nothing was chosen: they are only measured on.

The suite found calibrant's defaults, so that its lead there is flattered. These are of the same
kinds, and other functions, tables, data and models.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers import functions, live, tabular
from benchmarks.peers.tasks import Settings, Task, choice, integer, real, when
from calibrant import test_functions
from calibrant.core.typing import FloatArray
from calibrant.test_functions import Problem


def held_out() -> list[Task]:
    """Return the tasks."""
    return [
        functions.task(schwefel(4)),
        functions.task(eggholder()),
        functions.task(dixon_price(6)),
        functions.task(test_functions.shifted(zakharov(5), 40), "moved"),
        functions.task(test_functions.shifted(griewank(8), 41), "moved"),
        functions.task(test_functions.shifted(powell(20), 42), "moved"),
        functions.task(colville(), "noisy", noise=functions.NOISE),
        _speed_reducer(),
        tabular.mlp("phoneme", 0.0555302800),
        tabular.network("slice_localization", 0.000191599163),
        _kernels_on_wine(),
        _boosting_on_diabetes(),
    ]


def schwefel(dim: int) -> Problem:
    """Waves that grow towards the edge: the second lowest is far from the lowest."""

    def value(x: FloatArray) -> FloatArray:
        return np.asarray((418.9828872724338 - x * np.sin(np.sqrt(np.abs(x)))).sum(axis=1))

    return Problem(
        f"schwefel-{dim}", value, ((-500.0, 500.0),) * dim, 0.0, (420.96874635998,) * dim
    )


def eggholder() -> Problem:
    """A tray of eggs, the lowest at the edge."""

    def value(x: FloatArray) -> FloatArray:
        a, b = x[:, 0], x[:, 1] + 47.0
        return np.asarray(
            -b * np.sin(np.sqrt(np.abs(b + 0.5 * a))) - a * np.sin(np.sqrt(np.abs(a - b)))
        )

    return Problem(
        "eggholder", value, ((-512.0, 512.0),) * 2, -959.6406627208506, (512.0, 404.231805)
    )


def dixon_price(dim: int) -> Problem:
    """A valley in which each coordinate depends on the one before."""

    def value(x: FloatArray) -> FloatArray:
        weight = np.arange(2, dim + 1)
        steps = weight * (2.0 * x[:, 1:] ** 2 - x[:, :-1]) ** 2
        return np.asarray((x[:, 0] - 1.0) ** 2 + steps.sum(axis=1))

    where = tuple(2.0 ** (2.0 ** (1 - i) - 1.0) for i in range(1, dim + 1))
    return Problem(f"dixon-price-{dim}", value, ((-10.0, 10.0),) * dim, 0.0, where)


def zakharov(dim: int) -> Problem:
    """A flat valley between steep walls, at an angle to the axes."""

    def value(x: FloatArray) -> FloatArray:
        tilt = 0.5 * x @ np.arange(1, dim + 1)
        return np.asarray((x**2).sum(axis=1) + tilt**2 + tilt**4)

    return Problem(f"zakharov-{dim}", value, ((-5.0, 10.0),) * dim, 0.0, (0.0,) * dim)


def griewank(dim: int) -> Problem:
    """A wide bowl with fine ripples that do not follow the axes."""

    def value(x: FloatArray) -> FloatArray:
        ripples = np.cos(x / np.sqrt(np.arange(1, dim + 1))).prod(axis=1)
        return np.asarray((x**2).sum(axis=1) / 4000.0 - ripples + 1.0)

    return Problem(f"griewank-{dim}", value, ((-50.0, 50.0),) * dim, 0.0, (0.0,) * dim)


def powell(dim: int) -> Problem:
    """Groups of four coordinates, each group a narrow valley."""

    def value(x: FloatArray) -> FloatArray:
        a, b, c, d = (x[:, i::4] for i in range(4))
        terms = (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4
        return np.asarray(terms.sum(axis=1))

    return Problem(f"powell-{dim}", value, ((-4.0, 5.0),) * dim, 0.0, (0.0,) * dim)


def colville() -> Problem:
    """Two bent valleys, coupled."""

    def value(x: FloatArray) -> FloatArray:
        a, b, c, d = x.T
        return np.asarray(
            100.0 * (a**2 - b) ** 2
            + (a - 1.0) ** 2
            + (c - 1.0) ** 2
            + 90.0 * (c**2 - d) ** 2
            + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2)
            + 19.8 * (b - 1.0) * (d - 1.0)
        )

    return Problem("colville", value, ((-10.0, 10.0),) * 4, 0.0, (1.0,) * 4)


def _speed_reducer() -> Task:
    """The weight of a gearbox: six lengths and a number of teeth.

    Violations are charged relative to what is allowed. The lowest weight is by descent from many
    points for each number of teeth; the literature on this problem has it too.
    """

    def value(settings: Settings) -> float:
        face, module, teeth = settings["face"], settings["module"], settings["teeth"]
        l1, l2, d1, d2 = (settings[name] for name in ("l1", "l2", "d1", "d2"))
        weight = (
            0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
            - 1.508 * face * (d1**2 + d2**2)
            + 7.4777 * (d1**3 + d2**3)
            + 0.7854 * (l1 * d1**2 + l2 * d2**2)
        )
        broken = (
            27.0 / (face * module**2 * teeth),
            397.5 / (face * module**2 * teeth**2),
            1.93 * l1**3 / (module * teeth * d1**4),
            1.93 * l2**3 / (module * teeth * d2**4),
            np.sqrt((745.0 * l1 / (module * teeth)) ** 2 + 16.9e6) / (110.0 * d1**3),
            np.sqrt((745.0 * l2 / (module * teeth)) ** 2 + 157.5e6) / (85.0 * d2**3),
            module * teeth / 40.0,
            5.0 * module / face,
            face / (12.0 * module),
            (1.5 * d1 + 1.9) / l1,
            (1.1 * d2 + 1.9) / l2,
        )
        return float(weight + 1e4 * sum(max(0.0, part - 1.0) for part in broken))

    space = (
        real("face", 2.6, 3.6),
        real("module", 0.7, 0.8),
        integer("teeth", 17, 28),
        real("l1", 7.3, 8.3),
        real("l2", 7.3, 8.3),
        real("d1", 2.9, 3.9),
        real("d2", 5.0, 5.5),
    )
    return Task("speed reducer", space, value, 2994.4710661, groups=frozenset({"mixed"}))


def _kernels_on_wine() -> Task:
    """The alcohol of a wine from what else was measured: the kernel is to be found as well."""

    def loss(settings: Settings) -> float:
        from sklearn.svm import SVR

        alcohol, others = np.split(live.scaled("wine")[0], [1], axis=1)
        return live.root_error(SVR(max_iter=10_000, **settings), others, alcohol.ravel())

    space = (
        choice("kernel", "linear", "rbf", "poly", "sigmoid"),
        real("C", 1e-3, 1e3, log=True),
        real("epsilon", 1e-3, 1.0, log=True),
        when(real("gamma", 1e-5, 1e1, log=True), "kernel", "rbf", "poly", "sigmoid"),
        when(integer("degree", 2, 6), "kernel", "poly"),
        when(real("coef0", -2.0, 2.0), "kernel", "poly", "sigmoid"),
    )
    return live.task("kernels on wine", space, loss, 0.6521502, "mixed", "conditional")


def _boosting_on_diabetes() -> Task:
    """Boosted trees: how many, how deep, how fast, from how much of the data."""

    def loss(settings: Settings) -> float:
        from sklearn.ensemble import GradientBoostingRegressor

        model = GradientBoostingRegressor(random_state=0, **settings)
        return live.root_error(model, *live.scaled("diabetes"))

    space = (
        integer("n_estimators", 5, 80, log=True),
        integer("max_depth", 1, 6),
        real("learning_rate", 1e-3, 1.0, log=True),
        real("subsample", 0.2, 1.0),
        integer("min_samples_leaf", 1, 50, log=True),
        real("max_features", 0.1, 1.0),
    )
    return live.task("boosting on diabetes", space, loss, 54.23647)
