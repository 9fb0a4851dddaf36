"""`calibrant report` as a person runs it."""

import optuna
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app

runner = CliRunner()


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder with the file study.db of studies."""
    monkeypatch.chdir(tmp_path)

    def make(*names):
        for name in names:
            study = optuna.create_study(storage="sqlite:///study.db", study_name=name)
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
        return tmp_path

    return make


@pytest.mark.parametrize("storage", ["study.db", "sqlite:///study.db"])
def test_the_only_study_of_a_storage_needs_no_name(stored, storage):
    folder = stored("mine")
    result = runner.invoke(app, ["report", storage])
    assert result.exit_code == 0, result.output
    assert "Report: report.html" in result.output
    assert "Study mine" in (folder / "report.html").read_text(encoding="utf-8")


def test_one_of_several_is_named(stored):
    folder = stored("one", "other")
    unclear = runner.invoke(app, ["report", "study.db"])
    assert unclear.exit_code == 1
    assert "2 studies (one, other): name one with --study" in " ".join(unclear.output.split())
    clear = runner.invoke(app, ["report", "study.db", "--study", "other", "-o", "page.html"])
    assert clear.exit_code == 0, clear.output
    assert "Study other" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.db"], "There is no file nowhere.db"),
        (["sqlite:///nowhere.db"], "There is no file nowhere.db"),
        (["study.db", "--study", "theirs"], "has no study 'theirs'; it has mine"),
        (["study.db", "-o", "no/page.html"], "does not exist"),
    ],
)
def test_mistakes_are_named_and_nothing_is_made(stored, arguments, complaint):
    folder = stored("mine")
    result = runner.invoke(app, ["report", *arguments])
    assert result.exit_code == 1
    assert complaint in " ".join(result.output.split())
    assert [path.name for path in folder.iterdir()] == ["study.db"]
