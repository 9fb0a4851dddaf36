"""Running trials: where they are, and those whose worker has died without a heartbeat."""

from datetime import datetime, timedelta

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

from calibrant import CalibratedSampler
from calibrant.studies.pending import running_points

SPACE = {"n": IntDistribution(1, 12)}


def a_study_with_a_running_trial(n, age):
    """A worker was killed while it evaluated n, some seconds ago."""
    study = optuna.create_study(sampler=CalibratedSampler(seed=0, search_space=SPACE))
    dead = optuna.create_trial(state=TrialState.RUNNING, params={"n": n}, distributions=SPACE)
    dead.datetime_start = datetime.now() - timedelta(seconds=age)
    study.add_trial(dead)
    return study


def notices(caplog):
    return [record.message for record in caplog.records if record.name == "calibrant"]


def objective(trial):
    return float(abs(trial.suggest_int("n", 1, 12) - 9))


def test_the_setting_of_a_dead_trial_is_tried_again(caplog):
    study = a_study_with_a_running_trial(9, age=3600)
    study.optimize(objective, n_trials=12)
    assert study.best_params == {"n": 9}
    assert sorted(t.params["n"] for t in study.trials[1:]) == list(range(1, 13))
    assert not notices(caplog)


def test_the_setting_of_a_live_trial_is_not_and_nobody_says_that_it_was(caplog):
    study = a_study_with_a_running_trial(9, age=5)
    study.optimize(objective, n_trials=12)
    assert all(t.params["n"] != 9 for t in study.trials[1:])
    (notice,) = notices(caplog)
    assert notice.startswith("All 12 settings have been tried, or are running.")


@pytest.mark.parametrize(
    ("age", "longest", "pending"),
    [(1e6, None, True), (59, 0, True), (61, 0, False), (900, 100.0, True), (1100, 100.0, False)],
)
def test_far_older_than_the_longest_that_has_finished(age, longest, pending):
    study = a_study_with_a_running_trial(9, age)
    assert bool(running_points(study, -1, longest)) == pending


def test_a_running_trial_is_where_its_parameters_say():
    study = optuna.create_study(sampler=CalibratedSampler(search_space={"x": (0.0, 1.0)}, seed=0))
    trial = study.ask()
    trial.suggest_float("x", 5.0, 6.0)  # not what was suggested
    ((_, params),) = running_points(study, but=-1)
    assert params == trial.params
