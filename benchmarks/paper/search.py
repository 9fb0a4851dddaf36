"""One repetition: a search, and what it had forecast at each step, as one JSON line."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

import calibrant
from benchmarks.kit.running import commit
from benchmarks.paper.setups import ACQUISITIONS, CALIBRATION_SETS, MODELS, RECALIBRATORS, Setup
from benchmarks.paper.tasks import Task, task
from calibrant.acquisition import Acquisition
from calibrant.acquisition.base import Belief, Criterion
from calibrant.core import Cube
from calibrant.core.cube import keys
from calibrant.core.typing import FloatArray
from calibrant.forecasts import Forecast
from calibrant.forecasts.residual import compose
from calibrant.search import Optimizer

Record = dict[str, Any]

MISSED = (0.6, 0.9)  # where the figure's three first points on the Forrester function are not


@dataclass
class Watching(Acquisition):
    """An acquisition as the paper has it, which also notes what was believed at each step.

    The paper's improvement is one on the best value seen. calibrant's is one on draws of it where a
    model sees noise, as the paper's often does. So nothing drawn is read here, and the random
    numbers that went into it are given back.
    """

    acquisition: Acquisition
    beliefs: list[Belief] = field(default_factory=list)
    numbers: Mapping[str, Any] = field(default_factory=dict)  # the generator as a step began

    @property
    def takes_shift(self) -> bool:  # type: ignore[override]
        """Whether it can make use of a shift of forecasts."""
        return self.acquisition.takes_shift

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        rng.bit_generator.state = self.numbers
        self.beliefs.append(replace(belief, drawn=None))
        return self.acquisition.criterion(self.beliefs[-1], rng, cube)


def start(setup: Setup, seed: int) -> FloatArray:
    """Return the first points of a repetition: the same whatever the method."""
    cube = task(setup.task).cube
    words = zlib.crc32(f"{setup.task} {setup.design} {setup.initial}".encode())
    rng = np.random.default_rng([seed, words])
    if setup.design == "missed":
        while True:
            points = cube.design("random", setup.initial, rng)
            if not np.any((points >= MISSED[0]) & (points <= MISSED[1])):
                return points
    points = cube.design(setup.design, setup.initial, rng)
    while len(set(keys(points))) < setup.initial:  # a small grid may give one twice
        points = cube.design(setup.design, setup.initial, rng)
    return points


class Exploration(NamedTuple):
    """A search with all it believed on its way."""

    x: list[FloatArray]  # the first points, then the chosen ones
    y: list[float]
    beliefs: list[Belief]  # one per chosen point: what was believed when it was chosen


def explore(setup: Setup, seed: int) -> Exploration:
    """Run one repetition."""
    goal = task(setup.task)
    watching = Watching(ACQUISITIONS[setup.acquisition])
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(
        goal.cube,
        model=MODELS[setup.model],
        recalibrator=RECALIBRATORS[setup.recalibrator],
        calibration_set=CALIBRATION_SETS[setup.calibration_set],
        acquisition=watching,
        n_startup_trials=setup.initial,  # the points that are told
        patience=None,  # the paper knows none
        seed=rng,
    )
    points = list(start(setup, seed))
    outcomes = []
    for step in range(setup.initial + setup.steps):
        if step >= setup.initial:
            watching.numbers = rng.bit_generator.state
            points.append(optimizer.ask())
        outcomes.append(_evaluate(goal, points[step], seed))
        optimizer.tell(points[step], outcomes[-1])
    return Exploration(points, outcomes, watching.beliefs)


def search(setup: Setup, seed: int) -> Record:
    """Run one repetition and return what is to be kept of it."""
    began = time.perf_counter()
    points, outcomes, beliefs = explore(setup, seed)
    seconds = time.perf_counter() - began
    minimum = task(setup.task).minimum
    first = setup.initial
    steps = []
    for x, y, belief in zip(points[first:], outcomes[first:], beliefs, strict=True):
        raw = belief.fitted.predict(x[None])[0]
        step = {"raw": {"std": float(raw.std()), **_fared(raw, y)}}
        if setup.calibrated:
            residual = {
                "shift": float(belief.residual.mean()),
                "scale": float(belief.residual.std()),
            }
            step["calibrated"] = residual | _fared(compose(raw, belief.residual), y)
        steps.append(step)
    forecasts = {
        which: {key: [_short(step[which][key]) for step in steps] for key in steps[0][which]}
        for which in steps[0]
    }
    return {
        "problem": setup.task,
        "method": setup.method,
        "seed": seed,
        "settings": setup.settings,
        "version": calibrant.__version__,
        "commit": commit(),
        "seconds": round(seconds, 2),
        "minimum": _short(minimum, 7),
        "initial": [_short(y, 7) for y in outcomes[:first]],
        "outcomes": [_short(y, 7) for y in outcomes[first:]],
        "forecasts": forecasts,
    }


def _evaluate(goal: Task, x: FloatArray, seed: int) -> float:
    # What is random in an evaluation is the same for all methods that come to the same point.
    return goal.evaluate(x, zlib.crc32(keys(x[None])[0]) ^ seed)


def _fared(forecast: Forecast, y: float) -> dict[str, float]:
    """Return how a forecast fared: the normal score of the outcome, and its CRPS."""
    return {"score": float(forecast.score(y)), "crps": float(forecast.crps(y))}


def _short(value: float, digits: int = 4) -> float | None:
    """Return the number to some digits; JSON has no infinity, so that becomes null."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def pits(record: Record, which: str) -> FloatArray:
    """Return the PITs of a repetition's outcomes under its raw or calibrated forecasts."""
    return np.asarray(ndtr(scores(record, which)))


def scores(record: Record, which: str) -> FloatArray:
    """Return the normal scores of a repetition's outcomes; without recalibration both are raw."""
    forecasts = record["forecasts"]
    read: Iterable[float] = forecasts.get(which, forecasts["raw"])["score"]
    return np.array(list(read), dtype=float)
