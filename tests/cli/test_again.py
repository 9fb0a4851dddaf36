"""The commands with which to go on."""

import optuna
from typer.main import get_command

from calibrant.cli.again import command_line, found_again, twice_as_far, ways_on
from calibrant.cli.main import app
from calibrant.studies.budget import Budget


def test_the_same_study_is_run_again_without_what_is_the_default():
    options = {
        "--param": ["x=0.0..1", "n=1..9"],
        "--seed": 0,
        "--maximize": True,
        "--logs": None,
        "--repeat": False,
        "--storage": "sqlite:///calibrant.db",
        "--study": "other",
    }
    assert command_line(options, ["python", "{x}"]) == [
        "calibrant", "tune", "--param", "x=0.0..1", "--param", "n=1..9", "--seed", "0",
        "--maximize", "--study", "other", "--", "python", "{x}",
    ]  # fmt: skip


def test_it_goes_on_twice_as_far_once_it_has_ended():
    study = optuna.create_study()
    study.add_trial(optuna.trial.create_trial(value=1.0))
    assert twice_as_far(study, 1, None) == {"--trials": 2}
    assert twice_as_far(study, 5, None) == {"--trials": 5}
    assert twice_as_far(study, 5, Budget(30.0)) == {"--budget": "60"}
    assert twice_as_far(study, 5, Budget("2m")) == {"--budget": "240s"}


def test_a_study_that_is_not_called_calibrant_is_named():
    ways = dict(ways_on(["calibrant", "tune", "--", "a b"], "sqlite:///s.db", "mine"))
    assert ways["Go on"] == "calibrant tune -- 'a b'"
    assert ways["Report"] == "calibrant report sqlite:///s.db --study mine"


def test_earlier_studies_are_found_from_any_folder_and_show_no_password(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.db").touch()
    assert found_again("sqlite:///old.db::first") == f"sqlite:///{tmp_path}/old.db::first"
    assert "secret" not in found_again("postgresql://me:secret@host/db")


def test_every_command_about_a_study_takes_its_name_in_the_same_two_ways():
    """`--study`, and `--study-name`, as Optuna's own commands have it."""
    commands = get_command(app).commands.values()
    named = [o for c in commands for o in c.params if {"--study", "--study-name"} & {*o.opts}]
    assert len(named) > 5
    assert {tuple(option.opts) for option in named} == {("--study", "--study-name")}
