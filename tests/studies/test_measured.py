"""Stds and costs as they are kept with trials."""

import logging
import math

import numpy as np
import optuna
import pytest

import calibrant
from calibrant.decisions.settings import _pooled
from calibrant.studies.archive import Archive
from calibrant.studies.measured import COST, STD, cost_of, stds_of

SPACE = {"x": (0.0, 1.0)}


def history(study):
    archive = Archive()
    archive.update(study)
    space = archive.space(archive.search_space())
    return archive.history(space, len(study.directions), [])


def test_an_objective_may_return_a_value_and_its_std(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = calibrant.minimize(lambda p: (p["x"], 0.1), SPACE, 3, storage=url, seed=0)
    assert [trial.user_attrs[STD] for trial in study.trials] == [0.1] * 3
    # Resumed, by an objective that says it in another way, or not at all.
    study = calibrant.minimize(lambda p: (p["x"], {"std": 0.2}), SPACE, 5, storage=url, seed=0)
    study = calibrant.minimize(lambda p: p["x"], SPACE, 6, storage=url, seed=0)
    np.testing.assert_array_equal(history(study).stds[:, 0], [0.1] * 3 + [0.2] * 2 + [np.nan])
    assert calibrant.forecast(study, {"x": 0.5}).interval(0.8)[0] < 0.6


def test_without_stds_there_are_none():
    study = calibrant.minimize(lambda p: p["x"], SPACE, 3, seed=0)
    assert history(study).stds is None


@pytest.mark.parametrize("std", [-1.0, math.nan, math.inf, "much", [0.1, 0.2]])
def test_a_std_that_makes_no_sense_costs_no_value(std, caplog):
    with caplog.at_level(logging.WARNING, "calibrant"):
        study = calibrant.minimize(lambda p: (p["x"], std), SPACE, 2, seed=0)
    assert all(trial.value is not None for trial in study.trials)
    assert STD not in study.trials[0].user_attrs
    assert "its std is not used, and its value is" in caplog.text


@pytest.mark.parametrize("cost", [-1.0, math.nan, "much"])
def test_a_cost_that_makes_no_sense_costs_no_value(cost, caplog):
    study = calibrant.minimize(lambda p: (p["x"], {"cost": cost}), SPACE, 2, seed=0)
    assert all(trial.value is not None for trial in study.trials)
    assert COST not in study.trials[0].user_attrs
    assert "its cost is not used" in caplog.text


def test_limits_and_stds_go_together():
    def objective(p):
        return p["x"], {"memory": 5 * p["x"], "std": 0.1, "cost": 2.0}

    study = calibrant.minimize(objective, SPACE, 3, limits={"memory": 3.0}, seed=0)
    assert [trial.user_attrs for trial in study.trials] == [{STD: 0.1, COST: 2.0}] * 3
    assert set(study.trials[0].constraints) == {"memory"}
    # A limit of that name means what it always has.
    study = calibrant.minimize(objective, SPACE, 2, limits={"std": 3.0}, seed=0)
    assert STD not in study.trials[0].user_attrs


def test_several_objectives_have_a_std_each():
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=calibrant.CalibratedSampler(seed=0)
    )

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        with pytest.raises(ValueError, match="One `std` per objective"):
            calibrant.set_std(trial, 0.1)
        calibrant.set_std(trial, [0.1, 0.3])
        return x, x**2

    study.optimize(objective, n_trials=7)
    np.testing.assert_array_equal(history(study).stds, [[0.1, 0.3]] * 7)
    assert len(study.best_trials) >= 1


@pytest.mark.parametrize("std", [-0.1, math.nan, math.inf])
def test_set_std_refuses_what_is_none(std):
    trial = optuna.create_study().ask()
    with pytest.raises(ValueError, match="std"):
        calibrant.set_std(trial, std)
    with pytest.raises(ValueError, match="cost"):
        calibrant.set_cost(trial, std)
    assert trial.user_attrs == {}


@pytest.mark.parametrize("noted", ["0.1", None, -0.1, math.nan, True, [0.1, 0.2], {}, [], ["a"]])
def test_records_that_are_damaged_count_as_none(noted):
    trial = optuna.create_trial(value=1.0, user_attrs={STD: noted, COST: noted})
    assert stds_of(trial, 1) is None
    assert cost_of(trial) is None


def test_one_of_several_stds_may_be_missing():
    trial = optuna.create_trial(values=[1.0, 2.0], user_attrs={STD: [0.1, None]})
    np.testing.assert_array_equal(stds_of(trial, 2), [0.1, np.nan])


def test_replicates_are_pooled_by_how_sure_they_are():
    values, stds = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    mean, error = _pooled(values[:1], stds[:1])
    assert (mean, error) == (1.0, pytest.approx(0.1))
    near, error = _pooled(np.array([1.0, 1.1]), stds)
    assert near == pytest.approx((1.0 / 0.01 + 1.1 / 0.04) / (1 / 0.01 + 1 / 0.04))
    assert error == pytest.approx((1 / 0.01 + 1 / 0.04) ** -0.5)
    # They differ by more than their stds say: so does the error.
    apart = _pooled(values, stds)
    weights = 1 / stds**2
    chi = (weights * (values - apart[0]) ** 2).sum()
    assert apart[1] == pytest.approx(np.sqrt(chi / weights.sum()))
    # Without stds, by their differences.
    assert _pooled(np.array([1.0, 3.0]), None) == (2.0, pytest.approx(1.0))
    assert math.isnan(_pooled(values[:1], None)[1])
    assert _pooled(values, np.array([0.0, 0.2])) == (1.0, 0.0)


def test_a_recommendation_says_how_often_and_how_surely_it_was_observed():
    rng = np.random.default_rng(0)
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    for x in np.linspace(0, 1, 7):
        for _ in range(3):
            study.enqueue_trial({"x": x})

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        calibrant.set_std(trial, 0.05)
        return (x - 0.5) ** 2 + 0.05 * rng.standard_normal()

    study.optimize(objective, n_trials=21)
    best = calibrant.recommend(study).candidates[0]
    assert len(best.trials) == 3
    assert 0.05 / np.sqrt(3) <= best.error < 0.15
    assert "(standard error) in 3 evaluations" in str(calibrant.recommend(study))
    assert f"± {best.error:.2g}"[:4] in calibrant.recommend(study)._repr_html_()
