"""SMAC3, with its random forest and with its Gaussian process."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from tempfile import TemporaryDirectory
from typing import Any

import ConfigSpace
import smac
from coding import Parameter, decode, encode, limits
from smac.runhistory import TrialInfo, TrialValue
from worker import Settings, Space, active, serve

warnings.simplefilter("ignore")
logging.disable()


class _Smac:
    """A facade of SMAC's, driven by ask and tell."""

    _facade: type[Any]

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._space, self._configurations = space, _configuration_space(space, seed)
        self._output = TemporaryDirectory()  # SMAC writes there, and it goes with this object
        scenario = smac.Scenario(
            self._configurations,
            deterministic=True,
            seed=seed,
            output_directory=self._output.name,
        )
        self._smac = self._facade(
            scenario,
            target_function=lambda configuration, seed: 0.0,  # never called
            initial_design=self._facade.get_initial_design(scenario, n_configs=0),
            logging_level=False,
            overwrite=True,
        )
        self._asked: TrialInfo | None = None

    def tell(self, settings: Settings, outcome: float) -> None:
        trial, self._asked = self._asked, None
        if trial is None:
            coded = encode(self._space, settings)
            exists = {name: coded[name] for name in active(self._space, settings)}
            trial = TrialInfo(
                ConfigSpace.Configuration(self._configurations, values=exists), seed=0
            )
        self._smac.tell(trial, TrialValue(cost=outcome), save=False)

    def ask(self) -> Settings:
        self._asked = self._smac.ask()
        # What does not exist has no value: the harness ignores the one it gets here.
        missing = {p["name"]: limits(p)[0] for p in self._space}
        return decode(self._space, {**missing, **self._asked.config})


def _configuration_space(space: Space, seed: int) -> ConfigSpace.ConfigurationSpace:
    found = ConfigSpace.ConfigurationSpace(seed=seed)
    found.add([_hyperparameter(p) for p in space])
    for p in space:
        if "when" in p:
            on, values = p["when"]
            choices = next(parent["choices"] for parent in space if parent["name"] == on)
            places = [choices.index(value) for value in values]
            found.add(ConfigSpace.InCondition(found[p["name"]], found[on], places))
    return found


def _hyperparameter(parameter: Parameter) -> Any:
    name = parameter["name"]
    if parameter["type"] == "choice":
        return ConfigSpace.Categorical(name, list(range(len(parameter["choices"]))))
    kind = {"float": ConfigSpace.Float, "int": ConfigSpace.Integer}[parameter["type"]]
    return kind(name, (parameter["low"], parameter["high"]), log=parameter["log"])


class Forest(_Smac):
    """SMAC's facade for hyperparameters, its default: a random forest, refitted after every eight
    points, and a fifth of the points at random; the told points in place of its initial design. It
    is told that functions are deterministic, and knows of log scales, whole numbers, choices and
    conditions.
    """

    _facade = smac.HyperparameterOptimizationFacade


class BlackBox(_Smac):
    """SMAC's facade for black boxes: a Gaussian process, refitted after every point; the rest as
    with its default.
    """

    _facade = smac.BlackBoxFacade


if __name__ == "__main__":
    # SMAC's order of search hangs on Python's hashes, which a seed alone does not fix.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    serve({"smac": Forest, "smac-blackbox": BlackBox})
