"""Real learning curves: small networks and linear models, trained epoch by epoch, once for all.

    python -m benchmarks.decisions.curves    # a minute; writes results/curves.jsonl

A line has a setting drawn at random and its validation error after each epoch. Pruners are then
compared on the table, where all meet the same curves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import append, read_lines

PATH = Path(__file__).parent / "results" / "curves.jsonl"
EPOCHS, SETTINGS = 27, 110


def _network_on_digits(rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    from sklearn.neural_network import MLPClassifier

    setting = {
        "hidden_layer_sizes": int(np.exp(rng.uniform(np.log(4), np.log(64)))),
        "learning_rate_init": float(np.exp(rng.uniform(np.log(1e-4), np.log(1e-1)))),
        "alpha": float(np.exp(rng.uniform(np.log(1e-6), np.log(1e1)))),
        "batch_size": int(rng.choice([16, 64, 256])),
        "activation": str(rng.choice(["relu", "tanh", "logistic"])),
    }
    return setting, MLPClassifier(random_state=0, **setting)


def _linear_on_digits(rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    from sklearn.linear_model import SGDClassifier

    setting = {
        "loss": str(rng.choice(["hinge", "log_loss", "modified_huber", "perceptron"])),
        "alpha": float(np.exp(rng.uniform(np.log(1e-6), np.log(1e-1)))),
        "eta0": float(np.exp(rng.uniform(np.log(1e-5), np.log(1e0)))),
        "learning_rate": str(rng.choice(["constant", "invscaling", "adaptive"])),
        "average": bool(rng.random() < 0.3),
    }
    return setting, SGDClassifier(random_state=0, **setting)


def _network_on_diabetes(rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    from sklearn.neural_network import MLPRegressor

    setting = {
        "hidden_layer_sizes": int(np.exp(rng.uniform(np.log(4), np.log(64)))),
        "learning_rate_init": float(np.exp(rng.uniform(np.log(1e-4), np.log(1e-1)))),
        "alpha": float(np.exp(rng.uniform(np.log(1e-6), np.log(1e1)))),
        "batch_size": int(rng.choice([8, 32, 128])),
    }
    return setting, MLPRegressor(random_state=0, **setting)


JOBS: dict[str, tuple[str, Callable[[np.random.Generator], tuple[dict[str, Any], Any]]]] = {
    "network on digits": ("digits", _network_on_digits),
    "linear model on digits": ("digits", _linear_on_digits),
    "network on diabetes": ("diabetes", _network_on_diabetes),
}


@cache
def training_data(name: str) -> tuple[np.ndarray, ...]:
    """Return inputs and targets, two thirds to train on, one to validate."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    y = (y - y.mean()) / y.std() if name == "diabetes" else y
    order = np.random.default_rng(0).permutation(len(y))[:900]
    train, test = np.split(order, [2 * order.size // 3])
    return X[train], y[train], X[test], y[test]


def curve(job: str, number: int) -> dict[str, Any]:
    """Return a setting and its validation error after each epoch."""
    name, draw = JOBS[job]
    setting, model = draw(np.random.default_rng([number, 7]))
    X, y, X_test, y_test = training_data(name)
    classes = {"classes": np.unique(y)} if name == "digits" else {}
    errors = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(EPOCHS):
            model.partial_fit(X, y, **classes)
            predicted = model.predict(X_test)
            error = np.mean(predicted != y_test) if classes else np.mean((predicted - y_test) ** 2)
            errors.append(float(f"{min(error, 1e6):.5g}"))
    return {"job": job, "number": number, "setting": setting, "errors": errors}


def load() -> dict[str, np.ndarray]:
    """Return the table of each job, (settings, epochs)."""
    found: dict[str, list[list[float]]] = {job: [] for job in JOBS}
    for line in read_lines(PATH):
        found[line["job"]].append(line["errors"])
    return {job: np.array(rows) for job, rows in found.items() if rows}


if __name__ == "__main__":
    done = {(line["job"], line["number"]) for line in read_lines(PATH)}
    for number in range(SETTINGS):
        for job in JOBS:
            if (job, number) not in done:
                append(PATH, curve(job, number))
