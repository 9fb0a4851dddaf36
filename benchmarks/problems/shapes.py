"""Ordinals, permutations, conditions and long lists of categories, written down beforehand.

Searches of 30 evaluations of generated functions:

- *category of 50*: one of 50 substances, each with hidden properties, and two numbers.
- *ordinals*: three of five or more sizes in an order, whose effect is not linear, and a number.
- *permutation of 5*: the order of five steps, each of which has a best place and dislikes another
  before it, and a number.
- *conditions*: a choice of three methods, each with two numbers of its own.

    calibrant    told: ordered(…), permutation(…), when(…)
    as labels    calibrant again, which is told choices, as Optuna's users write them; conditions
                 are discovered
    optuna-tpe   Optuna's TPE, with the same choices
    random       at random
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import optuna
from optuna.samplers import RandomSampler, TPESampler

from benchmarks.problems.kinds import FIRST, Kind
from calibrant import CalibratedSampler, ordered, permutation, when
from calibrant.studies.asking import suggest
from calibrant.studies.space_text import parse_space
from calibrant.studies.structure import Parameters

TRIALS = 30


@dataclass(frozen=True)
class Task:
    """A function of a setting, and its space as calibrant is told it."""

    space: Mapping[str, Any]
    value: Callable[[Mapping[str, Any]], float]


def _category() -> Task:
    rng = np.random.default_rng(11)
    names = [f"substance {i}" for i in range(50)]
    depth, place = (
        dict(zip(names, rng.gamma(2.0, 0.5, 50), strict=True)),
        dict(zip(names, rng.random(50), strict=True)),
    )

    def value(s: Mapping[str, Any]) -> float:
        name = s["substance"]
        away = (s["warm"] - 0.3 - 0.4 * place[name]) ** 2 + 0.5 * (s["dense"] - 0.6) ** 2
        return float(depth[name] + 3.0 * away)

    return Task({"substance": names, "warm": (0.0, 1.0), "dense": (0.0, 1.0)}, value)


def _ordinals() -> Task:
    sizes, grades = ("xs", "s", "m", "l", "xl"), tuple("ABCDEFGH")
    speeds = ("crawl", "slow", "normal", "fast", "faster", "sprint")

    def value(s: Mapping[str, Any]) -> float:
        size, grade, speed = (
            sizes.index(s["size"]) / 4,
            grades.index(s["grade"]) / 7,
            speeds.index(s["speed"]) / 5,
        )
        return float(
            (size - 0.75) ** 2 + 2.0 * (grade - size * speed) ** 2 + abs(speed - s["x"]) ** 1.5
        )

    space = {
        "size": ordered(*sizes),
        "grade": ordered(*grades),
        "speed": ordered(*speeds),
        "x": (0.0, 1.0),
    }
    return Task(space, value)


def _permutation() -> Task:
    steps = ("wash", "cut", "fold", "glue", "press")
    best = dict(zip(steps, (3, 0, 1, 4, 2), strict=True))
    dislikes = (("wash", "cut"), ("press", "fold"), ("glue", "wash"))

    def value(s: Mapping[str, Any]) -> float:
        order = s["steps"].split(",")
        moved = sum((order.index(step) - place) ** 2 for step, place in best.items())
        wrong = sum(order.index(a) < order.index(b) for a, b in dislikes)
        return float(0.1 * moved + 0.5 * wrong + (s["speed"] - 0.2 - 0.1 * order.index("cut")) ** 2)

    return Task({"steps": permutation(*steps), "speed": (0.0, 1.0)}, value)


def _conditions() -> Task:
    def value(s: Mapping[str, Any]) -> float:
        match s["method"]:
            case "tree":
                return float(abs(s["depth"] - 7) / 6 + (np.log10(s["shrink"]) + 1.5) ** 2 / 2)
            case "linear":
                return float(0.4 + (np.log10(s["ridge"]) + 2.0) ** 2 / 9 + (s["mix"] - 0.3) ** 2)
        return float(0.2 + (s["width"] - 40) ** 2 / 3000 + 2.0 * (s["drop"] - 0.4) ** 2)

    space = {
        "method": ["tree", "linear", "network"],
        "depth": when((2, 16), method="tree"),
        "shrink": when((1e-4, 1.0, "log"), method="tree"),
        "ridge": when((1e-6, 1e2, "log"), method="linear"),
        "mix": when((0.0, 1.0), method="linear"),
        "width": when((4, 128), method="network"),
        "drop": when((0.0, 0.9), method="network"),
    }
    return Task(space, value)


TASKS: dict[str, Task] = {
    "category of 50": _category(),
    "ordinals": _ordinals(),
    "permutation of 5": _permutation(),
    "conditions": _conditions(),
}


def play(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return the values of a search's evaluations."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task, space = TASKS[name], parse_space(TASKS[name].space)
    study = optuna.create_study(sampler=_sampler(system, space, seed))
    for setting in _settings(space, np.random.default_rng([seed, 5]), FIRST):
        study.enqueue_trial(setting)
    study.optimize(lambda t: task.value(suggest(t, space, space.structure)), n_trials=TRIALS)
    return {"values": [round(float(trial.value or 0.0), 8) for trial in study.trials]}


def _sampler(system: str, space: Parameters, seed: int) -> optuna.samplers.BaseSampler:
    match system:
        case "calibrant":
            return CalibratedSampler(search_space=space, seed=seed)
        case "as labels":
            return CalibratedSampler(seed=seed)
        case "optuna-tpe":
            return TPESampler(seed=seed, n_startup_trials=FIRST, multivariate=True, group=True)
    return RandomSampler(seed=seed)


def _settings(space: Parameters, rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Return settings at random, with the parameters that exist in each."""
    study = optuna.create_study(sampler=RandomSampler(seed=int(rng.integers(2**31))))
    return [suggest(study.ask(), space, space.structure) for _ in range(count)]


@cache
def scales() -> dict[str, tuple[float, float]]:
    """Return the lowest value of each task, on a fine grid, and the mean of random settings."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = {}
    for name, task in TASKS.items():
        space = parse_space(task.space)
        usual = [task.value(s) for s in _settings(space, np.random.default_rng(0), 1000)]
        found[name] = (_LOWEST[name](task), float(np.mean(usual)))
    return found


def _lowest_category(task: Task) -> float:
    names = task.space["substance"]
    warm = np.linspace(0.0, 1.0, 401)
    return min(
        task.value({"substance": name, "warm": w, "dense": 0.6}) for name in names for w in warm
    )


def _lowest_ordinals(task: Task) -> float:
    choices = [task.space[name].choices for name in ("size", "grade", "speed")]
    grid = np.linspace(0.0, 1.0, 101)  # the best of x is a fifth
    return min(
        task.value({"size": a, "grade": b, "speed": c, "x": x})
        for a, b, c in itertools.product(*choices)
        for x in grid
    )


def _lowest_permutation(task: Task) -> float:
    orders = itertools.permutations(task.space["steps"].items)
    grid = np.linspace(0.0, 1.0, 101)
    return min(task.value({"steps": ",".join(o), "speed": s}) for o in orders for s in grid)


_LOWEST = {
    "category of 50": _lowest_category,
    "ordinals": _lowest_ordinals,
    "permutation of 5": _lowest_permutation,
    # Depth 7 and a shrink of 10^-1.5 give 0, and no method less.
    "conditions": lambda task: 0.0,
}

KIND = Kind(
    "shapes",
    "Orders, permutations, conditions, long lists",
    (__doc__ or "").strip(),
    {s: partial(play, s) for s in ("calibrant", "as labels", "optuna-tpe", "random")},
    scales,
    TRIALS,
)
