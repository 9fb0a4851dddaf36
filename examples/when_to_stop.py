"""Tune an SVM until a better one is improbable, and see what more trials would bring.

pip install '.[sklearn]' && python examples/when_to_stop.py
"""

from sklearn import datasets
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import calibrant

X, y = datasets.load_wine(return_X_y=True)


def error(params):
    """Return the share of wines that are classified wrongly."""
    return 1.0 - cross_val_score(SVC(**params), X, y, cv=3).mean()


space = {"C": "1e-3..1e4:log", "gamma": "1e-7..1e-1:log"}
stop = calibrant.StopWhen(probability=0.1, delta=0.01, trials=10)
study = calibrant.minimize(error, space, n_trials=60, seed=0, stop=stop)

print(stop.reason or "All 60 trials were worth it.")
print(f"Best: {study.best_value:.3f} with {study.best_params}")
print(calibrant.outlook(study, trials=20, delta=0.005))

found = calibrant.review(study)
print(f"80 % intervals held: {found.held.mean():.0%}")
