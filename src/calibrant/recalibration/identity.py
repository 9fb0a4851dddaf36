"""The recalibrator that changes nothing, as the uncalibrated baseline of every comparison."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL
from calibrant.recalibration.base import Recalibrator, as_pits, as_scores


class IdentityRecalibrator(Recalibrator):
    """R(p) = p, whatever the outcomes."""

    def __repr__(self) -> str:
        return "IdentityRecalibrator()"

    @property
    def residual(self) -> Forecast:
        return STANDARD_NORMAL

    def __call__(self, p: ArrayLike) -> FloatArray:
        return np.array(validate.probabilities("p", p))

    def inverse(self, u: ArrayLike) -> FloatArray:
        return np.array(validate.probabilities("u", u))

    def update_many(self, us: ArrayLike) -> Self:
        as_pits(us)  # validate the input, as every recalibrator does
        return self

    def update_scores(self, z: ArrayLike) -> Self:
        as_scores(z)
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "identity"}
