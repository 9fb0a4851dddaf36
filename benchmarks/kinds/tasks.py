"""Tasks that the suite has none of: many dimensions, labels with fifty values, deep conditions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.peers import functions, held_out, live
from benchmarks.peers.tasks import Settings, Task, choice, integer, real, when
from calibrant import test_functions
from calibrant.test_functions import Problem

_FOLDS = 3
_ROWS = 300  # of a data set: an evaluation takes hundredths of a second


def learning_dimensions() -> list[Task]:
    """Return tasks in 30 to 200 dimensions on which choices may be made."""
    shifted = test_functions.shifted
    return [
        functions.task(shifted(test_functions.ackley(40), 50), "moved"),
        functions.task(shifted(test_functions.levy(60), 51), "moved"),
        functions.task(shifted(test_functions.rosenbrock(100), 52), "moved"),
        functions.task(test_functions.styblinski_tang(40)),
        functions.task(shifted(test_functions.rastrigin(200), 53), "moved"),
        functions.task(embedded(test_functions.hartmann(6), 60, 54)),
        functions.task(embedded(test_functions.branin(), 100, 55)),
        functions.task(embedded(test_functions.levy(4), 200, 56)),
        _widths(),
    ]


def held_out_dimensions() -> list[Task]:
    """Return tasks of other functions and data in 50 to 100 dimensions, for measuring alone."""
    return [
        functions.task(test_functions.shifted(held_out.griewank(60), 60), "moved"),
        functions.task(held_out.dixon_price(50)),
        functions.task(embedded(held_out.schwefel(4), 80, 63)),
        functions.task(embedded(held_out.colville(), 100, 64)),
        _pixels(),
    ]


def embedded(problem: Problem, dim: int, seed: int) -> Problem:
    """Return the function in more dimensions, of which all but its own do not matter."""
    own = np.random.default_rng(seed).permutation(dim)[: problem.dim]
    box = [(0.0, 1.0)] * dim
    where = [0.5] * dim
    for column, ends, best in zip(own.tolist(), problem.box, problem.where, strict=True):
        box[column], where[column] = ends, best
    return replace(
        problem,
        name=f"{problem.name} in {dim}",
        function=lambda x: problem.function(x[:, own]),
        box=tuple(box),
        where=tuple(where),
    )


def _widths() -> Task:
    """A kernel with a width of its own for each of 30 measurements of tumours."""

    def loss(settings: Settings) -> float:
        from sklearn.kernel_ridge import KernelRidge

        X, y = _scaled("breast_cancer")
        weights = np.array([settings[f"w{i}"] for i in range(X.shape[1])])
        model = KernelRidge(alpha=settings["alpha"], kernel="rbf", gamma=1.0 / X.shape[1])
        targets = y - y.mean()
        return float(
            np.sqrt(-live.validated(model, X * weights, targets, "neg_mean_squared_error", _FOLDS))
        )

    space = (
        real("alpha", 1e-4, 1e1, log=True),
        *(real(f"w{i}", 0.0, 2.0) for i in range(30)),
    )
    return live.task("a width for each of 30 measurements", space, loss, 0.1928)


def _pixels() -> Task:
    """Nearest neighbours of handwritten digits, with a weight for each of 64 pixels."""

    def loss(settings: Settings) -> float:
        from sklearn.neighbors import KNeighborsRegressor

        X, y = live.data("digits", _ROWS)
        weights = np.array([settings[f"w{i}"] for i in range(X.shape[1])])
        model = KNeighborsRegressor(5, weights="distance")
        targets = np.eye(10)[y]
        return float(
            np.sqrt(-live.validated(model, X * weights, targets, "neg_mean_squared_error", _FOLDS))
        )

    space = tuple(real(f"w{i}", 0.0, 1.0) for i in range(64))
    return live.task("a weight for each of 64 pixels", space, loss, 0.1027)


@cache
def _scaled(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = live.data(name, _ROWS)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def learning_mixed() -> list[Task]:
    """Return tasks with labels of fifty values, and with conditions under conditions."""
    return [_materials(), _solvers()]


def held_out_mixed() -> list[Task]:
    """Return others of the same kind, for measuring alone."""
    return [_recipes(), _architectures()]


_LABELS = tuple(f"no {i}" for i in range(50))


def _materials() -> Task:
    """One of fifty materials, each with its own best temperature, and a time."""
    rng = np.random.default_rng(70)
    cost = rng.permutation(np.linspace(0.0, 1.0, 50))
    best = rng.random(50)

    def value(settings: Settings) -> float:
        kind = _LABELS.index(settings["material"])
        away = (settings["temperature"] - best[kind]) ** 2 + 0.5 * (settings["time"] - 0.3) ** 2
        return float(cost[kind] + 3.0 * away)

    space = (
        choice("material", *_LABELS),
        real("temperature", 0.0, 1.0),
        real("time", 0.0, 1.0),
    )
    return Task("one of fifty materials", space, value, 0.0, groups=frozenset({"mixed"}))


def _recipes() -> Task:
    """Two of fifty ingredients, whose properties nobody tells, and how much of each."""
    rng = np.random.default_rng(71)
    first, second = rng.uniform(-1.0, 1.0, (2, 50, 2))

    def value(settings: Settings) -> float:
        a = first[_LABELS.index(settings["first"])]
        b = second[_LABELS.index(settings["second"])]
        blend = settings["share"] * a + (1.0 - settings["share"]) * b
        amount = settings["amount"] / 20.0
        return float((blend**2).sum() + 0.1 * np.abs(a - b).sum() + (amount - 0.4) ** 2)

    a, b = first[:, None], second[None]
    apart = ((a - b) ** 2).sum(axis=2)
    share = np.clip(-(b * (a - b)).sum(axis=2) / apart, 0.0, 1.0)[..., None]
    lowest = ((share * a + (1.0 - share) * b) ** 2).sum(axis=2) + 0.1 * np.abs(a - b).sum(axis=2)
    space = (
        choice("first", *_LABELS),
        choice("second", *_LABELS),
        real("share", 0.0, 1.0),
        integer("amount", 1, 20),
    )
    minimum = float(lowest.min())
    return Task("a blend of two of fifty", space, value, minimum, groups=frozenset({"mixed"}))


def _solvers() -> Task:
    """A solver, its preconditioner, and the settings of that: three conditions deep."""

    def value(settings: Settings) -> float:
        if settings["solver"] == "direct":
            return 0.6 + 0.4 * abs(settings["block"] - 32) / 64.0
        loss = 0.2 + 0.3 * (np.log10(settings["tolerance"]) + 4.0) ** 2 / 4.0
        if settings["preconditioner"] == "none":
            return float(loss + 0.3)
        if settings["preconditioner"] == "jacobi":
            return float(loss + 0.1 + 0.5 * (settings["damping"] - 0.7) ** 2)
        loss += 0.05 * abs(settings["levels"] - 4) - 0.2
        if settings["smoother"] == "gauss":
            return float(loss + 0.05 * abs(settings["sweeps"] - 2))
        return float(loss + 0.1 + (settings["weight"] - 0.8) ** 2)

    space = (
        choice("solver", "direct", "iterative"),
        when(integer("block", 8, 128, log=True), "solver", "direct"),
        when(real("tolerance", 1e-8, 1e-1, log=True), "solver", "iterative"),
        when(choice("preconditioner", "none", "jacobi", "multigrid"), "solver", "iterative"),
        when(real("damping", 0.1, 1.0), "preconditioner", "jacobi"),
        when(integer("levels", 1, 8), "preconditioner", "multigrid"),
        when(choice("smoother", "gauss", "weighted"), "preconditioner", "multigrid"),
        when(integer("sweeps", 1, 6), "smoother", "gauss"),
        when(real("weight", 0.1, 1.5), "smoother", "weighted"),
    )
    return Task(
        "a solver three deep", space, value, 0.0, groups=frozenset({"mixed", "conditional"})
    )


def _architectures() -> Task:
    """A network's shape, where most settings exist under the choice of another, four deep."""

    def value(settings: Settings) -> float:
        loss = 0.1 * (np.log10(settings["rate"]) + 2.5) ** 2
        if settings["body"] == "dense":
            return float(loss + 0.5 + 0.05 * abs(np.log2(settings["units"]) - 7.0))
        loss += 0.2 * (settings["dropout"] - 0.25) ** 2
        if settings["norm"] == "none":
            return float(loss + 0.35)
        loss += 0.04 * abs(settings["groups"] - 5)
        if settings["schedule"] == "constant":
            return float(loss + 0.15)
        loss += 0.5 * (settings["warmup"] - 0.1) ** 2
        if settings["decay"] == "step":
            return float(loss + 0.05 + 0.1 * (settings["gamma"] - 0.5) ** 2)
        return float(loss + 0.02 * abs(settings["cycles"] - 3))

    space = (
        real("rate", 1e-5, 1.0, log=True),
        choice("body", "dense", "convolution", "mixed"),
        when(integer("units", 8, 1024, log=True), "body", "dense"),
        when(real("dropout", 0.0, 0.9), "body", "convolution", "mixed"),
        when(choice("norm", "none", "group"), "body", "convolution", "mixed"),
        when(integer("groups", 1, 16), "norm", "group"),
        when(choice("schedule", "constant", "warm"), "norm", "group"),
        when(real("warmup", 0.0, 0.5), "schedule", "warm"),
        when(choice("decay", "step", "cosine"), "schedule", "warm"),
        when(real("gamma", 0.1, 0.9), "decay", "step"),
        when(integer("cycles", 1, 8), "decay", "cosine"),
    )
    groups = frozenset({"mixed", "conditional"})
    return Task("a network four deep", space, value, 0.0, groups=groups)
