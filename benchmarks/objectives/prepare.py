"""What is computed once: python -m benchmarks.objectives.prepare (two minutes).

The outcomes of all settings of a forest, and the volume that the whole front of each problem
dominates. Of a front that is not known in closed form, the best of a long evolution stands for it.
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks.objectives.problems import FORESTS, PROBLEMS, VOLUMES, Problem
from calibrant.core.front import non_dominated

SETTINGS = {
    "trees": [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 52, 64],
    "depth": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16],
    "leaf": [1, 2, 4, 8, 16],
    "features": [0.02, 0.05, 0.1, 0.2, 0.5],
}
_GENERATIONS, _POPULATION = 150, 1000


def forests() -> None:
    """Write error and number of nodes of every forest: of its first trees, for each number."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X, others, y, truth = train_test_split(X, y, test_size=0.5, random_state=0)
    sizes = np.array(SETTINGS["trees"], dtype=int)
    found = np.empty((*map(len, SETTINGS.values()), 2))
    for i, depth in enumerate(SETTINGS["depth"]):
        for j, leaf in enumerate(SETTINGS["leaf"]):
            for k, share in enumerate(SETTINGS["features"]):
                forest = RandomForestClassifier(
                    int(sizes[-1]),
                    max_depth=int(depth),
                    min_samples_leaf=int(leaf),
                    max_features=share,
                    random_state=0,
                ).fit(X, y)
                votes = np.cumsum([t.predict_proba(others) for t in forest.estimators_], axis=0)
                errors = (votes[sizes - 1].argmax(axis=2) != truth).mean(axis=1)
                nodes = np.cumsum([tree.tree_.node_count for tree in forest.estimators_])
                found[:, i, j, k] = np.stack([errors, nodes[sizes - 1]], axis=1)
    outcomes = [[round(float(e), 5), int(n)] for e, n in found.reshape(-1, 2)]
    FORESTS.parent.mkdir(exist_ok=True)
    FORESTS.write_text(json.dumps({"settings": SETTINGS, "outcomes": outcomes}) + "\n")


def evolved(problem: Problem) -> np.ndarray:
    """Return a front found by many small changes of what is on it already, of numbers on a box."""
    rng = np.random.default_rng(0)
    low = np.array([one.low for one in problem.space.values()])  # type: ignore[attr-defined]
    high = np.array([one.high for one in problem.space.values()])  # type: ignore[attr-defined]
    X = rng.uniform(low, high, (4 * _POPULATION, low.size))
    Y = _outcomes(problem, X)
    for generation in range(_GENERATIONS):
        width = 0.2 * 0.97**generation * rng.random((len(X), 1)) * (high - low)
        changed = rng.random(X.shape) < 0.5
        new = np.clip(X + width * changed * rng.standard_normal(X.shape), low, high)
        X, Y = np.concatenate([X, new]), np.concatenate([Y, _outcomes(problem, new)])
        kept = np.flatnonzero(non_dominated(Y))
        if kept.size > _POPULATION:
            kept = kept[_spread(Y[kept])]
        X, Y = X[kept], Y[kept]
    return Y


def _outcomes(problem: Problem, X: np.ndarray) -> np.ndarray:
    return np.array([problem.evaluate({f"x{i}": v for i, v in enumerate(x)}) for x in X])


def _spread(Y: np.ndarray) -> list[int]:
    """Return the ends of a front, then always what is farthest from the others."""
    Y = (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)
    kept = Y.argmin(axis=0).tolist()
    away = np.min([np.abs(Y - Y[i]).max(axis=1) for i in kept], axis=0)
    while len(kept) < _POPULATION:
        kept.append(int(away.argmax()))
        away = np.minimum(away, np.abs(Y - Y[kept[-1]]).max(axis=1))
    return kept


def main() -> None:
    if not FORESTS.exists():
        forests()
    volumes = {}
    for name, problem in PROBLEMS.items():
        front = evolved(problem) if problem.front is None else problem.front()
        volumes[name] = problem.volume(front)
    VOLUMES.write_text(json.dumps(volumes, indent=1) + "\n")


if __name__ == "__main__":
    main()
