"""Tune a noisy training run, then ask which setting to use and what another one would give.

pip install '.[sklearn]' && python examples/which_setting.py
"""

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import calibrant

X, y = datasets.load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
rng = np.random.default_rng(0)


def error(params):
    """Return the share of wines classified wrongly: another split of the data each time."""
    split = int(rng.integers(2**31))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=split)
    return 1.0 - KNeighborsClassifier(**params).fit(X_train, y_train).score(X_test, y_test)


space = {"n_neighbors": (1, 60), "p": (1.0, 5.0), "weights": ["uniform", "distance"]}
study = calibrant.minimize(error, space, n_trials=25, seed=0)

print(calibrant.recommend(study))

asked = {"n_neighbors": 10, "p": 2.0, "weights": "distance"}
low, high = calibrant.forecast(study, asked).interval(0.8)
print(f"{asked} would give {low:.3f} to {high:.3f} (80 % interval).")

found = calibrant.review(study)
print(found)
print(f"80 % intervals held: {found.held.mean():.0%}")
