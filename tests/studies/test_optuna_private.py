"""What calibrant relies on of Optuna's private names, held against the installed version."""

import re
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import calibrant
from calibrant.studies import optuna_private

SOURCE = Path(calibrant.__file__).parent
PRIVATE = re.compile(
    r"\._storage\b(?!\s*[:=|,)]|:)|\._study_id\b|\._trial_id\b|\._stop_flag|\._contains\(|"
    r"\.system_attrs\b|optuna(\.\w+)*\._\w+|from optuna(\.\w+)* import _"
)


def test_the_version_is_one_that_was_tried():
    """Optuna 5 changed much of it: after an upgrade, run this file and add the version."""
    tried = {tuple(version.split(".")[:2]) for version in optuna_private.TRIED_WITH}
    assert tuple(optuna.__version__.split(".")[:2]) in tried


def test_no_other_module_uses_private_names():
    found = {
        str(path.relative_to(SOURCE)): match.group()
        for path in SOURCE.rglob("*.py")
        if path.name != "optuna_private.py"
        and (match := PRIVATE.search(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.fixture(params=["memory", "sqlite"])
def study(request, tmp_path):
    storage = None if request.param == "memory" else f"sqlite:///{tmp_path / 'study.db'}"
    return optuna.create_study(storage=storage)


def test_notes_about_a_study(study):
    assert optuna_private.study_note(study, "calibrant:test") is None
    optuna_private.note_study(study, "calibrant:test", {"a": [1.5]})
    assert optuna_private.study_note(study, "calibrant:test") == {"a": [1.5]}
    study.set_user_attr("mine", 3)
    assert optuna_private.user_attributes(study) == {"mine": 3}


def test_notes_about_a_trial(study):
    trial = study.ask()
    (running,) = optuna_private.every_trial(study, (TrialState.RUNNING,))
    optuna_private.note_trial(study, running, "calibrant:test", [1, 2])
    assert optuna_private.notes_of(study, trial)["calibrant:test"] == [1, 2]
    study.tell(trial, 1.0)
    (ended,) = optuna_private.every_trial(study)
    assert optuna_private.trial_note(ended, "calibrant:test") == [1, 2]
    assert optuna_private.trial_note(ended, "calibrant:other") is None


def test_parameters_given_when_a_trial_was_enqueued(study):
    study.enqueue_trial({"x": 0.25})
    trial = study.ask()
    (frozen,) = optuna_private.every_trial(study)
    assert optuna_private.fixed_params(frozen) == {"x": 0.25}
    assert trial.suggest_float("x", 0, 1) == 0.25


def test_trials_that_repeat_others():
    repeated = optuna.create_trial(value=1.0, system_attrs={"retry_history": [3, 5]})
    assert optuna_private.begun_again(repeated) == [3, 5]
    assert optuna_private.begun_again(optuna.create_trial(value=1.0)) == []


def test_a_trial_that_takes_the_place_of_a_dead_workers():
    notes = optuna_private.as_repetition({"a": 1}, 7)
    trial = optuna.create_trial(value=1.0)
    optuna_private.set_notes(trial, notes)
    assert optuna_private.notes(trial) == notes
    assert optuna_private.begun_again(trial) == [7]
    optuna_private.set_notes(trial, optuna_private.as_repetition(notes, 9))
    assert optuna_private.begun_again(trial) == [7, 9]
    stale = optuna.storages.RetryHeartbeatStaleTrialCallback
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        assert stale.retried_trial_number(trial) == 7


def test_storages_with_and_without_heartbeats(study, tmp_path):
    assert not optuna_private.has_heartbeats(study)
    storage = calibrant.open_storage(f"sqlite:///{tmp_path / 'other.db'}")
    assert optuna_private.has_heartbeats(optuna.create_study(storage=storage))
    database = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'third.db'}")
    assert type(optuna_private.cached(database)).__name__ == "_CachedStorage"


def test_values_of_a_distribution():
    assert optuna_private.contains(FloatDistribution(0, 1, step=0.25), 0.75)
    assert not optuna_private.contains(FloatDistribution(0, 1, step=0.25), 0.7)
    assert not optuna_private.contains(IntDistribution(1, 9), 10)
    assert optuna_private.contains(CategoricalDistribution(["a", "b"]), 1)


def test_stopping_from_anywhere(study):
    def objective(trial):
        optuna_private.stop(study)
        return 1.0

    study.optimize(objective, n_trials=5)
    assert len(study.trials) == 1


def test_trials_that_run_elsewhere(study):
    study.ask()
    optuna_private.set_constraints(study, 0, {"weight": -0.5})
    optuna_private.report(study, 0, 2.5, step=3)
    optuna_private.set_user_attribute(study, 0, "who", "a colleague")
    study.tell(0, 1.0)
    (trial,) = study.trials
    assert trial.constraints == {"weight": -0.5}
    assert trial.intermediate_values == {3: 2.5}
    assert trial.user_attrs == {"who": "a colleague"}


def test_a_loop_of_our_own_can_be_stopped():
    study = optuna.create_study()
    optuna_private.stop(study)  # what is left from an earlier loop
    with optuna_private.stoppable(study):
        assert not optuna_private.stopped(study)
        study.stop()
        assert optuna_private.stopped(study)
    with pytest.raises(RuntimeError):
        study.stop()
