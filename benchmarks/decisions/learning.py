"""Learn from finished searches what searches still gain: the numbers of ``decisions/gains.py``.

    python -m benchmarks.decisions.learning          # prints the tables to ship
    python -m benchmarks.decisions.learning check    # tasks left out in turn: log loss, reliability

Searches by calibrant are learned from those of :mod:`~benchmarks.decisions.searches` on the suite,
on tuning jobs and on other kinds of tasks, with the code of today. Searches by others have a table
of their own, from those on other kinds and from all searches of the peers' suite that are stored
(16 systems, 30 and 100 trials). No held-out task is read here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from benchmarks.decisions import searches
from benchmarks.peers import run
from benchmarks.peers.suite import SUITE, TASKS
from calibrant.decisions.gains import TERMS, exceedance, log_sizes, log_trials
from calibrant.decisions.progress import FEATURES, Progress, progress

TRIALS = np.array([1, 3, 5, 10, 20, 50])
GAINS = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # in units
_LATER = ("260b194", "4531a79")  # commits of runs made since the shipped tables were learned
SHORT, EARLIEST, FEW, MANY = 30, 5, 2, 12  # states that are drawn of a short and of a long search
_WIDEST = 3.0  # standardised features are clipped
_RIDGE = 1e-3
_LEVEL, _SIZE = 0, 2  # the terms that may be negative


class Curve(NamedTuple):
    """A search, as far as it is learned from."""

    sampler: str
    task: str
    y: np.ndarray
    dim: int
    whole: float = 0.0  # the share of parameters that take some values only

    @property
    def chosen(self) -> bool:
        """Whether calibrant chose the points."""
        return self.sampler.startswith("calibrant")

    def progress(self, count: int) -> Progress:
        """Return where the search stood after so many trials."""
        return progress(self.y[:count], self.dim, self.chosen, self.whole)


class States(NamedTuple):
    """Moments of searches, and what came after."""

    features: np.ndarray  # (n, features)
    gains: np.ndarray  # (n, TRIALS): in units; NaN where the search ended before
    tasks: np.ndarray
    chosen: np.ndarray  # whether calibrant chose the points

    def rows(self, which: np.ndarray) -> States:
        return States(*(part[which] for part in self))


def curve_of(record: dict) -> Curve:
    """Return a search of :mod:`~benchmarks.decisions.searches`."""
    y = np.array(record["outcomes"])
    return Curve(record["sampler"], record["task"], y, record["dim"], whole(record["task"]))


@cache
def whole(task: str) -> float:
    """Return the share of a task's parameters that take some values only."""
    return float(np.mean([one["type"] != "float" for one in searches.task_of(task).space]))


def curves() -> Iterator[Curve]:
    """Yield the searches to learn from; what calibrant's model was asked in is older than today."""
    for r in run.load():
        left_out = r["rival"].startswith("calibrant") or r.get("commit") in _LATER
        if r["task"] in SUITE and not r.get("error") and not left_out:
            dim = len(TASKS[r["task"]].space)
            yield Curve(r["rival"], r["task"], _outcomes(r), dim, whole(r["task"]))
    yield from (curve_of(r) for r in searches.load("learn") if "states" not in r)


def _outcomes(record: dict) -> np.ndarray:
    """Return the outcomes as reported: a record has their means, and noise can be drawn again."""
    y, noise = np.array(record["values"], dtype=float), TASKS[record["task"]].noise
    if not noise:
        return y
    rng = np.random.default_rng([record["seed"], 1])
    drawn = [(rng.integers(1), rng.standard_normal())[1] for _ in y]  # as Task.evaluate does
    return np.asarray(y + noise * np.array(drawn))


def states() -> States:
    """Return moments of all searches."""
    rng, features, gains, tasks, chosen = np.random.default_rng(0), [], [], [], []
    for curve in curves():
        count = FEW if curve.y.size <= SHORT else MANY
        if not np.isfinite(curve.y).all() or (count == FEW and rng.random() < 0.5):
            continue
        best = np.minimum.accumulate(curve.y)
        for n in rng.choice(np.arange(EARLIEST, curve.y.size - 1), count, replace=False):
            now = curve.progress(int(n))
            if now.unit > 0.0:
                features.append(now.features)
                tasks.append(curve.task)
                chosen.append(curve.chosen)
                later = n - 1 + TRIALS
                there = later < curve.y.size
                after = np.where(there, best[np.minimum(later, curve.y.size - 1)], np.nan)
                gains.append((now.best - after) / now.unit)
    return States(np.array(features), np.array(gains), np.array(tasks), np.array(chosen))


def fit_both(data: States) -> dict[bool, np.ndarray]:
    """Return the table of searches by calibrant, and that of others, where there are any."""
    groups = ((own, data.chosen == own) for own in (True, False))
    return {own: fit(data.rows(mine)) for own, mine in groups if mine.any()}


def fit(data: States) -> np.ndarray:
    """Return a table: mean and std of each feature, its part in each of the four terms, and that
    of its square: on tasks left out, boosted trees are no truer than a form that bends.
    """
    mean, std = data.features.mean(axis=0), data.features.std(axis=0)
    std[std == 0.0] = 1.0  # a feature that all have in common says nothing
    Z = np.clip((data.features - mean) / std, -_WIDEST, _WIDEST)
    Z = np.column_stack([np.ones(len(Z)), Z, Z**2 - 1.0])
    log_k, (log_fine, log_coarse) = log_trials(TRIALS)[:, None], log_sizes(GAINS)
    some = np.isfinite(log_fine)  # at no gain at all, its size is certain
    log_fine = np.where(some, log_fine, 0.0)
    happened = (data.gains[:, :, None] > GAINS).astype(float)
    count = Counter(data.tasks.tolist())
    weight = 1.0 / np.sqrt([count[task] for task in data.tasks.tolist()])
    weight = weight / (weight.sum() * TRIALS.size * GAINS.size)
    weights = weight[:, None, None] * np.isfinite(data.gains)[:, :, None]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        table = flat.reshape(TERMS, -1)
        raw = Z @ table.T
        terms, slopes = np.logaddexp(0.0, raw), expit(raw)
        for free in (_LEVEL, _SIZE):
            terms[:, free], slopes[:, free] = raw[:, free], 1.0
        level, growth, size, widening, fine, coarse = terms.T[:, :, None, None]
        at_all = level + growth * log_k
        more = size + widening * log_k - fine * log_fine - coarse * log_coarse
        log_p = log_expit(at_all) + np.where(some, log_expit(more), 0.0)
        none = expit(-at_all)
        less = np.where(some, expit(-more), 0.0)
        rest = np.maximum(none + (1.0 - none) * less, 1e-300)  # 1 − p, without cancellation
        value = -np.sum(weights * np.where(happened == 1.0, log_p, np.log(rest)))
        error = weights * (np.exp(log_p) - happened) / rest
        by_any, by_more = error * none, error * less
        by_terms = [
            by_any,
            by_any * log_k,
            by_more,
            by_more * log_k,
            -by_more * log_fine,
            -by_more * log_coarse,
        ]
        by_raw = np.column_stack([part.sum(axis=(1, 2)) for part in by_terms]) * slopes
        penalised = table.copy()
        penalised[:, 0] = 0.0
        gradient = (Z.T @ by_raw).T + 2.0 * _RIDGE * penalised
        return float(value + _RIDGE * np.sum(penalised**2)), gradient.ravel()

    start = np.zeros(TERMS * Z.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 120}).x
    parts, squares = np.split(found.reshape(TERMS, -1).T, [1 + mean.size])
    scale = np.column_stack([[0.0, *mean], [1.0, *std]])
    return np.hstack([scale, parts, np.vstack([np.zeros(TERMS), squares])])


def folds(tasks: np.ndarray, count: int = 4) -> dict[str, int]:
    """Return which part of the tasks each belongs to."""
    names = sorted(set(tasks.tolist()))
    order = np.random.default_rng(1).permutation(len(names)) % count
    return dict(zip(names, order.tolist(), strict=True))


def left_out(data: States) -> np.ndarray:
    """Return probabilities by fits to other tasks, (states, TRIALS, GAINS)."""
    part = folds(data.tasks)
    fold = np.array([part[task] for task in data.tasks.tolist()])
    stated = np.zeros((len(fold), TRIALS.size, GAINS.size))
    for k in set(part.values()):
        tables = fit_both(data.rows(fold != k))
        for row in np.flatnonzero(fold == k):
            own = bool(data.chosen[row])
            now = Progress(0.0, 1.0, data.features[row], own)
            stated[row] = exceedance(now, TRIALS, GAINS, tables[own])
    return stated


def log_loss(data: States) -> float:
    """Return the mean log loss of probabilities by fits to other tasks."""
    p = np.clip(left_out(data), 1e-4, 1.0 - 1e-4)
    known = np.isfinite(data.gains)
    came = data.gains[:, :, None] > GAINS
    return float(-np.log(np.where(came, p, 1.0 - p))[known].mean())


def draws_compared() -> list[tuple[str, float]]:
    """Return log losses with features of outcomes, with draws of the model, and with both.

    In some searches, calibrant's model was asked along the way: 10, 50 and 90 % quantiles of draws
    of how far the minimum lies below the best, and of the gain at the point of largest expected
    improvement; the noise, and the doubt about the best.
    """
    parts: dict[str, list[np.ndarray]] = {"outcomes": [], "draws": []}
    gains, tasks, chosen = [], [], []
    for r in searches.load("learn"):
        y = np.array(r["outcomes"])
        best = np.minimum.accumulate(y)
        for n, numbers in r.get("states", {}).items():
            now = curve_of(r).progress(int(n))
            if now.unit > 0.0:
                parts["outcomes"].append(now.features)
                parts["draws"].append(np.log(1e-3 + np.maximum(numbers, 0.0) / now.unit))
                later = int(n) - 1 + TRIALS
                after = np.where(later < y.size, best[np.minimum(later, y.size - 1)], np.nan)
                gains.append((now.best - after) / now.unit)
                tasks.append(r["task"])
                chosen.append(now.chosen)
    both = {name: np.array(rows) for name, rows in parts.items()}
    both["both"] = np.hstack([both["outcomes"], both["draws"]])
    return [
        (name, log_loss(States(features, np.array(gains), np.array(tasks), np.array(chosen))))
        for name, features in both.items()
    ]


def learning_on(doubts: tuple[float, ...] = (0.1, 0.5, 2.0), searches_used: int = 120) -> dict:
    """Return log losses when a search's own record shifts its logits, by a prior variance.

    After each trial of a search it is known whether the outlook of one trial ahead came true. The
    shift is one Newton step from none: (happened − expected) / (variance + 1/doubt). 0: no shift.
    """
    data = states()
    part = folds(data.tasks, 2)
    halves = np.array([part[task] for task in data.tasks.tolist()])
    tables = [fit_both(data.rows(halves != half)) for half in (0, 1)]
    stated, came, records = [], [], []
    long = [curve for curve in curves() if curve.y.size > SHORT and curve.task in part]
    for i in np.random.default_rng(2).permutation(len(long))[:searches_used]:
        curve, table = long[i], tables[part[long[i].task]][long[i].chosen]
        best, expected, variance, happened = np.minimum.accumulate(curve.y), 0.0, 0.0, 0.0
        for n in range(EARLIEST, curve.y.size - 1):
            now = curve.progress(n)
            if now.unit <= 0.0:
                break
            if n % 7 == 0:
                later = np.minimum(n - 1 + TRIALS, curve.y.size - 1)
                gains = np.where(n - 1 + TRIALS < curve.y.size, now.best - best[later], np.nan)
                stated.append(exceedance(now, TRIALS, GAINS, table))
                came.append(
                    np.where(np.isnan(gains)[:, None], np.nan, gains[:, None] > GAINS * now.unit)
                )
                records.append((happened - expected, variance))
            p = exceedance(now, [1], [GAINS[3]], table)[0, 0]
            expected, variance = expected + p, variance + p * (1.0 - p)
            happened += float(now.best - best[n] > GAINS[3] * now.unit)
    logits, outcome = logit(np.clip(stated, 1e-4, 1.0 - 1e-4)), np.array(came)
    surplus, variance = np.array(records).T
    known = ~np.isnan(outcome)
    losses = {}
    for doubt in (0.0, *doubts):
        shift = surplus / (variance + 1.0 / doubt) if doubt else np.zeros_like(surplus)
        p = expit(logits + shift[:, None, None])
        losses[doubt] = float(-np.log(np.where(outcome == 1.0, p, 1.0 - p))[known].mean())
    return losses


def check(data: States) -> None:
    """Print how true the probabilities are on tasks that had no part in the fit."""
    together = data._replace(chosen=np.ones_like(data.chosen))
    print(f"log loss: {log_loss(data):.4f}; one table for all: {log_loss(together):.4f}")
    stated = left_out(data)
    for trials in (5, 10, 20):
        i = TRIALS.tolist().index(trials)
        for gain in (0.0, 0.03, 0.1):
            p = stated[:, i, GAINS.tolist().index(gain)]
            known, came = np.isfinite(data.gains[:, i]), data.gains[:, i] > gain
            parts = []
            for low, high in ((0, 0.03), (0.03, 0.07), (0.07, 0.15), (0.15, 0.3), (0.3, 0.5),
                              (0.5, 0.7), (0.7, 0.9), (0.9, 1)):  # fmt: skip
                if (here := known & (p >= low) & (p < high)).sum() > 30:
                    parts.append(f"{p[here].mean():.2f}→{came[here].mean():.2f}")
            print(f"{trials:3d} trials, {gain} units:", " ".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="table", choices=["table", "check"])
    data = states()
    print(f"{len(data.tasks)} states of {len(set(data.tasks.tolist()))} tasks")
    if parser.parse_args().what == "check":
        check(data)
        return
    for own, table in fit_both(data).items():
        print(f"    {own}: {{")
        for name, row in zip(("(constant)", *FEATURES), table, strict=True):
            digits = [3, 3] + [2] * (row.size - 2)  # of mean and std, and of the parts
            numbers = [f"{x:.{n}f}" for x, n in zip(row, digits, strict=True)]
            parts, squares = ", ".join(numbers[: 2 + TERMS]), ", ".join(numbers[2 + TERMS :])
            print(f'        "{name}": ({parts},\n            {squares}),')
        print("    },")


if __name__ == "__main__":
    main()
