"""nevergrad."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import nevergrad as ng
from coding import Parameter, decode, encode
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()


class NGOpt:
    """nevergrad's NGOpt, which picks a method by the space and the budget. It is told the first
    points, of which some methods use no more than the best one, and sees a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._space = space
        parameters = ng.p.Dict(**{p["name"]: _parameter(p) for p in space})
        parameters.random_state.seed(seed)
        self._optimizer = ng.optimizers.NGOpt(parameters, budget=budget, num_workers=1)
        self._asked: Any = None

    def tell(self, settings: Settings, outcome: float) -> None:
        candidate, self._asked = self._asked, None
        if candidate is None:
            candidate = self._optimizer.parametrization.spawn_child(
                new_value=encode(self._space, settings)
            )
        self._optimizer.tell(candidate, outcome)

    def ask(self) -> Settings:
        self._asked = self._optimizer.ask()
        return decode(self._space, self._asked.value)


def _parameter(parameter: Parameter) -> Any:
    if parameter["type"] == "choice":
        return ng.p.Choice(range(len(parameter["choices"])))
    low, high = parameter["low"], parameter["high"]
    scalar = (
        ng.p.Log(lower=low, upper=high) if parameter["log"] else ng.p.Scalar(lower=low, upper=high)
    )
    return scalar.set_integer_casting() if parameter["type"] == "int" else scalar


if __name__ == "__main__":
    serve({"nevergrad": NGOpt})
