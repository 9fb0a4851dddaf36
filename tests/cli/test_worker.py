"""Several workers on one study, as a person starts them."""

import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace

import optuna
import pytest
from optuna.trial import TrialState
from typer.testing import CliRunner

import calibrant
from calibrant.cli.main import app
from calibrant.studies import StorageLost, open_storage
from calibrant.studies.heartbeats import BEAT, worker_of
from calibrant.studies.late import LATE
from calibrant.studies.runner import evaluated, run
from calibrant.studies.sharing import Plan, announce, hand_back, is_surplus, places, plan_of
from calibrant.studies.space_text import parse_space
from calibrant.studies.steady import SteadyStorage
from calibrant.studies.storage import merge, rescued, save_rescued

runner = CliRunner()
SPACE = parse_space({"x": (0.0, 1.0)})


def calibrant_in(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "calibrant", *arguments], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def the_study(folder):
    return optuna.load_study(study_name="calibrant", storage=f"sqlite:///{folder}/calibrant.db")


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert condition()


def tuning_with_two_workers(folder, trials):
    return calibrant_in(
        folder, "tune", "-p", "x=0.0..1", "--trials", str(trials), "--workers", "2", "--",
        sys.executable, "-c", "import time; time.sleep(0.5); print(({x} - 0.3) ** 2)",
    )  # fmt: skip


def assert_whole(folder, trials):
    """Each evaluation once, none left running or queued."""
    study = the_study(folder)
    assert evaluated(study) == trials
    values = [t.params["x"] for t in study.trials if t.state == TrialState.COMPLETE]
    assert len(values) == len(set(values)) == trials
    assert not study.get_trials(states=(TrialState.RUNNING, TrialState.WAITING))


def test_workers_share_a_budget_that_is_not_overshot(tmp_path):
    tuning = tuning_with_two_workers(tmp_path, 13)
    printed = tuning.communicate(timeout=240)[0]
    assert tuning.returncode == 0, printed
    assert_whole(tmp_path, 13)
    assert "Done: the study has 13 evaluations." in (tmp_path / "worker-1.log").read_text()


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_only_its_program(tmp_path):
    tuning = tuning_with_two_workers(tmp_path, 13)

    def worker():
        if not (tmp_path / "worker-1.log").exists():  # the study is there before its workers
            return None
        running = the_study(tmp_path).get_trials(states=(TrialState.RUNNING,))
        pids = [int(worker_of(t.system_attrs[BEAT]).split(":")[1]) for t in running]
        return next((pid for pid in pids if pid != tuning.pid), None)

    wait_for(worker)
    os.kill(worker(), signal.SIGKILL)
    printed = tuning.communicate(timeout=240)[0]
    assert tuning.returncode == 0, printed
    assert_whole(tmp_path, 13)


def test_a_worker_that_is_told_to_stop_hands_back_its_trial(tmp_path):
    slow = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep({x} and 60)"
    storage = open_storage(f"sqlite:///{tmp_path}/calibrant.db")
    study = optuna.create_study(storage=storage, study_name="calibrant")
    announce(study, Plan(SPACE, 3, (sys.executable, "-c", slow)))
    worker = calibrant_in(tmp_path, "worker", "sqlite:///calibrant.db")
    wait_for((tmp_path / "begun").exists)
    worker.send_signal(signal.SIGTERM)
    printed = worker.communicate(timeout=60)[0]
    assert worker.returncode == 130, printed
    stopped, again = the_study(tmp_path).trials
    assert stopped.state == TrialState.FAIL
    assert again.state == TrialState.WAITING
    assert again.params == stopped.params
    assert evaluated(study) == 0


def test_a_worker_needs_a_study_that_says_what_it_tunes(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.cli.worker._START", 0.1)
    monkeypatch.chdir(tmp_path)
    assert "holds no study" in runner.invoke(app, ["worker", "sqlite:///a.db"]).output
    optuna.create_study(storage="sqlite:///a.db", study_name="calibrant")
    told = runner.invoke(app, ["worker", "sqlite:///a.db"]).output
    assert "does not say what it tunes" in told.replace("\n", " ")
    monkeypatch.delenv("CALIBRANT_STORAGE", raising=False)
    assert "CALIBRANT_STORAGE is not set" in runner.invoke(app, ["worker", "-"]).output


def test_a_plan_comes_back_as_it_was(tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/s.db")
    space = parse_space({"x": (1e-5, 1.0, "log"), "n": (1, 8), "k": ["a", "b"]})
    plan = Plan(space, 40, ("python", "{x}"), "a.b", "out-{trial}", None, 2.5, {"memory": 8.0}, 0.9)
    announce(study, plan)
    assert plan_of(study) == plan
    pruning = replace(plan, report_regex=r"loss (\S+)", prune_below=0.05)
    announce(study, pruning)
    assert plan_of(study) == pruning


@pytest.mark.parametrize("damage", [3, ["memory"], {"memory": "a"}, {"memory": float("nan")}])
def test_a_plan_with_damaged_limits_is_refused(damage):
    study = optuna.create_study()
    announce(study, Plan(parse_space({"x": (0.0, 1.0)}), 4, ("python", "{x}")))
    study.set_user_attr("calibrant:plan", {**study.user_attrs["calibrant:plan"], "limits": damage})
    with pytest.raises(ValueError, match="does not say what it tunes"):
        plan_of(study)


def test_places_that_others_have_taken():
    inside = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=SteadyStorage(inside, 60, 180, 1.0))
    seen = []

    def objective(trial):
        seen.append((places(study, 3), is_surplus(study, trial.number, 1)))
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=3)
    assert seen == [(2, False), (1, True), (0, True)]
    assert places(study, 3) == 0
    assert hand_back(study) == 0


def test_what_others_have_given_up_or_told_late_is_not_evaluated():
    inside = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=SteadyStorage(inside, 60, 180, 1.0))
    evaluations = []

    def evaluate(trial):
        evaluations.append(trial.number)
        return trial.suggest_float("x", 0, 1)

    class GivenUp(optuna.samplers.RandomSampler):
        def before_trial(self, study, trial):
            if trial.number == 1:  # it took so long that another worker has begun it again
                inside.set_trial_system_attr(trial._trial_id, "calibrant:given-up", 1)
                inside.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            if trial.number == 2:  # and here the outcome of what it repeats has come meanwhile
                study._storage.set_trial_system_attr(trial._trial_id, "retry_history", [1])
                study.add_trial(optuna.create_trial(value=1.0, system_attrs={LATE: 1}))

    study.sampler = GivenUp()
    run(study, evaluate, 4)
    assert evaluations == [0, 4, 5]
    assert evaluated(study) == 4


def test_rescued_evaluations_come_home_exactly_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/calibrant.db"
    study = calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 6, storage=url)
    told = study.get_trials()
    untold = optuna.create_trial(
        value=7.0, params={"x": 0.5}, distributions=SPACE, system_attrs={"calibrant:late": 6}
    )
    path = save_rescued(rescued(study, [*told, untold]), tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for count in (1, 0, 0):
        result = runner.invoke(app, ["merge", str(path)])
        assert result.exit_code == 0, result.output
        assert f"{count} of 7 evaluations were not" in result.output
    assert [t.value for t in the_study(tmp_path).trials] == [*(t.value for t in told), 7.0]
    other = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="same objectives"):
        merge(study, other)


def test_what_a_lost_storage_had_is_rescued_and_comes_home(tmp_path):
    path, away = tmp_path / "study.db", tmp_path / "away.db"
    url, calls = f"sqlite:///{path}", []

    def objective(params):
        calls.append(params)
        if len(calls) == 6:
            path.rename(away)
        return params["x"]

    with pytest.raises(StorageLost) as lost:
        calibrant.minimize(objective, {"x": (0.0, 1.0)}, 9, storage=url)
    path.unlink(missing_ok=True)
    away.rename(path)
    study = optuna.load_study(study_name="calibrant", storage=open_storage(url))
    assert len(study.get_trials(states=(TrialState.COMPLETE,))) == 5
    assert [merge(study, lost.value.study) for _ in range(2)] == [1, 0]
    assert [t.value for t in study.trials] == [p["x"] for p in calls]
