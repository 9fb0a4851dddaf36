"""Tune a classifier within a budget: trials differ in cost, and report their noise.

pip install '.[sklearn]' && python examples/within_a_budget.py
"""

import numpy as np
from sklearn import datasets
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

import calibrant

X, y = datasets.load_wine(return_X_y=True)


def error(params):
    """Return the error of some folds, and the standard error of that."""
    folds = params.pop("folds")
    scores = cross_val_score(DecisionTreeClassifier(random_state=0, **params), X, y, cv=folds)
    return 1.0 - scores.mean(), scores.std(ddof=1) / np.sqrt(folds)


def price(params):
    """Return what a setting costs: a fit per fold."""
    return params["folds"]


space = {"folds": (3, 20), "max_depth": (1, 12), "min_samples_leaf": (1, 30)}
study = calibrant.minimize(error, space, budget=150.0, cost=price, seed=0)

spent = sum(trial.user_attrs.get("calibrant:cost", 0.0) for trial in study.trials)
print(f"{spent:.0f} fits in {len(study.trials)} trials")
print(calibrant.recommend(study))
found = calibrant.review(study)
print(f"80 % intervals held: {found.held.mean():.0%}")
