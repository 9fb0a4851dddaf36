"""One adapter a rival: the library with its own default settings, behind ask and tell.

Each is told the first points with their outcomes, and then asked. A library is imported when its
rival starts: what is not installed is only missed by who wants it.
"""

from __future__ import annotations

from typing import Any, Protocol

Settings = dict[str, float]
Space = dict[str, tuple[float, float]]


class Rival(Protocol):
    """What the harness talks to."""

    def __init__(self, space: Space, seed: int) -> None: ...

    def tell(self, settings: Settings, outcome: float) -> None:
        """Learn an outcome; of the first points, or of the last one asked for."""

    def ask(self) -> Settings:
        """Return the next point to evaluate."""


class Random:
    """Uniform points: the yardstick that normalised regret is measured with."""

    def __init__(self, space: Space, seed: int) -> None:
        import random

        self._space, self._rng = space, random.Random(seed)

    def tell(self, settings: Settings, outcome: float) -> None:
        pass

    def ask(self) -> Settings:
        return {name: self._rng.uniform(low, high) for name, (low, high) in self._space.items()}


class Sobol:
    """A scrambled Sobol sequence."""

    def __init__(self, space: Space, seed: int) -> None:
        from scipy.stats import qmc

        self._space, self._points = space, iter(qmc.Sobol(len(space), rng=seed).random_base2(10))

    def tell(self, settings: Settings, outcome: float) -> None:
        pass

    def ask(self) -> Settings:
        unit = next(self._points)
        ends = self._space.items()
        return {
            name: float(low + u * (high - low))
            for u, (name, (low, high)) in zip(unit, ends, strict=True)
        }


class _Optuna:
    """An Optuna study with one of its samplers."""

    def __init__(self, space: Space, seed: int) -> None:
        import warnings

        import optuna

        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = {
            name: optuna.distributions.FloatDistribution(low, high)
            for name, (low, high) in space.items()
        }
        self._study = optuna.create_study(sampler=self._sampler(seed))
        self._trial: Any = None

    def _sampler(self, seed: int) -> Any:
        raise NotImplementedError

    def tell(self, settings: Settings, outcome: float) -> None:
        import optuna

        if self._trial is not None:
            self._study.tell(self._trial, outcome)
            self._trial = None
            return
        self._study.add_trial(
            optuna.trial.create_trial(params=settings, distributions=self._space, value=outcome)
        )

    def ask(self) -> Settings:
        self._trial = self._study.ask(self._space)
        return dict(self._trial.params)


class TPE(_Optuna):
    """Optuna's default sampler."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.TPESampler(seed=seed)


class GP(_Optuna):
    """Optuna's Gaussian-process sampler."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.GPSampler(seed=seed)


class CMA(_Optuna):
    """CMA-ES, as Optuna has it."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.CmaEsSampler(seed=seed)


class Calibrant(_Optuna):
    """calibrant with nothing set."""

    def _sampler(self, seed: int) -> Any:
        from calibrant import CalibratedSampler

        return CalibratedSampler(seed=seed)


class Uncalibrated(_Optuna):
    """calibrant without calibration, everything else equal."""

    def _sampler(self, seed: int) -> Any:
        from calibrant import CalibratedSampler

        return CalibratedSampler(seed=seed, recalibrator=None)


RIVALS: dict[str, type[Any]] = {
    "random": Random,
    "sobol": Sobol,
    "optuna-tpe": TPE,
    "optuna-gp": GP,
    "optuna-cma": CMA,
    "calibrant": Calibrant,
    "calibrant-raw": Uncalibrated,
}
