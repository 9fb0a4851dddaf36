"""Which trials count as evaluations, and which as nothing."""

import optuna
import pytest
from optuna.trial import TrialState

import calibrant
from calibrant.studies import review
from calibrant.studies.archive import Archive
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.runner import evaluated

SPACE = {"x": (-5.0, 5.0), "n": (1, 9), "kind": ["a", "b"]}


def bowl(params):
    return (params["x"] - 2) ** 2 + (params["n"] - 4) ** 2 + (params["kind"] == "b")


def test_interrupted_trials_say_nothing_about_their_parameters():
    study = optuna.create_study()
    dist = {"x": optuna.distributions.FloatDistribution(0, 1)}
    for attrs in ({}, {INTERRUPTED: True}):
        study.add_trial(
            optuna.create_trial(
                state=TrialState.FAIL, params={"x": 0.5}, distributions=dist, user_attrs=attrs
            )
        )
    assert evaluated(study) == 1
    archive = Archive()
    archive.update(study)
    assert len(archive.records) == 1


def test_failures_of_a_broken_objective_are_forgiven(tmp_path):
    """Five failures end the run; put right, it has all of its evaluations, where it likes."""
    url = f"sqlite:///{tmp_path}/s.db"
    with pytest.raises(KeyError):
        calibrant.minimize(lambda p: p["a slip"], SPACE, 8, storage=url, seed=0)
    study = calibrant.minimize(bowl, SPACE, 8, storage=url, seed=0)
    assert len(study.trials) == 5 + 8
    assert evaluated(study) == 8
    assert review(study).failed == 0
    archive = Archive()
    archive.update(study)
    assert len(archive.records) == 8


def test_failures_beside_successes_count(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"

    def objective(p):
        if p["kind"] == "b":
            raise ValueError
        return bowl(p)

    first = calibrant.minimize(objective, SPACE, 8, storage=url, seed=0)
    assert 0 < review(first).failed < 8
    again = calibrant.minimize(objective, SPACE, 8, storage=url, seed=0)
    assert len(again.trials) == 8


def test_trials_copied_from_another_study_count(tmp_path):
    """A trial that was begun again there carries numbers of that study."""
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    for value in (1.0, 2.0):
        copied = optuna.trial.create_trial(value=value, system_attrs={"retry_history": [0, 7]})
        study.add_trial(copied)
    assert evaluated(study) == 2
