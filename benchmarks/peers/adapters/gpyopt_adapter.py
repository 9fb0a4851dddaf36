"""GPyOpt."""

from __future__ import annotations

import logging
import math
import random
import warnings
from typing import Any

import numpy as np
from coding import Parameter, decode, encode, limits
from GPyOpt.methods import BayesianOptimization
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()


class GPyOpt:
    """GPyOpt with nothing set (expected improvement, Matérn 5/2 with noise), given all points anew
    at each ask, as it documents for outcomes from outside. Log-scaled parameters are logarithms,
    whole numbers are its discrete ones, and conditional parameters make a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the library draws from
        self._space = space
        self._domain = [_variable(p) for p in space]
        self._points: list[list[float]] = []
        self._outcomes: list[list[float]] = []

    def tell(self, settings: Settings, outcome: float) -> None:
        self._points.append(list(encode(self._space, settings, logs=True).values()))
        self._outcomes.append([outcome])

    def ask(self) -> Settings:
        points, outcomes = np.array(self._points, float), np.array(self._outcomes, float)
        optimizer = BayesianOptimization(f=None, domain=self._domain, X=points, Y=outcomes)
        (found,) = optimizer.suggest_next_locations()
        coded = {p["name"]: value for p, value in zip(self._space, found, strict=True)}
        return decode(self._space, coded, logs=True)


def _variable(parameter: Parameter) -> dict[str, Any]:
    low, high = limits(parameter)
    if parameter["type"] == "float":
        kind, domain = "continuous", limits(parameter, logs=True)
    elif parameter["type"] == "choice":
        kind, domain = "categorical", tuple(range(high + 1))
    else:
        scale = math.log if parameter["log"] else float
        kind, domain = "discrete", tuple(scale(value) for value in range(low, high + 1))
    return {"name": parameter["name"], "type": kind, "domain": domain}


if __name__ == "__main__":
    serve({"gpyopt": GPyOpt})
