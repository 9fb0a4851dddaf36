"""What is told of a trial that another worker has given up, or that was kept elsewhere."""

import optuna
from optuna.trial import TrialState
from tests.studies.flaky import objective, steady

import calibrant
from calibrant.studies import open_storage
from calibrant.studies.late import LATE, bring_home
from calibrant.studies.runner import evaluated


def give_up(study, number, again=True):
    """What another worker does with a trial whose heartbeat has stopped."""
    other = optuna.load_study(study_name=study.study_name, storage=study._storage.inside)
    trial = other.trials[number]
    other._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    if again:
        study._storage.get_heartbeat_stale_trial_callback()(other, other.trials[number])
    return other


def test_a_value_that_comes_late_is_that_of_the_trial_queued_in_its_place():
    study = optuna.create_study(storage=steady(), sampler=calibrant.CalibratedSampler(seed=0))

    def late(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 2:
            give_up(study, 2)
            trial.set_user_attr("who", "me")
            trial.report(0.5, 1)
            return x + trial.suggest_float("y", 0, 1)
        return x

    study.optimize(late, n_trials=4)
    states = [t.state.name for t in study.trials]
    assert states == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    kept = study.trials[3]
    assert kept.params.keys() == {"x", "y"}
    assert kept.value == sum(kept.params.values())
    assert kept.params["x"] == study.trials[2].params["x"]
    assert kept.user_attrs == {"who": "me"}
    assert kept.intermediate_values == {1: 0.5}
    assert evaluated(study) == 4  # the one that was given up is none


def test_a_value_that_comes_later_still_is_a_trial_of_its_own():
    study = optuna.create_study(storage=steady(), sampler=calibrant.CalibratedSampler(seed=0))

    def late(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 2:
            other = give_up(study, 2)
            other.tell(other.ask(), 7.0)
        return x

    study.optimize(late, n_trials=3)
    assert [t.value for t in study.trials if t.number > 2] == [7.0, study.trials[2].params["x"]]
    assert evaluated(study) == 4


def test_an_evaluation_is_brought_home_once(tmp_path):
    storage = open_storage(f"sqlite:///{tmp_path}/study.db")
    study = optuna.create_study(storage=storage, study_name="s")
    study.optimize(objective, n_trials=3)
    known = study.trials[1]
    assert not bring_home(storage, study._study_id, 1, known)  # it was told
    elsewhere = optuna.create_trial(
        value=0.5, params=known.params, distributions=known.distributions
    )
    for expected in (True, False, False):
        assert bring_home(storage, study._study_id, 17, elsewhere) == expected
    (kept,) = study.trials[3:]
    assert (kept.value, kept.system_attrs[LATE]) == (0.5, 17)


def test_a_running_trial_is_told_when_its_evaluation_comes_home(tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db")
    x = study.ask().suggest_float("x", 0, 1)
    evaluation = optuna.create_trial(
        value=2.0, params={"x": x}, distributions=study.trials[0].distributions
    )
    assert bring_home(study._storage, study._study_id, 0, evaluation)
    assert [t.value for t in study.trials] == [2.0]
