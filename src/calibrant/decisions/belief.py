"""What the trials of a study make one believe: read from storage, whichever sampler made them.

    study ──▶ archive ──▶ history on the cube ──▶ Gaussian processes ──▶ a quantity each

A quantity is an objective or a constraint. Inside, all are minimised; ``sign`` turns values into
the user's. A search uses the kernels of the default model in turn, which frees it where one of them
is wrong. A statement about the study has no second try, so here all of them speak: a quantity is an
even mixture of one process per kernel, in the same units, recalibrated by leave-one-out scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from optuna.study import Study
from scipy.special import ndtri

from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import mapped
from calibrant.forecasts.normal import Mixture, Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, fit_map
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.residual import compose
from calibrant.models.gp import FittedGP, GaussianProcess, factor
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.search.defaults import MODEL
from calibrant.search.history import History
from calibrant.search.training import prepare
from calibrant.studies.archive import Archive, signs
from calibrant.studies.space import Space
from calibrant.studies.space_text import describe

_RECALIBRATOR = GaussianRecalibrator(strength=10.0, limit=2.5)
_IN_DOUBT = 0.3  # as in a search: what the model was sure of says nothing about other settings

# Averages over the noise: exact for polynomials of degree 17, where output maps are nearly linear.
_NODES, _WEIGHTS = hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FAR = 3.0  # times the range of outcomes: as far beyond it as a draw is believed
_EVEN_SCORES = ndtri((np.arange(101) + 0.5) / 101)  # of a table of quantiles


@dataclass(frozen=True)
class Quantity:
    """The belief about an objective or a constraint, to be minimised.

    Args:
        name: of the constraint; "value" or "value 0", "value 1", … of objectives.
        sign: 1, or −1 where the user maximises it: user's value = sign · value here.
        X: the points of the outcomes that it knows, (n, d).
        y: these outcomes, (n,).
        processes: one per kernel, all fitted to the same outcomes in the same units.
        residual: what recalibration makes of their scores.
    """

    name: str
    sign: float
    X: FloatArray
    y: FloatArray
    processes: tuple[FittedGP, ...]
    residual: Normal

    @property
    def outputs(self) -> MonotoneMap:
        """The map from outcomes to the processes' units."""
        return self.processes[0].outputs

    def outcome(self, X: FloatArray) -> Forecast:
        """Forecast what a new evaluation at each point would give, noise included."""
        beliefs = [process.posterior(X) for process in self.processes]
        noise = [
            process.noise_around(belief.mean)
            for process, belief in zip(self.processes, beliefs, strict=True)
        ]
        means = np.stack([belief.mean for belief in beliefs], axis=-1)
        stds = np.sqrt(np.stack([b.std**2 + n for b, n in zip(beliefs, noise, strict=True)], -1))
        return compose(mapped(_even_mixture(means, stds), self.outputs), self.residual)

    def expected(self, X: FloatArray) -> Forecast:
        """Forecast the mean of many evaluations at each point: the function without its noise."""
        pools = []
        for process in self.processes:
            belief = process.posterior(X)
            scores = self.residual.at_score(_EVEN_SCORES)
            values = belief.mean[:, None] + belief.std[:, None] * scores
            pools.append(self._averaged(process, values))
        return Quantiles.from_samples(_not_constant(np.concatenate(pools, axis=1)))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw the mean of many evaluations at all points jointly, (count, m)."""
        shares = np.array_split(np.arange(count), len(self.processes))
        drawn = []
        for process, share in zip(self.processes, shares, strict=True):
            mean, covariance = process.joint(X)
            spread = factor(covariance, process.signal_variance)
            scores = rng.standard_normal((share.size, X.shape[0])) @ spread.T
            std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            values = mean + self.residual.mean() * std + self.residual.std() * scores
            drawn.append(self._averaged(process, values))
        return np.concatenate(drawn)

    def noise(self, X: FloatArray) -> FloatArray:
        """Return the std of evaluations at the same point around their mean, (m,)."""
        apart = []
        for process in self.processes:
            v = process.posterior(X).mean[:, None]
            values = self._finite(self.outputs.inverse(v + self._noise_scores(process, v)))
            apart.append(values - (values @ _WEIGHTS)[:, None])
        unit = max(float(np.abs(apart).max()), 1e-300)  # so that no square over- or underflows
        return np.asarray(unit * np.sqrt(np.mean((np.array(apart) / unit) ** 2 @ _WEIGHTS, axis=0)))

    def _averaged(self, process: FittedGP, v: FloatArray) -> FloatArray:
        """Return the mean outcome where the function is v: the map is not linear in the noise."""
        v = v[..., None]
        values = self._finite(self.outputs.inverse(v + self._noise_scores(process, v)))
        return np.asarray(values @ _WEIGHTS)

    def _noise_scores(self, process: FittedGP, v: FloatArray) -> FloatArray:
        return np.sqrt(process.noise_around(v)) * _NODES

    def _finite(self, values: FloatArray) -> FloatArray:
        """Return values, not further beyond those seen than a bounded map can be believed."""
        low, high = self.y.min(), self.y.max()
        reach = _FAR * max(high - low, 1e-12 * max(abs(low), abs(high)), 1e-300)
        return np.clip(values, low - reach, high + reach)


@dataclass(frozen=True)
class StudyBelief:
    """What is believed about a study now.

    Args:
        space: its parameters as a cube.
        history: its trials that count, as points of the cube, minimised; penalties are failures.
        numbers: of the trials whose outcomes the history holds, in its order.
        objectives: one per direction of the study.
        constraints: one per constraint that evaluations reported, by name.
        settled: parameters of the study that have a single value, and no coordinate.
    """

    space: Space
    history: History
    numbers: tuple[int, ...]
    objectives: tuple[Quantity, ...]
    constraints: tuple[Quantity, ...]
    settled: frozenset[str] = frozenset()

    @property
    def cube(self) -> Cube:
        """The search space."""
        return self.space.cube

    def points(self, params: Sequence[Mapping[str, Any]]) -> FloatArray:
        """Return settings, as the objective sees them, as points of the cube, (m, d).

        Raises:
            ValueError: for a parameter that the study does not have or that is missing, and for a
                value outside its range.
        """
        return np.array([self._point(setting) for setting in params]).reshape(-1, self.cube.dim)

    def settings(self, X: FloatArray) -> list[dict[str, Any]]:
        """Return points of the cube as the objective sees them."""
        return [self.space.external(self.space.internal(x)) for x in X]

    def _point(self, setting: Mapping[str, Any]) -> FloatArray:
        setting = {name: value for name, value in setting.items() if name not in self.settled}
        unknown = sorted(setting.keys() - self.space.distributions.keys())
        if unknown:
            known = ", ".join(sorted(self.space.distributions))
            raise ValueError(
                f"The study has no parameter {unknown[0]!r} to choose; its parameters are {known}."
            )
        internal = self.space.to_internal(setting)
        outside = sorted(setting.keys() - internal.keys())
        if outside:
            name = outside[0]
            raise ValueError(
                f"`{name}` must be {describe(self.space.distributions[name])}, "
                f"but got {setting[name]!r}."
            )
        existing = self.space.existing(internal)
        if not self.space.is_whole(existing):
            every = {name: internal.get(name, np.nan) for name in self.space.coordinates}
            missing = sorted(self.space.existing(every).keys() - existing.keys())
            raise ValueError(
                f"A setting needs a value of every parameter, but {', '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} missing in {dict(setting)}."
            )
        return self.space.row(existing)


def believe(study: Study) -> StudyBelief:
    """Return what the finished trials of a study make one believe.

    Raises:
        ValueError: where no trial has finished with a finite value, or there is nothing to choose.
    """
    archive, flip = Archive(), signs(study)
    archive.update(study)
    if not any(record.values is not None for record in archive.records.values()):
        raise ValueError(
            "No trial of the study has finished with a finite value: evaluate a few settings first."
        )
    if not (distributions := archive.search_space()):
        raise ValueError("The study has no parameter with more than one value: nothing to choose.")
    space = archive.space(distributions)
    history = archive.history(space, flip.size, [])
    numbers = np.array(archive.evaluated(space))
    if not numbers.size:
        raise ValueError("All finished trials lie far outside the ranges that parameters have now.")
    names = archive.constraint_names(space)
    data = prepare(MODEL, history, space.cube)
    processes = MODEL.with_labels(space.cube.categorical).processes
    several = flip.size > 1
    objectives = tuple(
        _quantity(f"value {i}" if several else "value", float(sign), processes, *target)
        for i, (sign, target) in enumerate(zip(flip, data.objectives, strict=True))
    )
    said = [n for n, column in zip(names, history.constraints.T, strict=True) if _any(column)]
    constraints = tuple(
        _quantity(name, 1.0, processes, *target)
        for name, target in zip(said, data.constraints, strict=True)
    )
    counted = numbers[~history.penalties]
    settled = archive.parameters() - distributions.keys()
    return StudyBelief(
        space,
        history.without_penalties(),
        tuple(counted.tolist()),
        objectives,
        constraints,
        frozenset(settled),
    )


def _quantity(
    name: str,
    sign: float,
    processes: Sequence[GaussianProcess],
    X: FloatArray,
    y: FloatArray,
) -> Quantity:
    """Return the belief that outcomes y at the rows of X make."""
    outputs = fit_map(processes[0].outputs, y)
    fitted = tuple(replace(process, outputs=outputs).fit(X, y) for process in processes)
    scores = _leave_one_out(fitted) if y.size > 1 else np.empty(0)
    return Quantity(name, sign, X, y, fitted, _RECALIBRATOR.update_scores(scores).residual)


def _leave_one_out(fitted: Sequence[FittedGP]) -> FloatArray:
    """Return the scores of outcomes under the mixture that has not seen them, where in doubt."""
    scores, stds = np.stack([process.leave_one_out() for process in fitted], axis=-1)
    v = fitted[0].v
    mixture = _even_mixture(v[:, None] - scores * stds, stds)
    spread = mixture.std()
    doubtful = spread >= _IN_DOUBT * spread.max()
    return np.asarray(mixture.score(v)[doubtful])


def _even_mixture(means: FloatArray, stds: FloatArray) -> Mixture:
    """Return the mixture of normals along the last axis, each with the same weight."""
    return Mixture(np.full(means.shape[-1], 1.0 / means.shape[-1]), means, stds)


def _not_constant(draws: FloatArray) -> FloatArray:
    """Return sorted draws, a rounding error apart where all of a point are the same."""
    draws = np.sort(draws, axis=1)
    unit = np.maximum(np.abs(draws).max(axis=1, keepdims=True), 1e-290)
    return np.asarray(draws + 1e-14 * unit * np.linspace(-1.0, 1.0, draws.shape[1]))


def _any(column: FloatArray) -> bool:
    return bool((~np.isnan(column)).any())
