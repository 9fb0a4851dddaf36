"""Syne Tune's conformal quantile regression."""

from __future__ import annotations

import logging
import random
import warnings
from typing import Any

import numpy as np
from coding import Parameter, decode, encode
from syne_tune import config_space
from syne_tune.optimizer.schedulers.searchers.conformal import (
    conformal_quantile_regression_searcher as cqr,
)
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()


class CQR:
    """The searcher of Syne Tune's CQR baseline with nothing set: boosted quantiles, conformalised
    from 32 points on. Its model starts after five points, which are the told ones. Conditions are
    not known to it: it sees a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the library draws from
        self._space, self._told = space, 0
        self._searcher = cqr.ConformalQuantileRegression(
            {p["name"]: _domain(p) for p in space}, random_seed=seed, points_to_evaluate=[]
        )

    def tell(self, settings: Settings, outcome: float) -> None:
        coded = encode(self._space, settings)
        self._searcher.on_trial_complete(self._told, coded, outcome)
        self._told += 1

    def ask(self) -> Settings:
        return decode(self._space, self._searcher.suggest())


def _domain(parameter: Parameter) -> Any:
    if parameter["type"] == "choice":
        return config_space.choice(list(range(len(parameter["choices"]))))
    kinds = {
        ("float", False): config_space.uniform,
        ("float", True): config_space.loguniform,
        ("int", False): config_space.randint,
        ("int", True): config_space.lograndint,
    }
    return kinds[parameter["type"], parameter["log"]](parameter["low"], parameter["high"])


if __name__ == "__main__":
    serve({"syne-tune-cqr": CQR})
