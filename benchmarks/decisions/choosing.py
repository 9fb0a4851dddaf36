"""What was decided by searches to choose by: `python -m benchmarks.decisions.choosing`.

Noisy searches of calibrant on functions that are not held out. After each, the same trials are
answered twice: before, as the model alone would have it, and now, with structure that it does not
see. Then the settings listed are evaluated again, three times over, to see how much of the gain
comes that the model promises. The command runs what is missing and prints what came true.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import optuna

from benchmarks.decisions.recommend import (
    CHOSEN_ON,
    NOISES,
    TRIALS,
    Objective,
    evaluated_again,
    mean_at,
    recommend_of,
    rounded,
    said,
    stored_study,
)
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import Estimate, estimate
from benchmarks.peers.suite import TASKS
from calibrant import CalibratedSampler
from calibrant.decisions.belief import believe

RESULTS = Path(__file__).parent / "results" / "choosing.jsonl"
RECOMMEND = import_module("calibrant.decisions.recommend")  # the package has a function so named
ANSWERS = RESULTS.with_name("choosing-answers.jsonl")  # what is said after them
REPEATS = RESULTS.with_name("choosing-repeats.jsonl")  # what evaluating settings again gains
REPETITIONS = 4
AGAIN = 3  # times that the listed settings are evaluated again, each with noise of its own
# The constant that was decided; before, the model was taken at its word.
RULES = {"before": {"_UNSEEN": 0.0}, "now": {"_UNSEEN": 0.1}}
KEPT = ("by", "exact", "held", "expected_loss", "probabilities", "is_best")
SURE = 0.2  # P(best) above it


def runs() -> list[tuple[str, str, int]]:
    """Return task, noise and seed of all searches, so that a part of them is a fair part."""
    pairs = [(task, noise) for noise in NOISES[1:] for task in CHOSEN_ON]
    return [(*pair, seed) for seed in range(REPETITIONS) for pair in pairs]


def execute(name: str, noise: str, seed: int) -> dict[str, Any]:
    """Return the trials of a search."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=CalibratedSampler(seed=900 + seed))
    study.optimize(Objective(name, noise, seed), n_trials=TRIALS)
    history = believe(study).history
    data = {"X": history.X.round(5).tolist(), "y": history.Y[:, 0].tolist()}
    return _kept({"task": name, "noise": noise, "seed": seed, "commit": commit(), **data})


def answered(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return what either rule says after a stored search, and what is true."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    record = {key: search[key] for key in ("task", "noise", "seed")}
    study = stored_study(search, TASKS[search["task"]])
    belief = believe(study)
    for rule, constants in RULES.items():
        objective = Objective(search["task"], search["noise"], search["seed"])
        objective.rng.standard_normal(TRIALS)  # the noise of the search
        with patch.multiple(RECOMMEND, **constants):
            answer = said(study, belief, objective)
        record["std"] = answer["std"]
        record[rule] = {key: answer[key] for key in KEPT}
    return _kept({**record, "commit": commit()})


def repeated(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model promises of evaluating settings again, and what comes of it."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    record = {key: search[key] for key in ("task", "noise", "seed")}
    objective = Objective(*record.values())
    objective.rng.standard_normal(TRIALS)  # the noise of the search
    study = stored_study(search, objective.task)
    with patch.object(RECOMMEND, "_WORTH_IT", 0.1):
        found = recommend_of(believe(study))
    record |= {"std": objective.std, "loss": found.expected_loss, "times": None}
    if found.repeat is not None:
        before = mean_at(objective.task, found.params)
        gains = [evaluated_again(study, objective, found, before) for _ in range(AGAIN)]
        record |= {"times": found.repeat.times, "gain": found.repeat._promised, "came": gains}
    return _kept({**record, "commit": commit()})


def _kept(record: dict[str, Any]) -> dict[str, Any]:
    return dict(rounded(record))


def held(records: list[dict[str, Any]], rule: str) -> Estimate:
    """Return how often 80 % intervals held, where one was given: there was noise to be seen."""
    return estimate([r[rule]["held"] for r in records if not r[rule]["exact"]])


def sure(records: list[dict[str, Any]], rule: str, high: float = 1.01) -> tuple[int, float, float]:
    """Return how many settings had a P(best) above SURE, its mean, and how many were the best.

    Where the choice was by the model.
    """
    by_model = [r[rule] for r in records if r[rule]["by"] == "posterior"]
    stated = np.concatenate([answer["probabilities"] for answer in by_model])
    true = np.concatenate([answer["is_best"] for answer in by_model])
    inside = (stated >= SURE) & (stated < high)
    if not inside.any():
        return 0, float("nan"), float("nan")
    return int(inside.sum()), float(stated[inside].mean()), float(true[inside].mean())


def promises(records: list[dict[str, Any]]) -> np.ndarray:
    """Return the model's promises for evaluating settings again, (searches, 3).

    What was promised and what came, in std of the function, and the evaluations of each setting.
    """
    told = [r for r in records if r["times"] is not None]
    return np.array(
        [[r["gain"] / r["std"], np.mean(r["came"]) / r["std"], r["times"]] for r in told]
    ).reshape(-1, 3)


def of_one(records: list[dict[str, Any]]) -> np.ndarray:
    """Return the same of evaluating a single setting again, which was the advice before."""
    told = [r for r in records if r["before"].get("repeat") is not None]
    rows = [(r["before"]["repeat"], r["std"]) for r in told]
    return np.array([[gain / std, came / std, times] for (times, gain, came), std in rows]).reshape(
        -1, 3
    )


def share(promised: np.ndarray) -> Estimate:
    """Return what share of promises came in all, with an interval over searches."""
    if not len(promised):
        return Estimate(np.nan, np.nan, np.nan)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(promised), size=(4000, len(promised)))
    drawn = promised[rows, 1].sum(axis=1) / promised[rows, 0].sum(axis=1)
    mean = promised[:, 1].sum() / promised[:, 0].sum()
    return Estimate(float(mean), *(float(q) for q in np.quantile(drawn, [0.025, 0.975])))


def lines(records: list[dict[str, Any]], repeats: np.ndarray) -> list[str]:
    """Return the figures that the page quotes."""
    exact = sum(r["now"]["exact"] for r in records)
    found = [f"{len(records)} searches, {exact} of them taken to be without noise (no interval)"]
    for rule in RULES:
        kept = held(records, rule)
        found.append(f"{rule}: 80 % intervals held {_percent(kept)}")
        for high, words in ((0.4, "20 to 40 %"), (1.01, "above 20 %")):
            count, stated, true = sure(records, rule, high)
            found.append(f"{rule}: P(best) {words}: {count} settings, {stated:.0%} -> {true:.0%}")
    return [
        *found,
        *map(_promised, ("the settings listed", "one setting"), (repeats, of_one(records))),
    ]


def _promised(what: str, rows: np.ndarray) -> str:
    if not len(rows):
        return f"{what} again: not tried"
    (gain, came), part = rows[:, :2].mean(axis=0), share(rows)
    return (
        f"{what} again, in {len(rows)} searches: {gain:.3f} std promised, {came:.3f} came; "
        f"share {part.mean:.2f} ({part.low:.2f} to {part.high:.2f})"
    )


def _percent(value: Estimate) -> str:
    return f"{value.mean:.0%} ({value.low:.0%} to {value.high:.0%})"


def _name(record: Mapping[str, Any]) -> tuple[str, str, int]:
    return record["task"], record["noise"], record["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    jobs = parser.parse_args().jobs
    known = {_name(r) for r in read_lines(RESULTS)}
    missing = [run for run in runs() if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), jobs)
    known = {_name(r) for r in read_lines(ANSWERS)}
    unasked = [(search,) for search in read_lines(RESULTS) if _name(search) not in known]
    run_missing(answered, unasked, partial(append, ANSWERS), jobs, "answers")
    known = {_name(r) for r in read_lines(REPEATS)}
    untried = [(search,) for search in read_lines(RESULTS) if _name(search) not in known]
    run_missing(repeated, untried, partial(append, REPEATS), jobs, "repeats")
    print("\n".join(lines(list(read_lines(ANSWERS)), promises(list(read_lines(REPEATS))))))


if __name__ == "__main__":
    main()
