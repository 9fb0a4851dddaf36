"""Relaxed Gaussian processes (reGP): bad outcomes need only stay bad.

Petit, Bect and Vazquez (JMLR 26:195, 2025; arXiv 2206.03034): a stationary process that must go
through a few very bad outcomes is bent by them where it matters. reGP replaces outcomes above a
threshold t by values of at least t, chosen together with the hyper-parameters so that all are as
probable as can be; those at or below t are kept. t is the candidate with the least truncated CRPS
(tCRPS) of leave-one-out forecasts below a lower threshold t₀, which the user is interested in.

As published but for this: there is a prior of hyper-parameters, a learned noise and an output map
where the process has them; t₀ is a quantile of the outcomes so far, and the candidates for t are
evenly spaced in the logarithm of their distance from the best outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import lsq_linear, nnls

from calibrant.core import validate
from calibrant.core.descent import descend
from calibrant.core.normal import squared_cdf_integral
from calibrant.core.typing import FloatArray
from calibrant.models.adjusted import Adjusted
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.hyperparameters import Layout
from calibrant.models.likelihood import log_bounds, negative_log_joint
from calibrant.models.rotation import FittedRotation, Rotation

_DESCENT: Any = {"iterations": 25, "ftol": 1e-4, "gtol": 1e-3}  # as for a plain process
_MOST_OUTCOMES = 300  # each step of each descent solves a problem in n variables


@dataclass(frozen=True)
class Relaxed:
    """A relaxed Gaussian process (reGP; Petit, Bect and Vazquez 2025).

    Args:
        model: the process, or several in rotation.
        share: of outcomes so far, how many are of interest: those up to t₀.
        candidates: how many thresholds from t₀ upwards are tried, besides none.
        threshold: in the units of outcomes, if it is known already; ``inf`` relaxes nothing.
    """

    model: GaussianProcess | Rotation = field(default_factory=GaussianProcess)
    share: float = 0.25
    candidates: int = 4
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise ValueError(f"`0 < share < 1` must hold, but got share={self.share}.")
        validate.at_least("candidates", self.candidates, 1)

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives it."""
        return min(self.model.most_outcomes, _MOST_OUTCOMES)

    def with_labels(self, columns: tuple[int, ...]) -> Relaxed:
        """Return the model for inputs in which the given columns are labels."""
        return replace(self, model=self.model.with_labels(columns))

    def fit(self, X: ArrayLike, y: ArrayLike) -> Adjusted:
        """Return the process fitted to outcomes y at the rows of X, the bad ones relaxed."""
        X, y = validate.training_data(X, y)
        fitted = self.model.fit(X, y)
        process = fitted.current if isinstance(fitted, FittedRotation) else fitted
        v = process.v
        interest = float(np.quantile(v, self.share))
        if self.threshold is not None:
            return Adjusted(self, relaxed(process, float(process.in_model_units(self.threshold))))
        found = [process]
        for threshold in self._thresholds(v, interest):
            found.append(relaxed(process, threshold))
        losses = [truncated_crps(*_left_out(one), one.v, interest).sum() for one in found]
        return Adjusted(self, found[int(np.argmin(losses))])

    def _thresholds(self, v: FloatArray, interest: float) -> FloatArray:
        low, nearest, furthest = v.min(), interest - v.min(), v.max() - v.min()
        if not 0.0 < nearest < furthest:  # outcomes are equal: there is nothing between them
            return np.empty(0)
        return np.asarray(low + np.geomspace(nearest, furthest, self.candidates + 1)[:-1])


def relaxed(process: FittedGP, threshold: float) -> FittedGP:
    """Return the process with outcomes above a threshold, in its units, relaxed.

    Their values and the hyper-parameters are the most probable ones, with no value below it.
    """
    above = process.v > threshold
    if not above.any():
        return process
    kernel, X = process.model.kernel, process.X
    noise = None if process.model.noise is None else process.noise_variance
    joint = negative_log_joint(kernel, X, noise, process.model.priors)
    known = replace(process.model, outputs=process.outputs)
    y = process.outputs.inverse(process.v)

    def at(theta: FloatArray) -> FittedGP:
        plain = known.at(theta, X, y)
        return replace(plain, v=_most_probable_values(plain.W, process.v, above, threshold))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        # At the best values their derivatives are zero or point out of bounds: theta's are all.
        value, by_theta, _ = joint(theta, at(theta).v)
        return value, by_theta

    low, high = np.array(log_bounds(Layout.of(kernel, X.shape[1], noise is None).names)).T
    found = descend(loss, process.theta, low, high, **_DESCENT)
    return at(found.x)


def _most_probable_values(
    W: FloatArray, v: FloatArray, above: NDArray[np.bool_], threshold: float
) -> FloatArray:
    """Return v with those above the threshold replaced by the most probable values above it.

    They minimise |W v|², W being the inverse Cholesky factor: non-negative least squares.
    """
    relaxed_v = np.where(above, threshold, v)
    columns, goal = W[:, above], -W @ relaxed_v
    try:
        excess, _ = nnls(columns, goal)
    except RuntimeError:  # columns are alike to the last digits, and its active set goes in circles
        excess = lsq_linear(columns, goal, (0.0, np.inf)).x
    relaxed_v[above] += excess
    return relaxed_v


def _left_out(process: FittedGP) -> tuple[FloatArray, FloatArray]:
    """Return mean and std of each value given all others."""
    scores, stds = process.leave_one_out()
    return process.v - scores * stds, stds


def truncated_crps(mean: FloatArray, std: FloatArray, y: FloatArray, limit: float) -> FloatArray:
    """Return ∫ (F(u) − 1{y ≤ u})² du over u ≤ limit, of forecasts N(mean, std²) (tCRPS)."""
    end, at = (limit - mean) / std, (np.minimum(y, limit) - mean) / std
    # Up to y the CDF counts against the forecast, from there on what it lacks to 1.
    below = squared_cdf_integral(at)
    above = squared_cdf_integral(-at) - squared_cdf_integral(-end)
    return np.asarray(std * (below + above))
