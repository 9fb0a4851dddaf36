"""Optuna's own suite of what every sampler must do."""

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from calibrant import CalibratedSampler


class TestCalibratedSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        # Two trials to start with, so that the suite's short studies reach the model.
        return lambda: CalibratedSampler(n_startup_trials=2, seed=0)
