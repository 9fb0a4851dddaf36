"""minimize, studies that are stopped and gone on with, and storages that disappear."""

import logging
import signal
import threading

import numpy as np
import optuna
import pytest
from optuna.storages._heartbeat import HeartbeatThread
from optuna.trial import TrialState

import calibrant
from calibrant.studies import StorageLost, open_storage, processes, review
from calibrant.studies.archive import Archive
from calibrant.studies.heartbeats import BEAT
from calibrant.studies.opening import open_study
from calibrant.studies.runner import ERROR_KEY, evaluated, run
from calibrant.studies.storage import save_rescued

SPACE = {"x": (-5.0, 5.0), "n": (1, 9), "kind": ["a", "b"]}


def bowl(params):
    return (params["x"] - 2) ** 2 + (params["n"] - 4) ** 2 + (params["kind"] == "b")


def test_the_ten_line_start():
    study = calibrant.minimize(bowl, SPACE, n_trials=40, seed=0)
    assert isinstance(study, optuna.Study)
    assert len(study.trials) == 40
    assert study.best_value < 0.05
    assert study.best_params["n"] == 4


def test_the_number_of_trials_is_the_studys(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    calibrant.minimize(bowl, SPACE, n_trials=8, storage=url, seed=0)
    calls = []
    study = calibrant.minimize(lambda p: calls.append(p) or bowl(p), SPACE, 12, storage=url)
    assert len(calls) == 4
    assert len(study.trials) == 12
    calibrant.minimize(lambda p: pytest.fail("nothing is missing"), SPACE, 12, storage=url)


def test_threads():
    study = calibrant.minimize(bowl, SPACE, n_trials=20, n_jobs=3, seed=0)
    assert len(study.trials) == 20


def test_an_objective_that_raises_fails_its_trial_and_not_the_study():
    def objective(params):
        if params["kind"] == "b":
            raise RuntimeError("no such kind")
        return bowl(params)

    study = calibrant.minimize(objective, SPACE, n_trials=20, seed=0)
    failed = study.get_trials(states=(TrialState.FAIL,))
    assert failed
    assert all("no such kind" in trial.user_attrs[ERROR_KEY] for trial in failed)
    assert len(study.trials) == 20
    # failures teach: the kind that never works is given up
    assert sum(t.params["kind"] == "b" for t in study.trials[12:]) <= 2


def test_an_objective_that_only_raises_is_a_mistake_and_is_raised():
    calls = []
    with pytest.raises(ZeroDivisionError):
        calibrant.minimize(lambda p: calls.append(p) or 1 / 0, SPACE, n_trials=50)
    assert len(calls) == 5


def test_a_mistake_in_a_resumed_search_is_raised_too(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    calibrant.minimize(bowl, SPACE, n_trials=6, storage=url)
    with pytest.raises(ZeroDivisionError):
        calibrant.minimize(lambda p: 1 / 0, SPACE, n_trials=50, storage=url)
    assert len(calibrant.minimize(bowl, SPACE, n_trials=12, storage=url).trials) == 12


def test_a_run_of_failures_too_short_to_give_up_is_told_of(caplog):
    with caplog.at_level(logging.ERROR, logger="calibrant"):
        calibrant.minimize(lambda p: 1 / 0, SPACE, n_trials=3)
    assert "No trial of this run succeeded; 3 raised, the last ZeroDivisionError" in caplog.text


def test_pruned_trials_have_not_failed():
    def objective(params):
        raise optuna.TrialPruned

    study = calibrant.minimize(objective, SPACE, n_trials=7)
    assert [trial.state for trial in study.trials] == [TrialState.PRUNED] * 7
    assert not any(ERROR_KEY in trial.user_attrs for trial in study.trials)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_values_at_the_edge(value):
    study = calibrant.minimize(
        lambda p: value if p["x"] > 0 else p["x"] ** 2, SPACE, n_trials=15, seed=0
    )
    assert len(study.trials) == 15
    assert np.isfinite(study.best_value)


def test_outcomes_at_both_ends_of_the_floats():
    largest = np.finfo(float).max
    outcomes = [largest, -largest, 5e-324, -5e-324, 0.0, 1e300, 1e-300]
    study = calibrant.minimize(lambda p: outcomes[p["n"] % 7], SPACE, n_trials=20, seed=0)
    assert review(study).held.size == 15
    assert study.best_value == -largest


def test_ctrl_c_returns_what_was_found(caplog):
    calls = []

    def objective(params):
        calls.append(params)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return bowl(params)

    with caplog.at_level(logging.WARNING, logger="calibrant"):
        study = calibrant.minimize(objective, SPACE, n_trials=30, seed=0)
    assert len(study.get_trials(states=(TrialState.COMPLETE,))) == 6
    assert evaluated(study) == 6  # what was interrupted is no evaluation
    assert "Stopped" in caplog.text


@pytest.mark.parametrize(
    ("place", "name", "finished"),
    [
        (calibrant.CalibratedSampler, "before_trial", 7),
        (optuna.storages.RDBStorage, "set_trial_state_values", 8),
        (HeartbeatThread, "start", 7),
    ],
)
def test_ctrl_c_lets_storing_finish(tmp_path, monkeypatch, place, name, finished):
    original, calls, threads = getattr(place, name), [], threading.active_count()

    def pressed(self, *args, **kwargs):
        calls.append(name)
        if len(calls) == 8:
            signal.raise_signal(signal.SIGINT)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(place, name, pressed)
    url = f"sqlite:///{tmp_path}/study.db"
    study = calibrant.minimize(bowl, SPACE, n_trials=30, storage=url, seed=0)
    assert evaluated(study) == finished
    assert not study.get_trials(states=(TrialState.RUNNING,))
    assert threading.active_count() == threads  # no heart beats on


def test_pressing_ctrl_c_twice_ends_a_search_wherever_it_is():
    sampler = calibrant.CalibratedSampler(seed=0)

    def insistent(*args):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    sampler.before_trial = insistent
    study = open_study({}, None, "s", "minimize", sampler)
    assert run(study, lambda trial: 1.0, 5)
    assert evaluated(study) == 0


def test_a_storage_that_disappears_loses_nothing(tmp_path):
    path = tmp_path / "study.db"
    calls = []

    def objective(params):
        calls.append(params)
        if len(calls) == 6:
            path.unlink()
        return bowl(params)

    with pytest.raises(StorageLost, match="6 evaluations") as error:
        calibrant.minimize(objective, SPACE, n_trials=20, storage=f"sqlite:///{path}")
    rescued = error.value.study
    assert [t.value for t in rescued.trials] == [bowl(p) for p in calls]
    saved = [save_rescued(rescued, tmp_path) for _ in range(2)]
    assert saved[0] != saved[1]
    study = calibrant.minimize(bowl, SPACE, 14, storage=f"sqlite:///{saved[0]}")
    assert len(study.trials) == 14


def test_a_rescued_study_keeps_its_forecasts(tmp_path):
    path = tmp_path / "study.db"
    calls = []

    def objective(params):
        calls.append(params)
        if len(calls) == 20:
            path.unlink()
        return bowl(params)

    with pytest.raises(StorageLost) as error:
        calibrant.minimize(objective, SPACE, n_trials=30, storage=f"sqlite:///{path}")
    assert len(calibrant.CalibratedSampler().outcomes(error.value.study)[0]) >= 12


def test_a_journal_that_disappears_loses_nothing_either(tmp_path):
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    folder = tmp_path / "journal"
    folder.mkdir()
    storage = JournalStorage(JournalFileBackend(str(folder / "study.log")))
    calls = []

    def objective(params):
        calls.append(params)
        if len(calls) == 6:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
        return bowl(params)

    with pytest.raises(StorageLost, match="6 evaluations"):
        calibrant.minimize(objective, SPACE, n_trials=20, storage=storage)


def test_other_errors_are_passed_on(monkeypatch):
    study = open_study({}, None, "s", "minimize")
    monkeypatch.setattr(study, "optimize", lambda *a, **k: (_ for _ in ()).throw(OSError("disc")))
    with pytest.raises(OSError, match="disc"):
        run(study, lambda trial: 0.0, 3)


def test_bad_numbers():
    with pytest.raises(ValueError, match="n_trials >= 1"):
        calibrant.minimize(bowl, SPACE, n_trials=0)
    with pytest.raises(TypeError, match=r"`n_trials` must be a whole number, but got 3\.5"):
        calibrant.minimize(bowl, SPACE, n_trials=3.5)
    with pytest.raises(ValueError, match=r"pass the seed to that instead"):
        calibrant.minimize(bowl, SPACE, seed=0, sampler=calibrant.CalibratedSampler())
    with pytest.raises(ValueError, match="n_jobs >= 1"):
        calibrant.minimize(bowl, SPACE, n_jobs=0)
    with pytest.raises(ValueError, match="space is empty"):
        calibrant.minimize(bowl, {})
    with pytest.raises(ValueError, match="must be a URL"):
        calibrant.minimize(bowl, SPACE, storage="study.db")
    for url in ("sqlite:////no/such/folder/s.db", "nothing://here"):
        with pytest.raises(ValueError, match="cannot be opened"):
            calibrant.minimize(bowl, SPACE, storage=url)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_an_objective_that_is_not_finite_fails_its_trial(value):
    study = calibrant.minimize(lambda p: value if p["x"] < 0.3 else p["x"], {"x": (0.0, 1.0)}, 12)
    failed = study.get_trials(states=(TrialState.FAIL,))
    assert failed
    assert all(f"returned {value}" in trial.user_attrs[ERROR_KEY] for trial in failed)
    assert study.best_value >= 0.3


def test_a_signal_that_was_to_be_ignored_is_ignored():
    def objective(params):
        signal.raise_signal(signal.SIGHUP)  # as when a terminal closes under nohup
        return params["x"]

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        study = open_study({}, None, "s", "minimize")
        stopped = []
        run(study, lambda t: objective({"x": 1.0}), 2, on_interrupt=lambda: stopped.append(1))
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert len(study.trials) == 2
    assert not stopped


def test_the_verbosity_of_optuna_is_left_as_it_was():
    before = optuna.logging.get_verbosity()
    calibrant.minimize(bowl, SPACE, n_trials=3)
    assert optuna.logging.get_verbosity() == before


def test_the_trial_of_a_killed_worker_is_given_to_another(tmp_path):
    """Another worker evaluates the same point, and it is no failure."""
    url = f"sqlite:///{tmp_path}/study.db"
    study = calibrant.minimize(bowl, SPACE, n_trials=14, storage=url, seed=0)
    plain = optuna.load_study(study_name="calibrant", storage=url, sampler=study.sampler)
    killed = plain.ask()
    point = {"x": killed.suggest_float("x", -5.0, 5.0), "n": killed.suggest_int("n", 1, 9)}
    point["kind"] = killed.suggest_categorical("kind", ["a", "b"])
    machine = processes.identity().partition(":")[0]
    beat = {"worker": f"{machine}:{2**22 + 1}:1", "count": 0}  # no process has such a number
    study._storage.set_trial_system_attr(killed._trial_id, BEAT, beat)
    seen = []
    study = calibrant.minimize(lambda p: seen.append(p) or bowl(p), SPACE, 17, storage=url)
    assert point in seen
    assert len(seen) == 3  # the trial that was cut off is no evaluation
    assert evaluated(study) == 17
    assert review(study).failed == 0
    archive = Archive()
    archive.update(study)
    space = archive.space(archive.search_space())
    assert archive.history(space, 1, []).failed.shape[0] == 0
    # the retried trial kept the forecast that was made for it
    retried = next(t for t in study.trials if t.params == point and t.value is not None)
    assert archive.records[retried.number].forecasts


def test_storages_that_are_none_of_our_business_are_passed_through():
    storage = optuna.storages.InMemoryStorage()
    assert open_storage(storage) is storage
    assert open_storage(None) is None


def test_a_storage_with_braces_in_its_path(tmp_path):
    folder = tmp_path / "d {q}"
    folder.mkdir()
    study = calibrant.minimize(bowl, SPACE, 2, storage=f"sqlite:///{folder}/s.db", seed=0)
    assert len(study.trials) == 2
    assert (folder / "s.db").exists()


def test_maximising_is_minimising_the_other_way_round():
    def hill(params):
        return -((params["x"] - 2) ** 2)

    study = calibrant.maximize(hill, {"x": (-10.0, 10.0)}, n_trials=12, seed=0)
    mirrored = calibrant.minimize(lambda p: -hill(p), {"x": (-10.0, 10.0)}, n_trials=12, seed=0)
    assert study.best_value == -mirrored.best_value
    assert calibrant.review(study).best_value == study.best_value
    with pytest.raises(TypeError, match="has its direction already"):
        calibrant.maximize(hill, {"x": (0.0, 1.0)}, direction="minimize")
    with pytest.raises(ValueError, match="direction='up'"):
        calibrant.minimize(hill, {"x": (0.0, 1.0)}, direction="up")


def test_a_time_budget_must_be_positive():
    with pytest.raises(ValueError, match="time_budget > 0"):
        calibrant.minimize(lambda p: 1.0, {"x": (0.0, 1.0)}, n_trials=2, time_budget=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objective": 3}, "`objective` must be a function such as .*but got 3"),
        ({"stop": 3}, "`stop` must be a function such as .*StopWhen.*but got 3"),
        ({"stop": calibrant.StopWhen}, "`stop` must be a function such as .*StopWhen"),
        ({"time_budget": "soon"}, "`time_budget` must be numeric, but got 'soon'"),
    ],
)
def test_what_is_not_a_function_or_a_number_is_refused_before_anything_runs(options, said):
    given = {"objective": lambda p: 1.0, "space": {"x": (0.0, 1.0)}, "n_trials": 2, **options}
    with pytest.raises(TypeError, match=said):
        calibrant.minimize(**given)
