"""`calibrant forecast` and `calibrant recommend`: stored studies, text as parameters, mistakes."""

import numpy as np
import optuna
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('studies') / 'study.db'}"
    rng = np.random.default_rng(0)

    def objective(trial):
        rate = trial.suggest_float("lr", 1e-4, 1.0, log=True)
        layers = trial.suggest_int("layers", 1, 4)
        act = trial.suggest_categorical("act", ["relu", "tanh"])
        trial.set_constraint("memory", layers - 3.5)
        return np.log10(rate / 0.01) ** 2 + (act == "tanh") + 0.1 * rng.standard_normal()

    study = optuna.create_study(
        storage=url, study_name="net", sampler=optuna.samplers.RandomSampler(0)
    )
    study.optimize(objective, n_trials=20)
    return url


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_forecast_of_a_stored_study(storage):
    options = ("--study", "net", "--set", "lr=0.01", "--set", "layers=2", "--set", "act=relu")
    done = run("forecast", storage, *options)
    assert done.exit_code == 0, done.output
    assert "80 % interval" in done.output
    assert "on average, over many evaluations" in done.output
    assert "better than the best value so far" in done.output
    assert "memory" in done.output


def test_recommend_for_a_stored_study(storage):
    done = run("recommend", storage, "--min-feasible", "0.9")
    assert done.exit_code == 0, done.output
    assert "act=relu." in done.output  # in the order of the objective
    assert "It has the best value observed" in done.output
    done = run("recommend", storage, "--noise-free")
    assert "marked as free of noise" in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["lr=0.01"], "A setting needs a value of every parameter"),
        (["lr=fast", "layers=2", "act=relu"], "`lr` must be a number, but got 'fast'"),
        (["lr=0.1", "layers=2.5", "act=relu"], "`layers` must be a whole number, but got '2.5'"),
        (["lr=0.1", "layers=9", "act=relu"], "`layers` must be an integer from 1 to 4, but got 9"),
        (["lr=0.1", "lr=0.2"], "`lr` is given twice"),
        (["lr"], "must be written `name=value`"),
        (["depth=3"], "no parameter 'depth'"),
    ],
)
def test_mistakes_are_explained(storage, options, message):
    done = run("forecast", storage, *(part for text in options for part in ("--set", text)))
    assert done.exit_code == 1
    assert message in " ".join(done.output.split())


def test_a_study_without_constraints_cannot_be_feasible(tmp_path):
    url = f"sqlite:///{tmp_path / 'plain.db'}"
    study = optuna.create_study(storage=url)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=3)
    done = run("recommend", url, "--min-feasible", "0.9")
    assert done.exit_code == 1
    assert "The study has no constraints" in " ".join(done.output.split())
