"""How likely an evaluation is to meet all constraints, as it is promised to the user.

A promise is about the evaluation, noise included: that can be counted. A limit that is more likely
met than not as evaluated is met at least as probably in truth, as noise only adds to the doubt.

It is made in three steps, chosen on the problems that benchmarks/decisions declares for it:

- The search's own models would promise too much where constraints are noisy: of a dozen outcomes
  they take noise for structure, and suggestions go where that looks best. Promises are made by
  models that expect noise.
- The normal score of the joint probability is divided by a constant: hyper-parameters are estimated
  from few outcomes, which the forecasts do not know.
- It is lowered by a rate times the sum of (promised − met) so far. Where more is promised than kept
  the sum grows until promises are kept, on any sequence, as the online rule does for quantiles.
  Where a level is asked for, only suggestions that were promised it count. The others lie where the
  probability is highest, not where an improvement tempts: limits met there say little about these.

To recalibrate each constraint's forecasts by their scores as well kept promises no better, and cost
regret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from calibrant.acquisition.base import Criterion, total
from calibrant.acquisition.improvement import log_probability
from calibrant.acquisition.residual_tables import curves
from calibrant.core.typing import FloatArray
from calibrant.forecasts.normal import STANDARD_NORMAL
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.likelihood import Priors
from calibrant.models.protocol import FittedModel, Model
from calibrant.models.rotation import FittedRotation, Rotation
from calibrant.search.training import TrainingData

# A third of the std of outcomes, give or take a factor of e: what few outcomes cannot tell from
# structure. Where they can, as without noise, they soon overrule it.
_PRIORS = Priors(noise=(0.1, 2.0))
_SCALE = 1.35  # of 96 % stated by such models 90 % were met, of 82 % 76 %
ROUNDING = 1e-6  # of a probability, by which a search along a wall may stop short
_RATE = 0.5  # scores per promise not kept
_MOST = 3.0  # scores: as far as promises are lowered or raised
_WALL = 1e3  # times the logarithm of the probability that is missing: outweighs any improvement


@dataclass(frozen=True)
class Promise:
    """The probability that all constraints are met, as a function of points.

    Args:
        models: one per constraint, which is met at 0 or below.
        shift: by how much the joint probability is lowered, in normal scores.
        scale: by what the normal score of the joint probability is divided first.
    """

    models: tuple[FittedModel, ...]
    shift: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(
        cls, data: TrainingData, models: tuple[FittedModel, ...], level: float | None = None
    ) -> Promise:
        """Return what models may promise, given which earlier promises were kept.

        With a ``level``, these are the suggestions of which at least that was promised.
        """
        promises = data.subset.promises
        promised, met = promises[promises[:, 0] >= (level or 0.0) - ROUNDING].T
        shift = float(np.clip(_RATE * (promised - met).sum(), -_MOST, _MOST))
        return cls(models, shift, _SCALE)

    def probability(self, X: FloatArray) -> FloatArray:
        """Return the promise at each point."""
        values, _ = self._log_raw(X)
        return np.asarray(ndtr(ndtri_exp(values) / self.scale - self.shift))

    def at_least(self, level: float) -> Criterion:
        """Return a criterion that is 0 where at least ``level`` is promised, and else a wall."""
        needed = float(log_ndtr(self.scale * (ndtri(level) + self.shift)))

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
            values, gradient = self._log_raw(X)
            missing = np.minimum(values - needed, 0.0)
            if gradient is None:
                return _WALL * missing, None
            return _WALL * missing, lambda: _WALL * (missing < 0.0)[:, None] * gradient()

        return evaluate

    @property
    def _log_raw(self) -> Criterion:
        """The log-probability before the shift."""
        return total([_log_met(fitted) for fitted in self.models])


def careful(model: Model) -> Model:
    """Return the model whose forecasts are promised: one that expects noise."""
    if isinstance(model, Rotation):
        return Rotation(tuple(_expecting_noise(process) for process in model.processes))
    return _expecting_noise(model) if isinstance(model, GaussianProcess) else model


def _expecting_noise(process: GaussianProcess) -> GaussianProcess:
    """Return the process, believing in more noise unless somebody has said what to believe."""
    return replace(process, priors=_PRIORS) if process.priors == Priors() else process


def _log_met(fitted: FittedModel) -> Criterion:
    """Return the log-probability that an evaluation, noise included, is at most 0."""
    process = fitted.current if isinstance(fitted, FittedRotation) else fitted
    if not isinstance(process, FittedGP):
        return lambda X: (np.asarray(log_ndtr(fitted.predict(X).score(0.0))), None)
    rule = log_probability(curves(STANDARD_NORMAL), float(process.in_model_units(0.0)))

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        mean, std, pullback = process.posterior(X)
        spread = np.sqrt(std**2 + process.noise_around(mean))
        value, by_mean, by_spread = rule(mean, spread)
        return value, lambda: pullback(by_mean, by_spread * std / spread)

    return evaluate
