"""The paper's calibration sets with refits, at a cost that allows hundreds of repetitions.

Each of its N splits fits the model again (Algorithm 4, step 1). A search of 25 steps makes some 450
such fits, each of a model with three hyper-parameters and few outcomes: nearly all of the time is
Python's. So the fits of leave-one-out splits descend side by side, as one batch of small matrices.
They are the fits of :class:`~calibrant.models.GaussianProcess`: the same likelihood, bounds and
starts, and two descents each. Those of a time series are of prefixes, which are the same at every
step, and are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from calibrant.core.normal import LOG_SQRT_2PI
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import fit_map
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import RBF, Matern52
from calibrant.models.likelihood import Priors, log_bounds
from calibrant.models.protocol import FittedModel, Model
from calibrant.recalibration import CalibrationSet, leave_one_out
from calibrant.recalibration.score_log import ScoreLog

NAMES = ["lengthscale", "signal", "noise"]  # the hyper-parameters, in the order of theta
_STARTS = ((1.0, 1.0), (0.4, 1.0), (2.5, 1.0), (1.0, 100.0))  # of lengthscale and noise
_DESCENTS = 2
_STEPS = 25
_SMALL_GAIN, _SMALL_SLOPE = 1e-4, 1e-3  # where a descent ends, as the library's do
_LONGEST = 2.0  # of a step, in logarithms: further is another hill

# (theta (b, 3), which split (b,)) -> −log likelihood (b,) and its gradient (b, 3)
Loss = Callable[[FloatArray, np.ndarray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Refitted(CalibrationSet):
    """A calibration set with refits, as the paper has it; ``refit`` says nothing here."""

    def scores(
        self,
        model: Model,
        fitted: FittedModel,
        X: FloatArray,
        y: FloatArray,
        online: ScoreLog,
        noise: FloatArray | None = None,
    ) -> ScoreLog:
        if self.splits == "time-series":
            return ScoreLog(
                [_one_ahead(model, X[: t + 1].tobytes(), y[: t + 1].tobytes(), X.shape[1])
                 for t in range(self.first, y.size)]
            )  # fmt: skip
        if y.size < 3 or not _is_plain(model):
            return leave_one_out(model, X, y, refit=True) if y.size > 1 else ScoreLog([])
        return ScoreLog(left_out_scores(model, X, y))


@lru_cache(maxsize=4096)
def _one_ahead(model: Model, inputs: bytes, outcomes: bytes, dim: int) -> float:
    """Return the score of the last outcome under the model fitted to those before it."""
    X, y = np.frombuffer(inputs).reshape(-1, dim), np.frombuffer(outcomes)
    return float(model.fit(X[:-1], y[:-1]).predict(X[-1:])[0].score(y[-1]))


def _is_plain(model: Model) -> bool:
    """Return whether a model is the paper's: one lengthscale, maximum likelihood, no warping."""
    return (
        isinstance(model, GaussianProcess)
        and type(model.kernel) in (RBF, Matern52)
        and not model.kernel.per_dimension
        and not model.kernel.categorical
        and model.priors is None
        and model.noise is None
        and model.outputs == "standardise"
    )


def left_out_scores(model: GaussianProcess, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the score of each outcome under the model fitted to all others."""
    kept = np.array([np.delete(np.arange(y.size), i) for i in range(y.size)])
    splits = _splits(model, X, y, kept)
    theta = _most_likely(splits, X.shape[1])
    length, signal, noise = np.exp(theta).T
    _, inverse, _ = _covariances(splits, theta, np.arange(y.size))
    k = signal[:, None] * splits.profile(splits.to_left_out / length[:, None] ** 2)[0]
    weights = np.einsum("bij,bj->bi", inverse, k)
    mean = (weights * splits.v).sum(axis=1)
    variance = signal + noise - (weights * k).sum(axis=1)
    scores = (splits.left_out - mean) / np.sqrt(np.maximum(variance, noise))
    return np.asarray(scores / getattr(model, "factor", 1.0))  # of one that is too sure


class _Splits(NamedTuple):
    """What the fits of all splits need: n outcomes but one in each of b splits."""

    distances: FloatArray  # squared, between inputs (b, n, n)
    to_left_out: FloatArray  # squared, from the input left out (b, n)
    v: FloatArray  # outcomes in the model's units (b, n)
    left_out: FloatArray  # the one left out, in the same units (b,)
    profile: Callable[[FloatArray], tuple[FloatArray, Callable[[], FloatArray]]]


def _splits(model: GaussianProcess, X: FloatArray, y: FloatArray, kept: np.ndarray) -> _Splits:
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = y[kept].mean(axis=1), y[kept].std(axis=1)
    if np.all(std > 1e-9 * np.abs(y).max()) and np.all(np.isfinite(std)):
        v, left_out = (y[kept] - mean[:, None]) / std[:, None], (y - mean) / std
    else:  # as good as constant, or too large to be squared: the model knows what to do
        maps = [fit_map(model.outputs, y[rows]) for rows in kept]
        v = np.array([units(y[rows]) for units, rows in zip(maps, kept, strict=True)])
        left_out = np.array([float(units(one)) for units, one in zip(maps, y, strict=True)])
    return _Splits(
        squares[kept[:, :, None], kept[:, None, :]],
        squares[np.arange(y.size)[:, None], kept],
        v,
        left_out,
        model.kernel.profile,  # type: ignore[attr-defined]
    )


def _most_likely(splits: _Splits, dim: int) -> FloatArray:
    """Return the hyper-parameters of highest likelihood of each split."""
    loss = _loss(splits)
    low, high = np.array(log_bounds(NAMES)).T
    centre = np.array([Priors().of(name, dim)[0] for name in NAMES])
    every = np.arange(len(splits.v))
    starts = np.array(
        [np.clip(centre + np.log([length, 1.0, noise]), low, high) for length, noise in _STARTS]
    )
    at_starts = np.array([loss(np.tile(start, (every.size, 1)), every)[0] for start in starts])
    chosen = np.argsort(at_starts, axis=0, kind="stable")[:_DESCENTS]  # (descents, splits)
    found, values = _descend(
        loss, starts[chosen].reshape(-1, len(NAMES)), np.tile(every, _DESCENTS), low, high
    )
    best = np.argmin(values.reshape(_DESCENTS, -1), axis=0)
    return np.asarray(found.reshape(_DESCENTS, every.size, -1)[best, every])


def _loss(splits: _Splits) -> Loss:
    """Return −log likelihood of outcomes in the model's units, for many splits at a time."""
    size = splits.v.shape[1]

    def evaluate(theta: FloatArray, which: np.ndarray) -> tuple[FloatArray, FloatArray]:
        v = splits.v[which]
        (K, by_log_length), inverse, half_log_determinant = _covariances(splits, theta, which)
        noise = np.exp(theta[:, 2])
        alpha = np.einsum("bij,bj->bi", inverse, v)
        value = 0.5 * (v * alpha).sum(axis=1) + half_log_determinant + size * LOG_SQRT_2PI
        by_K = 0.5 * (inverse - alpha[:, :, None] * alpha[:, None, :])
        by_noise = noise * np.trace(by_K, axis1=1, axis2=2)
        by_signal = np.einsum("bij,bij->b", by_K, K) - by_noise  # K is signal and noise
        gradient = np.stack(
            [np.einsum("bij,bij->b", by_K, by_log_length), by_signal, by_noise], axis=1
        )
        return np.where(np.isfinite(value), value, 1e25), np.nan_to_num(gradient)

    return evaluate


def _covariances(
    splits: _Splits, theta: FloatArray, which: np.ndarray
) -> tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
    """Return K (b, n, n) and ∂K/∂log lengthscale, K⁻¹, and half the log-determinants."""
    length, signal, noise = np.exp(theta).T[:, :, None, None]
    r2 = splits.distances[which] / length**2
    C, slope = splits.profile(r2)
    by_log_length = (-2.0 * signal) * slope() * r2
    K = signal * C
    diagonal = np.arange(K.shape[1])
    K[:, diagonal, diagonal] += noise[:, :, 0]
    return (K, by_log_length), *_inverses(K)


def _inverses(K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return inverses (b, n, n) and half the log-determinants; NaN where there are none."""
    inverse, half = np.empty_like(K), np.full(len(K), np.nan)
    for b, matrix in enumerate(K):
        factor, failed = dpotrf(matrix, lower=1, clean=1)
        if failed:  # not positive definite to working precision: no place to be
            inverse[b] = np.nan
            continue
        half[b] = np.log(factor.diagonal()).sum()
        inverse[b] = dpotri(factor, lower=1)[0]
    lower = np.tril(inverse, -1)
    inverse = np.tril(inverse) + np.swapaxes(lower, 1, 2)  # LAPACK fills one triangle
    return inverse, half


def _descend(
    loss: Loss, theta: FloatArray, which: np.ndarray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return where descents from ``theta`` (b, 3) end, and the values there.

    A quasi-Newton descent (BFGS) in a box: entries at a bound that would leave it stay there.
    """
    theta = theta.copy()
    value, slope = loss(theta, which)
    identity = np.eye(theta.shape[1])
    metric = np.tile(identity, (len(theta), 1, 1))  # of the inverse curvature
    first = np.ones(len(theta), dtype=bool)
    moving = np.arange(len(theta))
    for _ in range(_STEPS):
        t, g, H = theta[moving], slope[moving], metric[moving]
        free = ~(((t <= low) & (g > 0.0)) | ((t >= high) & (g < 0.0)))
        g = g * free
        ended = np.abs(g).max(axis=1) < _SMALL_SLOPE
        direction = -np.einsum("bij,bj->bi", H * free[:, :, None] * free[:, None, :], g)
        uphill = (direction * g).sum(axis=1) >= 0.0
        metric[moving[uphill]] = identity
        direction[uphill] = -g[uphill]
        length = np.linalg.norm(direction, axis=1)
        cap = np.where(first[moving] | uphill, np.minimum(1.0, 1.0 / (length + 1e-12)), 1.0)
        cap = np.minimum(cap, _LONGEST / (length + 1e-12))
        direction *= cap[:, None]
        moving, direction = moving[~ended], direction[~ended]
        if not moving.size:
            break
        before, old_theta, old_slope = value[moving], theta[moving], slope[moving]
        _line_search(loss, theta, value, slope, which, moving, direction, low, high)
        step, change = theta[moving] - old_theta, slope[moving] - old_slope
        _learn_curvature(metric, moving, step, change)
        first[moving] = False
        scale = np.maximum(np.maximum(np.abs(before), np.abs(value[moving])), 1.0)
        moving = moving[before - value[moving] > _SMALL_GAIN * scale]
    return theta, value


def _line_search(
    loss: Loss,
    theta: FloatArray,
    value: FloatArray,
    slope: FloatArray,
    which: np.ndarray,
    moving: np.ndarray,
    direction: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Move each entry along its direction until its value falls enough; in place."""
    share = np.ones(len(moving))
    open_ = np.arange(len(moving))
    old = theta[moving]
    for _ in range(12):
        rows = moving[open_]
        tried = np.clip(old[open_] + share[open_, None] * direction[open_], low, high)
        found, gradient = loss(tried, which[rows])
        expected = ((tried - old[open_]) * slope[rows]).sum(axis=1)
        enough = found <= value[rows] + 1e-4 * expected
        done = rows[enough]
        theta[done], value[done], slope[done] = tried[enough], found[enough], gradient[enough]
        share[open_] *= 0.4
        open_ = open_[~enough]
        if not open_.size:
            return


def _learn_curvature(
    metric: FloatArray, moving: np.ndarray, step: FloatArray, change: FloatArray
) -> None:
    """Update the inverse curvature by the BFGS rule, in place."""
    product = (step * change).sum(axis=1)
    known = product > 1e-10
    rows, s, c, sc = moving[known], step[known], change[known], product[known][:, None, None]
    shape = np.eye(s.shape[1]) - s[:, :, None] * c[:, None, :] / sc
    metric[rows] = shape @ metric[rows] @ np.swapaxes(shape, 1, 2) + s[:, :, None] * s[:, None] / sc
