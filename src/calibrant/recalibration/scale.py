"""The scale of forecasts, corrected as far as scores prove it wrong.

Two questions have two answers. *Whether* the scale is wrong is decided by an e-value: how much more
probable the scores are under some other scale than under the best one that is close enough to
right,

    E = ∫ Π p(z_i | s) π(s) ds / max_{s in tolerance} Π N(z_i; 0, s²),

with π log-normal and p half normal, half Student. It is an e-value by universal inference
(Wasserman, Ramdas and Balakrishnan 2020): on forecasts whose scale is close enough to right, E
reaches 1/α with probability α at most, whenever one looks, if each score is of a forecast made
before its outcome. Leave-one-out scores are not, so that in a search the share is measured, not
proved (benchmarks/calibrated). Until E reaches 1/α, forecasts stay exactly as they are, and so does
a search that uses them. *How much* the scale is wrong is then the posterior mean of log s;
Student's tails keep single outliers from deciding it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, gammaln

from calibrant.core import validate
from calibrant.core.normal import LOG_SQRT_2PI
from calibrant.core.typing import FloatArray
from calibrant.forecasts.normal import STANDARD_NORMAL, Normal
from calibrant.recalibration.base import ScoreRecalibrator, as_scores

# Degrees of freedom: one outlier of any size among 20 scores widens forecasts by a quarter; with
# normal tails, in proportion to its size.
_TAILS = 5.0
_COARSE = np.linspace(-4.0, 8.0, 97)  # log s between 0.02 and 3000, in steps of an eighth
_BELIEF = 1.5  # std of log s where the scale is wrong: a factor of 4.5 either way is nothing odd
_LOG_BELIEF = np.log(_BELIEF)
# The logarithm of the Student density at 0.
_LOG_STUDENT = gammaln(0.5 * (_TAILS + 1)) - gammaln(0.5 * _TAILS) - 0.5 * np.log(_TAILS * np.pi)
_FINE = np.linspace(-1.0, 1.0, 65)


class ScaleRecalibrator(ScoreRecalibrator):
    """Multiply the std of forecasts by what past scores prove to be missing.

    It leaves forecasts alone whose scale is about right, and corrects within a handful of outcomes
    those that are ten times too sure or too unsure. Location and shape of forecasts stay.

    >>> import numpy as np
    >>> from calibrant import Normal, ScaleRecalibrator
    >>> z = np.random.default_rng(0).normal(size=20)
    >>> right, too_sure = (ScaleRecalibrator().update_scores(z * s) for s in (1.0, 8.0))
    >>> print(f"× {right.scale:.2f}, × {too_sure.scale:.1f}")
    × 1.00, × 6.8

    Args:
        level: the probability α of acting, ever, on forecasts whose scale is close enough to right:
            the evidence must reach 1/α.
        tolerance: scales of scores that count as right. Below 1 there is more room: leave-one-out
            scores come out small, as the model's hyper-parameters have seen the outcome left out.
            An error within these bounds is never corrected, however many outcomes show it. With
            (1, 1) any error is corrected in the end.
        scores: of past outcomes, in any order (state).
    """

    def __init__(
        self,
        level: float = 0.1,
        tolerance: tuple[float, float] = (0.75, 1.25),
        scores: ArrayLike = (),
    ) -> None:
        validate.probability_level("level", level)
        if len(tolerance) != 2 or not 0.0 < tolerance[0] <= 1.0 <= tolerance[1] < np.inf:
            raise ValueError(
                f"`0 < low <= 1 <= high` must hold of `tolerance`, but got {tuple(tolerance)}."
            )
        self._level = float(level)
        self._tolerance = (float(tolerance[0]), float(tolerance[1]))
        self._scores = validate.frozen(as_scores(scores))

    def __repr__(self) -> str:
        low, high = self._tolerance
        settings = f"level={self._level:g}, tolerance=({low:g}, {high:g})"
        return f"ScaleRecalibrator({settings}, {self._scores.size} outcomes)"

    @property
    def log_evidence(self) -> float:
        """The logarithm of the e-value against a scale within the tolerance."""
        if not self._scores.size:
            return 0.0
        return self._alternative.log_evidence - _within(self._scores**2, self._tolerance)

    @cached_property
    def scale(self) -> float:
        """What the std of forecasts is multiplied by."""
        if self.log_evidence < -np.log(self._level):
            return 1.0
        return float(np.exp(self._alternative.log_scale))

    @cached_property
    def residual(self) -> Normal:
        return STANDARD_NORMAL if self.scale == 1.0 else Normal(0.0, self.scale)

    def update_scores(self, z: ArrayLike) -> Self:
        known = np.concatenate([self._scores, as_scores(z)])
        return type(self)(self._level, self._tolerance, known)

    def update_symmetric(self, z: ArrayLike) -> Self:
        return self.update_scores(z)  # signs do not matter here anyway

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "scale",
            "level": self._level,
            "tolerance": list(self._tolerance),
            "scores": self._scores.tolist(),
        }

    @cached_property
    def _alternative(self) -> Alternative:
        return _alternative(self._scores**2)


class Alternative(NamedTuple):
    """What scores say if the scale is wrong."""

    log_evidence: float  # log ∫ Π p(z_i | s) π(s) ds
    log_scale: float  # E[log s | z]


# (squares of scores (n,), log s (m,)) -> log Π p(z_i | s), (m,)
Likelihood = Callable[[FloatArray, FloatArray], FloatArray]


def _alternative(squares: FloatArray) -> Alternative:
    """Return what either kind of tails says, each as far as the scores speak for it."""
    normal, student = (_integrated(squares, tails) for tails in (_normal, _student))
    for_student = expit(student.log_evidence - normal.log_evidence)
    return Alternative(
        float(np.logaddexp(normal.log_evidence, student.log_evidence) - np.log(2.0)),
        float(normal.log_scale + for_student * (student.log_scale - normal.log_scale)),
    )


def _integrated(squares: FloatArray, likelihood: Likelihood) -> Alternative:
    """Integrate over log s: where the integrand is large is found first, then gone through."""

    def log_joint(log_scales: FloatArray) -> FloatArray:
        prior = -0.5 * (log_scales / _BELIEF) ** 2 - _LOG_BELIEF - LOG_SQRT_2PI
        return np.asarray(likelihood(squares, log_scales) + prior)

    peak = _COARSE[log_joint(_COARSE).argmax()]
    width = max(_COARSE[1] - _COARSE[0], 6.0 * _BELIEF / np.sqrt(1.0 + squares.size))
    fine = peak + width * _FINE
    values = log_joint(fine)
    largest = values.max()
    weights = np.exp(values - largest)
    log_evidence = largest + np.log(weights.sum() * (fine[1] - fine[0]))
    return Alternative(float(log_evidence), float(weights @ fine / weights.sum()))


def _normal(squares: FloatArray, log_scales: FloatArray) -> FloatArray:
    count, total = squares.size, float(squares.sum())
    return np.asarray(
        -0.5 * total * np.exp(-2.0 * log_scales) - count * (log_scales + LOG_SQRT_2PI)
    )


def _student(squares: FloatArray, log_scales: FloatArray) -> FloatArray:
    narrowed = log_scales + np.log(_normal_as_student())
    in_units = squares * np.exp(-2.0 * narrowed)[:, None]
    tails = np.log1p(in_units / _TAILS).sum(axis=1)
    return np.asarray(squares.size * (_LOG_STUDENT - narrowed) - 0.5 * (_TAILS + 1.0) * tails)


def _within(squares: FloatArray, tolerance: tuple[float, float]) -> float:
    """Return log Π N(z_i; 0, s²), with the best s within the tolerance."""
    best = np.clip(np.sqrt(squares.mean()), *tolerance)
    return float(_normal(squares, np.log([best]))[0])


@cache
def _normal_as_student() -> float:
    """Return the scale of the Student density that is closest to a standard normal.

    With it the estimate is consistent where scores are normal: E[(ν + 1) z² / (ν s² + z²)] = 1.
    It is applied only beyond the tolerance; an error within it is never corrected, by design.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    square, weights = nodes**2, weights / weights.sum()

    def excess(s: float) -> float:
        return float(weights @ ((_TAILS + 1.0) * square / (_TAILS * s * s + square))) - 1.0

    return float(brentq(excess, 0.1, 2.0))
