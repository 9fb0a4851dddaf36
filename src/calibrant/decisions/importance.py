"""How much of the forecast depends on each parameter."""

from __future__ import annotations

import numpy as np
from optuna.study import Study

from calibrant.core.typing import FloatArray
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.quantity import Quantity

_POINTS, _SHIFTS = 128, 8  # of the cube, and along each axis: shares are right to a few per cent
_SEED = 0  # the same study has the same importances


def importance(study: Study, objective: int = 0) -> dict[str, float]:
    """Return for each parameter the share of the forecast's variation that is due to it.

    >>> import calibrant
    >>> study = calibrant.minimize(
    ...     lambda p: p["x"] ** 2 + 0.01 * p["y"], {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, 20, seed=0
    ... )
    >>> list(calibrant.importance(study))
    ['x', 'y']

    It is the total index of Sobol', of the model's mean over the whole search space and on the
    model's scale of outcomes: what a parameter does alone and together with others. Shares of
    parameters that act together count for each of them, so the sum may exceed one. The most
    important comes first. Where the forecast is the same everywhere, all are 0.

    Args:
        study: an Optuna study, whichever sampler made it.
        objective: which one, of several.
    """
    belief = believe(study)
    count = len(belief.objectives)
    if not 0 <= objective < count:
        raise ValueError(f"`0 <= objective < {count}` must hold, but got objective={objective}.")
    return importance_of(belief, belief.objectives[objective])


def importance_of(belief: StudyBelief, quantity: Quantity) -> dict[str, float]:
    """Return what :func:`importance` does, from what is believed about a study."""
    cube, rng = belief.cube, np.random.default_rng(_SEED)
    X = cube.spread(_POINTS, rng)
    here = _mean(quantity, X)
    variance = float(here.var())
    shares = {}
    for column, name in enumerate(belief.space.coordinates):
        squares = []
        for shift in np.arange(1, _SHIFTS) / _SHIFTS:  # around the axis: as even as the points are
            moved = X.copy()
            moved[:, column] = (moved[:, column] + shift) % 1.0
            squares.append(np.mean((_mean(quantity, cube.snap(moved)) - here) ** 2))
        # Half the mean square of the change is the variance that goes with it (Jansen 1999).
        alone = 0.5 * float(np.sum(squares)) / _SHIFTS
        shares[name] = min(alone / variance, 1.0) if variance > 1e-12 else 0.0  # an estimate
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _mean(quantity: Quantity, X: FloatArray) -> FloatArray:
    """Return the mean of the processes, in their units: outcomes of outliers' size count less."""
    return np.asarray(
        np.mean([process.posterior(X).mean for process in quantity.processes], axis=0)
    )
