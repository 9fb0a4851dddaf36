"""The table of a running study, as wide as the terminal is."""

import datetime
import io
import math

import optuna
import pytest
from optuna.trial import TrialState
from rich.console import Console
from tests.reporting.studies import SPACE, searched

from calibrant import CalibratedSampler
from calibrant.cli.live_table import _picture, live_table, outcome_words, time_left
from calibrant.core.words import number
from calibrant.studies.runner import ERROR_KEY


@pytest.fixture(scope="module")
def study():
    made = searched(12)
    trial = made.ask(SPACE)
    trial.set_user_attr("error", "exit code 1: CUDA error, out of memory on device 0")
    made.tell(trial, state=TrialState.FAIL)
    made.ask().suggest_float("lr", 1e-5, 1e-1, log=True)
    return made


@pytest.mark.parametrize("width", [50, 80, 120])
def test_it_fits_and_shows_what_matters(study, width):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    console.print(*_picture(study, width), sep="\n")
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = file.getvalue()
    for trial in study.trials[-8:]:
        line = next(line for line in lines if line.split()[:1] == [str(trial.number)])
        if width >= 80:
            assert outcome_words(study, trial)[: width // 2 - 1] in line
    assert f"best {number(study.best_value, 6)} in trial" in text
    assert "→ …" in text  # what runs, with its forecast


def test_outcomes_in_words(study):
    words = [outcome_words(study, trial) for trial in study.trials]
    assert "→" not in words[0]  # the initial design has no forecast
    assert words[-3][-1] in "✓✗"
    assert words[-2].startswith("failed: exit code 1")
    kept = optuna.create_study()
    kept.add_trial(optuna.create_trial(value=1.25))
    assert outcome_words(kept, kept.trials[0]) == "1.25"
    trial = kept.ask()
    trial.set_constraint("memory", 0.5)
    kept.tell(trial, 0.25)
    assert outcome_words(kept, kept.trials[1]) == "0.25, breaks a limit"


def test_the_time_left_goes_by_what_trials_took():
    start = datetime.datetime(2026, 1, 1)
    trials = [optuna.create_trial(value=1.0) for _ in range(4)]
    for trial in trials:
        trial.datetime_start, trial.datetime_complete = (
            start,
            start + datetime.timedelta(seconds=10),
        )
    assert time_left(trials, 6, jobs=1) == 60
    assert time_left(trials, 6, jobs=4) == 20
    assert math.isnan(time_left(trials[:2], 6, jobs=1))
    assert math.isnan(time_left(trials, 0, jobs=1))


def test_without_a_terminal_it_is_a_line_per_trial(study):
    console = Console(file=io.StringIO(), width=80)
    with live_table(study, 20, console) as listener:
        listener(study, study.trials[-3])
    text = console.file.getvalue()
    assert text.count("\n") == 1
    assert f"trial {study.trials[-3].number}: " in text
    assert "lr=" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_table_of_a_running_study_fits_a_terminal(width):
    names = ("learning_rate", "weight_decay", "dropout", "hidden_layers", "activation_scale")
    study = optuna.create_study(sampler=CalibratedSampler(seed=0))

    def objective(trial):
        value = sum(trial.suggest_float(name, 1e-5, 1.0) for name in names)
        if trial.number == 1:
            trial.set_user_attr(ERROR_KEY, "exit code 1: " + "something went wrong " * 20)
            raise ValueError
        return 0.123456 + trial.number + 0.0 * value

    study.optimize(objective, n_trials=3, catch=ValueError)
    console = Console(width=width, file=io.StringIO())
    console.print(*_picture(study, width), sep="\n")
    rows = console.file.getvalue().splitlines()
    assert max(map(len, rows)) <= width
    shown = [row.split() for row in rows if row.split()[:1] and row.split()[0] in "012"]
    assert [row[1] for row in shown[::2]] == ["0.123456", "2.12346"]
    assert shown[1][1:4] == ["failed:", "exit", "code"]
    assert all("learning" in row for row in rows if row.split()[:1] and row.split()[0] in "02")


def test_it_outlives_a_storage_that_is_away(study, monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    pictures = iter([_picture(study, 100)])

    def away(study, width):
        for picture in pictures:
            return picture
        raise ConnectionError("server closed the connection")

    monkeypatch.setattr("calibrant.cli.live_table._picture", away)
    with live_table(study, 3, console) as listener:
        listener(study, study.trials[-1])
    shown = console.file.getvalue()
    assert "best" in shown
    assert "the storage does not answer (ConnectionError)" in shown


def test_the_best_keeps_to_the_limits():
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(value=1.0, constraints={"memory": 2.0}))
    assert _picture(study, 80)[1].plain == "no result within the limits yet"
    study.add_trial(optuna.create_trial(value=3.0, constraints={"memory": -1.0}))
    assert _picture(study, 80)[1].plain.startswith("best 3 in trial 1")
    study.add_trial(optuna.create_trial(value=2.0, constraints={"memory": 0.0}))
    assert _picture(study, 80)[1].plain.startswith("best 2 in trial 2")
