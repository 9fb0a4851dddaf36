"""What is computed once: python -m benchmarks.objectives.prepare (two minutes).

The outcomes of all settings of a forest, and the volume that the whole front of each problem
dominates. Of a front that is not known in closed form, the best of a long evolution stands for it.
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks.objectives.problems import FORESTS, PROBLEMS, VOLUMES, Problem
from calibrant.core.front import hypervolume, non_dominated

SETTINGS = {
    "trees": [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 52, 64],
    "depth": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16],
    "leaf": [1, 2, 4, 8, 16],
    "features": [0.02, 0.05, 0.1, 0.2, 0.5],
}
# An eighth of a ball is not dominated.
KNOWN = {"DTLZ2, 3 objectives, 6 parameters": 1.1**3 - np.pi / 6.0}
_GENERATIONS, _POPULATION, _CHILDREN = 150, 1000, 20


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
    around = np.repeat(X, _CHILDREN, axis=0)
    around += 0.005 * (high - low) * rng.standard_normal(around.shape)
    return np.concatenate([Y, _outcomes(problem, np.clip(around, low, high))])


def volume(Y: np.ndarray, reference: np.ndarray) -> float:
    """Return the volume that many points with two or three objectives dominate.

    Of three, slice by slice between values of the third: thousands of points would need too many
    boxes.
    """
    Y = Y[np.all(reference > Y, axis=1)]
    if reference.size == 2:
        return hypervolume(Y, reference)
    Y = Y[np.argsort(Y[:, 2], kind="stable")]
    total, front = 0.0, np.empty((0, 2))  # in the order of the first, so the second falls
    for y, end in zip(Y, np.append(Y[1:, 2], reference[2]), strict=True):
        place = int(np.searchsorted(front[:, 0], y[0], side="right"))
        if place == 0 or front[place - 1, 1] > y[1]:
            beaten = (front[:, 0] >= y[0]) & (front[:, 1] >= y[1])
            front = np.insert(front, place, y[:2], axis=0)
            front = front[~np.insert(beaten, place, False)]
        widths = np.diff(np.append(front[:, 0], reference[0]))
        total += (end - y[2]) * float(widths @ (reference[1] - front[:, 1]))
    return total


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
        if name in KNOWN:
            volumes[name] = KNOWN[name]
            continue
        front = evolved(problem) if problem.front is None else problem.front()
        volumes[name] = volume(front, np.array(problem.reference))
    VOLUMES.write_text(json.dumps(volumes, indent=1) + "\n")


if __name__ == "__main__":
    main()
