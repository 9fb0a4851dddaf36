"""Limits in `minimize`: constraints of trials, promises that are kept, and clear errors."""

import inspect

import numpy as np
import pytest
from optuna.trial import TrialState

import calibrant
from calibrant.studies.runner import ERROR_KEY

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def gain(params):
    return params["x"] + 0.5 * params["y"], {"sum": 10.0 * (params["x"] + params["y"])}


def test_the_best_trial_keeps_to_the_limits():
    study = calibrant.maximize(gain, SPACE, 20, seed=0, limits={"sum": 10.0})
    assert study.best_trial.constraints["sum"] <= 0.0
    assert study.best_value == pytest.approx(1.0, abs=0.05)
    for trial in study.trials:
        measured = 10.0 * (trial.params["x"] + trial.params["y"])
        assert trial.constraints == pytest.approx({"sum": measured - 10.0})


def test_with_a_probability_fewer_trials_exceed_them():
    def exceeded(**options):
        study = calibrant.maximize(gain, SPACE, 20, seed=0, limits={"sum": 10.0}, **options)
        return np.mean([trial.constraints["sum"] > 0.0 for trial in study.trials[5:]])

    assert exceeded(min_feasible=0.95) <= 0.1 < exceeded()


@pytest.mark.parametrize("found", [float("nan"), float("inf"), -float("inf")])
def test_a_trial_that_did_not_measure_fails(found):
    def forgetful(params):
        value, measured = gain(params)
        return value, measured if params["x"] < 0.8 else {"sum": found}

    study = calibrant.maximize(forgetful, SPACE, 15, seed=0, limits={"sum": 15.0})
    failed = study.get_trials(states=(TrialState.FAIL,))
    assert failed
    assert f"must measure sum, but sum is {found}" in failed[0].user_attrs[ERROR_KEY]


@pytest.mark.parametrize("outcome", [1.0, (1.0, 2.0), (1.0, {}, 3)])
def test_an_objective_without_measurements_is_told_so(outcome):
    with pytest.raises(TypeError, match="must return its value and a dict of what it measured"):
        calibrant.minimize(lambda params: outcome, SPACE, 10, seed=0, limits={"memory": 8.0})


@pytest.mark.parametrize("limits", [{1: 2.0}, ["memory"], [], "memory=8", 8.0])
def test_limits_are_numbers_by_name(limits):
    def never(params):
        raise AssertionError("nothing may be evaluated")

    with pytest.raises(TypeError, match=r'such as \{"memory": 8\.0\}, but got limits='):
        calibrant.minimize(never, SPACE, 5, limits=limits)


@pytest.mark.parametrize("limit", [float("nan"), float("inf"), "8", None, True, 10**400])
def test_a_limit_is_a_finite_number(limit):
    with pytest.raises(ValueError, match="limit must be a finite number, but got memory="):
        calibrant.minimize(gain, SPACE, 5, limits={"memory": limit})


def test_a_probability_needs_limits_and_the_default_sampler():
    with pytest.raises(ValueError, match=r"`min_feasible=0.9` is about `limits`"):
        calibrant.minimize(gain, SPACE, 5, min_feasible=0.9)
    with pytest.raises(ValueError, match="applies to the default sampler"):
        calibrant.minimize(
            gain,
            SPACE,
            5,
            limits={"sum": 1.0},
            min_feasible=0.9,
            sampler=calibrant.CalibratedSampler(),
        )


def test_a_stored_study_keeps_its_limits(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    calibrant.maximize(gain, SPACE, 6, storage=url, seed=0, limits={"sum": 10.0})
    with pytest.raises(
        ValueError, match=r"of another problem, with limits \{'sum': 10\.0\} and not"
    ):
        calibrant.maximize(gain, SPACE, 8, storage=url, limits={"sum": 12.0})


def test_the_progress_bar_shows_the_best_within_the_limits(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if on a terminal
    monkeypatch.setenv("COLUMNS", "100")
    study = calibrant.maximize(gain, SPACE, 8, seed=0, limits={"sum": 10.0})
    last = capsys.readouterr().err.split("best ")[-1]
    assert last.startswith(f"{study.best_value:.6g} ")
    assert max(trial.value for trial in study.trials) > study.best_value


@pytest.mark.parametrize("search", [calibrant.minimize, calibrant.maximize])
def test_what_an_objective_with_limits_returns_is_documented(search):
    told = inspect.getdoc(search).partition("objective: ")[2].partition("space: ")[0]
    assert "with ``limits``, a number and a dict of what it measured" in " ".join(told.split())
