"""Whose worker has died: by its heartbeat, and on the same machine by its process."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from tests.studies.flaky import Flaky, steady

from calibrant.studies import processes
from calibrant.studies.heartbeats import BEAT


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
    two._watch._last_sign -= 3600.0  # the machine slept, and the other worker may be on it
    assert two._get_stale_trial_ids(study._study_id) == []
    for _ in range(2):
        two._watch._last_sign -= 60.0
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
