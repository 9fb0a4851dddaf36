"""Searches in which evaluations fail, are penalised or pruned, and some with several objectives.

Each objective asks an Optuna trial for its parameters. What is random in it is drawn from a
generator that depends on the repetition, and not on the system.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.pruners import SuccessiveHalvingPruner as Halving
from optuna.trial import Trial

from calibrant.test_functions import Problem, branin, hartmann

Values = float | tuple[float, ...]
Objective = Callable[[Trial, np.random.Generator], Values]

STEPS = 16  # reports of an evaluation that may be pruned


class Task(NamedTuple):
    """An objective to be minimised.

    Args:
        group: what the trouble is.
        objective: what to run; it may raise.
        best: the lowest value there is; of several objectives, the share of the box below
            ``reference`` that their front dominates.
        reference: of several objectives, the values beyond which nothing counts.
        pruner: what ends evaluations early.
    """

    group: str
    objective: Objective
    best: float
    reference: tuple[float, ...] = ()
    pruner: Callable[[], BasePruner] = NopPruner


class Failure(Exception):
    """What an objective raises."""


def _bowl(trial: Trial) -> float:
    return sum((trial.suggest_float(f"x{i}", 0.0, 1.0) - 0.3) ** 2 for i in range(3))


def _classic(problem: Problem, trial: Trial) -> float:
    ends = dict(zip(problem.space(), problem.box, strict=True))
    return problem.objective({k: trial.suggest_float(k, *pair) for k, pair in ends.items()})


BRANIN, HARTMANN = branin(), hartmann(6)
_FUNCTIONS: dict[str, tuple[Callable[[Trial], float], float]] = {
    "bowl-3": (_bowl, 0.0),
    "branin": (partial(_classic, BRANIN), BRANIN.minimum),
    "hartmann-6": (partial(_classic, HARTMANN), HARTMANN.minimum),
}


def _by_accident(function: Callable[[Trial], float], share: float) -> Objective:
    def objective(trial: Trial, rng: np.random.Generator) -> float:
        value = function(trial)
        if rng.random() < share:
            raise Failure
        return value

    return objective


def _where(function: Callable[[Trial], float], fails: Callable[[list[float]], bool]) -> Objective:
    def objective(trial: Trial, rng: np.random.Generator) -> float:
        value = function(trial)
        if fails(list(trial.params.values())):
            raise Failure
        return value

    return objective


def _training(beyond: Callable[[float, float], float]) -> Objective:
    """Return a loss of three settings that diverges at large steps, with what is reported then."""

    def objective(trial: Trial, rng: np.random.Generator) -> float:
        rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
        momentum = trial.suggest_float("momentum", 0.0, 0.99)
        decay = trial.suggest_float("decay", 1e-6, 1e-1, log=True)
        step = math.log10(rate / (1.0 - momentum))
        if step > -0.5:
            return beyond(step, rate)
        return (step + 0.8) ** 2 + 0.1 * (math.log10(decay) + 3.0) ** 2 + 0.05 * momentum

    return objective


def _reported(function: Callable[[Trial], float], noise: float) -> Objective:
    """Return the function with reports that approach it, less and less noisy."""

    def objective(trial: Trial, rng: np.random.Generator) -> float:
        value = function(trial)
        for step in range(STEPS):
            to_come = 1.0 / (step + 1) - 1.0 / STEPS
            trial.report(value + to_come + noise * rng.standard_normal() / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    return objective


def _two_bowls(trial: Trial, rng: np.random.Generator) -> Values:
    x = np.array([trial.suggest_float(f"x{i}", -2.0, 3.0) for i in range(3)])
    return float((x**2).sum()), float(((x - 1.0) ** 2).sum())


def _zdt1(trial: Trial, rng: np.random.Generator) -> Values:
    x = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(5)])
    rest = 1.0 + 9.0 * float(x[1:].mean())
    return float(x[0]), rest * (1.0 - math.sqrt(float(x[0]) / rest))


def _error_and_cost(trial: Trial, rng: np.random.Generator) -> Values:
    kind = trial.suggest_categorical("kind", ["small", "deep", "wide"])
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    width = trial.suggest_int("width", 8, 1024, log=True)
    size = math.log2(width) / 10.0
    best = {"small": -2.0, "deep": -3.5, "wide": -3.0}[kind]
    floor = {"small": 0.25, "deep": 0.05, "wide": 0.12}[kind]
    error = floor + 0.3 * math.exp(-4.0 * size) + 0.05 * (math.log10(rate) - best) ** 2
    return min(error, 1.0), {"small": 0.2, "deep": 0.9, "wide": 0.6}[kind] * size


def _front(points: np.ndarray, reference: tuple[float, ...]) -> float:
    """Return the share of the box below a reference that a front of two objectives dominates."""
    points = points[np.argsort(points[:, 0])]
    lowest = np.minimum.accumulate(points[:, 1])
    widths = np.diff(np.append(np.minimum(points[:, 0], reference[0]), reference[0]))
    heights = np.maximum(reference[1] - lowest, 0.0)
    return float((widths * heights).sum() / (reference[0] * reference[1]))


_GRID = np.linspace(0.0, 1.0, 20_001)
_SIZES = np.log2(np.arange(8, 1025)) / 10.0
_BEST_OF_KINDS = np.array(
    [
        (floor + 0.3 * math.exp(-4.0 * size), cost * size)
        for floor, cost in ((0.25, 0.2), (0.05, 0.9), (0.12, 0.6))
        for size in _SIZES
    ]
)

TASKS = {
    **{
        f"{name}, {share:.0%} fail by accident": Task(
            "by accident", _by_accident(function, share), minimum
        )
        for name, (function, minimum) in _FUNCTIONS.items()
        for share in (0.1, 0.2)
    },
    "bowl-3, fails where x0 + x1 > 0.7": Task(
        "in some places", _where(_bowl, lambda x: x[0] + x[1] > 0.7), 0.0
    ),
    "branin, fails on its left": Task(
        "in some places", _where(_FUNCTIONS["branin"][0], lambda x: x[0] < 2.0), BRANIN.minimum
    ),
    "training that fails where it diverges": Task(
        "in some places", _training(lambda step, rate: math.nan), 0.0
    ),
    "training, 1e6 and more where it diverges": Task(
        "penalties", _training(lambda step, rate: 1e6 * (1.0 + rate)), 0.0
    ),
    "training, 100 to 1e8 where it diverges": Task(
        "penalties", _training(lambda step, rate: 10.0 ** (2.0 + 6.0 * (step + 0.5))), 0.0
    ),
    **{
        f"{name}, {title}": Task("pruned", _reported(function, 0.3), minimum, pruner=pruner)
        for name, (function, minimum) in _FUNCTIONS.items()
        if name != "branin"
        for title, pruner in (
            ("median pruner", partial(MedianPruner, n_startup_trials=5)),
            ("successive halving", Halving),
            ("Hyperband", partial(HyperbandPruner, max_resource=STEPS)),
        )
    },
    "two bowls": Task(
        "several objectives",
        _two_bowls,
        _front(np.stack([3.0 * _GRID**2, 3.0 * (1.0 - _GRID) ** 2], axis=1), (6.0, 6.0)),
        (6.0, 6.0),
    ),
    "zdt1": Task(
        "several objectives",
        _zdt1,
        _front(np.stack([_GRID, 1.0 - np.sqrt(_GRID)], axis=1), (1.1, 6.0)),
        (1.1, 6.0),
    ),
    "error and cost": Task(
        "several objectives", _error_and_cost, _front(_BEST_OF_KINDS, (1.0, 1.0)), (1.0, 1.0)
    ),
}


def regret(task: Task, study: optuna.Study) -> float | None:
    """Return how far the best of a study is from the best there is; None: nothing succeeded."""
    complete = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    if not complete:
        return None
    values = np.array([trial.values for trial in complete])
    if not task.reference:
        return float(values.min()) - task.best
    return task.best - _front(np.minimum(values, task.reference), task.reference)
