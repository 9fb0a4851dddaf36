"""Pruners in live training: `python -m benchmarks.decisions.pruning_live`.

calibrant searches the settings of two kinds of models on digits, which train epoch by epoch, once
with each pruner. A pruner then also decides what is tried next. When a search is over, pruned
trials are trained to their end, so that what pruning lost is known.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from benchmarks.decisions.curves import EPOCHS, training_data
from benchmarks.decisions.pruning import BEST, OURS, PRUNERS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import estimate, holm, paired_p
from benchmarks.kit.words import interval, markdown_table, p_value, signed
from calibrant import CalibratedSampler

RESULTS = Path(__file__).parent / "results" / "pruning-live.jsonl"
TRIALS, REPETITIONS = 40, 30
JOBS = ("network on digits", "linear model on digits")
LIVE = tuple(name for name in PRUNERS if name != "Wilcoxon")  # it is slow, and not for curves


def model(job: str, trial: optuna.Trial) -> Any:
    """Return an untrained model with the settings of a trial."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPClassifier

    if job == "network on digits":
        return MLPClassifier(
            hidden_layer_sizes=trial.suggest_int("width", 4, 64, log=True),
            learning_rate_init=trial.suggest_float("rate", 1e-4, 1e-1, log=True),
            alpha=trial.suggest_float("alpha", 1e-6, 1e1, log=True),
            activation=trial.suggest_categorical("activation", ["relu", "tanh", "logistic"]),
            batch_size=64,
            random_state=0,
        )
    return SGDClassifier(
        loss=trial.suggest_categorical("loss", ["hinge", "log_loss", "modified_huber"]),
        alpha=trial.suggest_float("alpha", 1e-6, 1e-1, log=True),
        eta0=trial.suggest_float("rate", 1e-5, 1e0, log=True),
        learning_rate=trial.suggest_categorical("schedule", ["constant", "invscaling"]),
        random_state=0,
    )


def training(job: str, trial: optuna.Trial) -> Iterator[float]:
    """Train for an epoch at a time, and yield the validation error after each."""
    learner = model(job, trial)
    X, y, X_test, y_test = training_data("digits")
    for _ in range(EPOCHS):
        learner.partial_fit(X, y, classes=np.unique(y))
        yield float(np.mean(learner.predict(X_test) != y_test))


def execute(job: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search with a pruner."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # of models that have not converged
    study = optuna.create_study(
        sampler=CalibratedSampler(seed=seed), pruner=PRUNERS[name](seed), study_name=f"study {seed}"
    )
    epochs, found, finals, pruned = 0, np.inf, np.full(TRIALS, np.nan), []
    for number in range(TRIALS):
        trial = study.ask()
        errors = training(job, trial)
        for step, error in enumerate(errors, start=1):
            epochs += 1
            trial.report(error, step)
            finals[number] = error
            if trial.should_prune() and step < EPOCHS:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                pruned.append(number)
                *_, finals[number] = errors  # what it would have reached
                break
        else:
            study.tell(trial, finals[number])
            found = min(found, float(finals[number]))
    goal = np.sort(finals)[round(BEST * TRIALS) - 1]
    wrong = int(
        np.sum(finals[pruned] < goal)
    )  # errors are few different numbers: ties lose nothing
    return {
        "job": job,
        "pruner": name,
        "seed": seed,
        "epochs": epochs,
        "found": round(found, 5),
        "lost": round(found - float(finals.min()), 5),
        "pruned": len(pruned),
        "wrong": wrong,
        "commit": commit(),
    }


def section() -> list[str]:
    """Return the part of the page about live training."""
    records = list(read_lines(RESULTS))
    cells = {(r["job"], r["seed"], r["pruner"]): r for r in records}
    whole = [
        (job, seed)
        for job in JOBS
        for seed in range(REPETITIONS)
        if all((job, seed, name) in cells for name in LIVE)
    ]
    if not whole:
        return []

    def column(name: str, key: str, scale: float = 100.0) -> np.ndarray:
        return scale * np.array([cells[job, seed, name][key] for job, seed in whole])

    rows = []
    for name in LIVE:
        pruned, wrong = (int(column(name, key, 1.0).sum()) for key in ("pruned", "wrong"))
        rows.append(
            [
                name,
                f"{column(name, 'epochs', 1.0).mean() / (TRIALS * EPOCHS):.0%}",
                interval(estimate(column(name, "found")), 2),
                interval(estimate(column(name, "lost")), 2),
                str(pruned),
                f"{wrong / pruned:.1%}" if pruned else "–",
            ]
        )
    others = [name for name in LIVE if name != OURS]
    p = holm([paired_p(column(OURS, "found"), column(name, "found")) for name in others])
    tests = [
        [
            name,
            signed(estimate(column(OURS, "found") - column(name, "found")), 2),
            p_value(value),
            signed(estimate(_points(column(OURS, "epochs", 1.0) - column(name, "epochs", 1.0))), 1),
        ]
        for name, value in zip(others, p, strict=True)
    ]
    return [
        "Live training: calibrant searches a network and a linear model on digits, "
        f"{TRIALS} trials of {EPOCHS} epochs, with each pruner; {len(whole)} searches of each "
        f"({REPETITIONS * len(JOBS)} were planned). A pruner decides here what the sampler learns, "
        "too. Found: the validation error, in %, of the best trial that was trained to its end. "
        "Lost: how much lower the best of the pruned trials would have come, trained on. Wrong: "
        "pruned trials that would have been below all but the best tenth.",
        "",
        markdown_table(
            ["pruner", "epochs", "found, % (95 %)", "lost, points (95 %)", "pruned", "wrong"], rows
        ),
        "",
        markdown_table(
            [f"{OURS}, against", "found, points (95 %)", "p (Holm)", "epochs, points (95 %)"], tests
        ),
        "",
    ]


def _points(epochs: np.ndarray) -> np.ndarray:
    return 100.0 * epochs / (TRIALS * EPOCHS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="at most so many")
    given = parser.parse_args(arguments)
    known = {(r["job"], r["pruner"], r["seed"]) for r in read_lines(RESULTS)}
    every = [
        (job, name, seed)
        for seed in range(given.repetitions)
        for job in JOBS
        for name in LIVE
        if (job, name, seed) not in known
    ]
    run_missing(execute, every, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
