"""Kinds of problems beyond one exact objective evaluated one at a time, and who meets on them.

The plan, for two cores: noise 45 core-minutes, workers 30, long searches 25. Most of it is Optuna's
GPSampler, which takes 3 s for 30 trials; its long searches take a minute each and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

from benchmarks.peers.suite import TASKS
from benchmarks.peers.tasks import Task
from calibrant import CalibratedSampler
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
        learning: tasks by name, all of real parameters, on which something of calibrant was chosen.
        held_out: tasks by name, on which nothing was.
        systems: who is compared.
        trials: of a search, the first points included.
        running: evaluations at a time.
        repetitions: planned of each.
    """

    about: str
    learning: Mapping[str, Task]
    held_out: Mapping[str, Task]
    systems: tuple[str, ...]
    trials: int = 30
    running: int = 1
    repetitions: int = 20

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
        tuple(SYSTEMS),
    ),
    "workers": Kind(
        "Eight evaluations at a time: when one ends, in random order, the next is asked for.",
        {},
        _named(*_HELD_OUT, "griewank-8, shifted 41"),
        ("calibrant", "optuna-gp", "optuna-tpe", "random"),
        trials=53,
        running=8,
    ),
    "long": Kind(
        "200 evaluations of smooth and of rough functions.",
        {},
        _named(*_HELD_OUT, "griewank-8, shifted 41"),
        ("calibrant", "optuna-tpe", "optuna-cma", "random"),
        trials=200,
    ),
}
