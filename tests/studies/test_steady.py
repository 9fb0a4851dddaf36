"""A storage that outlives outages, dead workers and late results."""

import subprocess
import sys
import threading
import time

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.testing.pytest_storages import StorageTestCase
from optuna.trial import TrialState
from sqlalchemy.exc import OperationalError
from tests.databases import needs_postgres, postgres
from tests.studies.flaky import OPERATIONS, Flaky, objective, steady

import calibrant
from calibrant.studies import open_storage, outages, processes
from calibrant.studies.archive import Archive
from calibrant.studies.heartbeats import BEAT
from calibrant.studies.runner import evaluated


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(outages, "_FIRST_WAIT", 0.001)


class TestConformance(StorageTestCase):
    """Optuna's own tests of a storage."""

    @pytest.fixture(
        params=[
            "memory",
            pytest.param("sqlite", marks=pytest.mark.slow),
            pytest.param("journal", marks=pytest.mark.slow),
        ]
    )
    def storage(self, request, tmp_path):
        urls = {
            "sqlite": f"sqlite:///{tmp_path}/study.db",
            "journal": f"journal:///{tmp_path}/study.log",
        }
        return open_storage(urls[request.param]) if request.param in urls else steady()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_outage_changes_nothing(operation, when):
    def search(count):
        storage = steady()
        study = optuna.create_study(storage=storage, sampler=calibrant.CalibratedSampler(seed=0))
        for _ in range(8):
            getattr(storage.inside, when)[operation] = count
            study.optimize(objective, n_trials=1)
        return [(t.number, t.state, t.params, t.values) for t in study.trials]

    assert search(2) == search(0)


def test_patience_ends_and_then_nobody_waits_again():
    storage = steady(patience=0.2)
    study = optuna.create_study(storage=storage)
    storage.inside.before["get_all_trials"] = 10**6
    begun = time.monotonic()
    with pytest.raises(OperationalError):
        study.get_trials()
    storage.patience.seconds = 60.0
    with pytest.raises(OperationalError):
        study.get_trials()
    assert time.monotonic() - begun < 5.0


def test_errors_that_do_not_pass_are_raised_at_once():
    study = optuna.create_study(storage=steady())
    study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match="Cannot tell a"):
        study.tell(0, 2.0)


def test_a_heartbeat_survives_an_outage():
    storage = steady(heartbeat=1)
    study = optuna.create_study(storage=storage)
    beats = []

    def slow(trial):
        storage.inside.before["set_trial_system_attr"] = 2
        for _ in range(100):
            beats.append(storage.inside.get_trial(trial._trial_id).system_attrs[BEAT]["count"])
            if beats[-1] > beats[0]:
                break
            time.sleep(0.1)
        return 1.0

    study.optimize(slow, n_trials=1)
    assert beats[-1] > beats[0]


def test_two_threads_of_a_process_that_slept_do_not_give_each_other_up():
    storage = steady(heartbeat=1, grace=0)  # a grace of nothing: everyone's heartbeat has lapsed
    study = optuna.create_study(storage=storage)
    study.optimize(lambda trial: time.sleep(0.05) or 1.0, n_trials=20, n_jobs=4)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 20


def test_an_ask_reads_the_trials_three_times(monkeypatch):
    """Each time all that run are read and decoded: with 64 workers that is most of an ask."""
    storage = steady(InMemoryStorage())
    sampler = calibrant.CalibratedSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=4)
    looks, read = [], storage.inside.get_all_trials
    monkeypatch.setattr(
        storage.inside, "get_all_trials", lambda *a, **k: looks.append(k) or read(*a, **k)
    )
    study.optimize(objective, n_trials=1)
    assert len(looks) == 3


def test_a_trial_that_is_queued_after_the_look_is_next():
    storage = steady(InMemoryStorage())
    study = optuna.create_study(storage=storage)
    storage._get_stale_trial_ids(study._study_id)
    study.enqueue_trial({"x": 0.25})  # by this process: it knows better than what it has read
    study.optimize(objective, n_trials=1)
    assert study.trials[0].params == {"x": 0.25}


def test_a_trial_whose_rescuer_dies_too_is_no_evaluation_and_no_failure():
    inside = Flaky()
    one, two = steady(inside, grace=0), steady(inside, grace=0)
    sampler = calibrant.CalibratedSampler(seed=0)
    study = optuna.create_study(storage=one, study_name="s", sampler=sampler)
    study.optimize(objective, n_trials=3)
    one._get_stale_trial_ids(study._study_id)
    trial = optuna.Trial(study, one.create_new_trial(study._study_id))
    trial.suggest_float("x", 0, 1)
    two._get_stale_trial_ids(study._study_id)
    time.sleep(0.01)
    assert two._get_stale_trial_ids(study._study_id) == [trial._trial_id]
    inside.set_trial_state_values(trial._trial_id, TrialState.FAIL)  # and then it is killed
    assert evaluated(study) == 3
    archive = Archive()
    archive.update(study)
    assert archive.records.keys() == {0, 1, 2}


def test_trials_asked_for_without_a_loop_have_no_heartbeat():
    storage = steady(grace=0)
    study = optuna.create_study(storage=storage)
    with pytest.warns(UserWarning, match="Heartbeat"):
        study.ask()
    assert BEAT not in study.trials[0].system_attrs
    assert storage._get_stale_trial_ids(study._study_id) == []


KILLED = """
import os, signal, sys
import optuna
from calibrant import CalibratedSampler, open_storage

class Deadly(CalibratedSampler):
    def before_trial(self, study, trial):
        if sys.argv[2] == "before its first heartbeat" and trial.number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        super().before_trial(study, trial)

def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    if trial.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x

storage = open_storage(sys.argv[1])
study = optuna.create_study(storage=storage, study_name="s", sampler=Deadly(seed=0))
study.optimize(objective)
"""


@pytest.mark.parametrize("when", ["before its first heartbeat", "while it ran"])
@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_the_trial_of_a_killed_worker_of_this_machine_is_taken_up_at_once(tmp_path, kind, when):
    url = f"{kind}:///{tmp_path}/study"
    killed = subprocess.run([sys.executable, "-c", KILLED, url, when], check=False)
    assert killed.returncode == -9
    study = optuna.load_study(study_name="s", storage=open_storage(url))
    assert study.trials[3].state == TrialState.RUNNING
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    assert [t.state.name for t in study.trials[3:]] == ["FAIL", "COMPLETE"]
    if when == "while it ran":
        assert study.trials[4].params == study.trials[3].params
    assert evaluated(study) == 4


def test_other_processes():
    assert not processes.has_died(processes.identity())
    machine, pid, birth = processes.identity().split(":")
    assert processes.has_died(f"{machine}:{pid}:{birth}0")  # its id was given out again
    assert not processes.has_died(f"elsewhere:{pid}:{birth}0")
    assert not processes.has_died("nonsense")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert processes.has_died(f"{machine}:{ended.pid}:1")


TOGETHER = """
import os, sys, time
import optuna
from calibrant import open_storage
optuna.logging.set_verbosity(optuna.logging.ERROR)
begin, workers = time.monotonic() + 0.2, []
for _ in range(5):
    workers.append(os.fork())
    if not workers[-1]:
        time.sleep(max(0.0, begin - time.monotonic()))
        optuna.create_study(storage=open_storage(sys.argv[1]), study_name="s", load_if_exists=True)
        os._exit(0)
print(sum(os.waitpid(worker, 0)[1] != 0 for worker in workers))
"""


def open_together(url):
    """Return how many of five workers could not open an empty database at the same moment."""
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER, url], capture_output=True, text=True, check=True
    )
    return int(done.stdout), done.stderr


@pytest.fixture(scope="module")
def server():
    with postgres() as running:
        yield running


@needs_postgres
def test_workers_may_all_start_at_the_same_moment_on_postgresql(server):
    failed, complaints = open_together(server.url("together"))
    assert not failed, complaints


@needs_postgres
def test_a_restart_of_postgresql_during_an_evaluation_ends_nothing(server):
    """Neither the worker nor its heartbeat; and the trial is told when the server is back."""
    storage = open_storage(server.url("restarted"), heartbeat=1, patience=60)
    study = optuna.create_study(storage=storage, sampler=calibrant.CalibratedSampler(seed=0))

    def slow(trial):
        value = objective(trial)
        if trial.number == 2:
            server.stop()
            threading.Timer(3.0, server.start).start()
        return value

    study.optimize(slow, n_trials=5)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 5
    assert storage.patience.outages
    storage.inside._backend.engine.dispose()


def test_workers_may_all_start_at_the_same_moment(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    failed, complaints = open_together(url)
    assert not failed, complaints
    assert optuna.load_study(study_name="s", storage=url).trials == []
