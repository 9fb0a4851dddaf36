"""The interface of every recalibrator.

``r(p)`` is R(p), the level at which to read the raw forecast so that its quantile holds a share p
of outcomes; ``r.inverse(u)`` is G(u) = R⁻¹(u), which recalibrates a raw probability. A forecast
with quantiles Q and CDF F becomes one with quantiles Q∘R and CDF G∘F. (The paper's Algorithm 1
learns G and its Section 4 learns R; mixing them up makes over-confident forecasts even more so.)

Recalibrators are values: ``update`` returns a new one and leaves the old one unchanged, so an error
halfway through loses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.core import validate
from calibrant.core.normal import PIT_RESOLUTION, SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.residual import compose


class Recalibrator(ABC):
    """What corrects forecasts: a non-decreasing map R of levels, learned from past outcomes.

    ``r.calibrate(forecast)`` corrects a forecast, and ``r.observe(forecast, y)`` returns the
    recalibrator that has also learned from its outcome; r itself does not change.
    """

    @property
    @abstractmethod
    def residual(self) -> Forecast:
        """The distribution of recalibrated normal scores: CDF G(Φ(z)), quantiles Φ⁻¹(R(p))."""

    @abstractmethod
    def __call__(self, p: ArrayLike) -> FloatArray:
        """Return R(p) for a level or an array of levels in [0, 1]."""

    @abstractmethod
    def inverse(self, u: ArrayLike) -> FloatArray:
        """Return G(u) = R⁻¹(u) for a PIT or an array of PITs in [0, 1]."""

    @abstractmethod
    def update_many(self, us: ArrayLike) -> Self:
        """Return the recalibrator after the PITs ``us``, taken in order."""

    @abstractmethod
    def update_scores(self, z: ArrayLike) -> Self:
        """Return the recalibrator after outcomes with normal scores ``z``, taken in order.

        Scores carry more information than PITs, which round 9 and 40 standard deviations to the
        same 1.0. The leader and the Gaussian recalibrator use it; the others work on PITs.
        """

    def update_symmetric(self, z: ArrayLike) -> Self:
        """Return the recalibrator after normal scores whose sign says nothing.

        Spread and tails are learned from them, and no shift. Recalibrators with a strength count
        each score once, half of it with either sign; others learn it with one sign, then the other.
        """
        z = as_scores(z)
        return self.update_scores(np.concatenate([z, -z]))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return settings and state as JSON values, for ``recalibrator_from_dict`` to restore."""

    def update(self, u: float) -> Self:
        """Return the recalibrator after one outcome with the PIT u = F(y)."""
        pit = validate.as_floats("u", u)
        if pit.size != 1:
            raise ValueError(
                f"`update` takes one PIT, but got {pit.size}; pass them to `update_many`."
            )
        return self.update_many(pit.reshape(1))

    def issue(self, forecast: Forecast) -> Issued:
        """Return a raw forecast as it is shown now, to be observed when its outcome arrives."""
        return Issued(forecast, self)

    def observe(self, forecast: Forecast | Issued, y: ArrayLike) -> Self:
        """Return the recalibrator after the outcomes y of a forecast.

        Args:
            forecast: what :meth:`issue` returned, whenever its outcome arrives; or a raw (not
                recalibrated) forecast whose outcome arrives before anything else happens. Several
                points of a raw forecast are learned one after the other, as if each had been
                calibrated after the previous outcome.
            y: one outcome per point.
        """
        if isinstance(forecast, Issued):
            outcomes = validate.one_outcome_each(forecast.raw.batch, y)
            return self._learn_issued(forecast, outcomes)
        return self._learn(forecast, validate.one_outcome_each(forecast.batch, y))

    def _learn_issued(self, issued: Issued, y: FloatArray) -> Self:
        """Learn from outcomes of a forecast that was issued earlier; by default as from any."""
        return self._learn(issued.raw, y)

    def _learn(self, forecast: Forecast, y: FloatArray) -> Self:
        """Learn from validated outcomes; by default from their normal scores."""
        scores = np.ravel(forecast.score(y))
        return self.update_scores(np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT))

    def calibrate(self, forecast: Forecast) -> Forecast:
        """Return the calibrated forecast Q∘R."""
        return compose(forecast, self.residual)


class ScoreRecalibrator(Recalibrator):
    """A recalibrator that learns from normal scores, and whose residual is smooth.

    Levels are read through the residual: R(p) = Φ(Q_Z(p)), with the quantiles Q_Z of the residual.
    """

    def __call__(self, p: ArrayLike) -> FloatArray:
        return np.asarray(ndtr(self.residual.at_score(ndtri(validate.probabilities("p", p)))))

    def inverse(self, u: ArrayLike) -> FloatArray:
        return np.asarray(ndtr(self.residual.score(ndtri(validate.probabilities("u", u)))))

    def update_many(self, us: ArrayLike) -> Self:
        return self.update_scores(scores_of_pits(us))


@dataclass(frozen=True)
class Issued:
    """A forecast as it was shown: a snapshot, for outcomes that arrive late or out of order.

    Args:
        raw: the model's own forecast.
        by: the recalibrator as it was when the forecast was shown.
    """

    raw: Forecast
    by: Recalibrator

    @cached_property
    def calibrated(self) -> Forecast:
        """The forecast that was shown."""
        return self.by.calibrate(self.raw)


def as_pits(us: ArrayLike) -> FloatArray:
    """Return PITs as a 1-D array inside [0, 1], or raise."""
    return _one_dimensional("u", validate.probabilities("u", us))


def as_scores(z: ArrayLike) -> FloatArray:
    """Return normal scores as a finite 1-D array within ±SCORE_LIMIT, or raise."""
    return np.clip(_one_dimensional("z", validate.finite("z", z)), -SCORE_LIMIT, SCORE_LIMIT)


def scores_of_pits(us: ArrayLike) -> FloatArray:
    """Return normal scores of PITs; PITs of 0 and 1 get the largest scores a double can express."""
    pits = as_pits(us)
    return np.asarray(ndtri(np.clip(pits, np.nextafter(0.0, 1.0), 1.0 - PIT_RESOLUTION)))


def _one_dimensional(name: str, array: FloatArray) -> FloatArray:
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must be 1-D, but got shape {array.shape}; pass `{name}.ravel()`."
        )
    return array
