"""Two recalibrators in sequence: the first for sharpness, the second for the guarantee."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.residual import compose
from calibrant.recalibration.base import Issued, Recalibrator, as_scores, scores_of_pits
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.recalibration.online import OnlineRecalibrator


class ChainRecalibrator(Recalibrator):
    """Recalibrate a stream in two steps: with ``first``, then its result with ``then``.

    >>> import numpy as np
    >>> from calibrant import ChainRecalibrator, Normal
    >>> y = np.random.default_rng(0).normal(0.0, 1.5, size=300)
    >>> r = ChainRecalibrator().observe(Normal(np.zeros(300), np.ones(300)), y)
    >>> low, high = r.calibrate(Normal(0.0, 1.0)).interval(0.8)
    >>> bool(high - low > 3.0)  # the model's own interval is 2.6 wide; 3.8 is right
    True

    The theorem of online recalibration holds for any forecasts made before their outcomes, so it
    also holds for forecasts that another recalibrator has improved. The chain keeps the guarantee
    of the second, while the first leaves it little to correct. Quantiles become sharper, and far
    fewer of them infinite.

    Args:
        first: applied to the raw forecast; by default a :class:`GaussianRecalibrator`.
        then: applied to its result; by default an :class:`OnlineRecalibrator`.
    """

    def __init__(self, first: Recalibrator | None = None, then: Recalibrator | None = None) -> None:
        self.first: Recalibrator = GaussianRecalibrator() if first is None else first
        self.then: Recalibrator = OnlineRecalibrator() if then is None else then
        for name, part in (("first", self.first), ("then", self.then)):
            validate.like(name, part, Recalibrator, "GaussianRecalibrator()")

    def __repr__(self) -> str:
        return f"ChainRecalibrator({self.first!r}, {self.then!r})"

    @cached_property
    def residual(self) -> Forecast:
        return compose(self.first.residual, self.then.residual)

    def __call__(self, p: ArrayLike) -> FloatArray:
        return self.first(self.then(p))

    def inverse(self, u: ArrayLike) -> FloatArray:
        return self.then.inverse(self.first.inverse(u))

    def update_many(self, us: ArrayLike) -> Self:
        return self.update_scores(scores_of_pits(us))

    def update_scores(self, z: ArrayLike) -> Self:
        first, then, scores = self.first, self.then, as_scores(z)
        # The second must see the forecasts that the first made before each outcome.
        if isinstance(first, GaussianRecalibrator) and isinstance(then, OnlineRecalibrator):
            before, after = first.one_by_one(scores)  # at once: a log may hold thousands
            return type(self)(after, then.update_scores(before.score(scores)))
        for score in scores[:, None]:
            then = then.update_scores(first.residual.score(score))
            first = first.update_scores(score)
        return type(self)(first, then)

    def _learn(self, forecast: Forecast, y: FloatArray) -> Self:
        first, then = self.first, self.then
        for index in np.ndindex(forecast.batch):
            point = forecast[index] if index else forecast
            then = then.observe(first.calibrate(point), y[index])
            first = first.observe(point, y[index])
        return type(self)(first, then)

    def _learn_issued(self, issued: Issued, y: FloatArray) -> Self:
        by = issued.by
        if not isinstance(by, ChainRecalibrator):
            raise ValueError(
                "The forecast was issued by another recalibrator: observe it with one that came "
                "from it by `observe`."
            )
        sharpened = by.then.issue(by.first.calibrate(issued.raw))
        first = self.first.observe(by.first.issue(issued.raw), y)
        return type(self)(first, self.then.observe(sharpened, y))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "chain", "first": self.first.to_dict(), "then": self.then.to_dict()}
