"""What came before the hypervolume: calibrant with ParEGO for any number of objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant import CalibratedSampler
from calibrant.acquisition.base import Criterion
from calibrant.acquisition.multiobjective import parego
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.search.pending import Imagined
from calibrant.search.step import Policy


@dataclass(frozen=True)
class _ParEGOPolicy(Policy):
    def _of_several(
        self,
        imagined: list[Imagined],
        residuals: list[Forecast],
        means: FloatArray,
        rng: np.random.Generator,
    ) -> Criterion:
        return parego([one.fitted for one in imagined], residuals, means, rng)


class ParEGOSampler(CalibratedSampler):
    """The default sampler, with the criterion that several objectives had before."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._policy = _ParEGOPolicy()
