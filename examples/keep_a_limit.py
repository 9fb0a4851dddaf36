"""Tune a forest that must stay small: try only settings that probably keep the limit.

pip install '.[sklearn]' && python examples/keep_a_limit.py
"""

from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import calibrant

X, y = datasets.load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)


def error_and_size(params):
    """Return the share of digits read wrongly, and the size of the forest in nodes."""
    forest = RandomForestClassifier(**params, random_state=0).fit(X_train, y_train)
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return 1.0 - forest.score(X_test, y_test), {"nodes": nodes}


space = {"n_estimators": (1, 60), "max_depth": (1, 15), "max_features": (0.05, 1.0)}
study = calibrant.minimize(
    error_and_size, space, n_trials=25, limits={"nodes": 3000}, min_feasible=0.9, seed=0
)

print(calibrant.recommend(study, min_feasible=0.9))
asked = {"n_estimators": 20, "max_depth": 7, "max_features": 0.4}
forecast = calibrant.forecast(study, asked)
print(f"{asked} keeps the limit with a probability of {float(forecast.feasible):.0%}.")

found = calibrant.review(study)
print(found)
print(f"80 % intervals held: {found.held.mean():.0%}")
