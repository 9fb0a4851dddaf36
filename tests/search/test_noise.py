"""Searches that are told how noisy outcomes are."""

import logging

import numpy as np
import pytest

from calibrant import Optimizer
from calibrant.models.bagging import BaggedProcesses
from calibrant.models.gp import GaussianProcess


def told(std, n=9, **options):
    optimizer, rng = Optimizer(dim=1, seed=0, **options), np.random.default_rng(1)
    for i in range(n):
        x = optimizer.ask()
        optimizer.tell(x, float((x[0] - 0.3) ** 2 + 0.1 * rng.standard_normal()), std(i))
    return optimizer


def test_the_model_knows_the_stds_of_a_search():
    optimizer = told(lambda i: 0.1 if i % 2 else None)
    optimizer.ask()
    stds = optimizer._fits.objectives[0].current.stds
    np.testing.assert_array_equal(stds, [np.nan, 0.1] * 4 + [np.nan])


def test_stds_change_what_is_forecast_and_none_change_nothing():
    spread = [told(std).forecast([[0.3]]).std()[0] for std in (lambda i: 0.1, lambda i: 1.0)]
    assert spread[1] > 2.0 * spread[0]
    plain, without = told(lambda i: None), told(lambda i: None)
    np.testing.assert_array_equal(plain.ask(), without.ask())
    assert plain._history().stds is None


def test_a_failed_evaluation_has_no_std():
    optimizer = told(lambda i: 0.1)
    optimizer.tell([0.5], float("nan"), std=0.1)
    assert optimizer._history().stds.shape == (9, 1)
    optimizer.ask()


@pytest.mark.parametrize("std", [-0.1, float("nan"), float("inf")])
def test_a_bad_std_is_refused_and_nothing_is_told(std):
    optimizer = Optimizer(dim=1)
    with pytest.raises(ValueError, match="std"):
        optimizer.tell([0.5], 1.0, std=std)
    with pytest.raises(ValueError, match="no best"):
        _ = optimizer.best


@pytest.mark.parametrize(
    "model", [BaggedProcesses(members=2), GaussianProcess(outputs="tanh")], ids=["bag", "tanh"]
)
def test_a_model_that_takes_no_stds_goes_without_and_says_so(model, caplog):
    with caplog.at_level(logging.WARNING, "calibrant"):
        told(lambda i: 0.1, n=7, model=model)
    assert caplog.text.count("stds of outcomes are not used") == 1
