"""Functions of real numbers, whole numbers and labels, some of which exist under a condition."""

from __future__ import annotations

from math import pi

import numpy as np

from benchmarks.peers.tasks import Settings, Task, choice, integer, real, when
from calibrant import test_functions
from calibrant.test_functions import PROBLEMS


def mixed() -> list[Task]:
    """Return tasks with several kinds of parameters, and known minima."""
    return [_ackley(), _hartmann(), _kinds(), _vessel(), _branches(), _pipeline()]


_ACKLEY = test_functions.ackley(5)


def _ackley() -> Task:
    """Ackley's function of three real and two whole numbers, its minimum away from the centre."""
    names = [f"x{i}" for i in range(5)]
    centre = (9.0, -14.0, 5.0, 7.0, -11.0)

    def value(settings: Settings) -> float:
        moved = {n: settings[n] - c for n, c in zip(names, centre, strict=True)}
        return _ACKLEY.objective(moved)

    space = [real(n, -30.0, 30.0) for n in names[:3]] + [integer(n, -30, 30) for n in names[3:]]
    return Task("ackley, 2 of 5 whole", tuple(space), value, 0.0, groups=frozenset({"mixed"}))


_HARTMANN = test_functions.hartmann(6)


def _hartmann() -> Task:
    """Hartmann's function of four real numbers and two on a grid of eleven values."""
    names = list(_HARTMANN.space())

    def value(settings: Settings) -> float:
        return _HARTMANN.objective({**settings, **{n: settings[n] / 10 for n in names[4:]}})

    space = [real(n, 0.0, 1.0) for n in names[:4]] + [integer(n, 0, 10) for n in names[4:]]
    # The minimum is by descent in the four real numbers from each place of the grid.
    return Task(
        "hartmann-6, 2 on a grid", tuple(space), value, -3.269546605, groups=frozenset({"mixed"})
    )


_KINDS = {
    "branin": (test_functions.branin(), 100.0),
    "camel": (PROBLEMS["six-hump camel"], 2.0),
    "levy": (test_functions.levy(2), 40.0),
}


def _kinds() -> Task:
    """One of three surfaces on the unit square, and a weight of three: two labels, two numbers."""
    weights = {"light": 1.0, "even": 2.0, "heavy": 4.0}

    def value(settings: Settings) -> float:
        problem, scale = _KINDS[settings["surface"]]
        point = np.array([[settings["u"], settings["v"]]])
        height = float(problem.on_cube(point)[0] - problem.minimum) / scale
        offset = {"branin": 0.1, "camel": 0.0, "levy": 0.05}[settings["surface"]]
        return (height + offset) * weights[settings["weight"]] ** 0.5

    space = (
        choice("surface", *_KINDS),
        choice("weight", *weights),
        real("u", 0.0, 1.0),
        real("v", 0.0, 1.0),
    )
    return Task("three surfaces, two labels", space, value, 0.0, groups=frozenset({"mixed"}))


def _vessel() -> Task:
    """The cost of a pressure vessel: plates come in sixteenths of an inch, its size does not.

    Violations of its constraints are charged relative to what is allowed. The lowest cost is the
    one known in the literature on this problem.
    """

    def value(settings: Settings) -> float:
        shell, head = 0.0625 * settings["shell"], 0.0625 * settings["head"]
        radius, length = settings["radius"], settings["length"]
        cost = (
            0.6224 * shell * radius * length
            + 1.7781 * head * radius**2
            + 3.1661 * shell**2 * length
            + 19.84 * shell**2 * radius
        )
        volume = pi * radius**2 * length + 4.0 / 3.0 * pi * radius**3
        broken = [
            0.0193 * radius / shell - 1.0,
            0.00954 * radius / head - 1.0,
            1296000.0 / volume - 1.0,
        ]
        return cost + 1e5 * sum(max(0.0, b) for b in broken)

    space = (
        integer("shell", 1, 32),
        integer("head", 1, 32),
        real("radius", 10.0, 100.0),
        real("length", 10.0, 200.0),
    )
    return Task("pressure vessel", space, value, 6059.714335, groups=frozenset({"mixed"}))


def _branches() -> Task:
    """Three branches, each a bowl in one to three numbers of its own; the narrowest is deepest."""

    def value(settings: Settings) -> float:
        if settings["branch"] == "one":
            return 0.5 + abs(settings["a"] - 0.2)
        if settings["branch"] == "two":
            return 0.25 + 4.0 * ((settings["b"] - 0.7) ** 2 + (settings["c"] - 0.4) ** 2)
        away = [settings["d"] - 0.65, settings["e"] - 0.3, (settings["f"] - 7) / 12.0]
        return 1.0 - float(np.exp(-6.0 * sum(x * x for x in away)))

    space = (
        choice("branch", "one", "two", "three"),
        when(real("a", 0.0, 1.0), "branch", "one"),
        when(real("b", 0.0, 1.0), "branch", "two"),
        when(real("c", 0.0, 1.0), "branch", "two"),
        when(real("d", 0.0, 1.0), "branch", "three"),
        when(real("e", 0.0, 1.0), "branch", "three"),
        when(integer("f", 1, 12), "branch", "three"),
    )
    return Task("three branches", space, value, 0.0, groups=frozenset({"mixed", "conditional"}))


def _pipeline() -> Task:
    """A made-up training script: a solver with its own settings, and an option with a strength."""

    def value(settings: Settings) -> float:
        rate = np.log10(settings["rate"])
        if settings["solver"] == "sgd":
            loss = (
                0.3 * (rate + 1.0 + settings["momentum"]) ** 2 + (settings["momentum"] - 0.9) ** 2
            )
        else:
            loss = 0.05 + 0.15 * (rate + 3.0) ** 2
        if settings["penalty"] == "on":
            loss += 0.02 * (np.log10(settings["strength"]) + 4.0) ** 2
        else:
            loss += 0.1
        return float(loss + 0.01 * abs(np.log2(settings["batch"]) - 6.0))

    space = (
        choice("solver", "sgd", "adam"),
        real("rate", 1e-5, 1.0, log=True),
        when(real("momentum", 0.0, 0.99), "solver", "sgd"),
        choice("penalty", "off", "on"),
        when(real("strength", 1e-8, 1e-1, log=True), "penalty", "on"),
        integer("batch", 8, 512, log=True),
    )
    return Task("training script", space, value, 0.0, groups=frozenset({"mixed", "conditional"}))
