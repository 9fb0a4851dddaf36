"""HEBO."""

from __future__ import annotations

import logging
import random
import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from coding import Parameter, decode, encode
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()
torch.set_num_threads(1)


class Hebo:
    """HEBO with its default Gaussian process and acquisition (MACE, NSGA-II), the told points in
    place of its random ones. Conditions are not known to it: it sees a flat space.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the library draws from
        torch.manual_seed(seed)
        self._space = space
        design = DesignSpace().parse([_parameter(p) for p in space])
        self._optimizer = HEBO(design, rand_sample=2, scramble_seed=seed)

    def tell(self, settings: Settings, outcome: float) -> None:
        point = pd.DataFrame([encode(self._space, settings)])
        self._optimizer.observe(point, np.array([[outcome]]))

    def ask(self) -> Settings:
        return decode(self._space, self._optimizer.suggest().iloc[0].to_dict())


def _parameter(parameter: Parameter) -> dict[str, Any]:
    name = parameter["name"]
    if parameter["type"] == "choice":
        places = list(range(len(parameter["choices"])))
        return {"name": name, "type": "cat", "categories": places}
    kinds = {("float", False): "num", ("float", True): "pow"}
    kinds |= {("int", False): "int", ("int", True): "pow_int"}
    kind = kinds[parameter["type"], parameter["log"]]
    return {"name": name, "type": kind, "lb": parameter["low"], "ub": parameter["high"]}


if __name__ == "__main__":
    serve({"hebo": Hebo})
