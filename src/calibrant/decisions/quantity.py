"""What is believed about one quantity of a study, an objective or a constraint.

A search uses the kernels of the default model in turn, which frees it where one of them is wrong. A
statement about the study has no second try, so here all of them speak: a quantity is a mixture of
one process per kernel, each with the weight that its leave-one-out forecasts earn. They also decide
the units: outcomes as they are or, where that forecasts better, as the search maps them. How much
wider forecasts must be than the model says is learned from folds of the outcomes, each forecast by
a model fitted to the others.

What is done here was chosen on searches of ten functions of the suite, with and without noise, and
judged on functions that had no part in it (benchmarks/decisions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtri, softmax

from calibrant.core.threads import one_thread
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL, Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs, PowerMap, fit_map
from calibrant.forecasts.quantiles import Quantiles
from calibrant.models.fitted_gp import FittedGP, factor
from calibrant.models.gp import GaussianProcess
from calibrant.models.likelihood import Priors
from calibrant.models.rotation import Rotation
from calibrant.recalibration.calibration_sets import k_fold
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.search import defaults

_RECALIBRATOR = GaussianRecalibrator(strength=5.0, limit=2.5)
_FOLDS = 5  # hyper-parameters are fitted again for each: what they were fitted to flatters them

# As a search has it, but for two things: it believes in more noise, as it cannot try again when it
# was wrong; and it is fitted to fewer outcomes, of which it is given the best and the latest.
MODEL = Rotation(
    tuple(
        replace(process, priors=Priors(noise=(1e-2, 2.0)), most_outcomes=500)
        for process in defaults.MODEL.processes
    )
)
_UNITS = (Outputs.STANDARDISE, Outputs.YEO_JOHNSON)  # to choose from
_CAUTION = 2.0  # evidence for a kernel counts half: leave-one-out forecasts share most outcomes

# Averages over the noise: exact for polynomials of degree 17, where output maps are nearly linear.
_NODES, _WEIGHTS = hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_LARGEST = np.finfo(float).max / 4.0
_FAR = 3.0  # times the range of outcomes: as far beyond it as a draw is believed
_TABLE = 300  # evenly likely values of a forecast, all kernels together


@dataclass(frozen=True)
class Quantity:
    """The belief about an objective or a constraint, to be minimised.

    Args:
        name: of the constraint; "value" or "value 0", "value 1", … of objectives.
        sign: 1, or −1 where the user maximises it: user's value = sign · value here.
        X: the points of the outcomes that it knows, (n, d).
        y: these outcomes, (n,).
        processes: one per kernel, all fitted to the same outcomes in the same units.
        weights: of the processes, summing to one.
        residual: what recalibration makes of their scores.
        stds: of the noise of each outcome, (n,), NaN where it is not known; None where of none.
    """

    name: str
    sign: float
    X: FloatArray
    y: FloatArray
    processes: tuple[FittedGP, ...]
    weights: FloatArray
    residual: Normal
    stds: FloatArray | None = None

    @property
    def outputs(self) -> MonotoneMap:
        """The map from outcomes to the processes' units."""
        return self.processes[0].outputs

    def outcome(self, X: FloatArray) -> Forecast:
        """Forecast what a new evaluation at each point would give, noise included."""
        pools = []
        for process, count in self._shares(_TABLE):
            belief = process.posterior(X)
            std = np.sqrt(belief.std**2 + process.noise_around(belief.mean, X))
            pools.append(self._outcomes(self._even_values(belief.mean, std, count)))
        return _pooled(pools)

    def expected(self, X: FloatArray) -> Forecast:
        """Forecast the mean of many evaluations at each point: the function without its noise."""
        pools = []
        for process, count in self._shares(_TABLE):
            belief = process.posterior(X)
            values = self._even_values(belief.mean, belief.std, count)
            pools.append(self._averaged(process, values, X))
        return _pooled(pools)

    def without_each(self) -> Forecast:
        """Forecast each outcome that it knows from all the others."""
        pools = []
        for process, count in self._shares(_TABLE):
            means, stds = _leave_one_out(process)
            pools.append(self._outcomes(self._even_values(means, stds, count)))
        return _pooled(pools)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw the mean of many evaluations at all points jointly, (count, m)."""
        drawn = []
        for process, share in self._shares(count):
            mean, covariance = process.joint(X)
            spread = factor(covariance, process.signal_variance)
            scores = rng.standard_normal((share, X.shape[0])) @ spread.T
            values = mean + self.residual.std() * scores
            drawn.append(self._averaged(process, values.T, X).T)
        return rng.permutation(np.concatenate(drawn))  # by kernel before

    def noise(self, X: FloatArray) -> FloatArray:
        """Return the std of evaluations at the same point around their mean, (m,)."""
        apart = []
        for process in self.processes:
            v = process.posterior(X).mean[:, None]
            values = self._outcomes(v + self._noise_scores(process, v, X))
            apart.append(values - (values @ _WEIGHTS)[:, None])
        unit = max(float(np.abs(apart).max()), 1e-300)  # so that no square over- or underflows
        variances = (np.array(apart) / unit) ** 2 @ _WEIGHTS
        return np.asarray(unit * np.sqrt(self.weights @ variances))

    def learned_share(self, X: FloatArray) -> FloatArray:
        """Return which share of the noise, as a variance, was learned and not told, (m,)."""
        if self.stds is None:
            return np.ones(X.shape[0])
        shares = []
        for process in self.processes:
            noise = process.noise_around(process.posterior(X).mean, X)
            shares.append(process.parameters.noise / noise)
        return np.asarray(self.weights @ np.array(shares))

    def _shares(self, count: int) -> list[tuple[FittedGP, int]]:
        """Return the processes that count, and how many of ``count`` values each contributes."""
        ends = np.round(count * np.cumsum(self.weights)).astype(int)
        shares = np.diff(ends, prepend=0).tolist()
        return [(p, share) for p, share in zip(self.processes, shares, strict=True) if share]

    def _even_values(self, mean: FloatArray, std: FloatArray, count: int) -> FloatArray:
        """Return evenly likely values of recalibrated normals, (m, count)."""
        scores = ndtri((np.arange(count) + 0.5) / count)
        return np.asarray(mean[:, None] + std[:, None] * self.residual.at_score(scores))

    def _averaged(self, process: FittedGP, v: FloatArray, X: FloatArray) -> FloatArray:
        """Return the mean outcome where the function is v, (m, …): the map may not be linear."""
        if isinstance(self.outputs, PowerMap) and self.outputs.is_affine:
            return self._outcomes(v)
        v = v[..., None]
        return np.asarray(self._outcomes(v + self._noise_scores(process, v, X)) @ _WEIGHTS)

    def _noise_scores(self, process: FittedGP, v: FloatArray, X: FloatArray) -> FloatArray:
        return np.sqrt(process.noise_around(v, X)) * _NODES

    def _outcomes(self, v: FloatArray) -> FloatArray:
        """Return outcomes, not further beyond those seen than a bounded map can be believed."""
        low, high = self.y.min() / 2.0, self.y.max() / 2.0  # halves: their difference is finite
        reach = _FAR * max(high - low, 1e-12 * max(abs(low), abs(high)), 1e-300)
        ends = np.clip([low - reach, high + reach], -_LARGEST, _LARGEST)
        return np.asarray(2.0 * np.clip(self.outputs.inverse(v) / 2.0, *ends))


@one_thread()
def quantity_of(
    name: str,
    sign: float,
    processes: Sequence[GaussianProcess],
    X: FloatArray,
    y: FloatArray,
    stds: FloatArray | None = None,
) -> Quantity:
    """Return the belief that outcomes y at the rows of X make, in the units that suit them."""
    beliefs = [_in_units(units, name, sign, processes, X, y, stds) for units in _UNITS]
    errors = [float(np.mean(belief.without_each().crps(y))) for belief in beliefs]
    return _recalibrated(beliefs[int(np.argmin(errors))])


def _in_units(
    units: Outputs,
    name: str,
    sign: float,
    processes: Sequence[GaussianProcess],
    X: FloatArray,
    y: FloatArray,
    stds: FloatArray | None,
) -> Quantity:
    outputs = fit_map(units, y)
    fitted = tuple(replace(process, outputs=outputs).fit(X, y, stds) for process in processes)
    means, spreads = np.stack([_leave_one_out(process) for process in fitted], axis=-1)
    v = fitted[0].v
    evidence = -(0.5 * ((v[:, None] - means) / spreads) ** 2 + np.log(spreads)).sum(axis=0)
    weights = softmax(evidence / _CAUTION)
    return Quantity(name, sign, X, y, fitted, weights, STANDARD_NORMAL, stds)


def _recalibrated(raw: Quantity) -> Quantity:
    """Return the belief with forecasts as wide as those of outcomes left out had to be."""
    if raw.y.size < 2:
        return raw
    likely = raw.processes[int(np.argmax(raw.weights))].model
    folds, rng = min(_FOLDS, raw.y.size), np.random.default_rng(raw.y.size)
    scores = k_fold(likely, raw.X, raw.y, folds, rng, raw.stds).scores
    # Without signs: spread is learned and no shift, which would be applied to the best as well.
    scale = float(_RECALIBRATOR.update_symmetric(scores).residual.std())
    return replace(raw, residual=Normal(0.0, max(1.0, scale)))


def _leave_one_out(process: FittedGP) -> tuple[FloatArray, FloatArray]:
    """Return mean and std of each outcome given the others, in the process's units."""
    scores, stds = process.leave_one_out()
    return process.v - scores * stds, stds


def _pooled(pools: Sequence[FloatArray]) -> Quantiles:
    """Return the forecast whose evenly likely values at each point are those of all pools."""
    draws = np.sort(np.concatenate(pools, axis=1), axis=1)
    # A rounding error apart, where all of a point are the same.
    unit = np.maximum(np.abs(draws).max(axis=1, keepdims=True), 1e-290)
    return Quantiles.from_samples(draws + 1e-14 * unit * np.linspace(-1.0, 1.0, draws.shape[1]))
