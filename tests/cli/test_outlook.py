"""`calibrant outlook`, and `calibrant tune --stop-below`."""

import sys

import optuna
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app

runner = CliRunner()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("outlook") / "study.db"
    study = optuna.create_study(storage=f"sqlite:///{path}", study_name="one")
    x = optuna.distributions.FloatDistribution(0.0, 1.0)
    study.add_trials(
        [
            optuna.create_trial(params={"x": i / 20}, distributions={"x": x}, value=abs(i - 7.3))
            for i in range(20)
        ]
    )
    return path


def test_it_says_what_more_trials_would_bring(stored, tmp_path):
    figure = tmp_path / "fan.html"
    options = ["--trials", "10", "--min-gain", "0.2", "--figure", str(figure)]
    result = runner.invoke(app, ["outlook", str(stored), *options])
    assert result.exit_code == 0
    assert "Best so far: 0.3, after 20 trials" in result.stdout
    assert "by at least 0.2" in " ".join(result.stdout.split())
    assert "plotly" in figure.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--study", "other"], "no study 'other'"),
        (["--trials", "0"], "1 <= trials <= 100"),
        (["--figure", "/no/such/folder/fan.html"], "does not exist"),
    ],
)
def test_errors_are_in_words(options, message, stored):
    result = runner.invoke(app, ["outlook", str(stored), *options])
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


def test_tuning_stops_when_an_improvement_is_improbable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stop = ["--stop-below", "0.5", "--min-gain", "1000", "--look-ahead", "5"]
    program = ["--", sys.executable, "-c", "print(({x} - 0.3) ** 2)"]
    result = runner.invoke(app, ["tune", "-p", "x=-1.0..1.0", "--trials", "30", *stop, *program])
    assert result.exit_code == 0
    assert "Stopped after 10 trials: the risk of missing an improvement of at least 1,000" in (
        " ".join(result.stdout.split())
    )
    alone = runner.invoke(app, ["tune", "-p", "x=-1.0..1.0", "--min-gain", "1", *program])
    assert alone.exit_code == 1
    assert "belongs to --stop-below" in alone.stderr
