"""Online recalibration (Deshpande, Marx and Kuleshov 2024, Section 4), without crossing levels.

It gives every level its coverage on any sequence of outcomes. The method is follow-the-regularised-
leader (FTRL) on the linearised quantile pinball loss, which is online gradient descent, for each
level p of a grid (the paper's eq. 8, with the sign that its objective gives, and with a regulariser
centred at p, so that R is the identity without data):

    θ₁(p) = p,    play q_t = Π(θ_t),    see u_t,    θ_{t+1}(p) = θ_t(p) + η·(p − 1{u_t ≤ q_t(p)})

Hence θ(p) = p − η·N(p), where the *surplus* N(p) = hits − p·T is the number of hits above the
nominal one. A bound on |N| is the guarantee. The state is the integer ``hits``: θ is never clipped,
and rounding errors do not accumulate.

Three rules define Π:

* Isotonic projection, so that levels do not cross. Hits are counted on the levels that were
  *played*, and the raw θ is updated ("lazy" projection); sorting afterwards would lose coverage.
* θ ≤ 0 plays −∞ and θ ≥ 1 plays +∞. This bounds a single level: |N| ≤ max(1, 1/η).
* Projection averages neighbours. It may hold a level inside [0, 1] although that level has used up
  the bound. Then its whole block is played at ±∞, and every block beyond it.

The third rule is ours; ``calibrant.recalibration.guarantee`` proves what the three achieve
together.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.recalibration.base import Issued, Recalibrator, as_pits, as_scores
from calibrant.recalibration.guarantee import largest_surplus

# p·T is rounded, so a surplus this close to the bound has not passed it, and a θ this close to 0 or
# 1 counts as 0 or 1. PITs much closer cannot be told from 0 or 1, and quantiles must agree with
# them.
_ROUNDING = 1e-9


class OnlineRecalibrator(Recalibrator):
    """Online recalibration (Deshpande et al. 2024): |coverage − p| ≤ ``guarantee``/T at each level.

    The bound holds after any number T of outcomes, on any sequence, for the grid levels, if each
    forecast is made and calibrated before its outcome and after ``observe`` of all earlier ones. It
    says nothing before T = 1/rate: 100 outcomes at the default.
    ``observe`` counts outcomes at or below the calibrated quantiles; ``update``, which is given
    only a PIT, counts u ≤ R(p). Between levels R is interpolated. A level with ``r(p)`` of 0 or 1
    is played at −∞ or +∞.

    >>> import numpy as np
    >>> from calibrant import Normal, OnlineRecalibrator
    >>> y = np.random.default_rng(0).normal(0.0, 1.5, size=500)
    >>> forecasts = Normal(np.zeros(500), np.ones(500))  # too sure: the std of outcomes is 1.5
    >>> r = OnlineRecalibrator(levels=9).observe(forecasts, y)
    >>> low, high = r.calibrate(Normal(0.0, 1.0)).interval(0.8)
    >>> print(f"{low:.1f} … {high:.1f}")  # ∓1.3 before, and ∓1.9 is right
    -1.9 … 1.9

    Args:
        levels: the number of evenly spaced levels, or the levels themselves.
        rate: the step size η. A larger rate tightens the guarantee (at most 1/η hits too many or
            too few), but makes R fluctuate more, by about √η/3, which costs sharpness. At the
            default the CRPS of real streams was better or equal; see benchmarks/streams.
        count: outcomes seen so far (state).
        hits: how often each level was at or above the outcome (state).
    """

    def __init__(
        self,
        levels: int | ArrayLike = 99,
        rate: float = 0.01,
        count: int = 0,
        hits: ArrayLike | None = None,
    ) -> None:
        self._levels = validate.levels_grid(levels)
        self._rate = float(validate.positive("rate", rate))
        self._count = int(count)
        if hits is None:
            if count != 0:
                raise ValueError(f"`hits` must come with `count`, but got count={count} alone.")
            hits = np.zeros(self._levels.size)
        counts = validate.finite("hits", hits)
        if counts.shape != self._levels.shape or np.any(counts != np.rint(counts)):
            raise ValueError("`hits` must hold one whole number per level.")
        if np.any(counts < 0) or np.any(counts > self._count):
            raise ValueError("`0 <= hits <= count` must hold.")
        if np.any(np.diff(counts) < 0):
            raise ValueError("`hits` must not decrease with the level: quantiles never cross.")
        self._hits = validate.frozen(counts.astype(np.int64))

    def __repr__(self) -> str:
        return (
            f"OnlineRecalibrator(levels={self._levels.size}, rate={self._rate:g}, "
            f"count={self._count})"
        )

    @property
    def levels(self) -> FloatArray:
        """The grid levels p."""
        return self._levels

    @property
    def rate(self) -> float:
        """The step size η."""
        return self._rate

    @property
    def count(self) -> int:
        """The number of outcomes seen."""
        return self._count

    @property
    def hits(self) -> NDArray[np.int64]:
        """How often each level was at or above the outcome."""
        return self._hits

    @property
    def guarantee(self) -> float:
        """The largest |hits − p·T| that any sequence can produce at any level and time."""
        return largest_surplus(tuple(self._levels.tolist()), self._rate)

    def guarantee_with_delay(self, delay: int) -> float:
        """Return the guarantee where at most ``delay`` forecasts wait when another is issued.

        It is about all forecasts issued with :meth:`issue`, once their outcomes are in, in any
        order; with no delay it is :attr:`guarantee`.
        """
        delay = validate.at_least("delay", delay, 0)
        return largest_surplus(tuple(self._levels.tolist()), self._rate, delay)

    @cached_property
    def played(self) -> FloatArray:
        """The levels q(p) at which raw forecasts are read: inside (0, 1), or ±∞."""
        return validate.frozen(_play(self._levels, self._rate, self._count, self._hits))

    @cached_property
    def residual(self) -> WarpedNormal:
        return WarpedNormal(self._levels, np.clip(self.played, 0.0, 1.0))

    def __call__(self, p: ArrayLike) -> FloatArray:
        return self.residual.warp(p)

    def inverse(self, u: ArrayLike) -> FloatArray:
        return self.residual.unwarp(u)

    def covers(self, u: float) -> NDArray[np.bool_]:
        """Return for each grid level whether an outcome with PIT u is at or below its quantile."""
        return np.asarray(float(validate.probabilities("u", u)) <= self.played)

    def update_many(self, us: ArrayLike) -> Self:
        pits = as_pits(us)
        if pits.size == 0:
            return self
        count, hits, played = self._count, self._hits.copy(), self.played
        for u in pits[:-1]:
            hits += u <= played
            count += 1
            played = _play(self._levels, self._rate, count, hits)
        return self._after(count + 1, hits + (pits[-1] <= played))

    def update_scores(self, z: ArrayLike) -> Self:
        return self.update_many(ndtr(as_scores(z)))

    def _learn(self, forecast: Forecast, y: FloatArray) -> Self:
        """Count hits on the quantiles shown, so that ties and rounding cannot make them differ."""
        recalibrator = self
        for index in np.ndindex(forecast.batch):
            point = forecast[index] if index else forecast
            shown = recalibrator.calibrate(point).quantile(self._levels)
            hits = recalibrator._hits + (y[index] <= shown)
            recalibrator = recalibrator._after(recalibrator._count + 1, hits)
        return recalibrator

    def _learn_issued(self, issued: Issued, y: FloatArray) -> Self:
        """Count hits on the quantiles that were shown, whatever would be shown today."""
        by = issued.by
        if not isinstance(by, OnlineRecalibrator) or not np.array_equal(by.levels, self._levels):
            raise ValueError(
                "The forecast was issued by another recalibrator: observe it with one that came "
                "from it by `observe`."
            )
        levels = self._levels.reshape((-1,) + (1,) * y.ndim)
        hits = (y <= issued.calibrated.quantile(levels)).reshape(self._levels.size, -1).sum(axis=1)
        return self._after(self._count + y.size, self._hits + hits)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "online",
            "levels": self._levels.tolist(),
            "rate": self._rate,
            "count": self._count,
            "hits": self._hits.tolist(),
        }

    def _after(self, count: int, hits: NDArray[np.int64]) -> Self:
        """Return a copy with another state, without repeating the checks of ``__init__``."""
        successor = object.__new__(type(self))
        successor._levels, successor._rate = self._levels, self._rate
        successor._count, successor._hits = count, hits
        hits.setflags(write=False)
        return successor


def _play(levels: FloatArray, rate: float, count: int, hits: NDArray[np.int64]) -> FloatArray:
    surplus = hits - count * levels
    theta = levels - rate * surplus
    projection = isotonic_regression(theta)
    played = np.asarray(projection.x)
    if theta.min() > _ROUNDING and theta.max() < 1.0 - _ROUNDING:
        return played
    # Levels for which one more miss, or one more hit, would break the bound of a single level.
    allowance = max(1.0, 1.0 / rate)
    must_hit = np.flatnonzero(surplus - levels < -allowance - _ROUNDING)
    must_miss = np.flatnonzero(surplus - levels + 1.0 > allowance + _ROUNDING)
    starts = projection.blocks  # block b is levels starts[b] … starts[b+1] − 1
    first_hit, after_miss = levels.size, 0
    if must_hit.size:
        first_hit = starts[np.searchsorted(starts, must_hit[0], side="right") - 1]
    if must_miss.size:
        after_miss = starts[np.searchsorted(starts, must_miss[-1], side="right")]
    if after_miss <= first_hit:  # otherwise the two conflict: leave it to the projection
        played[first_hit:] = np.inf
        played[:after_miss] = -np.inf
    played[played >= 1.0 - _ROUNDING] = np.inf
    played[played <= _ROUNDING] = -np.inf
    return played
