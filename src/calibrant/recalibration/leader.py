"""The regularised leader: the FTRL objective of online recalibration, minimised exactly.

The paper's Section 4 (Deshpande, Marx and Kuleshov 2024) recalibrates by follow-the-regularised-
leader (FTRL) on the linearised quantile pinball loss (QPL). Without the linearisation,
R(p) = argmin_q (q − p)²/2η + Σ w_s·QPL_p(u_s, q) has the closed form

    G(u) = (λ·u + Σ w_s·1{u_s ≤ u}) / (λ + Σ w_s),    λ = 1/η,

which is monotone, does not depend on the order of outcomes, and is shrunk towards the identity as
if by λ pseudo-observations of a calibrated model. On the scale of normal scores G is a mixture:
N(0, 1) with weight λ and each past score z_s with weight w_s. Smoothing each point mass into
N(c·z_s, h²) keeps every expectation in closed form and gives the residual full support.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.forecasts.normal import STANDARD_NORMAL, Mixture, Normal
from calibrant.recalibration.base import ScoreRecalibrator, as_scores, scores_of_pits

# Scores are pooled into bins of this width in asinh(z): 0.05 near zero, 5 % in the tails. That is
# much finer than the smoothing, and bounds the size of the state for any number of outcomes.
_BIN_WIDTH = 0.05


class LeaderRecalibrator(ScoreRecalibrator):
    """Recalibrates from few outcomes: smoothed past scores, mixed with trust in the model.

    >>> import numpy as np
    >>> from calibrant import LeaderRecalibrator, Normal
    >>> y = np.random.default_rng(0).normal(0.0, 1.5, size=20)
    >>> r = LeaderRecalibrator().observe(Normal(np.zeros(20), np.ones(20)), y)
    >>> low, high = r.calibrate(Normal(0.0, 1.0)).interval(0.8)
    >>> bool(high - low > 2.8)  # the model's own interval is 2.6 wide
    True

    It is made for few outcomes. It has no guarantee on adversarial sequences, but it is the best
    estimate from 5 or 50 scores, and R, its inverse and every expectation are smooth. Neither the
    cost of an update nor the size of the state grows with the number of outcomes.

    Args:
        strength: λ, how many pseudo-observations of a calibrated model the prior is worth.
        bandwidth: h, the std of the smoothing kernels in normal scores. By default n^(−1/5) times
            the scale of the scores, with the kernels pulled inwards to keep that scale.
        centres: the state, one entry per bin of past scores.
        weights: of the bins (state).
        square_weights: the sum of the squared weights of all outcomes (state).
    """

    def __init__(
        self,
        strength: float = 10.0,
        bandwidth: float | None = None,
        centres: ArrayLike = (),
        weights: ArrayLike = (),
        square_weights: float = 0.0,
    ) -> None:
        self._strength = float(validate.positive("strength", strength))
        self._bandwidth = (
            None if bandwidth is None else float(validate.positive("bandwidth", bandwidth))
        )
        self._centres = validate.frozen(as_scores(centres))
        self._weights = validate.frozen(validate.finite("weights", weights))
        if self._weights.shape != self._centres.shape or np.any(self._weights < 0.0):
            raise ValueError("`weights` must hold one non-negative number per centre.")
        self._square_weights = float(square_weights)
        if self._weights.size and not 0.0 < self._square_weights < np.inf:
            raise ValueError("`square_weights > 0` must hold where there are weights.")

    def __repr__(self) -> str:
        return (
            f"LeaderRecalibrator(strength={self._strength:g}, "
            f"weight={float(self._weights.sum()):g}, bins={self._centres.size})"
        )

    @property
    def strength(self) -> float:
        """The weight λ of the identity."""
        return self._strength

    @property
    def smoothing(self) -> float:
        """The standard deviation h of each past score's kernel."""
        return self._kernel()[0]

    @cached_property
    def residual(self) -> Normal | Mixture:
        if self._weights.sum() == 0.0:
            return STANDARD_NORMAL
        std, pull = self._kernel()
        return Mixture(
            np.concatenate([[self._strength], self._weights]),
            np.concatenate([[0.0], pull * self._centres]),
            np.concatenate([[1.0], np.full(self._centres.size, std)]),
        )

    def update_many(self, us: ArrayLike, weights: ArrayLike = 1.0) -> Self:
        """Return the recalibrator after the PITs ``us``, each with its weight."""
        return self.update_scores(scores_of_pits(us), weights)

    def update_scores(self, z: ArrayLike, weights: ArrayLike = 1.0) -> Self:
        """Return the recalibrator after the normal scores ``z``, each with its weight."""
        z = as_scores(z)
        weights = validate.finite("weights", weights)
        if weights.shape not in ((), z.shape):
            raise ValueError(
                "`weights` must be one number or one per score, but got shape "
                f"{weights.shape} for scores of shape {z.shape}."
            )
        weights = np.broadcast_to(weights, z.shape)
        if np.any((weights < 0.0) | (weights > 1e100) | ((weights > 0.0) & (weights < 1e-100))):
            raise ValueError("`weights` must be 0 or between 1e-100 and 1e100.")
        # The centre of a bin is the mean of its scores, so a single score in a bin is kept exactly.
        every_score = np.concatenate([self._centres, z])
        every_weight = np.concatenate([self._weights, weights])
        kept = every_weight > 0.0
        every_score, every_weight = every_score[kept], every_weight[kept]
        bins, bin_of = np.unique(np.rint(np.arcsinh(every_score) / _BIN_WIDTH), return_inverse=True)
        mass = np.bincount(bin_of, every_weight, minlength=bins.size)
        total = np.bincount(bin_of, every_weight * every_score, minlength=bins.size)
        return type(self)(
            self._strength,
            self._bandwidth,
            total / mass,
            mass,
            self._square_weights + float((weights**2).sum()),
        )

    def update_symmetric(self, z: ArrayLike) -> Self:
        z = as_scores(z)
        return self.update_scores(np.concatenate([z, -z]), 0.5)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "leader",
            "strength": self._strength,
            "bandwidth": self._bandwidth,
            "centres": self._centres.tolist(),
            "weights": self._weights.tolist(),
            "square_weights": self._square_weights,
        }

    def _kernel(self) -> tuple[float, float]:
        """Return the std h of the kernels and the factor c that pulls their centres inwards.

        The scale s is estimated from the median |score|, which single outliers hardly move, and
        shrunk towards 1 by the strength. With h = s·n^(−1/5), where n is the effective number of
        outcomes, and c² = 1 − (h/s)², smoothing turns scores from N(0, s²) into N(0, s²) again.
        """
        total = float(self._weights.sum())
        if self._bandwidth is not None:
            return self._bandwidth, 1.0
        if total == 0.0:
            return 1.0, 0.0
        order = np.argsort(np.abs(self._centres))
        middle = int(np.searchsorted(np.cumsum(self._weights[order]), np.float64(0.5 * total)))
        median = float(np.abs(self._centres)[order][min(middle, order.size - 1)])
        robust = median / 0.6745  # the median |z| of a standard normal
        scale = np.sqrt((self._strength + total * robust**2) / (self._strength + total))
        effective = max(1.0, total**2 / self._square_weights)
        relative = min(1.0, effective**-0.2)
        return float(scale * relative), float(np.sqrt(1.0 - relative**2))
