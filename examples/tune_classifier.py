"""Tune a support vector classifier of handwritten digits in an Optuna study.

Needs scikit-learn: pip install scikit-learn. About ten seconds.
"""

import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import calibrant

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]


def error(trial: optuna.Trial) -> float:
    """Return the cross-validated error of a setting; the polynomial kernel has a degree more."""
    settings = {
        "C": trial.suggest_float("C", 1e-3, 1e3, log=True),
        "gamma": trial.suggest_float("gamma", 1e-6, 1e-1, log=True),
        "kernel": trial.suggest_categorical("kernel", ["rbf", "poly"]),
    }
    if settings["kernel"] == "poly":
        settings["degree"] = trial.suggest_int("degree", 2, 5)
    return 1.0 - cross_val_score(SVC(**settings), X, y, cv=3).mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
study.optimize(error, n_trials=35)

found = calibrant.review(study)
print(f"error {study.best_value:.3f} with {study.best_params}")
print(
    f"80 % intervals held {found.held.mean():.0%} of {found.held.size} times; "
    f"the model's own held {found.raw_held.mean():.0%}"
)
