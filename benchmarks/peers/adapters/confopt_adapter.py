"""ConfOpt."""

from __future__ import annotations

import logging
import random
import warnings
from typing import Any

import numpy as np
from coding import Parameter, decode, encode
from confopt.selection.acquisition import QuantileConformalSearcher
from confopt.selection.sampling.thompson_samplers import ThompsonSampler
from confopt.tuning import ConformalTuner
from confopt.wrapping import CategoricalRange, FloatRange, IntRange
from worker import Settings, Space, serve

warnings.simplefilter("ignore")
logging.disable()


class ConfOpt:
    """ConfOpt's tuner with its default searcher: boosted quantiles, Thompson sampling among 5,000
    candidates, conformalised from 32 points on. It has no ask and tell: these are the steps of its
    conformal search, with the told points in place of its 15 random ones. Conditions are not known
    to it: it sees a flat space. It never tries a point twice.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the library draws from
        self._space, self._asked = space, False
        self._tuner = ConformalTuner(_never_called, {p["name"]: _range(p) for p in space})
        self._tuner.initialize_tuning_resources()
        self._searcher = QuantileConformalSearcher(  # as the tuner's own default
            quantile_estimator_architecture="qgbm",
            sampler=ThompsonSampler(
                n_quantiles=4, adapter="DtACI", enable_optimistic_sampling=False
            ),
            calibration_split_strategy="adaptive",
            n_calibration_folds=5,
            n_pre_conformal_trials=32,
        )

    def tell(self, settings: Settings, outcome: float) -> None:
        manager, coded = self._tuner.config_manager, encode(self._space, settings)
        if self._asked:
            point = manager.tabularize_configs([coded])
            self._searcher.update(X=point.flatten(), y_true=outcome)
            self._asked = False
        manager.mark_as_searched(coded, outcome)

    def ask(self) -> Settings:
        manager = self._tuner.config_manager
        points = manager.tabularize_configs(manager.searched_configs)
        outcomes = np.array(manager.searched_performances)
        candidates = manager.get_searchable_configurations()
        self._tuner.retrain_searcher(self._searcher, points, outcomes, tuning_count=0)
        found = self._tuner.select_next_configuration(
            self._searcher, candidates, manager.tabularize_configs(candidates)
        )
        self._asked = True
        return decode(self._space, found)


def _never_called(configuration):  # type: ignore[no-untyped-def] # the library checks the name
    raise NotImplementedError


def _range(parameter: Parameter) -> Any:
    if parameter["type"] == "choice":
        return CategoricalRange(choices=list(range(len(parameter["choices"]))))
    kind = {"float": FloatRange, "int": IntRange}[parameter["type"]]
    low, high = parameter["low"], parameter["high"]
    return kind(min_value=low, max_value=high, log_scale=parameter["log"])


if __name__ == "__main__":
    serve({"confopt": ConfOpt})
