"""`calibrant tune --report-regex … --prune-below …`: programs that are given up."""

import sys

import optuna
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app

TRAIN = """
import time
x, last = {x}, 0.0
for epoch in range(12):
    last = (x - 0.4) ** 2 + 1 / (epoch + 1)
    print("epoch", epoch, "loss", last)
    time.sleep(0.05)
print(last)
"""
PARAMETERS = ["-p", "x=-5.0..5.0"]


def run(*options):
    program = ["--", sys.executable, "-c", TRAIN]
    return CliRunner().invoke(app, ["tune", *PARAMETERS, *options, *program])


def test_trials_are_pruned_and_it_says_how_many(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = ["--report-regex", r"loss (\S+)", "--prune-below", "0.3"]
    done = run("--trials", "14", "--seed", "1", *how)
    assert done.exit_code == 0, done.output
    study = optuna.load_study(storage="sqlite:///calibrant.db", study_name="calibrant")
    pruned = study.get_trials(states=(optuna.trial.TrialState.PRUNED,))
    assert pruned
    assert all(len(trial.intermediate_values) > 0 for trial in pruned)
    finished = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    assert all(list(t.intermediate_values) == list(range(1, 13)) for t in finished)
    printed = " ".join(done.stdout.split())
    assert f"{len(pruned)} trials pruned" in printed
    assert "pruned." in printed
    assert "--prune-below 0.3" in printed  # in the command to go on


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prune-below", "0.1"], "--report-regex and --prune-below belong together"),
        (["--report-regex", "loss"], "--report-regex and --prune-below belong together"),
        (["--report-regex", "(loss", "--prune-below", "0.1"], "is not valid"),
        (["--report-regex", "loss", "--prune-below", "2"], "0 < level < 1"),
    ],
)
def test_errors_are_in_words(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("--trials", "2", *options)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())


def test_it_says_where_nothing_was_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("--trials", "2", "--report-regex", r"accuracy (\S+)", "--prune-below", "0.3")
    assert done.exit_code == 0, done.output
    assert "--report-regex matches no line of the output" in " ".join(done.stdout.split())
