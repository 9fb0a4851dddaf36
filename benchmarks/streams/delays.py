"""Late outcomes: some forecasts still wait for theirs when the next one is shown.

    python -m benchmarks.streams.run delays

A method *issues* a forecast: 99 quantiles, and a ticket to come back with. When its outcome
arrives, perhaps after those of later forecasts, the method sees ticket and outcome. All methods but
one count an outcome on the quantiles that were shown for it, as their papers do; "counted on
today's" is calibrant without tickets.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from benchmarks.streams.methods import LEVELS, RAW
from benchmarks.streams.streams import STREAMS
from calibrant import ChainRecalibrator, OnlineRecalibrator

DELAYS = (0, 1, 3, 10, 30)
RATE, STEPS, SEEDS = 0.05, 1000, range(20)


class Shown(NamedTuple):
    """A forecast as it was issued."""

    quantiles: np.ndarray
    ticket: Any


class Calibrant:
    """calibrant.OnlineRecalibrator, with ``issue`` and ``observe``."""

    def __init__(self):
        self.recalibrator = OnlineRecalibrator(LEVELS, RATE)

    def issue(self):
        issued = self.recalibrator.issue(RAW)
        return Shown(issued.calibrated.quantile(LEVELS), issued)

    def see(self, shown, z):
        self.recalibrator = self.recalibrator.observe(shown.ticket, z)


class CalibrantChain(Calibrant):
    """Location and scale first, then online."""

    def __init__(self):
        self.recalibrator = ChainRecalibrator(then=OnlineRecalibrator(LEVELS, RATE))


class CountedOnTodays(Calibrant):
    """The same recalibrator where nobody has kept what was shown."""

    def see(self, shown, z):
        self.recalibrator = self.recalibrator.observe(RAW, z)


class LazyProjection:
    """Online gradient descent level by level, isotonic play; no rule for exhausted allowances."""

    def __init__(self):
        self.theta = LEVELS.copy()

    def issue(self):
        return Shown(ndtri(np.clip(isotonic_regression(self.theta).x, 0.0, 1.0)), None)

    def see(self, shown, z):
        self.theta = self.theta + RATE * (LEVELS - (z <= shown.quantiles))


class AdaptiveConformal:
    """ACI (Gibbs and Candès 2021) for each level: quantiles of past scores at adapted levels."""

    def __init__(self):
        self.theta = LEVELS.copy()
        self.past = np.array([-np.inf, np.inf])  # sorted, between two sentinels

    def issue(self):
        return Shown(quantiles_of(self.past, self.theta), None)

    def see(self, shown, z):
        self.theta = self.theta + RATE * (LEVELS - (z <= shown.quantiles))
        self.past = np.insert(self.past, np.searchsorted(self.past, z), z)


class DynamicallyTuned:
    """DtACI (Gibbs and Candès 2022) for each level: eight step sizes, weighted by their losses."""

    rates = 0.001 * 2.0 ** np.arange(8)[:, None]
    forget = 1.0 / (2 * 500)  # the paper's σ, and its η below, for windows of 500 outcomes
    _spread = (1 - LEVELS) ** 2 * LEVELS**3 + LEVELS**2 * (1 - LEVELS) ** 3
    learn = np.sqrt(3 / 500 * (np.log(8 * 500) + 2) / _spread)

    def __init__(self):
        self.theta = np.tile(LEVELS, (8, 1))
        self.weights = np.full((8, LEVELS.size), 1 / 8)
        self.past = np.array([-np.inf, np.inf])

    def issue(self):
        levels = (self.weights * self.theta).sum(axis=0)
        return Shown(quantiles_of(self.past, levels), (self.theta, self.past))

    def see(self, shown, z):
        theta, past = shown.ticket
        n = past.size - 2
        place = (np.searchsorted(past, z) - 0.5) / (n + 1) if n else 0.5 + 0.5 * np.sign(z)
        error = place - theta
        loss = np.where(error >= 0, LEVELS * error, (LEVELS - 1) * error)
        weights = self.weights * np.exp(-self.learn * loss)
        weights /= weights.sum(axis=0)
        self.weights = (1 - self.forget) * weights + self.forget / 8
        self.theta = self.theta + self.rates * (LEVELS - (place <= theta))
        self.past = np.insert(self.past, np.searchsorted(self.past, z), z)


def quantiles_of(past: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return conformal quantiles of sorted scores between two sentinels; of N(0, 1) without any."""
    n = past.size - 2
    if n == 0:
        return ndtri(np.clip(levels, 0.0, 1.0))
    return past[np.clip(np.ceil(levels * (n + 1)).astype(int), 0, n + 1)]


METHODS = {
    "calibrant online": Calibrant,
    "calibrant chain": CalibrantChain,
    "counted on today's": CountedOnTodays,
    "plain lazy projection": LazyProjection,
    "ACI per level": AdaptiveConformal,
    "DtACI per level": DynamicallyTuned,
}
# Outcomes arrive one by one, a random one of those that wait; or all at once, when one more would
# be too many, as those of a batch do.
ARRIVALS = {
    "i.i.d.": ("i.i.d.", False),
    "i.i.d., in batches": ("i.i.d.", True),
    "adversarial": ("adversarial", False),
    "adversarial, in batches": ("adversarial", True),
}


def tasks() -> list[dict]:
    return [
        {"method": method, "stream": stream, "delay": delay, "seed": seed}
        for method in METHODS
        for delay in DELAYS
        for stream in ARRIVALS
        for seed in SEEDS
        if delay or not ARRIVALS[stream][1]  # a batch of one is no batch
    ]


def referee(task: dict) -> dict:
    """Count hits of all forecasts on what was shown, those that wait included; keep the worst."""
    method = METHODS[task["method"]]()
    name, batches = ARRIVALS[task["stream"]]
    rng = np.random.default_rng(task["seed"])
    hits, worst, worst_level, crossings = np.zeros(LEVELS.size), 0.0, 0.0, 0
    waiting: list[tuple[Shown, float]] = []
    start = time.process_time()
    for t in range(STEPS):
        shown = method.issue()
        crossings += bool(np.any(shown.quantiles[1:] < shown.quantiles[:-1]))
        z = STREAMS[name](shown.quantiles, hits - t * LEVELS, LEVELS, t, STEPS, rng)
        hits += z <= shown.quantiles
        surplus = np.abs(hits - (t + 1) * LEVELS)
        if surplus.max() > worst:
            worst, worst_level = float(surplus.max()), float(LEVELS[surplus.argmax()])
        waiting.append((shown, z))
        if len(waiting) > task["delay"]:
            arriving = len(waiting) if batches else 1
            for _ in range(arriving):
                method.see(*waiting.pop(int(rng.integers(len(waiting)))))
    return {
        "surplus_at_any_time": round(worst, 4),
        "worst_level": worst_level,
        "error_at_end": round(float(np.abs(hits / STEPS - LEVELS).max()), 5),
        "crossing_steps": crossings,
        "cpu_seconds": round(time.process_time() - start, 3),
    }
