"""A storage that outlives outages, dead workers and late results."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.testing.pytest_storages import StorageTestCase
from optuna.trial import TrialState
from sqlalchemy.exc import OperationalError
from tests.databases import needs_postgres, postgres

import calibrant
from calibrant.studies import open_storage, outages, processes
from calibrant.studies.archive import Archive
from calibrant.studies.runner import evaluated
from calibrant.studies.steady import BEAT, LATE, SteadyStorage, bring_home


def away():
    """What a client of PostgreSQL says during a restart."""
    return OperationalError("SELECT 1", {}, ConnectionError("server closed the connection"))


class Flaky(InMemoryStorage):
    """A storage that is away when told so, before or after it has done what was asked."""

    def __init__(self):
        super().__init__()
        self.before, self.after = {}, {}  # how often yet, by the name of the operation

    def _maybe(self, when, name):
        if when.get(name, 0) > 0:
            when[name] -= 1
            raise away()


def _flaky(name):
    def method(self, *args, **kwargs):
        self._maybe(self.before, name)
        result = getattr(InMemoryStorage, name)(self, *args, **kwargs)
        self._maybe(self.after, name)
        return result

    return method


OPERATIONS = [
    "create_new_trial", "set_trial_param", "set_trial_state_values", "get_all_trials", "get_trial",
    "set_trial_system_attr", "set_trial_user_attr",
]  # fmt: skip
for operation in OPERATIONS:
    setattr(Flaky, operation, _flaky(operation))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(outages, "_FIRST_WAIT", 0.001)


def steady(inside=None, heartbeat=60, grace=180, patience=30.0):
    return SteadyStorage(inside or Flaky(), heartbeat, grace, patience)


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


def objective(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


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


def test_two_threads_of_a_process_that_slept_do_not_give_each_other_up():
    storage = steady(heartbeat=1, grace=0)  # a grace of nothing: everyone's heartbeat has lapsed
    study = optuna.create_study(storage=storage)
    study.optimize(lambda trial: time.sleep(0.05) or 1.0, n_trials=20, n_jobs=4)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 20


def test_a_stopped_heartbeat_is_found_by_how_long_it_stays_the_same():
    inside = Flaky()
    one, two = steady(inside, grace=1), steady(inside, grace=1)
    study = optuna.create_study(storage=one, study_name="s")
    one._get_stale_trial_ids(study._study_id)
    trial_id = one.create_new_trial(study._study_id)
    assert one.get_trial(trial_id).system_attrs[BEAT]["worker"] == processes.identity()
    assert two._get_stale_trial_ids(study._study_id) == []
    time.sleep(1.1)
    one.record_heartbeat(trial_id)
    assert two._get_stale_trial_ids(study._study_id) == []
    time.sleep(1.1)
    inside.before["get_all_trials"] = 1  # an outage: nobody could renew anything
    assert two._get_stale_trial_ids(study._study_id) == []
    time.sleep(1.1)
    assert two._get_stale_trial_ids(study._study_id) == [trial_id]
    assert one._get_stale_trial_ids(study._study_id) == []  # a process never its own


def test_the_time_in_which_an_observer_stood_still_does_not_count():
    inside = Flaky()
    one, two = steady(inside), steady(inside)
    study = optuna.create_study(storage=one, study_name="s")
    one._get_stale_trial_ids(study._study_id)
    trial_id = one.create_new_trial(study._study_id)
    assert two._get_stale_trial_ids(study._study_id) == []
    two._last_sign -= 3600.0  # the machine slept, and the other worker may be on it
    assert two._get_stale_trial_ids(study._study_id) == []
    for _ in range(2):
        two._last_sign -= 60.0
        other = two.create_new_trial(study._study_id)
        two.record_heartbeat(other)  # now it works, and the other one gives no sign of life
    assert two._get_stale_trial_ids(study._study_id) == [trial_id]


SLEEPER = """
import time
from calibrant.studies import processes
print(processes.identity(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True)
    with process:
        yield process, process.stdout.readline().strip()
        process.kill()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("stopped", [False, True])
def test_a_worker_of_this_machine_that_lives_has_more_time(sleeper, stopped):
    """Its objective may hold Python's global lock, so that no heartbeat can be renewed."""
    process, name = sleeper
    storage = steady(grace=1)
    study = optuna.create_study(storage=storage)
    notes = {BEAT: {"worker": name, "count": 0}}
    study.add_trial(optuna.create_trial(state=TrialState.RUNNING, system_attrs=notes))
    if stopped:
        process.send_signal(signal.SIGSTOP)
    assert storage._get_stale_trial_ids(study._study_id) == []
    time.sleep(1.1)
    assert len(storage._get_stale_trial_ids(study._study_id)) == stopped
    process.kill()
    process.wait()
    assert len(storage._get_stale_trial_ids(study._study_id)) == 1


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
