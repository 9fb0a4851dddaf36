"""Functions of the standard normal distribution, accurate far into its tails.

Notation: Φ and φ are the standard normal CDF and density, ``z`` is a normal score, and
``h(v) = E[(v − Z)₊] = vΦ(v) + φ(v)`` for Z ~ N(0, 1), so that h′ = Φ. Probabilities that would
round to 0 or 1 are passed as logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp

from calibrant.core.typing import FloatArray

PIT_RESOLUTION = 2.0**-53  # a probability closer to 1 than this is 1 in double precision
EDGE_SCORE = float(-ndtri(PIT_RESOLUTION))  # ≈ 8.21: beyond it all outcomes have the same PIT
SCORE_LIMIT = 1e6  # scores are clipped to ± a million, so that sums of squares stay finite
LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_ROOT_HALF, _ROOT_HALF_PI = 0.5**0.5, float(np.sqrt(0.5 * np.pi))

# The normal score of the smallest probability that a double can hold, 5e-324.
LARGEST_SCORE = float(-ndtri(np.nextafter(0.0, 1.0)))


def density(z: ArrayLike) -> FloatArray:
    """Return φ(z)."""
    z = np.clip(z, -40.0, 40.0)  # φ(40) is 0 in double precision, and 1e200² would overflow
    return np.asarray(np.exp(-0.5 * z * z - LOG_SQRT_2PI))


def score_from_logs(log_cdf: ArrayLike, log_survival: ArrayLike) -> FloatArray:
    """Return the normal score of a probability given as log p and log(1 − p).

    The smaller of the two carries the precision, so neither tail saturates. A logarithm of −∞ gives
    the score ±38.5, that of the smallest probability a double can hold.
    """
    lower, upper = np.broadcast_arrays(
        np.asarray(log_cdf, dtype=float), np.asarray(log_survival, dtype=float)
    )
    score = np.where(lower < upper, ndtri_exp(lower), -ndtri_exp(upper))
    # ndtri_exp turns log 0 into −inf. Scores of finite logs may exceed 38.5 and are kept.
    return np.where(np.isinf(score), np.copysign(LARGEST_SCORE, score), score)


def hinge(v: ArrayLike) -> FloatArray:
    """Return h(v) = E[(v − Z)₊] = vΦ(v) + φ(v)."""
    v = np.asarray(v, dtype=float)
    # At −inf, v·Φ(v) would be −inf·0 (its limit is 0); in the lower tail the two terms cancel.
    return np.where(v > -5.0, v * ndtr(np.maximum(v, -5.0)) + density(v), np.exp(log_hinge(v)))


def log_hinge(v: ArrayLike) -> FloatArray:
    """Return log h(v), accurate where h itself underflows, as log-EI needs it (Ament et al. 2023).

    For v < −1, h(v) = φ(v)·(1 − t·√(π/2)·erfcx(t/√2)) with t = −v. Beyond t = 50 the bracket
    cancels, and its asymptotic series 1/t² − 3/t⁴ + 15/t⁶ − 105/t⁸ + 945/t¹⁰ replaces it.
    """
    v = np.asarray(v, dtype=float)
    near = np.maximum(v, -1.0)
    mid = np.clip(-v, 1.0, 50.0)
    far = np.maximum(-v, 50.0)
    with np.errstate(over="ignore"):
        s = far**-2.0
        log_near = np.log(near * ndtr(near) + density(near))
        bracket = 1.0 - mid * np.sqrt(0.5 * np.pi) * erfcx(mid / np.sqrt(2.0))
        log_mid = -0.5 * mid * mid - LOG_SQRT_2PI + np.log(bracket)
        series = np.log1p(-s * (3.0 - s * (15.0 - s * (105.0 - 945.0 * s))))
        log_far = -0.5 * far * far - LOG_SQRT_2PI - 2.0 * np.log(far) + series
    return np.asarray(np.where(v > -1.0, log_near, np.where(v > -50.0, log_mid, log_far)))


def log_hinge_and_slope(v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log h(v) and its derivative Φ(v)/h(v), from one call of a special function.

    With e = √(π/2)·erfcx(−v/√2): Φ = φ·e and h = φ·(1 + v·e). For v < −50 the bracket cancels;
    there the slope is −v − 2/v up to terms in v⁻³.
    """
    if v.size and v.min() < -50.0:
        value = log_hinge(v)
        far = np.minimum(v, -50.0)
        near = log_hinge_and_slope(np.maximum(v, -50.0))[1]
        return value, np.where(v < -50.0, -far - 2.0 / far, near)
    bulk = np.minimum(v, 30.0)  # beyond 30, h(v) = v to the last digit and erfcx may overflow
    scaled = _ROOT_HALF_PI * erfcx(bulk * -_ROOT_HALF)
    bracket = 1.0 + bulk * scaled
    value = np.log(bracket) - 0.5 * bulk * bulk - LOG_SQRT_2PI
    if v.size and v.max() > 30.0:
        return np.where(v > 30.0, np.log(np.maximum(v, 1.0)), value), np.where(
            v > 30.0, 1.0 / np.maximum(v, 1.0), scaled / bracket
        )
    return value, scaled / bracket


def squared_cdf_integral(z: ArrayLike) -> FloatArray:
    """Return ∫ Φ² from −∞ to z, which is zΦ² + 2Φφ − Φ(√2·z)/√π."""
    z = np.asarray(z, dtype=float)
    finite = np.maximum(z, -40.0)  # the integral is 0 in double precision below −27
    p = ndtr(finite)
    return np.asarray(
        finite * p * p + 2.0 * p * density(finite) - ndtr(np.sqrt(2.0) * finite) / np.sqrt(np.pi)
    )


def mean_absolute(mean: ArrayLike, std: ArrayLike) -> FloatArray:
    """Return E|Y| for Y ~ N(mean, std²)."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    v = standardised(mean, 0.0, std)
    return np.asarray(mean * (2.0 * ndtr(v) - 1.0) + 2.0 * std * density(v))


def standardised(y: FloatArray, mean: FloatArray | float, std: FloatArray) -> FloatArray:
    """Return (y − mean)/std, clipped for finite y so that its square stays finite."""
    with np.errstate(over="ignore"):
        v = (y - mean) / std
    return np.where(np.isinf(y), v, np.clip(v, -1e150, 1e150))


def mixture_score(
    y: FloatArray, log_weights: FloatArray, means: FloatArray, stds: FloatArray
) -> FloatArray:
    """Return Φ⁻¹(F(y)) for a mixture of normals; components lie along the last axis."""
    v = standardised(y[..., None], means, stds)
    p = np.asarray((np.exp(log_weights) * ndtr(v)).sum(axis=-1))
    score = np.array(ndtri(p))
    tail = ~((p > 1e-3) & (p < 1.0 - 1e-3))  # p loses digits here; its logarithms do not
    if tail.any():
        v, weights = v[tail], np.broadcast_to(log_weights, v.shape)[tail]
        score[tail] = score_from_logs(
            logsumexp(weights + log_ndtr(v), axis=-1), logsumexp(weights + log_ndtr(-v), axis=-1)
        )
    return score


def mixture_at_score(
    z: FloatArray, log_weights: FloatArray, means: FloatArray, stds: FloatArray
) -> FloatArray:
    """Return the y whose normal score under a mixture is z: the inverse of ``mixture_score``.

    The Φ(z)-quantile of each component is ``mean + std·z``; the mixture's lies between the lowest
    and the highest of these. The Illinois variant of regula falsi shrinks that bracket, because
    scores are nearly linear in y; every third step bisects it, because between components that lie
    far apart they are not. Each bracket stops by itself, so that a quantile is the same to the last
    bit whatever is read with it: hits at ties are counted on quantiles read together.
    """
    shape = np.broadcast_shapes(z.shape, means.shape[:-1])
    infinite = np.isinf(z)
    target = np.broadcast_to(np.where(infinite, 0.0, z), shape)
    candidates = means + stds * target[..., None]
    low, high = candidates.min(axis=-1), candidates.max(axis=-1)

    def excess(y: FloatArray) -> FloatArray:
        return np.asarray(mixture_score(y, log_weights, means, stds) - target)

    enough = 4e-15 * (1.0 + np.abs(target))  # about the precision of a computed score
    f_low, f_high = excess(low), excess(high)
    last_side = np.zeros(shape)
    for step in range(200):  # every third step halves the bracket: 200 steps give 66 halvings
        scale = np.maximum(np.abs(low), np.abs(high)) + (high - low)
        active = (high - low) > 4e-16 * scale
        if not active.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            secant = high - f_high * (high - low) / (f_high - f_low)
        middle = 0.5 * (low + high)
        usable = (secant > low) & (secant < high) & (step % 3 != 2)
        y = np.where(usable, secant, middle)
        f = excess(y)
        up = f < 0.0  # the root lies above y
        # Illinois: when the same end is kept twice in a row, halve its value so that it moves.
        f_high = np.where(up, np.where(last_side > 0, 0.5 * f_high, f_high), f)
        f_low = np.where(up, f, np.where(last_side < 0, 0.5 * f_low, f_low))
        found = np.abs(f) <= enough
        low = np.where(active & (up | found), y, low)
        high = np.where(active & (~up | found), y, high)
        last_side = np.where(up, 1.0, -1.0)
    root = 0.5 * (low + high)
    return np.where(np.broadcast_to(infinite, shape), np.broadcast_to(z, shape), root)
