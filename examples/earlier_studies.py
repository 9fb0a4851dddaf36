"""Tune a classifier on new data, with what a study on other data has taught.

pip install '.[sklearn]' && python examples/earlier_studies.py
"""

from sklearn import datasets
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import calibrant


def error_on(load):
    """Return the error of a support vector machine on a data set, as a function of settings."""
    X, y = load(return_X_y=True)

    def error(params):
        return 1.0 - cross_val_score(SVC(**params), X, y, cv=3).mean()

    return error


space = {"C": "1e-3..1e3:log", "gamma": "1e-7..1e1:log"}
old = calibrant.minimize(error_on(datasets.load_wine), space, n_trials=20, seed=0)

error = error_on(datasets.load_breast_cancer)
anew = calibrant.minimize(error, space, n_trials=10, seed=1)
taught = calibrant.minimize(error, space, n_trials=10, seed=1, earlier=[old])

for name, study in (("anew", anew), ("with the earlier study", taught)):
    print(f"{name}: an error of {study.best_value:.3f} in trial {study.best_trial.number}")
print(f"80 % intervals held: {calibrant.review(taught).held.mean():.0%}")
