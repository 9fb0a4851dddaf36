"""Conformal Bayesian optimisation (Stanton, Maddox and Wilson 2023).

From "Bayesian Optimization with Conformal Prediction Sets". The acquisition is a bound over the
outcomes that the data do not rule out. An outcome y at x is *accepted* if, after the Gaussian
process has been conditioned on it, it fits no worse than a share alpha of the known outcomes. This
is full conformal Bayes, with in-sample scores.

For the n known points and the new one, let s² be the variance of the noisy outcome at x,
t = (y − mean)/s the score of the new outcome, u = K⁻¹k(x) and g = u/s. Conditioning on (x, y) gives

    weights       α′_i = α_i − g_i·t              α′_new = t/s
    precisions    κ′_i = (K⁻¹)_ii + g_i²          κ′_new = 1/s²
    deviation     noise_i·α′_i, of the outcome from the posterior mean
    variance      noise_i·(2 − noise_i·κ′_i), of the function plus the noise

so every comparison of two log-densities is a quadratic in t, and no process need be conditioned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, softmax

from calibrant.acquisition.base import Acquisition, Belief, Criterion, process_of
from calibrant.core import validate
from calibrant.core.cube import Cube
from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.models.fitted_gp import FittedGP

Ratio = Callable[[FloatArray], FloatArray]  # points (m, d) -> weights (m,)

_DECAY, _ALPHAS = 0.35, (0.01, 0.5)  # the default alpha is n^-0.35, clipped to these limits
_QUERIES = 512  # points that represent the density of queries
_FLOOR = 0.01  # added to densities, which are at most 1, so that their ratio stays below 102
_CELLS = 2**18  # comparisons made at once: 2 MB, which fits in a processor's cache


@dataclass(frozen=True)
class ConformalBound(Acquisition):
    """Conformal BO's bound (Stanton et al. 2023): minus mean − k·spread of the accepted outcomes.

    The spread is √(π/2)·E|Y − mean|, which is the standard deviation of a Gaussian. Where every
    outcome is accepted, the bound is mean − k·std of the noisy outcome. Where none is accepted,
    which can happen far from data that the model fits very closely, all of them count too.

    The outcomes tried are quantiles of the model's own predictive distribution, at the midpoints of
    cells of equal probability. Acceptance can therefore only narrow the model's belief, never widen
    it. Random draws would give another value at each visit of the same point, and the search would
    maximise noise.

    Each known point is weighted by the ratio of the density of queries to that of known points,
    because a search does not query where it has data. Differences from the paper:

    - The densities are kernel estimates with a common bandwidth; the paper trains a classifier. The
      queries are points of the cube weighted by the softmax of the standardised raw bound; the
      paper draws them by Langevin dynamics from the conformal acquisition.
    - Acceptance is sharp; the paper smooths it to have gradients. Here there are no gradients, and
      the value jumps a little where an outcome becomes accepted.
    - Outcomes that are not accepted do not count at all; the paper gives them a share alpha.

    The raw model is conformalised, so ``belief.residual`` is ignored. Outcomes imputed for failed
    and running points count as data.

    Args:
        alpha: the share of known outcomes than which an accepted one must fit no worse; by default
            n^-0.35, between 0.01 and 0.5.
        k: how many spreads below the mean the bound lies.
        samples: how many outcomes are tried at each point.
        weighted: whether known points are weighted by the density ratio, or equally.
    """

    alpha: float | None = None
    k: float = 2.0
    samples: int = 64
    weighted: bool = True

    def __post_init__(self) -> None:
        if self.alpha is not None:
            _check_alpha(self.alpha)
        validate.not_negative("k", self.k)
        if self.samples < 2:
            raise ValueError(
                f"`samples >= 2` must hold, but got samples={self.samples}; "
                "one outcome has no spread, 64 are enough."
            )

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted = process_of(belief, self)
        n = fitted.v.size
        alpha = float(np.clip(n**-_DECAY, *_ALPHAS)) if self.alpha is None else self.alpha
        margins = Margins.of(fitted)
        ratio = self._ratio(margins, cube.spread(_QUERIES, rng)) if self.weighted else _equal
        weights, tried = ratio(fitted.X), outcome_scores(self.samples)

        def values(X: FloatArray) -> FloatArray:
            mean, std, coefficients = margins.at(X)
            accepted = _shares(coefficients, tried[None], weights, ratio(X)) > alpha
            return -(mean + std * self._bound(tried, accepted))

        return lambda X: (
            np.concatenate([values(part) for part in _parts(X, n * self.samples)]),
            None,
        )

    def _ratio(self, margins: Margins, queries: FloatArray) -> Ratio:
        mean, std = margins.predictive(queries)
        value = self.k * std - mean
        spread = float(value.std())
        likely = softmax((value - value.mean()) / (spread if spread > 0.0 else 1.0))
        fitted = margins.fitted
        return density_ratio(fitted.X, queries, likely, fitted.model.kernel.categorical)

    def _bound(self, tried: FloatArray, accepted: NDArray[np.bool_]) -> FloatArray:
        """Return mean − k·spread of the accepted scores in each row."""
        counted = np.where(accepted.any(axis=1, keepdims=True), accepted, True)
        shares = counted / counted.sum(axis=1, keepdims=True)
        centre = shares @ tried
        spread = (shares * np.abs(tried - centre[:, None])).sum(axis=1)
        return np.asarray(centre - self.k * np.sqrt(0.5 * np.pi) * spread)


def conformal_interval(
    fitted: FittedGP, X: ArrayLike, alpha: float = 0.1, queries: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest accepted outcome at each row of X, in units of outcomes.

    The interval holds at least a share 1 − alpha of outcomes that are exchangeable with the known
    ones, however wrong the model is. That is exact if hyper-parameters and output map were chosen
    without the outcomes and all share one noise variance, and approximate if they were fitted to
    many outcomes. With ``queries`` it is as accurate as the density estimates.

    The ends are exact, not limited to a grid: they are roots of the quadratics in the module's
    docstring. An end is infinite where outcomes are accepted however far out they are: if
    alpha < 1/(n + 1), if the new point's own weight exceeds a share alpha, or if the model
    extrapolates so steeply that the known outcomes would fit worse than the new one. Where no
    outcome is accepted, the model's own interval is returned.

    Args:
        fitted: the process.
        X: points (m, d) on the unit cube.
        alpha: the share of outcomes that may fall outside.
        queries: points (q, d) distributed like those at which outcomes will be seen, if that
            differs from the known points; these are then weighted by the density ratio.
    """
    _check_alpha(alpha)
    points = _points(fitted, "X", X)
    ratio: Ratio = _equal
    if queries is not None:
        asked = _points(fitted, "queries", queries)
        even = np.full(asked.shape[0], 1.0 / asked.shape[0])
        ratio = density_ratio(fitted.X, asked, even, fitted.model.kernel.categorical)
    margins, weights, n = Margins.of(fitted), ratio(fitted.X), fitted.v.size
    ends = [
        _ends(margins, part, alpha, weights, ratio(part)) for part in _parts(points, 2 * n * n + n)
    ]
    low, high = np.concatenate(ends, axis=1)
    return fitted.outputs.inverse(low), fitted.outputs.inverse(high)


@dataclass(frozen=True)
class Margins:
    """How much better a new outcome fits than each known one, in closed form."""

    fitted: FittedGP
    noise: float  # of the new outcome
    precisions: FloatArray  # (K⁻¹)_ii
    correlations: Callable[[FloatArray], FloatArray]  # of points (m, d) with the inputs: (m, n)

    @classmethod
    def of(cls, fitted: FittedGP) -> Margins:
        """Return the margins of a process, with the parts that all candidates share."""
        with_inputs = fitted.model.kernel.with_inputs(fitted.parameters.kernel, fitted.X)
        precisions = np.einsum("ji,ji->i", fitted.W, fitted.W)
        return cls(
            fitted, float(fitted.noise_variance.mean()), precisions, lambda X: with_inputs(X)[0]
        )

    def predictive(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and std of the noisy outcomes at X, in the model's units."""
        mean, std, _ = self.fitted.posterior(X)
        return mean, np.sqrt(std**2 + self.noise)

    def at(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean (m,), std (m,) and the coefficients (m, n, 3) of 1, t and t².

        The polynomial is 2·(log-density of the new outcome − log-density of a known one), both
        under the process conditioned on the new outcome, whose score is t.
        """
        fitted = self.fitted
        mean, std = self.predictive(X)
        k = fitted.signal_variance * self.correlations(X)
        g = (k @ fitted.W.T) @ fitted.W / std[:, None]
        noise = fitted.noise_variance
        # The bracket of the variance noise·(2 − noise·κ′) is at least 1, except for rounding.
        spare = 2.0 - np.minimum(noise * (self.precisions + g * g), 1.0)
        share = self.noise / std**2
        new_spare = 2.0 - share
        constant = np.log(noise * spare) + noise * fitted.alpha**2 / spare
        constant -= np.log(self.noise * new_spare)[:, None]
        linear = -2.0 * noise * fitted.alpha * g / spare
        square = noise * g * g / spare - (share / new_spare)[:, None]
        return mean, std, np.stack([constant, linear, square], axis=2)


def density_ratio(
    known: FloatArray, queries: FloatArray, likely: FloatArray, categorical: tuple[int, ...] = ()
) -> Ratio:
    """Return the ratio of the density of queries to that of known points, as a function of points.

    Both are Gaussian kernel estimates. The std of the kernel is 0.35 times the median distance
    between known points and queries; as both densities share it, the ratio needs no normalisation.
    It is wide on purpose: in ten dimensions a narrow kernel shows only that all points are far from
    each other.

    Args:
        known: points (n, d).
        queries: points (q, d).
        likely: the probability of each query, (q,), with sum 1.
        categorical: columns of labels; two labels that differ are at distance 1.
    """
    width = 0.125 * float(np.median(_squared_distances(known, queries, categorical)))
    scale = 1.0 / width if width > 0.0 else 1.0  # if all points coincide, all distances are 0

    def ratio(X: FloatArray) -> FloatArray:
        asked = np.exp(-0.5 * scale * _squared_distances(X, queries, categorical)) @ likely
        seen = np.exp(-0.5 * scale * _squared_distances(X, known, categorical)).mean(axis=1)
        return np.asarray((asked + _FLOOR) / (seen + _FLOOR))

    return ratio


def outcome_scores(samples: int) -> FloatArray:
    """Return normal scores at midpoints of cells of equal probability, scaled to a spread of 1."""
    z = ndtri((np.arange(samples) + 0.5) / samples)
    return np.asarray(z * np.sqrt(2.0 / np.pi) / np.abs(z).mean())


def _equal(X: FloatArray) -> FloatArray:
    return np.ones(X.shape[0])


def _shares(
    coefficients: FloatArray, t: FloatArray, weights: FloatArray, own: FloatArray
) -> FloatArray:
    """Return the weighted share of the n + 1 points that fit no better than the new one.

    Args:
        coefficients: from :meth:`Margins.at`, (m, n, 3).
        t: scores of new outcomes, (m, s) or (1, s).
        weights: of the known points, (n,).
        own: weights of the new points, (m,).
    """
    powers = np.stack([np.ones_like(t), t, t * t], axis=1)  # (m or 1, 3, s)
    no_better = (coefficients @ powers >= 0.0).astype(float)
    return np.asarray((weights @ no_better + own[:, None]) / (weights.sum() + own)[:, None])


def _ends(
    margins: Margins, X: FloatArray, alpha: float, weights: FloatArray, own: FloatArray
) -> FloatArray:
    """Return lowest and highest accepted outcomes, (2, m), in the model's units.

    Acceptance is constant between two neighbouring roots, so one score per cell decides it.
    """
    mean, std, coefficients = margins.at(X)
    roots = np.sort(_roots(coefficients), axis=1)
    inside = 0.5 * (roots[:, 1:] + roots[:, :-1])
    t = np.hstack([roots[:, :1] - 1.0, inside, roots[:, -1:] + 1.0])
    accepted = _shares(coefficients, t, weights, own) > alpha
    outside = np.full((X.shape[0], 1), np.inf)
    edges = np.hstack([-outside, roots, outside])
    row, first = np.arange(X.shape[0]), accepted.argmax(axis=1)
    last = accepted.shape[1] - accepted[:, ::-1].argmax(axis=1)
    plain = -float(ndtri(0.5 * alpha))
    found = accepted.any(axis=1)
    low = np.where(found, edges[row, first], -plain)
    high = np.where(found, edges[row, last], plain)
    return np.asarray(mean + std * np.stack([low, high]))


def _roots(coefficients: FloatArray) -> FloatArray:
    """Return the roots of the quadratics, (m, 2n); a missing root is 0, which does no harm."""
    constant, linear, square = np.moveaxis(coefficients, 2, 0)
    with np.errstate(all="ignore"):
        # Adding numbers of the same sign loses no digits; the product of the roots gives the other.
        bigger = -0.5 * (linear + np.copysign(np.sqrt(linear**2 - 4.0 * square * constant), linear))
        roots = np.hstack([bigger / square, constant / bigger])
    finite = np.where(np.isfinite(roots), roots, 0.0)
    return np.clip(finite, -SCORE_LIMIT, SCORE_LIMIT)


def _squared_distances(A: FloatArray, B: FloatArray, categorical: tuple[int, ...]) -> FloatArray:
    labels = list(categorical)
    a, b = np.delete(A, labels, axis=1), np.delete(B, labels, axis=1)
    r2 = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T
    for column in labels:
        r2 += A[:, column, None] != B[None, :, column]
    return np.asarray(np.maximum(r2, 0.0))


def _parts(X: FloatArray, cells_each: int) -> list[FloatArray]:
    """Return points in groups small enough that comparing one at a time bounds the memory."""
    size = max(1, _CELLS // cells_each)
    return [X[start : start + size] for start in range(0, max(1, X.shape[0]), size)]


def _points(fitted: FittedGP, name: str, X: ArrayLike) -> FloatArray:
    points, dim = validate.finite(name, X), fitted.X.shape[1]
    if points.ndim != 2 or points.shape[1] != dim:
        raise ValueError(f"`{name}` must have shape (m, {dim}), but got {points.shape}.")
    return points


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ValueError(
            f"`0 < alpha < 1` must hold, but got alpha={alpha}; 0.1 accepts 9 outcomes of 10."
        )
