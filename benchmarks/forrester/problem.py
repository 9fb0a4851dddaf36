"""The Forrester function, starts that miss its minimum, and the ways to search for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from calibrant import GaussianRecalibrator, LeaderRecalibrator, OnlineRecalibrator, Recalibrator
from calibrant.acquisition import QuantileBound
from calibrant.acquisition.base import Belief, Criterion
from calibrant.core import Cube
from calibrant.models import RBF, GaussianProcess
from calibrant.recalibration import CalibrationSet
from calibrant.search import Optimizer, step

MISSED = (0.6, 0.9)  # no start lies here; the minimum, −6.02074 at 0.75725, does
FOUND = -5.9  # a lower value has found it: the other local minimum is −0.9863, at 0.1426
EVALUATIONS = 25  # in all, the three of the start included


class Way(NamedTuple):
    """A recalibrator and the outcomes it learns from; None: the model is trusted as it is."""

    recalibrator: Recalibrator | None
    calibration_set: CalibrationSet


MODELS = {
    "rbf": GaussianProcess(kernel=RBF(), outputs="standardise", priors=None),  # the paper's base
    "process": GaussianProcess(),
    "default": step.MODEL,
}
# The limited one counts scores up to 2.5, which spoils what refits have to say; the trusting one up
# to 10.
LIMITED = GaussianRecalibrator(strength=10.0, limit=2.5)
TRUSTING = GaussianRecalibrator(strength=10.0)
LEVELS = (0.0228, 0.1)  # of the quantile bound: mean − 2 std, and mean − 1.28 std
WAYS = {
    "raw": Way(None, CalibrationSet("online")),
    "default": Way(step.RECALIBRATOR, CalibrationSet(largest_error=1.0)),
    "limited": Way(LIMITED, CalibrationSet()),
    "limited-refit": Way(LIMITED, CalibrationSet("leave-one-out", refit=True)),
    "symmetric": Way(GaussianRecalibrator(strength=5.0), CalibrationSet(symmetric=True)),
    "loo-refit": Way(TRUSTING, CalibrationSet("leave-one-out", refit=True)),
    "series": Way(TRUSTING, CalibrationSet("time-series")),
    "series-refit": Way(TRUSTING, CalibrationSet("time-series", refit=True)),
    "online-scores": Way(TRUSTING, CalibrationSet("online")),
    "leader": Way(LeaderRecalibrator(), CalibrationSet("leave-one-out")),
    "online": Way(OnlineRecalibrator(rate=0.05), CalibrationSet("online")),
}


def forrester(x: np.ndarray | float) -> np.ndarray:
    """Return (6x − 2)² sin(12x − 4)."""
    x = np.asarray(x)
    return (6.0 * x - 2.0) ** 2 * np.sin(12.0 * x - 4.0)


def start(seed: int) -> np.ndarray:
    """Return three uniform points, drawn again until none of them is where the minimum is."""
    rng = np.random.default_rng(seed)
    while True:
        x = rng.random(3)
        if not np.any((x >= MISSED[0]) & (x <= MISSED[1])):
            return x


@dataclass(frozen=True)
class WatchedBound(QuantileBound):
    """The quantile bound, which also notes what was believed at each step."""

    beliefs: list[Belief] = field(default_factory=list)

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        self.beliefs.append(belief)
        return super().criterion(belief, rng, cube)

    def lower(self, belief: Belief, x: np.ndarray) -> np.ndarray:
        """Return the quantile that is minimised, at points x, in the units of outcomes."""
        criterion = super().criterion(belief, np.random.default_rng(), Cube.continuous(1))
        process = getattr(belief.fitted, "current", belief.fitted)  # of several, the one at turn
        return process.outputs.inverse(-criterion(np.asarray(x)[:, None])[0])

    def boldness(self, belief: Belief) -> float:
        """Return the k of a bound that is the model's mean less k of its std."""
        return float(np.clip(-belief.residual.at_score(ndtri(self.level)), -8.2, 8.2))


class Searched(NamedTuple):
    """A search: the points evaluated, the first three being the start, and their values."""

    x: np.ndarray
    y: np.ndarray
    bound: WatchedBound

    def belief(self, step: int) -> Belief:
        """Return what was believed when the step-th point was chosen."""
        return self.bound.beliefs[step - 4]


def search(model: str, level: float, way: str, seed: int, *, until_found: bool = True) -> Searched:
    """Search for the minimum."""
    recalibrator, calibration_set = WAYS[way]
    bound = WatchedBound(level)
    optimizer = Optimizer(
        1,
        model=MODELS[model],
        acquisition=bound,
        recalibrator=recalibrator,
        calibration_set=calibration_set,
        n_startup_trials=3,  # the start that is told
        patience=None,  # to see calibration alone at work
        seed=seed,
    )
    xs = start(seed).tolist()
    for x in xs:
        optimizer.tell([x], float(forrester(x)))
    while len(xs) < EVALUATIONS and not (until_found and optimizer.best[1] < FOUND):
        x = optimizer.ask()
        optimizer.tell(x, float(forrester(x[0])))
        xs.append(float(x[0]))
    return Searched(np.array(xs), forrester(np.array(xs)), bound)


def settings() -> dict[str, dict[str, str]]:
    """Return what each name stands for, in words that change when a default does."""
    return {
        "model": {name: _plain(repr(model)) for name, model in MODELS.items()},
        "way": {
            name: _plain(f"{r!r} on {c!r}" if r is not None else "None")
            for name, (r, c) in WAYS.items()
        },
    }


def _plain(text: str) -> str:
    """Return the text with <Enum.MEMBER: 'value'> as 'value', and <class 'module.Name'> as Name."""
    text = re.sub(r"<\w+\.\w+: ('[^']*')>", r"\1", text)
    return re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)  # a class that moves is the same
