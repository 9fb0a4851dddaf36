"""Hyper-parameters by constrained online learning: as sharp as calibration allows (OSCBO).

Sinaga, Martinelli, Turpeinen and Kaski, "Online Sharp-Calibrated Bayesian Optimization" (2026,
arXiv 2605.10572), choose hyper-parameters of a Gaussian process by online learning with a
constraint: forecasts shall be sharp, subject to being calibrated along the search. What is known
here is the abstract. Our reading:

* candidates are the fitted hyper-parameters with the lengthscale and the std multiplied by factors;
* their forecasts are one-step-ahead, of each outcome given the earlier ones, in the order of time;
* the loss of a candidate is the logarithm of its std, scaled to 0…1; its constraint is to miss an
  outcome with its central interval no more often than the level says;
* Hedge weighs candidates by exp(−rate·(Σ loss + λ·violation)), and λ, the price of a violation,
  rises by the violations of the weighted forecasts and falls when they hold (Lagrange);
* the candidate of the highest weight is used. The fitted one is the first choice: others start
  with a handicap that grows with the square of how far they are from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, softmax

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.models.adjusted import Adjusted
from calibrant.models.gp import GaussianProcess
from calibrant.models.hyperparameters import Layout
from calibrant.models.rotation import FittedRotation, Rotation

_LENGTHS = (0.5, 1.0, 2.0)
_WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0, 16.0)
_HANDICAP = 0.25  # for a factor of 2: less than one missed interval costs
_PRICE = 1.0  # of a violation, before the first: as much as all of the sharpness
_FIRST = 2  # outcomes before the first that is scored: one alone does not tell a spread


@dataclass(frozen=True)
class SharpCalibrated:
    """A process whose hyper-parameters are sharp subject to calibration (OSCBO, our reading).

    Args:
        model: the process, or several in rotation.
        level: the coverage that central intervals shall have.
    """

    model: GaussianProcess | Rotation = field(default_factory=GaussianProcess)
    level: float = 0.8

    def __post_init__(self) -> None:
        validate.coverage_level(self.level)

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives it."""
        return self.model.most_outcomes

    def with_labels(self, columns: tuple[int, ...]) -> SharpCalibrated:
        """Return the model for inputs in which the given columns are labels."""
        return replace(self, model=self.model.with_labels(columns))

    def fit(self, X: ArrayLike, y: ArrayLike) -> Adjusted:
        """Return the process of the chosen hyper-parameters, given outcomes y at the rows of X."""
        X, y = validate.training_data(X, y)
        fitted = self.model.fit(X, y)
        current = fitted.current if isinstance(fitted, FittedRotation) else fitted
        process = current.model if isinstance(self.model, Rotation) else self.model
        if isinstance(process, GaussianProcess):
            process = replace(process, outputs=current.outputs)  # the map is known
        factors = list(product(_LENGTHS, _WIDTHS))
        candidates = [
            process.at(_multiplied(current, *pair), X, y) if pair != (1.0, 1.0) else current
            for pair in factors
        ]
        scores = np.array([one.one_step_ahead_scores()[_FIRST:] for one in candidates])
        stds = np.array([one.leave_one_out()[1] for one in candidates])
        handicap = _HANDICAP * (np.log2(factors) ** 2).sum(axis=1)
        best = sharpest(scores, np.log(stds).mean(axis=1), self.level, handicap)
        return Adjusted(self, candidates[best])


def sharpest(scores: FloatArray, log_stds: FloatArray, level: float, handicap: FloatArray) -> int:
    """Return which of k candidates constrained online learning arrives at.

    Args:
        scores: (k, n) normal scores of outcomes, in the order of time.
        log_stds: (k,) how sharp each is.
        level: the coverage that central intervals shall have.
        handicap: (k,) losses before the first outcome.
    """
    count, steps = scores.shape
    spread = float(np.ptp(log_stds)) or 1.0
    loss = (log_stds - log_stds.min()) / spread
    missed = (np.abs(scores) > ndtri(0.5 + 0.5 * level)) - (1.0 - level)  # (k, n)
    rate = np.sqrt(np.log(count) / max(steps, 1))  # of Hedge, for so many steps
    total, price = handicap.copy(), _PRICE
    for violation in missed.T:
        weights = softmax(-rate * total)
        price = max(0.0, price + rate * float(weights @ violation))
        total += loss + price * violation
    return int(np.argmin(total))


def _multiplied(fitted: Any, length: float, width: float) -> FloatArray:
    """Return hyper-parameters with lengthscales and std multiplied by factors."""
    model, dim = fitted.model, fitted.X.shape[1]
    names = Layout.of(model.kernel, dim, model.noise is None).names
    shifts = {"lengthscale": np.log(length), "effect": np.log(length)}
    shifts |= {"signal": 2.0 * np.log(width), "noise": 2.0 * np.log(width)}
    kinds = ["lengthscale" if name.startswith("lengthscale") else name for name in names]
    return np.asarray(fitted.theta + [shifts.get(kind, 0.0) for kind in kinds])
