"""scikit-optimize and bayes_opt."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from coding import Parameter, decode, encode, limits
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()


class Skopt:
    """scikit-optimize's Optimizer as gp_minimize sets it up: a Gaussian process and gp_hedge, the
    told points in place of its random ones. Conditions are not known to it: it sees a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from skopt import Optimizer

        self._space = space
        self._optimizer = Optimizer(
            [_dimension(p) for p in space],
            base_estimator="GP",
            n_initial_points=5,
            acq_optimizer_kwargs={"n_jobs": 1},
            random_state=seed,
        )

    def tell(self, settings: Settings, outcome: float) -> None:
        self._optimizer.tell(list(encode(self._space, settings).values()), outcome)

    def ask(self) -> Settings:
        names = [p["name"] for p in self._space]
        return decode(self._space, dict(zip(names, self._optimizer.ask(), strict=True)))


def _dimension(parameter: Parameter) -> Any:
    from skopt.space import Categorical, Integer, Real

    if parameter["type"] == "choice":
        return Categorical(range(len(parameter["choices"])))
    kind = {"float": Real, "int": Integer}[parameter["type"]]
    prior = "log-uniform" if parameter["log"] else "uniform"
    return kind(parameter["low"], parameter["high"], prior=prior)


class BayesOpt:
    """bayes_opt with nothing set (an upper confidence bound), repeated points allowed. It has
    whole numbers and categories of its own; log-scaled parameters are given to it as logarithms,
    and conditional ones as a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from bayes_opt import BayesianOptimization

        self._space = space
        self._optimizer = BayesianOptimization(
            f=None,
            pbounds={p["name"]: _bounds(p) for p in space},
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )

    def tell(self, settings: Settings, outcome: float) -> None:
        coded = encode(self._space, settings, logs=True)
        for p in self._space:
            if p["type"] == "choice":
                coded[p["name"]] = str(coded[p["name"]])
        self._optimizer.register(coded, -outcome)

    def ask(self) -> Settings:
        return decode(self._space, self._optimizer.suggest(), logs=True)


def _bounds(parameter: Parameter) -> Any:
    if parameter["type"] == "choice":
        return tuple(str(place) for place in range(len(parameter["choices"])))
    # The logarithm of a whole number is not whole: it is rounded when it is asked for.
    whole = parameter["type"] == "int" and not parameter["log"]
    return (*limits(parameter, logs=True), int if whole else float)


if __name__ == "__main__":
    serve({"skopt": Skopt, "bayes_opt": BayesOpt})
