"""Replaying a stream: for each outcome in turn, forecast, recalibrate, observe and learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.evaluation import metrics
from calibrant.forecasts.base import Forecast
from calibrant.recalibration import Recalibrator

_COVERAGES = (0.5, 0.8, 0.95)
_ENDS = np.array([0.25, 0.1, 0.025, 0.75, 0.9, 0.975])  # of these intervals, lower ends first


@dataclass(frozen=True)
class Replay:
    """A stream before and after recalibration, forecast by forecast.

    ``pits``, ``quantiles`` (T, K), ``crps`` and ``inside`` (T, 3: whether the central intervals of
    50, 80 and 95 % held the outcome) belong to the calibrated forecasts; the same names prefixed
    with ``raw_`` belong to the model's own. Every forecast was recalibrated before its outcome was
    used.
    """

    y: FloatArray
    levels: FloatArray
    raw_pits: FloatArray
    pits: FloatArray
    raw_quantiles: FloatArray
    quantiles: FloatArray
    raw_crps: FloatArray
    crps: FloatArray
    raw_inside: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    recalibrator: Recalibrator

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether each outcome lay at or below each calibrated quantile, shape (T, K)."""
        return np.asarray(self.y[:, None] <= self.quantiles)

    @property
    def raw_hits(self) -> NDArray[np.bool_]:
        """Whether each outcome lay at or below each raw quantile, shape (T, K)."""
        return np.asarray(self.y[:, None] <= self.raw_quantiles)

    def interval(self, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the calibrated central intervals, each of shape (T,)."""
        low, high = self._columns(coverage)
        return self.quantiles[:, low], self.quantiles[:, high]

    def raw_interval(self, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the raw central intervals, each of shape (T,)."""
        low, high = self._columns(coverage)
        return self.raw_quantiles[:, low], self.raw_quantiles[:, high]

    def summary(self) -> dict[str, dict[str, float]]:
        """Return calibration score, interval coverages and mean CRPS, raw and calibrated."""

        def row(pits: FloatArray, inside: NDArray[np.bool_], crps: FloatArray) -> dict[str, float]:
            shares = zip(_COVERAGES, inside.mean(axis=0), strict=True)
            return {
                "calibration score": metrics.calibration_score(pits),
                "miscalibration area": metrics.miscalibration_area(pits),
                **{f"{coverage:.0%} coverage": float(share) for coverage, share in shares},
                "CRPS": float(crps.mean()),
            }

        return {
            "raw": row(self.raw_pits, self.raw_inside, self.raw_crps),
            "calibrated": row(self.pits, self.inside, self.crps),
        }

    def _columns(self, coverage: float) -> tuple[int, int]:
        ends = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        found = [int(np.argmin(np.abs(self.levels - end))) for end in ends]
        if any(abs(self.levels[k] - end) > 1e-9 for k, end in zip(found, ends, strict=True)):
            raise ValueError(
                f"The levels {ends[0]:g} and {ends[1]:g} of a {coverage:.0%} interval are not "
                "among the replayed ones; pass them to `replay(levels=…)`."
            )
        return found[0], found[1]


class Step(NamedTuple):
    """One outcome of a stream, with its forecasts and what was learned from it."""

    raw: Forecast
    calibrated: Forecast  # before the outcome was used
    outcome: float
    after: Recalibrator


def one_by_one(
    forecasts: Iterable[Forecast], outcomes: ArrayLike, recalibrator: Recalibrator
) -> Iterator[Step]:
    """Yield each forecast of one outcome, recalibrated by the outcomes before it, in order."""
    for raw, outcome in zip(forecasts, np.asarray(outcomes, dtype=float), strict=True):
        calibrated = recalibrator.calibrate(raw)
        recalibrator = recalibrator.observe(raw, outcome)
        yield Step(raw, calibrated, outcome, recalibrator)


def replay(
    forecast: Forecast,
    y: ArrayLike,
    recalibrator: Recalibrator,
    *,
    levels: int | ArrayLike = 99,
    progress: Callable[[int], object] | None = None,
) -> Replay:
    """Run a recalibrator over a recorded stream of forecasts and outcomes, in order.

    >>> import numpy as np
    >>> from calibrant import ChainRecalibrator, Normal, replay
    >>> y = np.random.default_rng(0).normal(0.0, 1.5, size=300)
    >>> result = replay(Normal(np.zeros(300), np.ones(300)), y, ChainRecalibrator())
    >>> {kind: round(found["80% coverage"], 1) for kind, found in result.summary().items()}
    {'raw': 0.6, 'calibrated': 0.8}

    Args:
        forecast: the raw forecasts of T outcomes, in the order of time.
        y: the T outcomes.
        recalibrator: the recalibrator to start with.
        levels: the levels of the quantiles to keep.
        progress: called after each outcome with the number done so far.
    """
    y = validate.one_outcome_each(forecast.batch, y)
    if y.ndim != 1:
        raise ValueError(f"A stream is 1-D, but got outcomes of shape {y.shape}.")
    grid = validate.levels_grid(levels)
    pits, crps = np.empty(y.size), np.empty(y.size)
    every_level = np.concatenate([grid, _ENDS])
    quantiles = np.empty((y.size, every_level.size))
    in_order = (forecast[t] for t in range(y.size))
    for t, (_, calibrated, outcome, after) in enumerate(one_by_one(in_order, y, recalibrator)):
        pits[t] = calibrated.cdf(outcome)
        crps[t] = calibrated.crps(outcome)
        quantiles[t] = calibrated.quantile(every_level)
        recalibrator = after
        if progress is not None:
            progress(t + 1)
    raw_quantiles = forecast.quantile(every_level[:, None]).T
    # Compared with the ends of the intervals: PITs mislead for outcomes on a point mass.
    raw_inside, inside = (
        (q[:, -6:-3] <= y[:, None]) & (y[:, None] <= q[:, -3:]) for q in (raw_quantiles, quantiles)
    )
    return Replay(
        y=y,
        levels=grid,
        raw_pits=forecast.cdf(y),
        pits=pits,
        raw_quantiles=raw_quantiles[:, : grid.size],
        quantiles=quantiles[:, : grid.size],
        raw_crps=forecast.crps(y),
        crps=crps,
        raw_inside=raw_inside,
        inside=inside,
        recalibrator=recalibrator,
    )
