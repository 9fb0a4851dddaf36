"""BoTorch and Ax."""

from __future__ import annotations

import logging
import math
import random
import warnings
from typing import Any

import numpy as np
import torch
from coding import Parameter, decode, encode, limits
from worker import Settings, Space, active, serve

warnings.simplefilter("ignore")
logging.disable()
torch.set_num_threads(1)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what the libraries draw from
    torch.manual_seed(seed)


class BoTorch:
    """BoTorch's SingleTaskGP (with categories, MixedSingleTaskGP) with Normalize and Standardize,
    and log expected improvement maximised from 10 restarts and 512 raw samples; where there are
    whole numbers or categories, over these in turns. Log-scaled parameters are logarithms,
    conditional ones make a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        _seed(seed)
        self._space = space
        ends = [limits(p, logs=True) for p in space]
        self._bounds = torch.tensor(ends, dtype=torch.double).T
        self._whole = {i: _levels(p) for i, p in enumerate(space) if p["type"] == "int"}
        self._labels = {i: _levels(p) for i, p in enumerate(space) if p["type"] == "choice"}
        self._points: list[list[float]] = []
        self._outcomes: list[float] = []

    def tell(self, settings: Settings, outcome: float) -> None:
        coded = encode(self._space, settings, logs=True)
        self._points.append([float(coded[p["name"]]) for p in self._space])
        self._outcomes.append(-outcome)

    def ask(self) -> Settings:
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.models.transforms import Normalize, Standardize
        from botorch.optim import optimize_acqf
        from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(self._points, dtype=torch.double)
        Y = torch.tensor(self._outcomes, dtype=torch.double).unsqueeze(-1)
        numbers = [i for i in range(len(self._space)) if i not in self._labels]
        transforms = {
            "input_transform": Normalize(len(self._space), indices=numbers, bounds=self._bounds),
            "outcome_transform": Standardize(m=1),
        }
        if self._labels:
            model = MixedSingleTaskGP(X, Y, cat_dims=list(self._labels), **transforms)
        else:
            model = SingleTaskGP(X, Y, **transforms)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        improvement = LogExpectedImprovement(model, best_f=Y.max())
        effort = {"bounds": self._bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
        if self._whole or self._labels:
            found, _ = optimize_acqf_mixed_alternating(
                improvement, discrete_dims=self._whole, cat_dims=self._labels, **effort
            )
        else:
            found, _ = optimize_acqf(improvement, **effort)
        names = (p["name"] for p in self._space)
        return decode(
            self._space, dict(zip(names, found.squeeze(0).tolist(), strict=True)), logs=True
        )


def _levels(parameter: Parameter) -> list[float]:
    """Return the coded values of a whole number or a choice."""
    if parameter["type"] == "choice":
        return [float(place) for place in range(len(parameter["choices"]))]
    values = range(parameter["low"], parameter["high"] + 1)
    return [math.log(v) if parameter["log"] else float(v) for v in values]


class Ax:
    """Ax's Client with its default ("fast") generation strategy, the told points in place of its
    first ones. It knows of log scales, whole numbers, choices and of conditions on one value; a
    parameter that exists with several values of another always exists for it.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from ax.api.client import Client

        _seed(seed)
        self._space = [_known(p) for p in space]
        self._client = Client(random_seed=seed)
        self._client.configure_experiment([_config(p, self._space) for p in self._space])
        self._client.configure_optimization("-outcome")
        self._client.configure_generation_strategy(initialization_budget=0)
        self._asked: int | None = None

    def tell(self, settings: Settings, outcome: float) -> None:
        trial, self._asked = self._asked, None
        if trial is None:
            coded = encode(self._space, settings)
            exists = active(self._space, settings)
            trial = self._client.attach_trial({name: coded[name] for name in exists})
        self._client.complete_trial(trial, {"outcome": outcome})

    def ask(self) -> Settings:
        ((self._asked, coded),) = self._client.get_next_trials(max_trials=1).items()
        # What does not exist has no value: the harness ignores the one it gets here.
        missing = {p["name"]: limits(p)[0] for p in self._space}
        return decode(self._space, {**missing, **coded})


def _known(parameter: Parameter) -> Parameter:
    """Return a parameter without its condition, if Ax does not know such ones."""
    _, values = parameter.get("when", (None, ()))
    return {key: parameter[key] for key in parameter if key != "when" or len(values) == 1}


def _config(parameter: Parameter, space: Space) -> Any:
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    name = parameter["name"]
    if parameter["type"] == "choice":
        places = list(range(len(parameter["choices"])))
        dependents: dict[int, list[str]] = {}
        for p in space:
            on, values = p.get("when", (None, ()))
            if on == name:
                place = parameter["choices"].index(values[0])
                dependents.setdefault(place, []).append(p["name"])
        return ChoiceParameterConfig(
            name, places, "int", is_ordered=False, dependent_parameters=dependents or None
        )
    scaling = "log" if parameter["log"] else "linear"
    ends = parameter["low"], parameter["high"]
    return RangeParameterConfig(name, ends, parameter["type"], scaling=scaling)


if __name__ == "__main__":
    serve({"botorch": BoTorch, "ax": Ax})
