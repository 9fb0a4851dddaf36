"""Stds and costs on the command line."""

import sys

import optuna
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app
from calibrant.studies.measured import COST, STD
from calibrant.studies.results import read_result

RUNNER = CliRunner()
JSON = (
    "import json, sys; x = float(sys.argv[1]); "
    "print(json.dumps({'loss': x, 'se': 0.1, 'hours': 1 + x}))"
)


def tune(folder, *options, code=JSON):
    command = ["tune", "-p", "x=0.0..1.0", "--storage", f"sqlite:///{folder}/s.db", "--seed", "0"]
    return RUNNER.invoke(app, [*command, *options, "--", sys.executable, "-c", code, "{x}"])


def trials(folder):
    study = optuna.load_study(study_name="calibrant", storage=f"sqlite:///{folder}/s.db")
    return study.trials


@pytest.mark.parametrize(
    ("text", "value", "std"),
    [
        ("loss 0.83 ± 0.02", 0.83, 0.02),
        ("0.83 +- 0.02\n", 0.83, 0.02),
        ("0.83+-0.02", 0.83, 0.02),
        ("-1e-3 +/- 2.5E-4 in the end", -1e-3, 2.5e-4),
        ("epoch 3: 0.83 ± 0.02 (best)", 0.83, 0.02),
        ("0.83 ± 0.02 after 12", 12.0, None),
        ("3 - 0.5", 0.5, None),
        ("x=0.1+0.2", 0.2, None),
    ],
)
def test_a_number_and_its_std_are_read(text, value, std):
    reading = read_result(text, "the output", None, None)
    assert (reading.value, reading.std) == (value, std)
    assert ("±" in str(reading).partition("from")[0]) == (std is not None)


def test_a_regular_expression_may_hold_the_std():
    reading = read_result("a 5\nloss: 0.83 ± 0.02 !\nb 7", "the output", None, r"loss: (.*) !")
    assert (reading.value, reading.std) == (0.83, 0.02)


def test_a_program_prints_its_std(tmp_path):
    code = "import sys; print('loss', sys.argv[1], '±', 0.1)"
    found = tune(tmp_path, "--trials", "2", code=code)
    assert found.exit_code == 0, found.output
    assert [trial.user_attrs[STD] for trial in trials(tmp_path)] == [0.1, 0.1]


def test_fields_of_json_hold_std_and_cost(tmp_path):
    fields = ["--json-field", "loss", "--json-std-field", "se", "--cost-field", "hours"]
    found = tune(tmp_path, *fields, "--budget", "9")
    assert found.exit_code == 0, found.output
    made = [trial for trial in trials(tmp_path) if trial.value is not None]
    assert all(trial.user_attrs[STD] == 0.1 for trial in made)
    spent = sum(trial.user_attrs[COST] for trial in made)
    assert 7.5 < spent <= 9.9
    assert f"Budget: spent {spent:.4g} of 9." in found.output
    assert "; spent " in found.output  # after each trial
    assert "--budget 18" in found.output  # to go on


def test_a_budget_of_time(tmp_path):
    found = tune(tmp_path, "--budget", "0.3s", "--trials", "40", "--json-field", "loss")
    assert found.exit_code == 0, found.output
    made = [trial for trial in trials(tmp_path) if trial.value is not None]
    assert 1 <= len(made) < 40
    assert all(trial.user_attrs[COST] > 0.0 for trial in made)


def test_a_field_that_is_missing_costs_no_value(tmp_path):
    fields = ["--json-field", "loss", "--json-std-field", "sem"]
    found = tune(tmp_path, *fields, "--trials", "1")
    assert found.exit_code == 0, found.output
    assert STD not in trials(tmp_path)[0].user_attrs


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--budget", "100"], "has no unit"),
        (["--budget", "soon"], "such as 90s"),
        (["--budget", "0h"], "must hold"),
        (["--cost-field", "hours"], "give that too"),
        (["--json-std-field", "se"], "give --json-field, too"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, complaint):
    found = tune(tmp_path, *options)
    assert found.exit_code != 0
    assert complaint in " ".join(found.output.split())


def suggest(path, *options):
    return RUNNER.invoke(app, ["suggest", str(path), "-p", "x=0.0..1.0", "--seed", "0", *options])


def test_a_table_may_have_a_column_of_stds(tmp_path):
    table = tmp_path / "data.csv"
    rows = [f"{x},{(x - 0.4) ** 2:.3f},{std}" for x, std in zip(
        (0.0, 0.2, 0.35, 0.5, 0.7, 1.0), ("0.01", "", "0.02", "0.3", "0.01", "0.01"), strict=True
    )]  # fmt: skip
    table.write_text("\n".join(["x,value,std", *rows, "0.9,0.25 ± 0.05,"]) + "\n")
    found = suggest(table)
    assert found.exit_code == 0, found.output
    assert table.read_text().splitlines()[0].startswith("x,value,std")
    table.write_text("x,value,error\n0.1,0.5,-1\n")
    found = suggest(table, "--std", "error")
    assert found.exit_code != 0
    assert "line 2: the std in `error` must be a number of at least 0" in " ".join(
        found.output.split()
    )
    assert suggest(table, "--std", "nothing").exit_code != 0
