"""calibrant, Optuna's samplers, and two that do not learn: the environment of calibrant itself."""

from __future__ import annotations

import random
import warnings
from typing import Any

from worker import Settings, Space, active, from_unit, serve

TOLD = 5  # first points that stand for each system's own start


class Random:
    """Uniform points."""

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._space, self._rng = space, random.Random(seed)

    def tell(self, settings: Settings, outcome: float) -> None:
        pass

    def ask(self) -> Settings:
        return {p["name"]: from_unit(p, self._rng.random()) for p in self._space}


class Sobol:
    """A scrambled Sobol sequence, whatever was told."""

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from scipy.stats import qmc

        self._space = space
        self._points = iter(qmc.Sobol(len(space), rng=seed).random_base2(10).tolist())

    def tell(self, settings: Settings, outcome: float) -> None:
        pass

    def ask(self) -> Settings:
        point = next(self._points)
        return {p["name"]: from_unit(p, u) for p, u in zip(self._space, point, strict=True)}


class OptunaStudy:
    """An Optuna study: parameters are asked for one after the other, as its users do."""

    def __init__(self, space: Space, seed: int, budget: int, sampler: Any = None) -> None:
        import optuna

        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self.study = optuna.create_study(sampler=sampler or self._sampler(seed))
        self._trial: Any = None

    def _sampler(self, seed: int) -> Any:
        raise NotImplementedError

    def tell(self, settings: Settings, outcome: float) -> None:
        import optuna

        if self._trial is not None:
            self.study.tell(self._trial, outcome)
            self._trial = None
            return
        exists = active(self._space, settings)
        distributions = {p["name"]: _distribution(p) for p in self._space if p["name"] in exists}
        self.study.add_trial(
            optuna.trial.create_trial(params=exists, distributions=distributions, value=outcome)
        )

    def ask(self) -> Settings:
        self._trial = self.study.ask()
        found: Settings = {}
        for p in self._space:
            on, values = p.get("when", (None, ()))
            if on is None or (on in found and found[on] in values):
                found[p["name"]] = _suggested(self._trial, p)
        return found


def _suggested(trial: Any, parameter: dict[str, Any]) -> Any:
    name = parameter["name"]
    if parameter["type"] == "choice":
        return trial.suggest_categorical(name, parameter["choices"])
    suggest = {"float": trial.suggest_float, "int": trial.suggest_int}[parameter["type"]]
    return suggest(name, parameter["low"], parameter["high"], log=parameter["log"])


def _distribution(parameter: dict[str, Any]) -> Any:
    from optuna import distributions

    if parameter["type"] == "choice":
        return distributions.CategoricalDistribution(parameter["choices"])
    kinds = {"float": distributions.FloatDistribution, "int": distributions.IntDistribution}
    kind = kinds[parameter["type"]]
    return kind(parameter["low"], parameter["high"], log=parameter["log"])


class TPE(OptunaStudy):
    """Optuna's default sampler, the told points in place of its ten random ones."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=TOLD)


class GP(OptunaStudy):
    """Optuna's Gaussian-process sampler, the told points in place of its ten random ones."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.GPSampler(seed=seed, n_startup_trials=TOLD)


class CMA(OptunaStudy):
    """CMA-ES, as Optuna has it: it starts where it likes, whatever it was told."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.CmaEsSampler(seed=seed)


class Calibrant(OptunaStudy):
    """calibrant with nothing set."""

    def _sampler(self, seed: int) -> Any:
        from calibrant import CalibratedSampler

        return CalibratedSampler(seed=seed)


class Uncalibrated(OptunaStudy):
    """calibrant without calibration, everything else equal."""

    def _sampler(self, seed: int) -> Any:
        from calibrant import CalibratedSampler

        return CalibratedSampler(seed=seed, recalibrator=None)


if __name__ == "__main__":
    serve(
        {
            "random": Random,
            "sobol": Sobol,
            "optuna-tpe": TPE,
            "optuna-gp": GP,
            "optuna-cma": CMA,
            "calibrant": Calibrant,
            "calibrant-raw": Uncalibrated,
        }
    )
