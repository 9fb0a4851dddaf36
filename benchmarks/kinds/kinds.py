"""Kinds of problems beyond one exact objective evaluated one at a time, and who meets on them.

The plan, in core-minutes: noise 50, workers 60, dimensions 30, long searches 30, those of 1,000
evaluations 40, mixed spaces 110. Ax takes most of noise and mixed spaces, Optuna's GPSampler most
of workers. Left out are systems that need about a minute a search or more: HEBO and BoTorch
everywhere, Ax and GPSampler in many dimensions and in long searches, GPSampler with 64 workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

from benchmarks.kinds import tasks
from benchmarks.peers import functions, held_out
from benchmarks.peers.suite import TASKS
from benchmarks.peers.tasks import Task
from calibrant import CalibratedSampler, test_functions
from calibrant.acquisition import ExpectedImprovement
from calibrant.acquisition.base import Belief, Criterion

FIRST = 5  # points that are the same for all
SPREAD = 4096  # points whose values make the unit of noise


@dataclass(frozen=True)
class Certain(ExpectedImprovement):
    """Expected improvement on the lowest posterior mean, as if that were certain."""

    def criterion(self, belief: Belief, *others: Any) -> Criterion:
        return super().criterion(replace(belief, drawn=None), *others)


SYSTEMS: dict[str, Callable[[int], BaseSampler]] = {
    "calibrant": lambda seed: CalibratedSampler(seed=seed),
    "calibrant, best taken as certain": lambda seed: CalibratedSampler(
        seed=seed, acquisition=Certain()
    ),
    "optuna-gp": lambda seed: GPSampler(seed=seed, n_startup_trials=FIRST),
    "optuna-tpe": lambda seed: TPESampler(seed=seed, n_startup_trials=FIRST),
    "optuna-cma": lambda seed: CmaEsSampler(seed=seed, n_startup_trials=FIRST),
    "random": lambda seed: RandomSampler(seed=seed),
}


@dataclass(frozen=True)
class Kind:
    """Problems of one kind.

    Args:
        about: what they are, for the page.
        learning: tasks by name, on which something of calibrant was chosen.
        held_out: tasks by name, on which nothing was.
        systems: who is compared; one that is none of ``SYSTEMS`` is a rival of benchmarks/peers.
        trials: of a search, the first points included.
        running: evaluations at a time.
        repetitions: planned of each, on the tasks held out.
        digits: whether the page says to how many digits the minimum was found.
    """

    about: str
    learning: Mapping[str, Task]
    held_out: Mapping[str, Task]
    systems: tuple[str, ...]
    trials: int = 30
    running: int = 1
    repetitions: int = 20
    digits: bool = False

    @property
    def tasks(self) -> dict[str, Task]:
        """All tasks."""
        return {**self.learning, **self.held_out}


def _noisy(share: float, *names: str) -> dict[str, Task]:
    """Return tasks with noise of a share of the std of their values in the box."""
    found = {}
    for name in names:
        exact = replace(TASKS[name], noise=0.0)
        units = np.random.default_rng(0).random((SPREAD, len(exact.space)))
        values = [exact.values(_settings(exact, unit)) for unit in units]
        noisy = replace(exact, noise=share * float(np.std(values)))
        found[f"{name.removesuffix(', noisy')}, noise {share:g}"] = noisy
    return found


def _settings(task: Task, unit: np.ndarray) -> dict[str, float]:
    return {
        p["name"]: p["low"] + u * (p["high"] - p["low"])
        for p, u in zip(task.space, unit.tolist(), strict=True)
    }


def _named(*names: str) -> dict[str, Task]:
    return {name: TASKS[name] for name in names}


def _by_name(of: Iterable[Task]) -> dict[str, Task]:
    return {task.name: task for task in of}


_HELD_OUT = ("schwefel-4", "eggholder", "dixon-price-6", "zakharov-5, shifted 40")
KINDS: dict[str, Kind] = {
    "noise": Kind(
        "Outcomes with noise, in shares of the std of the function's values in its box. The best "
        "setting evaluated is judged by its true mean.",
        _named(
            "forrester, noisy",
            "six-hump camel, noisy",
            "branin, noisy",
            "hartmann-3, noisy",
            "hartmann-6, noisy",
            "ackley-4, shifted 30, noisy",
            "levy-6, shifted 31, noisy",
        ),
        {
            **_noisy(0.05, *_HELD_OUT, "colville, noisy"),
            **_noisy(0.2, *_HELD_OUT, "colville, noisy"),
        },
        (*SYSTEMS, "ax"),
    ),
    "workers": Kind(
        "Eight evaluations at a time: when one ends, in random order, the next is asked for.",
        {},
        _named(*_HELD_OUT, "griewank-8, shifted 41"),
        ("calibrant", "optuna-gp", "optuna-tpe", "random"),
        trials=53,
        running=8,
    ),
    "dimensions": Kind(
        "50 to 100 dimensions: functions that all of them matter to, functions of four of them, "
        "and real data.",
        _by_name(tasks.learning_dimensions()),
        _by_name(tasks.held_out_dimensions()),
        ("calibrant", "optuna-tpe", "optuna-cma", "random"),
        trials=100,
    ),
    "long": Kind(
        "300 evaluations of smooth and of rough functions, in 2 to 20 dimensions.",
        {
            **_by_name(
                [
                    functions.task(test_functions.rosenbrock(4)),
                    functions.task(test_functions.shifted(test_functions.levy(4), 80)),
                    functions.task(test_functions.shifted(test_functions.alpine(6), 81)),
                ]
            ),
            **_named(
                "branin",
                "hartmann-6",
                "shekel",
                "styblinski-tang-10",
                "ackley-5, shifted 2",
                "rastrigin-2, shifted 6",
            ),
        },
        {
            **_named("schwefel-4", "eggholder", "dixon-price-6"),
            **_by_name(
                [
                    functions.task(held_out.colville()),
                    functions.task(test_functions.shifted(held_out.powell(4), 82), "moved"),
                    functions.task(test_functions.shifted(held_out.griewank(2), 83), "moved"),
                    functions.task(test_functions.shifted(held_out.zakharov(10), 84), "moved"),
                    functions.task(test_functions.shifted(held_out.griewank(20), 85), "moved"),
                ]
            ),
        },
        ("calibrant", "optuna-tpe", "optuna-cma", "random"),
        trials=300,
        digits=True,
    ),
    "mixed": Kind(
        "Whole numbers, labels with up to fifty values, conditions up to four deep.",
        {
            **_named(
                "ackley, 2 of 5 whole",
                "hartmann-6, 2 on a grid",
                "three surfaces, two labels",
                "pressure vessel",
                "three branches",
                "training script",
                "pipeline on digits",
            ),
            **_by_name(tasks.learning_mixed()),
        },
        {
            **_named("speed reducer", "kernels on wine"),
            **_by_name(tasks.held_out_mixed()),
        },
        ("calibrant", "optuna-gp", "optuna-tpe", "ax", "smac", "random"),
        trials=50,
    ),
}

_WORKERS = KINDS["workers"]
AT_A_TIME = {
    1: replace(_WORKERS, running=1),
    4: replace(_WORKERS, running=4),
    8: _WORKERS,
    16: replace(_WORKERS, running=16),
    # Three times as many as run at once; GPSampler would take hours.
    64: replace(
        _WORKERS, running=64, trials=FIRST + 192, systems=("calibrant", "optuna-tpe", "random")
    ),
}
KINDS |= {f"{running} at a time": kind for running, kind in AT_A_TIME.items() if running != 8}
KINDS["longest"] = replace(
    KINDS["long"], about=KINDS["long"].about.replace("300", "1,000"), trials=1000, repetitions=5
)
