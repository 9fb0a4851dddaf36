"""A worked search on real data: gradient-boosted trees for the progression of diabetes.

442 patients, ten measurements each, and the progress of the disease a year later: the data ships
with scikit-learn. Six settings of a boosted-tree regressor are tuned for the root mean square error
in five-fold cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from calibrant.parameters import parse_space

TITLE = "Boosted trees on the diabetes data: cross-validated RMSE"
TRIALS = 40


def space() -> dict[str, BaseDistribution]:
    """Return the settings to tune."""
    return parse_space(
        {
            "learning_rate": "1e-3..1:log",
            "max_iter": "20..300:log",
            "max_leaf_nodes": "2..64:log",
            "min_samples_leaf": "1..100:log",
            "l2_regularization": "1e-6..1e2:log",
            "loss": ["squared_error", "absolute_error"],
        }
    )


def objective() -> Callable[[dict[str, Any]], float]:
    """Load the data and return the function from settings to error."""
    try:
        from sklearn.datasets import load_diabetes
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.model_selection import KFold, cross_val_score
        from threadpoolctl import threadpool_limits  # comes with scikit-learn
    except ImportError as error:
        raise ImportError(
            "The demo's data ships with scikit-learn: pip install 'calibrant[demo]'."
        ) from error
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)

    def error_of(settings: dict[str, Any]) -> float:
        model = HistGradientBoostingRegressor(**settings, early_stopping=False, random_state=0)
        with threadpool_limits(1):  # on data this small, threads wait for each other
            scores = cross_val_score(model, X, y, cv=folds, scoring="neg_mean_squared_error")
        return float(np.sqrt(-scores.mean()))

    return error_of
