"""`calibrant review`: stored studies of one objective and of several, and mistakes."""

import numpy as np
import optuna
import pytest
from typer.testing import CliRunner

from calibrant import CalibratedSampler, review
from calibrant.cli.main import app


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A study with a constraint, one with two objectives, and one without trials."""
    url = f"sqlite:///{tmp_path_factory.mktemp('studies') / 'study.db'}"

    def one(trial):
        x = trial.suggest_float("x", -1.0, 2.0)
        trial.set_constraint("right", 0.5 - x)
        return x**2

    def two(trial):
        x = trial.suggest_float("x", -1.0, 2.0)
        trial.set_constraint("right", 0.5 - x)
        return x**2, (x - 1.0) ** 2

    for name, objective, directions in (
        ("one", one, ["minimize"]),
        ("two", two, ["minimize", "minimize"]),
    ):
        study = optuna.create_study(
            storage=url, study_name=name, directions=directions, sampler=CalibratedSampler(seed=0)
        )
        study.optimize(objective, n_trials=12)
    optuna.create_study(storage=url, study_name="none")
    return url


def run(*arguments):
    return CliRunner().invoke(app, ["review", *arguments])


def test_it_prints_what_python_returns(stored, tmp_path):
    figure = tmp_path / "review.html"
    done = run(stored, "--study", "one", "--figure", str(figure))
    assert done.exit_code == 0, done.output
    printed = " ".join(done.stdout.split())
    found = review(optuna.load_study(storage=stored, study_name="one"))
    for sentence in found.sentences():
        assert " ".join(sentence.split()) in printed
    assert "feasible suggestions, promised with" in printed
    assert "plotly" in figure.read_text(encoding="utf-8")


def test_of_several_objectives_each_is_judged_and_promises_are_counted(stored):
    done = run(stored, "--study", "two")
    assert done.exit_code == 0, done.output
    printed = " ".join(done.stdout.split())
    assert "on the front" in printed
    assert "objective 0: " in printed
    study = optuna.load_study(storage=stored, study_name="two")
    kept = [all(np.array(list(t.constraints.values())) <= 0.0) for t in study.trials[5:]]
    assert "Of 7 feasible suggestions, promised with" in printed
    assert f", {sum(kept)} met all constraints" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--study", "none"], "No trial of the study has finished"),
        (["--study", "other"], "no study 'other'"),
        (["--study", "two", "--figure", "review.html"], "--figure needs a single objective"),
        (["--study", "one", "--figure", "/no/such/folder/f.html"], "does not exist"),
    ],
)
def test_errors_are_in_words(options, message, stored):
    done = run(stored, *options)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
