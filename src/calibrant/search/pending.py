"""Imagined outcomes of points that have none: running, pruned and failed evaluations.

The Kriging believer (Ginsbourger et al. 2010): a running evaluation is taken to come out as the
model expects, so that its neighbourhood is known and draws no second point. A pruned one is taken
to come out as its reports extrapolate; a failed one to be as bad as the worst, give or take the
spread of all outcomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.protocol import FittedModel, GaussianBelief, Model
from calibrant.search.history import History

_FLOATS = (-np.finfo(float).max, np.finfo(float).max)


class Imagined(NamedTuple):
    """A model after imagined outcomes, and its means at all points, in the model's units.

    The points are in the order evaluated, failed, pruned, pending.
    """

    fitted: FittedModel
    means: FloatArray


def kriging_believer(
    model: Model, fitted: FittedModel, history: History, X: FloatArray, y: FloatArray
) -> Imagined:
    """Return a fitted model after imagined outcomes of a history's points that have none.

    Args:
        model: what was fitted, to be fitted again if it cannot be conditioned.
        fitted: the model fitted to outcomes y at X.
        history: whose failed, pruned and pending points to imagine outcomes of.
        X: inputs that the model was fitted to, (n, d).
        y: their outcomes, (n,).
    """
    without = history.without_outcome
    if not without.size:
        return Imagined(fitted, fitted.means() if isinstance(fitted, GaussianBelief) else y)
    value, std = history.extrapolated.T
    worst = np.full(history.failed.shape[0], y.max())
    if isinstance(fitted, GaussianBelief):
        with np.errstate(over="ignore"):
            low, high = fitted.in_model_units(np.clip([value - std, value + std], *_FLOATS))
        fitted = fitted.condition(history.failed, fitted.in_model_units(worst), std=1.0)
        fitted = fitted.condition(
            history.pruned, fitted.in_model_units(value), std=0.5 * (high - low)
        )
        fitted = fitted.condition(history.pending)
        return Imagined(fitted, fitted.means())
    expected = fitted.predict(history.pending).quantile(0.5) if history.pending.size else ()
    means = np.concatenate([y, worst, value, expected])
    return Imagined(model.fit(np.concatenate([X, without]), means), means)
