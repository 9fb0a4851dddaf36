"""Isotonic recalibration (Kuleshov, Fenner and Ermon 2018): the paper's Algorithm 1."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.normal import PIT_RESOLUTION
from calibrant.core.typing import FloatArray
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.recalibration.base import Recalibrator, as_pits, as_scores


class IsotonicRecalibrator(Recalibrator):
    """Isotonic recalibration (Kuleshov et al. 2018): the empirical CDF of past PITs, interpolated.

    Algorithm 1 fits an increasing curve to the points (F_t, share of PITs ≤ F_t). These points
    increase already, so the isotonic fit is the polyline through them. The share is counted as
    k/(N + 1) instead of k/N. With k/N no mass would be left beyond the largest PIT seen, and a
    single observation would make half of all outcomes impossible.

    All PITs are kept, and an update costs O(N).

    Args:
        pits: of past outcomes, in any order.
        literal: count shares as k/N, as the paper prints it; for comparisons with it.
    """

    def __init__(self, pits: ArrayLike = (), literal: bool = False) -> None:
        self._pits = validate.frozen(np.sort(as_pits(pits)))
        self._literal = bool(literal)

    def __repr__(self) -> str:
        literal = ", literal" if self._literal else ""
        return f"IsotonicRecalibrator({self._pits.size} outcomes{literal})"

    @property
    def pits(self) -> FloatArray:
        """The PITs seen so far, sorted."""
        return self._pits

    @cached_property
    def residual(self) -> WarpedNormal:
        count = self._pits.size
        if count == 0:
            return WarpedNormal([0.5], [0.5])
        if self._literal:  # the share of the largest is 1; as close to that as a PIT can be
            shares = np.arange(1, count + 1) / count
            return WarpedNormal(np.minimum(shares, 1.0 - PIT_RESOLUTION), self._pits)
        return WarpedNormal(np.arange(1, count + 1) / (count + 1), self._pits)

    def __call__(self, p: ArrayLike) -> FloatArray:
        return self.residual.warp(p)

    def inverse(self, u: ArrayLike) -> FloatArray:
        return self.residual.unwarp(u)

    def update_many(self, us: ArrayLike) -> Self:
        return type(self)(np.concatenate([self._pits, as_pits(us)]), self._literal)

    def update_scores(self, z: ArrayLike) -> Self:
        return self.update_many(ndtr(as_scores(z)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "isotonic", "pits": self._pits.tolist(), "literal": self._literal}
