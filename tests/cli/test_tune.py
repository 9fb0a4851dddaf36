"""`calibrant tune` as a person runs it."""

import os
import re
import signal
import subprocess
import sys
import time

import optuna
import pytest
from optuna.trial import TrialState
from typer.testing import CliRunner

from calibrant.cli.main import app
from calibrant.studies.evaluations import INTERRUPTED

runner = CliRunner()

TRAIN = """
import argparse, math, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--layers", type=int)
parser.add_argument("--act")
a = parser.parse_args()
if a.layers == 8:
    sys.exit("out of memory")
if a.layers == 7:
    print("diverged: loss nan")
    sys.exit()
loss = (math.log10(a.lr) + 3) ** 2 + 0.2 * abs(a.layers - 4) + 0.3 * (a.act == "tanh")
print("epoch 9 loss", loss)
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    parameters = ["-p", "lr=1e-5..1e-1:log", "-p", "layers=1..8", "-p", "act=relu,tanh"]
    program = ["--", sys.executable, "train.py", "--lr", "{lr}", "--layers", "{layers}",
               "--act", "{act}"]  # fmt: skip

    def arguments(*options):
        return ["tune", *parameters, *options, *program]

    return arguments


def the_study(tmp_path, name="calibrant.db"):
    return optuna.load_study(study_name="calibrant", storage=f"sqlite:///{tmp_path}/{name}")


def test_it_tunes_reports_and_goes_on(job, tmp_path):
    first = runner.invoke(app, job("--trials", "14", "--jobs", "2", "--seed", "0"))
    assert first.exit_code == 0, first.output
    assert "Best: " in first.output
    assert len(the_study(tmp_path).trials) == 14
    again = runner.invoke(app, job("--trials", "24", "--report", "page.html"))
    assert again.exit_code == 0, again.output
    assert "Resuming with 14 evaluations" in again.output
    study = the_study(tmp_path)
    assert len(study.trials) == 24
    assert study.best_value < 0.5
    held = re.search(r"(\d+) of (\d+) intervals held", again.output)
    assert int(held[2]) >= 10
    assert "It has the best value observed" in again.output.replace("\n", " ")
    assert "lr" in (tmp_path / "page.html").read_text(encoding="utf-8")
    nothing_left = runner.invoke(app, job("--trials", "24"))
    assert nothing_left.exit_code == 0
    assert len(the_study(tmp_path).trials) == 24


def test_it_stops_and_looks_ahead_as_it_was_asked(job, tmp_path):
    asked = ["--trials", "40", "--seed", "0", "--min-gain", "0.5", "--look-ahead", "5"]
    done = runner.invoke(app, job("--stop-below", "0.000001", *asked))
    assert done.exit_code == 0, done.output
    printed = re.sub(r"\s+", " ", done.output)
    assert "Within 5 more trials the best value improves by at least 0.5" in printed
    by_costs = ("--value", "1", "--price", "10", "--storage", "sqlite:///costs.db")
    stopped = runner.invoke(app, job("--trials", "40", "--seed", "0", *by_costs))
    assert stopped.exit_code == 0, stopped.output
    printed = re.sub(r"\s+", " ", stopped.output)
    assert "20 more are expected to gain" in printed
    assert "and cost 200" in printed
    assert "Within 20 more trials" not in printed  # it has just said so
    assert "--value 1.0 --price 10.0" in printed  # in the command to go on with
    assert len(the_study(tmp_path, "costs.db").trials) < 40


def test_failures_are_shown_with_their_reason(job, tmp_path):
    result = runner.invoke(app, job("--trials", "25", "--seed", "1"))
    assert result.exit_code == 0, result.output
    failed = the_study(tmp_path).get_trials(states=(TrialState.FAIL,))
    reasons = {trial.user_attrs["error"] for trial in failed}
    assert reasons <= {"exit code 1: out of memory", "the number in the program's output is nan"}
    assert re.search(rf"{len(failed)} trials? failed", result.output)


def test_maximising(job, tmp_path):
    result = runner.invoke(app, job("--trials", "10", "--maximize", "--seed", "0"))
    assert result.exit_code == 0, result.output
    best = max(t.value for t in the_study(tmp_path).trials if t.value is not None)
    assert f"Best: {best:.6g}" in result.output


def test_a_program_that_always_fails_stops_early(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["tune", "-p", "x=0..1", "--", sys.executable, "-c", "raise SystemExit('no {x}')"]
    result = runner.invoke(app, [*arguments[:1], "--trials", "50", *arguments[1:]])
    assert result.exit_code == 1
    assert "Error: exit code 1: no " in result.output
    assert len(the_study(tmp_path).trials) == 5


def test_the_storage_may_come_from_the_environment_and_no_password_is_shown(job, monkeypatch):
    monkeypatch.setenv("CALIBRANT_STORAGE", "postgresql+psycopg2://me:s3cret@127.0.0.1:1/db")
    result = runner.invoke(app, job("--trials", "2"))
    assert result.exit_code == 1
    assert "postgresql+psycopg2://me:***@127.0.0.1:1/db" in result.output.replace("\n", "")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-p", "x=5..1", "--", "true", "{x}"], "low <= high"),
        (["-p", "x=0..1", "-p", "x=0..2", "--", "true", "{x}"], "given twice"),
        (["-p", "x=0..1", "--", "true"], "never used"),
        (["-p", "x=0..1", "--", "true", "{x}", "{y}"], "not among the parameters"),
        (["-p", "x=0..1", "--trials", "0", "--", "true", "{x}"], "n_trials >= 1"),
        (["-p", "x=0..1", "--jobs", "0", "--", "true", "{x}"], "n_jobs >= 1"),
        (["-p", "x=0..1", "--trial-timeout", "-1", "--", "true", "{x}"], "trial_timeout > 0"),
        (["-p", "x=0..1", "--storage", "s.db", "--", "true", "{x}"], "must be a URL"),
        (["-p", "x=0..1", "--report", ".", "--", "true", "{x}"], "is a folder"),
        (["-p", "x=5..", "--", "true", "{x}"], "without one of its ends"),
        (["-p", "x=0..1", "--report", "no/r.html", "--", "true", "{x}"], "does not exist"),
        (["-p", "x=0..1", "--min-gain", "1", "--", "true", "{x}"], "belongs to --stop-below"),
        (["-p", "x=0..1", "--price", "1", "--", "true", "{x}"], "--value and --price belong"),
        (
            [
                "-p",
                "x=0..1",
                "--stop-below",
                "0.1",
                "--value",
                "1",
                "--price",
                "1",
                "--",
                "true",
                "{x}",
            ],
            "two ways to stop",
        ),
    ],
)
def test_mistakes_are_named_before_anything_runs(options, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["tune", *options])
    assert result.exit_code == 1
    assert complaint in result.output.replace("\n", " ")


@pytest.mark.parametrize("program", [["train", "--lr", "{lr}"], ["--lr", "{lr}"]])
def test_options_of_a_program_without_a_mark_before_it_are_explained(program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    told = runner.invoke(app, ["tune", "-p", "lr=0.1..1", *program])
    assert told.exit_code == 2
    assert "No such option: --lr. Write `--` before the program" in told.output
    marked = runner.invoke(app, ["tune", "--trails", "3", "--", *program])
    assert marked.exit_code == 2
    assert "No such option: --trails" in marked.output
    assert "before the program" not in marked.output


def test_another_job_does_not_mix_with_a_stored_one(job):
    first = runner.invoke(app, job("--trials", "2", "--seed", "0"))  # one of them succeeds
    assert first.exit_code == 0, first.output
    other = runner.invoke(app, ["tune", "-p", "x=0..1", "--", sys.executable, "-c", "print({x})"])
    assert other.exit_code == 1
    assert "is of another problem" in other.output


@pytest.mark.parametrize(
    ("how", "jobs"),
    [
        (signal.SIGINT, 1),
        (signal.SIGTERM, 2),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_everything_and_says_nothing_bad_about_what_ran(tmp_path, how, jobs):
    # The eleventh takes a minute: there is something to stop.
    slow = """
import pathlib, sys, time
if int(sys.argv[2]) > 9:
    pathlib.Path(f"slow-{sys.argv[2]}").touch()
    time.sleep(60)
print(sys.argv[1])
"""
    command = [
        sys.executable, "-m", "calibrant", "tune", "-p", "x=-1.0..1.0", "--jobs", str(jobs),
        "--trials", "200", "--", sys.executable, "-c", slow, "{x}", "{trial}",
    ]  # fmt: skip
    worker = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("slow-*"))) < jobs and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(worker.pid, how)
    printed = worker.communicate(timeout=20)[0]
    assert worker.returncode == 130, printed
    assert "Best: " in printed
    study = the_study(tmp_path)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert len(complete) == 10
    assert not study.get_trials(states=(TrialState.RUNNING,))
    stopped = study.get_trials(states=(TrialState.FAIL,))
    assert len(stopped) == jobs
    assert all(trial.user_attrs.get(INTERRUPTED) for trial in stopped)


def tuned(*options, code):
    arguments = ["tune", "-p", "x=0.0..1", *options, "--", sys.executable, "-c", code, "{x}"]
    return runner.invoke(app, arguments)


def test_it_says_what_it_reads_and_that_all_results_are_alike(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import sys; print('loss', sys.argv[1], 'after 12 epochs')"
    wrong = tuned("--trials", "6", code=code)
    assert wrong.exit_code == 0, wrong.output
    assert wrong.output.count('read 12 from "loss 0.') == 1
    assert wrong.output.count("Warning: all 5 results are 12.") == 1
    options = ["--storage", "sqlite:///other.db", "--result-regex", r"loss ([-.\d]+)"]
    right = tuned("--trials", "6", *options, code=code)
    assert right.exit_code == 0, right.output
    assert "results are" not in right.output
    assert "calibrant report sqlite:///other.db" in right.output
    assert "--trials 12 --param x=0.0..1 --storage sqlite:///other.db" in right.output


def test_ranges_that_may_be_meant_otherwise_are_noted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["tune", "-p", "x=0..1", "--trials", "2", "--", "echo", "{x}"])
    assert result.exit_code == 0, result.output
    assert "Note: `x=0..1` means the integers 0 and 1" in result.output


def test_a_time_budget_ends_the_run_and_not_the_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import time; time.sleep(0.4); print(1)"
    result = tuned("--trials", "50", "--time-budget", "1", "--logs", "kept", code=code)
    assert result.exit_code == 0, result.output
    assert 1 <= len(the_study(tmp_path).trials) < 20
    assert "Go on:  calibrant tune --trials 50" in result.output
    assert (tmp_path / "kept" / "trial-0.out").read_text() == "1\n"


def test_a_report_that_cannot_be_written_is_named_before_anything_runs(job, tmp_path, monkeypatch):
    real = os.access  # root may write anything
    monkeypatch.setattr(os, "access", lambda path, how: path != tmp_path and real(path, how))
    result = runner.invoke(app, job("--trials", "2", "--report", f"{tmp_path}/page.html"))
    assert result.exit_code == 1
    written = "".join(result.output.split())  # the terminal may break the line anywhere
    assert "page.htmlcannotbewrittento" in written
    assert not list(tmp_path.glob("*.db"))


MEASURING = """
import json, sys
x, y = map(float, sys.argv[1:])
print(json.dumps({"loss": -x - y / 2, "memory": 10 * (x + y)} if x < 0.95 else {"loss": 0}))
"""


def limited(*options):
    program = ["--", sys.executable, "-c", MEASURING, "{x}", "{y}"]
    return ["tune", "-p", "x=0.0..1", "-p", "y=0.0..1", "--seed", "0", *options, *program]


def test_limits_are_fields_of_the_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--json-field", "loss", "--limit", "memory=10", "--min-feasible", "0.9")
    done = runner.invoke(app, limited("--trials", "14", *options))
    assert done.exit_code == 0, done.output
    study = the_study(tmp_path)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    for trial in complete:
        measured = 10.0 * (trial.params["x"] + trial.params["y"])
        assert trial.constraints == pytest.approx({"memory": measured - 10.0})
    suggested = [trial for trial in complete if trial.number >= 5]
    assert sum(trial.constraints["memory"] > 0.0 for trial in suggested) <= 2
    assert study.best_trial.constraints["memory"] <= 0.0
    for failed in study.get_trials(states=(TrialState.FAIL,)):
        assert failed.params["x"] >= 0.95  # it did not say how much memory it took
    printed = re.sub(r"\s+", " ", done.output)
    assert "--limit memory=10 --min-feasible 0.9" in printed  # in the command to go on with
    assert re.search(r"Of \d+ feasible suggestions, promised with 9\d % on average", printed)
    other = runner.invoke(app, limited("--trials", "16", *options[:2], "--limit", "memory=12"))
    assert other.exit_code != 0
    assert "of another problem, with limits {'memory': 10.0}" in re.sub(r"\s+", " ", other.output)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--limit", "memory"), "A limit must be `name=most`"),
        (("--limit", "memory=much"), "A limit must be `name=most`"),
        (("--limit", "memory=8", "--limit", "memory=9"), "given twice"),
        (("--limit", "memory=8"), "say which field is the result, too: --json-field"),
        (("--min-feasible", "0.9"), "--min-feasible is about limits"),
        (("--json-field", "loss", "--limit", "memory=8", "--min-feasible", "2"), "min_feasible"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, limited("--trials", "3", *options))
    assert done.exit_code != 0
    assert reason in re.sub(r"\s+", " ", done.output)
