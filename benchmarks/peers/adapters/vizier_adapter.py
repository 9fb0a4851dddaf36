"""Vizier."""

from __future__ import annotations

import logging
import os
import warnings

os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 "
    + os.environ.get("XLA_FLAGS", "")
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from coding import Parameter, decode, encode
from vizier import algorithms as vza
from vizier import pyvizier as vz
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()
jax.config.update("jax_enable_x64", True)  # as the library's own service does


class Vizier:
    """The designer that Vizier's service takes by default, GP-UCB-PE, with nothing but its random
    key set. It refuses conditional spaces, so it sees a flat one.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._space, self._told = space, 0
        problem = vz.ProblemStatement(
            metric_information=[
                vz.MetricInformation("outcome", goal=vz.ObjectiveMetricGoal.MINIMIZE)
            ]
        )
        for p in space:
            _add(problem.search_space.root, p)
        self._designer = VizierGPUCBPEBandit(problem, rng=jax.random.PRNGKey(seed))

    def tell(self, settings: Settings, outcome: float) -> None:
        self._told += 1
        coded = encode(self._space, settings)
        for p in self._space:
            if p["type"] == "choice":
                coded[p["name"]] = str(coded[p["name"]])
        trial = vz.Trial(id=self._told, parameters=coded)
        trial.complete(vz.Measurement(metrics={"outcome": outcome}))
        self._designer.update(vza.CompletedTrials([trial]), vza.ActiveTrials())

    def ask(self) -> Settings:
        (suggestion,) = self._designer.suggest(1)
        return decode(self._space, suggestion.parameters.as_dict())


def _add(root: vz.SearchSpaceSelector, parameter: Parameter) -> None:
    name = parameter["name"]
    if parameter["type"] == "choice":
        places = [str(place) for place in range(len(parameter["choices"]))]
        root.add_categorical_param(name, places)
        return
    add = {"float": root.add_float_param, "int": root.add_int_param}[parameter["type"]]
    scale = vz.ScaleType.LOG if parameter["log"] else vz.ScaleType.LINEAR
    add(name, parameter["low"], parameter["high"], scale_type=scale)


if __name__ == "__main__":
    serve({"vizier": Vizier})
