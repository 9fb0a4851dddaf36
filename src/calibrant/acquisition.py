"""Acquisitions: how much a point is worth evaluating, according to calibrated beliefs.

Each turns a :class:`Belief` (a fitted model and the shape that recalibrates it) into a *criterion*,
a function of points to be maximised. Gaussian models work in their own units and give gradients;
any other model is read through the quantiles of its recalibrated forecasts, without gradients.

In a model's own units g(y), expected improvement weighs improvements by g′. That is on purpose: it
makes the criterion blind to a rescaling of the outcomes.
Quantile bounds, probabilities and draws are the same in both units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtri

from calibrant import checks
from calibrant.cube import Cube
from calibrant.curves import Curves, curves
from calibrant.forecast import Forecast
from calibrant.gaussian import FloatArray
from calibrant.models.gp import FittedGP
from calibrant.models.protocol import FittedModel, GaussianBelief
from calibrant.models.rotation import FittedRotation
from calibrant.shape import compose

# points (m, d) -> values (m,) and, unless there is none, a function for their gradients (m, d)
Criterion = Callable[[FloatArray], tuple[FloatArray, Callable[[], FloatArray] | None]]

# (mean, std) -> value and its derivatives by mean and by std, each (m,)
Rule = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


@dataclass(frozen=True)
class Belief:
    """What is believed about one outcome: a model, how to recalibrate it, and what to beat."""

    fitted: FittedModel
    shape: Forecast
    best: float  # in the model's units if it has any, else in those of outcomes


class Acquisition(ABC):
    """A way to value points."""

    # Whether it may learn that outcomes lie, on the whole, so many stds above their forecasts.
    takes_shift: ClassVar[bool] = True

    @abstractmethod
    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        """Return the function of points of the cube to maximise."""


def process_of(belief: Belief, acquisition: Acquisition) -> FittedGP:
    """Return the belief's model, if it is the Gaussian process that an acquisition needs."""
    if isinstance(belief.fitted, FittedRotation):
        return belief.fitted.current
    if isinstance(belief.fitted, FittedGP):
        return belief.fitted
    raise TypeError(
        f"`{type(acquisition).__name__}` needs a fitted GaussianProcess, but got "
        f"{type(belief.fitted).__name__}; choose that model, or QuantileBound, which takes any."
    )


class _Pointwise(Acquisition):
    """An acquisition that values each point by its own forecast."""

    @abstractmethod
    def rule(self, shape: Forecast, best: float) -> Rule:
        """Return the value of location-scale forecasts mean + std·shape, with derivatives."""

    @abstractmethod
    def value(self, forecast: Forecast, best: float) -> FloatArray:
        """Return the value of any calibrated forecasts."""

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted = belief.fitted
        if not isinstance(fitted, GaussianBelief):
            return lambda X: (
                self.value(compose(fitted.predict(X), belief.shape), belief.best),
                None,
            )
        rule = self.rule(belief.shape, belief.best)

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = fitted.posterior(X)
            value, by_mean, by_std = rule(mean, std)
            return value, lambda: pullback(by_mean, by_std)

        return evaluate


@dataclass(frozen=True)
class ExpectedImprovement(_Pointwise):
    """log E[(best − margin − Y)₊]: finite and with a gradient far from any improvement.

    That is, of models with Gaussian forecasts, calibrated or not. Of others it may be −∞ there.

    Args:
        margin: how much better an improvement must be to count, in the model's units.
    """

    margin: float = 0.0

    # Where doubt is large a shift in stds is large: it would make improvement avoid doubt.
    takes_shift: ClassVar[bool] = False

    def rule(self, shape: Forecast, best: float) -> Rule:
        read, goal = curves(shape), best - self.margin

        def log_improvement(
            mean: FloatArray, std: FloatArray
        ) -> tuple[FloatArray, FloatArray, FloatArray]:
            v = (goal - mean) / std
            value, slope = read.log_shortfall(v)
            return np.log(std) + value, -slope / std, (1.0 - v * slope) / std

        return log_improvement

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return forecast.log_shortfall(best - self.margin)


@dataclass(frozen=True)
class ProbabilityOfImprovement(_Pointwise):
    """log P(Y ≤ best − margin).

    Args:
        margin: how much better an improvement must be, in the model's units. Without one the
            criterion would stay at the best point, where an improvement by nothing is likely.
    """

    margin: float = 0.01

    def rule(self, shape: Forecast, best: float) -> Rule:
        return log_probability(curves(shape), best - self.margin)

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return np.asarray(log_ndtr(forecast.score(best - self.margin)))


@dataclass(frozen=True)
class QuantileBound(_Pointwise):
    """Minus the quantile of Y at a low level: optimism that is as bold as calibration allows.

    Args:
        level: of the quantile; 0.0228 is the Gaussian mean − 2·std.
    """

    level: float = 0.0228

    def __post_init__(self) -> None:
        checks.levels_grid([self.level])

    def rule(self, shape: Forecast, best: float) -> Rule:
        # A shape may have no mass between −∞ and a level: 8.2 is as far as a PIT can see.
        score = float(np.clip(shape.at_score(ndtri(self.level)), -8.2, 8.2))
        return lambda mean, std: (
            -(mean + score * std),
            np.full_like(mean, -1.0),
            np.full_like(std, -score),
        )

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return -forecast.quantile(self.level)


@dataclass(frozen=True)
class Thompson(Acquisition):
    """Minus one function drawn from the calibrated belief.

    A Gaussian belief is drawn jointly at ``candidates`` points, the draws' marginals are
    recalibrated, and the smoothest function through them is searched, with gradients. A model
    without joint draws is drawn at each point by itself.
    """

    candidates: int = 256

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted, shape = belief.fitted, belief.shape
        if not isinstance(fitted, GaussianBelief):
            return lambda X: (-compose(fitted.predict(X), shape).sample(1, rng)[0], None)
        points = cube.snap(rng.random((self.candidates, cube.dim)))
        mean, std, _ = fitted.posterior(points)
        draw = fitted.sample(points, rng.standard_normal(self.candidates))
        score = np.clip(shape.at_score((draw - mean) / std), -8.2, 8.2)
        drawn = fitted.condition(points, mean + std * score, std=0.0)

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = drawn.posterior(X)
            return -mean, lambda: pullback(np.full_like(mean, -1.0), np.zeros_like(std))

        return evaluate


def log_probability(read: Curves, threshold: float) -> Rule:
    """Return the rule log P(Y ≤ threshold)."""

    def rule(mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = (threshold - mean) / std
        value, slope = read.log_cdf(v)
        return value, -slope / std, -slope * v / std

    return rule


def total(criteria: Sequence[Criterion]) -> Criterion:
    """Return the sum of criteria: logarithms of independent factors."""

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
        values, gradients = zip(*(criterion(X) for criterion in criteria), strict=True)
        known = [gradient for gradient in gradients if gradient is not None]
        if len(known) < len(gradients):
            return np.sum(values, axis=0), None
        return np.sum(values, axis=0), lambda: np.sum([gradient() for gradient in known], axis=0)

    return criteria[0] if len(criteria) == 1 else evaluate


# Improvements at which scalarised beliefs are read: from far below to far above the std of
# standardised outcomes, evenly in logarithm. A belief that is narrower than the way from one to the
# next, a half of the improvement, is seen as a step.
_STEPS = np.geomspace(1e-3, 10.0, 24)
_LOG_STEP = float(np.log(_STEPS[1] / _STEPS[0]))  # ds = s·d log s


def scalarised_improvement(beliefs: Sequence[Belief], weights: FloatArray) -> Criterion:
    """Return the log expected improvement of the largest of several weighted outcomes.

    With the random weights w this is Chebyshev scalarisation: S = max_k w_k·(Y_k − ideal_k).
    Beliefs about the outcomes are taken as independent, so that P(S ≤ s) is a product of
    calibrated CDFs and the improvement the integral of that product. ``best`` of each belief is
    the value its outcome has to fall below for S to reach the best S so far.
    """
    reads = [curves(belief.shape) for belief in beliefs]

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
        log_integrand = np.log(_STEPS)[:, None] + np.zeros(X.shape[0])
        parts = []
        for belief, read, weight in zip(beliefs, reads, weights, strict=True):
            assert isinstance(belief.fitted, GaussianBelief)
            mean, std, pullback = belief.fitted.posterior(X)
            v = (belief.best - _STEPS[:, None] / weight - mean) / std
            value, slope = read.log_cdf(v)
            log_integrand = log_integrand + value
            parts.append((v, slope, std, pullback))
        peak = log_integrand.max(axis=0)
        share = np.exp(log_integrand - peak)
        value = peak + np.log(share.sum(axis=0)) + np.log(_LOG_STEP)
        share /= share.sum(axis=0)

        def gradient() -> FloatArray:
            by_x = np.zeros_like(X)
            for v, slope, std, pullback in parts:
                by_goal = share * slope / std
                by_x += pullback(-by_goal.sum(axis=0), -(by_goal * v).sum(axis=0))
            return by_x

        return value, gradient

    return evaluate
