"""The log of normal scores that recalibrators learn from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.recalibration import Recalibrator


@dataclass(frozen=True)
class ScoreLog:
    """A log of normal scores; filled by ``record`` alone, it is the online calibration set.

    Args:
        scores: the normal scores, in the order of their outcomes.
        symmetric: whether recalibrators are to disregard their signs, and so learn no shift.
    """

    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    symmetric: bool = False

    def __post_init__(self) -> None:
        scores = validate.frozen(validate.finite("scores", self.scores))
        if scores.ndim != 1:
            raise ValueError(f"`scores` must be 1-D, but got shape {scores.shape}.")
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return self.scores.size

    @property
    def pits(self) -> FloatArray:
        """The probability integral transforms Φ(score)."""
        return np.asarray(ndtr(self.scores))

    def record(self, forecast: Forecast, y: ArrayLike) -> ScoreLog:
        """Return the log extended by the outcomes y of a forecast made before them."""
        scores = np.ravel(forecast.score(validate.one_outcome_each(forecast.batch, y)))
        within = np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT)
        return replace(self, scores=np.concatenate([self.scores, within]))

    def recalibrate(self, recalibrator: Recalibrator) -> Recalibrator:
        """Return the recalibrator after all outcomes of the log, in order."""
        if self.symmetric:
            return recalibrator.update_symmetric(self.scores)
        return recalibrator.update_scores(self.scores)
