"""Conformal Bayesian optimisation: a bound over the outcomes that the data do not rule out.

After Stanton, Maddox and Wilson (2023), "Bayesian Optimization with Conformal Prediction Sets". An
outcome y at x is *accepted* if, once the Gaussian process has been told of it, it fits in no worse
than a share alpha of the outcomes known already: full conformal Bayes, scored in-sample.

For the n known points and the new one, with t = (y − mean)/s the new outcome's score, u = K⁻¹k(x),
g = u/s, and s² the variance of the noisy outcome at x, conditioning on (x, y) gives

    weights       α′_i = α_i − g_i·t              α′_new = t/s
    precisions    κ′_i = (K⁻¹)_ii + g_i²          κ′_new = 1/s²
    residual      noise_i·α′_i
    variance      noise_i·(2 − noise_i·κ′_i), that of the function plus the noise

so that every comparison of two log-densities is a quadratic in t, and no process is conditioned.
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
from calibrant.models.gp import FittedGP

Ratio = Callable[[FloatArray], FloatArray]  # points (m, d) -> weights (m,)

_DECAY, _ALPHAS = 0.35, (0.01, 0.5)  # of alpha by default: n^-0.35, within limits
_QUERIES = 512  # points that stand for the density of queries
_FLOOR = 0.01  # of densities whose largest possible value is 1: ratios stay below 102
_CELLS = 2**18  # comparisons made at once: 2 MB, which stays in a processor's cache


@dataclass(frozen=True)
class ConformalBound(Acquisition):
    """Minus an optimistic bound, mean − k·spread, over the conformally accepted outcomes.

    The spread is √(π/2)·E|Y − mean|. That of a Gaussian is its standard deviation: where every
    outcome is accepted, the bound is mean − k·std of the noisy outcome. Where none is, which can
    happen far from data that the model fits very closely, it is taken over all of them, too.

    Acceptance cuts a model's belief down to what the data bear out, and never widens it: outcomes
    come from the model's own predictive distribution. They are its quantiles at the middles of
    equal shares of probability. Draws would give another value at each look at the same point,
    and a maximum of noise.

    Each known point counts by the ratio of the density of queries to that of known points, as a
    search does not ask where it has data. Differences from the paper:

    - The densities are kernel estimates with a common bandwidth, where the paper trains a
      classifier; the queries are points of the cube weighted by the softmax of the standardised
      raw bound, where it draws them by Langevin dynamics from the conformal acquisition.
    - Acceptance is sharp, where it is smoothed to have gradients. There are none here: the value
      jumps a little where an outcome is accepted or not.
    - Outcomes that are not accepted do not count at all, where they keep a share alpha.

    It conformalises the raw model, so ``belief.shape``, which recalibrates it, is ignored.
    Imagined outcomes of failed and running points count as data.

    Args:
        alpha: the share of known outcomes that an accepted one must fit in no worse than; by
            default n^-0.35, between 0.01 and 0.5.
        k: how many spreads below the mean the bound is.
        samples: how many outcomes are tried at each point.
        weighted: whether known points count by the density of queries, or all the same.
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
        """Return mean − k·spread of the accepted scores of each row."""
        counted = np.where(accepted.any(axis=1, keepdims=True), accepted, True)
        shares = counted / counted.sum(axis=1, keepdims=True)
        centre = shares @ tried
        spread = (shares * np.abs(tried - centre[:, None])).sum(axis=1)
        return np.asarray(centre - self.k * np.sqrt(0.5 * np.pi) * spread)


def conformal_interval(
    fitted: FittedGP, X: ArrayLike, alpha: float = 0.1, queries: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest accepted outcome at each row of X, in units of outcomes.

    Of outcomes exchangeable with those known, the interval holds a share of at least 1 − alpha,
    however wrong the model: exactly so if hyper-parameters and output map were chosen without the
    outcomes and the noise is one for all, nearly so if they were fitted to many of them. With
    ``queries`` it is as near as the densities are estimated.

    The ends are exact, not those of a grid: they are among the roots of the quadratics above. An
    end is infinite where no outcome is too far out to be accepted: with alpha < 1/(n + 1), where a
    weight is that large a share of all, or where the model extrapolates so steeply that the known
    outcomes would fit in worse than the new one. Where no outcome is accepted the interval is
    the model's own.

    Args:
        fitted: the process.
        X: points (m, d) on the unit cube.
        alpha: the share of outcomes that may fall outside.
        queries: points (q, d) spread as those are at which outcomes will be seen, if that is not
            as the known ones are; known points then count by their density among queries.
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
    """How much better a new outcome fits in than each known one, in closed form."""

    fitted: FittedGP
    noise: float  # of the new outcome
    precisions: FloatArray  # (K⁻¹)_ii
    correlations: Callable[[FloatArray], FloatArray]  # of points (m, d) with the inputs: (m, n)

    @classmethod
    def of(cls, fitted: FittedGP) -> Margins:
        """Return what is the same for all candidates."""
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

        They are those of 2·(log-density of the new outcome − log-density of a known one), both
        under the process conditioned on the new one, of which t is the score.
        """
        fitted = self.fitted
        mean, std = self.predictive(X)
        k = fitted.signal_variance * self.correlations(X)
        g = (k @ fitted.W.T) @ fitted.W / std[:, None]
        noise = fitted.noise_variance
        # Of a variance noise·(2 − noise·κ′) the bracket is at least 1, but for rounding.
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
    """Return the density of queries over that of known points, as a function of points.

    Both are Gaussian kernel estimates. The bandwidth is half the median distance of known points
    to queries, and with the same one for both the ratio needs no normalisation. It is wide on
    purpose: in ten dimensions narrower ones tell only that points are far from each other.

    Args:
        known: points (n, d).
        queries: points (q, d).
        likely: how likely each query is, (q,), with sum 1.
        categorical: columns that are labels: two that differ are a unit apart.
    """
    width = 0.125 * float(np.median(_squared_distances(known, queries, categorical)))
    scale = 1.0 / width if width > 0.0 else 1.0  # where all points are one, all distances are 0

    def ratio(X: FloatArray) -> FloatArray:
        asked = np.exp(-0.5 * scale * _squared_distances(X, queries, categorical)) @ likely
        seen = np.exp(-0.5 * scale * _squared_distances(X, known, categorical)).mean(axis=1)
        return np.asarray((asked + _FLOOR) / (seen + _FLOOR))

    return ratio


def outcome_scores(samples: int) -> FloatArray:
    """Return normal scores at the middles of equal shares, scaled so that the spread is 1."""
    z = ndtri((np.arange(samples) + 0.5) / samples)
    return np.asarray(z * np.sqrt(2.0 / np.pi) / np.abs(z).mean())


def _equal(X: FloatArray) -> FloatArray:
    return np.ones(X.shape[0])


def _shares(
    coefficients: FloatArray, t: FloatArray, weights: FloatArray, own: FloatArray
) -> FloatArray:
    """Return the weighted share of the n + 1 points that fit in no better than the new one.

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

    Between two neighbouring roots nothing changes: one score in each cell tells all.
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
    """Return where quadratics change sign, (m, 2n); 0, a harmless cut, for each that does not."""
    constant, linear, square = np.moveaxis(coefficients, 2, 0)
    with np.errstate(all="ignore"):
        # A sum of numbers of one sign loses no digits; the other root is from the product of both.
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
    """Return points in groups that are compared at once, so that memory stays bounded."""
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
