"""Models of scikit-learn tuned on data that it carries: an evaluation trains and validates one.

Folds and seeds are fixed, so that an outcome is a function of the settings. Nobody knows the lowest
one; ``minimum`` is the lowest that any search has found, and the tables lower it where a rival's
search has found a lower one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.peers.tasks import Parameter, Settings, Task, choice, integer, real, when


def live() -> list[Task]:
    """Return the tasks."""
    return [
        task(
            "svm on digits",
            (real("C", 1e-2, 1e3, log=True), real("gamma", 1e-5, 1e-1, log=True)),
            _svm_error,
            0.031960176,
        ),
        task(
            "ridge with a kernel on diabetes",
            (
                real("alpha", 1e-4, 1e1, log=True),
                real("gamma", 1e-4, 1e1, log=True),
                real("mixture", 0.0, 1.0),
            ),
            _kernel_ridge_error,
            53.747813,
        ),
        task(
            "tree on diabetes",
            (
                integer("depth", 1, 20),
                integer("leaf", 1, 60, log=True),
                real("pruning", 1e-1, 1e3, log=True),
                choice("criterion", "squared_error", "absolute_error"),
            ),
            _tree_error,
            58.985981,
            "mixed",
        ),
        task(
            "model and settings on diabetes",
            (
                choice("model", "ridge", "kernel", "neighbours", "tree"),
                when(real("alpha", 1e-4, 1e2, log=True), "model", "ridge", "kernel"),
                when(real("gamma", 1e-4, 1e1, log=True), "model", "kernel"),
                when(integer("neighbours", 1, 60, log=True), "model", "neighbours"),
                when(choice("weights", "uniform", "distance"), "model", "neighbours"),
                when(integer("depth", 1, 20), "model", "tree"),
                when(integer("leaf", 1, 60, log=True), "model", "tree"),
            ),
            _model_error,
            53.849649,
            "mixed",
            "conditional",
        ),
        task(
            "logistic regression on breast cancer",
            (
                real("C", 1e-4, 1e4, log=True),
                real("balance", 0.0, 1.0),
                integer("components", 2, 30),
            ),
            _logistic_loss,
            0.078790209,
        ),
    ]


def task(
    name: str,
    space: tuple[Parameter, ...],
    value: Callable[[Settings], float],
    minimum: float,
    *groups: str,
) -> Task:
    """Return a task whose minimum nobody knows."""
    return Task(name, space, value, minimum, groups=frozenset({"live", *groups}))


@cache
def data(name: str, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets that scikit-learn carries, in random order."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[order], y[order]


def _svm_error(settings: Settings) -> float:
    from sklearn.svm import SVC

    return 1.0 - validated(SVC(**settings), *data("digits", 500), "accuracy", folds=3)


def _kernel_ridge_error(settings: Settings) -> float:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

    gamma, share = settings["gamma"], settings["mixture"]

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return share * rbf_kernel(A, B, gamma) + (1.0 - share) * laplacian_kernel(A, B, gamma)

    X, y = scaled("diabetes")
    errors = []
    for train, test in _folds(len(y), 5):
        model = KernelRidge(alpha=settings["alpha"], kernel="precomputed")
        centre = y[train].mean()
        model.fit(kernel(X[train], X[train]), y[train] - centre)
        forecast = centre + model.predict(kernel(X[test], X[train]))
        errors.append(np.mean((forecast - y[test]) ** 2))
    return float(np.sqrt(np.mean(errors)))


def _tree_error(settings: Settings) -> float:
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(
        max_depth=settings["depth"],
        min_samples_leaf=settings["leaf"],
        ccp_alpha=settings["pruning"],
        criterion=settings["criterion"],
        random_state=0,
    )
    return _root_error(tree)


def _model_error(settings: Settings) -> float:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    if settings["model"] == "ridge":
        return _root_error(Ridge(alpha=settings["alpha"]))
    if settings["model"] == "kernel":
        return _root_error(
            KernelRidge(alpha=settings["alpha"], gamma=settings["gamma"], kernel="rbf")
        )
    if settings["model"] == "neighbours":
        return _root_error(KNeighborsRegressor(settings["neighbours"], weights=settings["weights"]))
    return _root_error(
        DecisionTreeRegressor(
            max_depth=settings["depth"], min_samples_leaf=settings["leaf"], random_state=0
        )
    )


def _logistic_loss(settings: Settings) -> float:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    weights = {0: 1.0 - 0.9 * settings["balance"], 1: 0.1 + 0.9 * settings["balance"]}
    model = make_pipeline(
        StandardScaler(),
        PCA(settings["components"], svd_solver="full"),
        LogisticRegression(C=settings["C"], class_weight=weights, max_iter=200),
    )
    return -validated(model, *data("breast_cancer"), "neg_log_loss", folds=5)


def scaled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the data with inputs of mean 0 and variance 1."""
    X, y = data(name)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _root_error(model: Any) -> float:
    return root_error(model, *scaled("diabetes"))


def root_error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the root of the mean squared error in five folds."""
    # Targets are centred: kernel ridge has no intercept.
    return float(np.sqrt(-validated(model, X, y - y.mean(), "neg_mean_squared_error", folds=5)))


def _folds(rows: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    parts = np.array_split(np.arange(rows), count)  # the rows are in random order already
    return [(np.setdiff1d(np.arange(rows), part), part) for part in parts]


def validated(model: Any, X: np.ndarray, y: np.ndarray, scoring: str, folds: int) -> float:
    """Return the mean score over folds."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import cross_val_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an early end is part of the objective
        return float(cross_val_score(model, X, y, scoring=scoring, cv=_folds(len(y), folds)).mean())
