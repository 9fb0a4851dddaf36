"""calibrant with other criteria of several objectives than its default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant import CalibratedSampler
from calibrant.acquisition.base import Criterion
from calibrant.acquisition.hypervolume import beyond, hypervolume_improvement
from calibrant.acquisition.multiobjective import parego
from calibrant.core.front import non_dominated
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.protocol import FittedModel
from calibrant.search.step import Policy

Way = Callable[
    [list[FittedModel], list[Forecast], FloatArray, np.random.Generator], Criterion
]  # beliefs, residuals, what has been reached, randomness


@dataclass(frozen=True)
class _Variant(Policy):
    way: Way = parego

    def _of_several(
        self,
        beliefs: list[FittedModel],
        residuals: list[Forecast],
        means: FloatArray,
        rng: np.random.Generator,
    ) -> Criterion:
        return self.way(beliefs, residuals, means, rng)


class VariantSampler(CalibratedSampler):
    """The default sampler, with another criterion of several objectives."""

    def __init__(self, way: Way, seed: int) -> None:
        super().__init__(seed=seed)
        self._chooser.policy = _Variant(way=way)


def _margin(
    margin: float,
    fits: list[FittedModel],
    residuals: list[Forecast],
    means: FloatArray,
    rng: np.random.Generator,
) -> Criterion:
    """Hypervolume, with a reference point by a margin of the front's extent beyond its worst."""
    reference = beyond(means.T[non_dominated(means.T)], margin)
    return hypervolume_improvement(fits, residuals, means, reference)


def _worst(
    fits: list[FittedModel],
    residuals: list[Forecast],
    means: FloatArray,
    rng: np.random.Generator,
) -> Criterion:
    """Hypervolume, with a reference point just beyond the worst of all outcomes."""
    return hypervolume_improvement(fits, residuals, means, means.max(axis=1) + 0.1)


VARIANTS = {
    "ParEGO": partial(VariantSampler, parego),
    "beyond the front by 0.1": partial(VariantSampler, partial(_margin, 0.1)),
    "beyond the front by 0.5": partial(VariantSampler, partial(_margin, 0.5)),
    "beyond the front by 1": partial(VariantSampler, partial(_margin, 1.0)),
    "beyond the worst outcome": partial(VariantSampler, _worst),
}
