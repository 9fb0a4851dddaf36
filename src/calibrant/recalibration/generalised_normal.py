"""Recalibration by a generalised normal residual: of all scores (bcr-GP) or of the low ones (tcGP).

Pion and Vazquez keep the mean of a Gaussian process and replace the normal distribution of its
standardised errors by a generalised normal one, fitted to leave-one-out scores. In bcr-GP
(arXiv 2512.05611; PMLR 266:748) its parameters are those, among the ones that a Bayesian posterior
makes plausible, whose PITs are closest to uniform by Kolmogorov and Smirnov. In tcGP
(arXiv 2605.20145) only what lies below a low threshold t counts, as that is what expected
improvement reads: how often outcomes are below t (occurrence calibration), and which PITs they have
there (thresholded calibration).

What is known here of both is their abstracts. Our reading:

* the posterior is on a grid of shape and std, with a weak log-normal prior around the normal;
  outcomes above t count as censored at t;
* plausible is what has a log posterior density within 3 of the highest, 95 % of it in the limit;
* the distance covers both notions of tcGP at once. If all forecasts G_i were calibrated,

      share of outcomes below t with a PIT of at most u  =  mean of min(u, G_i(t)),

  for any u, and the largest difference of the two sides is the distance: at u = 1 it is occurrence
  calibration, and without a threshold it is that of Kolmogorov and Smirnov.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.generalised_normal import GeneralisedNormal, log_density, lower_tail
from calibrant.forecasts.normal import STANDARD_NORMAL
from calibrant.models.protocol import FittedModel, GaussianBelief, KnowsLeaveOneOut, Model
from calibrant.recalibration.base import Recalibrator, ScoreRecalibrator, as_scores
from calibrant.recalibration.calibration_sets import CalibrationSet
from calibrant.recalibration.score_log import ScoreLog

# The grid of parameters. The first of each is the normal of std 1: of equals, the first is taken.
_SHAPES = 2.0 ** np.array([1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 2.0])
_STDS = np.exp(0.1 * np.array([0, *range(-20, 0), *range(1, 50)]))  # 0.14 to 134
_SHAPE, _STD = (part.ravel()[:, None] for part in np.meshgrid(_SHAPES, _STDS, indexing="ij"))
_LOG_PRIOR = -0.5 * (np.log(_SHAPE / 2.0) / 0.5) ** 2 - 0.5 * np.log(_STD) ** 2
_PLAUSIBLE = 3.0  # half the 95 % quantile of χ² with two degrees of freedom


class GeneralisedNormalRecalibrator(ScoreRecalibrator):
    """Scores are generalised normal with mean 0: a scale and the weight of tails are learned.

    With the leave-one-out scores of a Gaussian process this is bcr-GP; with those of a
    :class:`LowerTail`, tcGP. No shift is learned.

    Args:
        scores: the scores so far (state).
        thresholds: for each, the score of the threshold above which its size does not count
            (state); by default there is none.
    """

    def __init__(self, scores: ArrayLike = (), thresholds: ArrayLike | None = None) -> None:
        self._scores = validate.frozen(as_scores(scores))
        if thresholds is None:
            thresholds = np.full(self._scores.shape, SCORE_LIMIT)
        self._thresholds = validate.frozen(as_scores(thresholds))
        if self._thresholds.shape != self._scores.shape:
            raise ValueError(
                "`thresholds` must hold one number per score, but got "
                f"{self._thresholds.size} for {self._scores.size}."
            )

    def __repr__(self) -> str:
        return f"GeneralisedNormalRecalibrator(count={self._scores.size})"

    @cached_property
    def residual(self) -> Forecast:
        if not self._scores.size:
            return STANDARD_NORMAL
        shape, std = most_calibrated(self._scores, self._thresholds)
        return GeneralisedNormal(shape, std)

    def update_scores(self, z: ArrayLike, thresholds: ArrayLike | None = None) -> Self:
        """Return the recalibrator after the scores ``z``, those above ``thresholds`` censored."""
        z = as_scores(z)
        more = np.full(z.shape, SCORE_LIMIT) if thresholds is None else as_scores(thresholds)
        return type(self)(
            np.concatenate([self._scores, z]), np.concatenate([self._thresholds, more])
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "generalised normal",
            "scores": self._scores.tolist(),
            "thresholds": self._thresholds.tolist(),
        }


@dataclass(frozen=True)
class LowerTail(CalibrationSet):
    """Leave-one-out scores that count only below a low threshold (tcGP, arXiv 2605.20145).

    For :class:`GeneralisedNormalRecalibrator`; any other recalibrator learns from all the scores.

    Args:
        share: of outcomes so far, how many are below the threshold.
    """

    share: float = 0.25
    in_doubt: float = 0.0  # as published: every outcome counts

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.share < 1.0:
            raise ValueError(f"`0 < share < 1` must hold, but got share={self.share}.")

    def scores(
        self,
        model: Model,
        fitted: FittedModel,
        X: FloatArray,
        y: FloatArray,
        online: ScoreLog,
        noise: FloatArray | None = None,
    ) -> ScoreLog:
        """Return the scores and, for each, the score of the threshold under its own forecast."""
        if not (isinstance(fitted, KnowsLeaveOneOut) and isinstance(fitted, GaussianBelief)):
            raise TypeError(
                "`LowerTail` needs a model with leave-one-out scores in closed form, such as a "
                f"GaussianProcess, but got {type(fitted).__name__}; take CalibrationSet()."
            )
        if y.size < 2:
            return ScoreLog()
        z, stds = fitted.leave_one_out()
        v = fitted.in_model_units(y)
        # In the model's units mean_i = v_i − z_i·std_i, so that (t − mean_i)/std_i is:
        thresholds = z + (np.quantile(v, self.share) - v) / stds
        counted = stds >= self.in_doubt * stds.max()
        return CensoredLog(z[counted], thresholds=thresholds[counted])


@dataclass(frozen=True)
class CensoredLog(ScoreLog):
    """A log of scores, each with the score of a threshold above which its size does not count."""

    thresholds: FloatArray = field(default_factory=lambda: np.empty(0))

    def recalibrate(self, recalibrator: Recalibrator) -> Recalibrator:
        """Return the recalibrator after all outcomes of the log, in order."""
        if isinstance(recalibrator, GeneralisedNormalRecalibrator):
            return recalibrator.update_scores(self.scores, self.thresholds)
        return recalibrator.update_scores(self.scores)


def most_calibrated(scores: FloatArray, thresholds: FloatArray) -> tuple[float, float]:
    """Return the plausible shape and std whose distance to calibration is least."""
    below = scores <= thresholds
    log_posterior = _LOG_PRIOR[:, 0] + log_density(_SHAPE, _STD, scores[below]).sum(axis=1)
    if not below.all():
        with np.errstate(divide="ignore"):
            above = np.log(lower_tail(_SHAPE, _STD, -thresholds[~below]))  # it is symmetric
        log_posterior += np.maximum(above, -1e6).sum(axis=1)
    plausible = np.flatnonzero(log_posterior >= log_posterior.max() - _PLAUSIBLE)
    plausible = plausible[np.argsort(-log_posterior[plausible], kind="stable")]
    shape, std = _SHAPE[plausible], _STD[plausible]
    pits, limits = (lower_tail(shape, std, part) for part in (scores[below], thresholds))
    distances = [distance(*pair) for pair in zip(pits, limits, strict=True)]
    chosen = plausible[int(np.argmin(distances))]
    return float(_SHAPE[chosen, 0]), float(_STD[chosen, 0])


def distance(pits: FloatArray, limits: FloatArray) -> float:
    """Return the largest difference between how often low outcomes occur and how often they should.

    Args:
        pits: of the outcomes below the threshold.
        limits: for each outcome, the probability that it is below the threshold.
    """
    count = limits.size
    limits = np.sort(limits)
    total = np.concatenate([[0.0], np.cumsum(limits)])
    places = np.append(np.sort(pits), 1.0)
    passed = np.searchsorted(limits, places)
    expected = (total[passed] + places * (count - passed)) / count  # mean of min(u, limit)
    at = np.append(np.arange(1, pits.size + 1), pits.size) / count
    before = np.append(np.arange(pits.size), pits.size) / count
    return float(np.maximum(np.abs(at - expected), np.abs(before - expected)).max())
