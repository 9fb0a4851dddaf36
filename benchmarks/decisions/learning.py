"""Learn from finished searches what searches still gain: the numbers of ``decisions/gains.py``.

    python -m benchmarks.decisions.learning          # prints the tables to ship
    python -m benchmarks.decisions.learning check    # tasks left out in turn: log loss, reliability

Learned from: all searches of the peers' suite that are stored (calibrant, its variants and 16 other
systems, 30 and 100 trials) and the searches of :mod:`~benchmarks.decisions.searches` on other kinds
of tasks. Searches by calibrant and by other samplers have a table each: on tasks left out the log
loss is 0.359, with one table for all 0.364 (``check``). No held-out task is read here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from benchmarks.decisions import searches
from benchmarks.peers import run, variants
from benchmarks.peers.suite import SUITE, TASKS
from calibrant.decisions.gains import exceedance, exceedance_terms
from calibrant.decisions.progress import FEATURES, Progress, progress

TRIALS = np.array([1, 3, 5, 10, 20, 50])
GAINS = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # in units
SHORT, EARLIEST, FEW, MANY = 30, 5, 2, 16  # states that are drawn of a short and of a long search
_WIDEST = 3.0  # standardised features are clipped
_RIDGE = 1e-3


class Curve(NamedTuple):
    """A search, as far as it is learned from."""

    sampler: str
    task: str
    y: np.ndarray
    dim: int

    @property
    def chosen(self) -> bool:
        """Whether calibrant chose the points, in any variant."""
        return self.sampler.startswith("calibrant") or self.sampler in variants.VARIANTS


class States(NamedTuple):
    """Moments of searches, and what came after."""

    features: np.ndarray  # (n, features)
    gains: np.ndarray  # (n, TRIALS): in units; NaN where the search ended before
    tasks: np.ndarray
    chosen: np.ndarray  # whether calibrant chose the points

    def rows(self, which: np.ndarray) -> States:
        return States(*(part[which] for part in self))


def curves() -> Iterator[Curve]:
    """Yield the searches to learn from."""
    stored = [*run.load(), *(r for name in variants.VARIANTS for r in variants.load(name))]
    for r in stored:
        if r["task"] in SUITE and not r.get("error"):
            name = r.get("rival") or r["variant"]
            yield Curve(name, r["task"], _outcomes(r), len(TASKS[r["task"]].space))
    for r in searches.load("learn"):
        yield Curve(r["sampler"], r["task"], np.array(r["outcomes"]), r["dim"])


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
            now = progress(curve.y[:n], curve.dim, curve.chosen)
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
    signs = exceedance_terms(TRIALS, GAINS).reshape(-1, 4).T  # of the terms, one per event
    happened = (data.gains[:, :, None] > GAINS).reshape(len(Z), -1).astype(float)
    known = np.repeat(np.isfinite(data.gains), GAINS.size, axis=1)
    count = Counter(data.tasks.tolist())
    weight = 1.0 / np.sqrt([count[task] for task in data.tasks.tolist()])
    weights = (weight / weight.sum())[:, None] * known / signs.shape[1]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        table = flat.reshape(4, -1)
        raw = Z @ table.T
        terms, slopes = np.logaddexp(0.0, raw), expit(raw)
        terms[:, 0], slopes[:, 0] = raw[:, 0], 1.0
        logit = terms @ signs
        error = weights * (expit(logit) - happened)
        penalised = table.copy()
        penalised[:, 0] = 0.0
        gradient = (Z.T @ ((error @ signs.T) * slopes)).T + 2.0 * _RIDGE * penalised
        value = np.sum(weights * (np.logaddexp(0.0, logit) - happened * logit))
        return float(value + _RIDGE * np.sum(penalised**2)), gradient.ravel()

    start = np.zeros(4 * Z.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    parts, squares = np.split(found.reshape(4, -1).T, [1 + mean.size])
    scale = np.column_stack([[0.0, *mean], [1.0, *std]])
    return np.hstack([scale, parts, np.vstack([np.zeros(4), squares])])


def left_out(data: States, folds: int = 4) -> np.ndarray:
    """Return probabilities by fits to other tasks, (states, TRIALS, GAINS)."""
    tasks = sorted(set(data.tasks.tolist()))
    order = np.random.default_rng(1).permutation(len(tasks)) % folds
    fold = np.array([dict(zip(tasks, order.tolist(), strict=True))[t] for t in data.tasks.tolist()])
    stated = np.zeros((len(fold), TRIALS.size, GAINS.size))
    for k in range(folds):
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
            now = progress(y[: int(n)], r["dim"], r["sampler"] == "calibrant")
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
    names = sorted(set(data.tasks.tolist()))
    part = dict(zip(names, np.random.default_rng(1).permutation(len(names)) % 2, strict=True))
    halves = np.array([part[task] for task in data.tasks.tolist()])
    tables = [fit_both(data.rows(halves != half)) for half in (0, 1)]
    stated, came, records = [], [], []
    long = [curve for curve in curves() if curve.y.size > SHORT and curve.task in part]
    for i in np.random.default_rng(2).permutation(len(long))[:searches_used]:
        curve, table = long[i], tables[part[long[i].task]][long[i].chosen]
        best, expected, variance, happened = np.minimum.accumulate(curve.y), 0.0, 0.0, 0.0
        for n in range(EARLIEST, curve.y.size - 1):
            now = progress(curve.y[:n], curve.dim, curve.chosen)
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
            numbers = (f"{x:.{n}f}" for x, n in zip(row, digits, strict=True))
            print(f'        "{name}": ({", ".join(numbers)}),')
        print("    },")


if __name__ == "__main__":
    main()
