"""Learn how often a suggestion beats the best value: the numbers of ``decisions/beating.py``.

    python -m benchmarks.decisions.beating run      # searches to learn from, what is missing
    python -m benchmarks.decisions.beating          # prints the table to ship
    python -m benchmarks.decisions.beating check    # tasks left out in turn: log loss, reliability

A logistic regression on what the model believed of each suggestion, and on where the search stood,
from 1,500 of the long searches by calibrant in :mod:`~benchmarks.decisions.searches`: all of the
suite and of tuning jobs, and some of other kinds of tasks. No held-out task is read here;
:mod:`~benchmarks.decisions.suggestions` judges the numbers on those.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

from benchmarks.decisions import searches
from benchmarks.decisions.learning import curve_of, folds
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from calibrant.decisions.beating import FEATURES, WIDEST, features
from calibrant.decisions.outlook import LEAST_OUTCOMES
from calibrant.studies.archive import Archive

RESULTS = Path(__file__).parent / "results" / "beliefs-learn.jsonl"
SEARCHES = 1500
MOMENTS = ("mean", "std")
FOLDS = 6
_ALL = 30  # trials: of later ones every other is learned from, as they are alike
_RIDGE = 1e-4
BINS = ((0.0, 0.03), (0.03, 0.07), (0.07, 0.14), (0.14, 0.35), (0.35, 0.65), (0.65, 1.0))


class Suggestions(NamedTuple):
    """What was known of suggestions, and whether they beat the best value."""

    features: np.ndarray  # (n, features)
    plain: np.ndarray  # (n,): the probability by the model's forecast, were it a normal
    came: np.ndarray
    tasks: np.ndarray


def execute(task: str, seed: int) -> dict[str, Any]:
    """Return what the model believed of each suggestion of a search.

    That is how far its mean lay below the best value, in stds, and that std; None where there was
    no forecast.
    """
    study, _ = searches.search("calibrant", task, seed)
    archive, ahead, doubt, best = Archive(), list[float | None](), list[float | None](), np.inf
    archive.update(study)
    for record in archive.records.values():
        known = bool(record.forecasts)
        mean, std = (float(getattr(record.forecasts[0], m)()) if known else 0.0 for m in MOMENTS)
        ahead.append(_short((best - mean) / std) if std > 0.0 else None)
        doubt.append(_short(std) if std > 0.0 else None)
        best = min(best, record.value if record.values is not None else np.inf)
    return {"task": task, "seed": seed, "ahead": ahead, "doubt": doubt, "commit": commit()}


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def planned() -> list[tuple[str, int]]:
    """Return the searches to learn from: those of the suite and of tuning jobs come first."""
    own = [r for r in searches.load("learn") if r["sampler"] == "calibrant" and "states" not in r]
    runs = [(r["task"], r["seed"]) for r in own]
    return sorted(runs, key=lambda run: run[0].startswith("kind "))[:SEARCHES]


def suggestions() -> Suggestions:
    """Return the suggestions to learn from."""
    beliefs = {(r["task"], r["seed"]): r for r in read_lines(RESULTS)}
    known, plain, came, tasks = [], [], [], []
    for record in searches.load("learn"):
        believed = beliefs.get((record["task"], record["seed"]))
        if believed is None or record["sampler"] != "calibrant" or "states" in record:
            continue
        curve = curve_of(record)
        for n in range(LEAST_OUTCOMES, curve.y.size):
            ahead, doubt = believed["ahead"][n], believed["doubt"][n]
            if ahead is None or (n > _ALL and n % 2):
                continue
            now = curve.progress(n)
            if now.unit > 0.0:
                known.append(features(now, ahead, doubt))
                plain.append(ndtr(ahead))
                came.append(curve.y[n] < now.best)
                tasks.append(curve.task)
    return Suggestions(*map(np.array, (known, plain, came, tasks)))


def fit(known: np.ndarray, came: np.ndarray) -> np.ndarray:
    """Return mean, std and weight of each feature, after those of the constant."""
    mean, std = known.mean(axis=0), known.std(axis=0)
    std[std == 0.0] = 1.0
    Z = np.clip((known - mean) / std, -WIDEST, WIDEST)
    Z = np.column_stack([np.ones(len(Z)), Z])
    sign = np.where(came, 1.0, -1.0)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (Z @ weights)
        value = -log_expit(margin).mean() + _RIDGE * weights[1:] @ weights[1:]
        gradient = -(Z.T @ (sign * expit(-margin))) / len(Z)
        gradient[1:] += 2.0 * _RIDGE * weights[1:]
        return float(value), gradient

    weights = minimize(loss, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B").x
    return np.column_stack([[0.0, *mean], [1.0, *std], weights])


def answers(table: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the probabilities that a table gives."""
    Z = np.clip((known - table[1:, 0]) / table[1:, 1], -WIDEST, WIDEST)
    return np.asarray(expit(table[0, 2] + Z @ table[1:, 2]))


def reliability(stated: np.ndarray, came: np.ndarray) -> str:
    """Return the log loss, and what came of what was stated."""
    p = np.clip(stated, 1e-6, 1.0 - 1e-6)
    words = [f"log loss {-np.mean(np.where(came, np.log(p), np.log1p(-p))):.4f}"]
    for low, high in BINS:
        some = (stated >= low) & (stated < high)
        if some.sum() >= 50:
            words.append(f"{stated[some].mean():.0%} → {came[some].mean():.0%} of {some.sum()}")
    return ", ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["run", "check"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.what == "run":
        done = {(r["task"], r["seed"]) for r in read_lines(RESULTS)}
        missing = [one for one in planned() if one not in done]
        run_missing(execute, missing, partial(append, RESULTS), given.jobs)
        return
    data = suggestions()
    if given.what is None:
        for name, row in zip(("(constant)", *FEATURES), fit(data.features, data.came), strict=True):
            print(f'    "{name}": ({row[0]:.3f}, {row[1]:.3f}, {row[2]:.3f}),')
        return
    part = folds(data.tasks, FOLDS)
    fold = np.array([part[task] for task in data.tasks.tolist()])
    stated = np.empty(len(data.came))
    for left_out in range(FOLDS):
        out = fold == left_out
        stated[out] = answers(fit(data.features[~out], data.came[~out]), data.features[out])
    early = data.features[:, FEATURES.index("trials")] <= np.log(_ALL)
    suite = np.array([not task.startswith("kind ") for task in data.tasks])
    every = np.ones(len(stated), dtype=bool)
    for words, some in (("all", every), ("first thirty", early), ("suite", suite)):
        print(f"{words}, the model: {reliability(data.plain[some], data.came[some])}")
        print(f"{words}, learned: {reliability(stated[some], data.came[some])}")


if __name__ == "__main__":
    main()
