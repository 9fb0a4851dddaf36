"""A laboratory's loop: suggest, fill in, suggest again."""

import csv
import itertools
import re

import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app
from calibrant.cli.tables import read_table

runner = CliRunner()
PARAMS = ["-p", "temp=20.0..80", "-p", "buffer=A,B"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suggest(*options, params=PARAMS):
    return runner.invoke(app, ["suggest", "data.csv", *params, *options])


def rows():
    with open("data.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(outcome):
    """Fill in what is empty, as a person does."""
    table = rows()
    for row in table:
        if not row["value"]:
            row["value"] = outcome(row)
    with open("data.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)


def growth(row):
    return str(round(100 - (float(row["temp"]) - 52) ** 2 / 9 - 8 * (row["buffer"] == "B"), 3))


def test_the_loop_from_nothing_to_a_good_setting(folder):
    options = ["-n", "6", "--maximize", "--seed", "0"]
    first = suggest(*options)
    assert first.exit_code == 0, first.output
    assert "6 rows added to data.csv" in first.output
    assert [row["low80"] for row in rows()] == [""] * 6
    waiting = suggest(*options)
    assert "6 rows of data.csv wait for a `value`" in waiting.output
    assert len(rows()) == 6
    for _ in range(2):
        fill(growth)
        again = suggest(*options)
        assert again.exit_code == 0, again.output
    assert len(rows()) == 18
    assert float(rows()[-1]["low80"]) < float(rows()[-1]["high80"])
    assert re.search(r"\d of 6 intervals held", again.output)
    assert max(float(row["value"]) for row in rows() if row["value"]) > 95
    temps = sorted(float(row["temp"]) for row in rows()[6:12] if row["buffer"] == "A")
    assert all(b - a > 1 for a, b in itertools.pairwise(temps))  # it spreads


def test_a_spreadsheet_of_another_country_is_read_and_written_back(folder):
    text = "\ufefftemp;buffer;value;who\n20,5;A;0,25;Ada\n40;B;failed;\n60;A;>1,5;Bo\n"
    text += "60;A;1,4;\n70;B;;\n"
    (folder / "data.csv").write_text(text, encoding="utf-8")
    result = suggest("-n", "3", "--seed", "0")
    assert result.exit_code == 0, result.output
    assert "Best of 3: 0.25 in line 2" in result.output
    assert "2 rows added" in result.output  # one was waiting
    written = (folder / "data.csv").read_text(encoding="utf-8-sig").splitlines()
    assert written[0] == "temp;buffer;value;who;low80;high80"
    assert written[1] == "20,5;A;0,25;Ada;;"
    table = read_table(folder / "data.csv")
    assert table.decimal_comma
    assert 20 <= table.number(table.rows[-1]["temp"]) <= 80


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("temp,value\n30,1\n", "must have a column `buffer`"),
        ("temp,buffer,value\n30,A,many\n", "line 2: `value` must be a number"),
        ("temp,buffer,value\n30,A,inf\n", "line 2: `value` must be a number"),
        ("temp,buffer,value\n\n95,A,1\n", "line 3: `temp` must be a number from 20 to 80"),
        ("temp,buffer,value\n30,C,1\n", "`buffer` must be one of 'A', 'B', but got 'C'"),
        ("temp,buffer,value\n30,A,1,7\n", "line 2 has more fields than the header"),
        ("temp,temp,value\n30,A,1\n", "more than one column 'temp'"),
        ("", "must start with the names"),
    ],
)
def test_mistakes_in_the_table_lose_nothing(folder, text, complaint):
    (folder / "data.csv").write_text(text)
    result = suggest("-n", "2")
    assert result.exit_code == 1
    assert complaint in " ".join(result.output.split())
    assert (folder / "data.csv").read_text() == text
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_scales_and_integers(folder):
    params = ["-p", "cycles=1..8", "-p", "dose=1,2,5,10", "-p", "dry=yes,no"]
    (folder / "data.csv").write_text(
        "cycles,dose,dry,value,note\n3.0,5,yes,1.5,first\n4,10,no,2,\n"
    )
    result = suggest("-n", "2", "--seed", "0", params=params)
    assert result.exit_code == 0, result.output
    assert rows()[0]["note"] == "first"
    assert rows()[-1]["dose"] in {"1", "2", "5", "10"}
    wrong = suggest("-n", "9", params=[*params[:2], "-p", "dose=1,2,5", "-p", "dry=yes,no"])
    assert wrong.exit_code == 1
    assert "line 3: `dose` must be one of 1, 2, 5" in " ".join(wrong.output.split())


def test_a_parameter_with_one_value_is_written_and_read_back(folder):
    params = ["-p", "temp=20.0..80", "-p", "solvent=water", "-p", "stirred=3..3"]
    assert suggest("-n", "2", params=params).exit_code == 0
    assert [(row["solvent"], row["stirred"]) for row in rows()] == [("water", "3")] * 2
    fill(lambda row: "1.5")
    found = suggest("-n", "2", params=params)
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize(
    "param", ["temp=1000.0..1000.01", "temp=0.0..0.123456", "temp=1000.0..1001:0.0001"]
)
def test_a_number_in_the_table_is_the_one_that_was_meant(folder, param):
    """Its range may be narrow, and end between two short numbers."""
    assert suggest("-n", "6", "--seed", "0", params=["-p", param]).exit_code == 0
    fill(lambda row: str(-float(row["temp"])))  # the best is at the upper end
    found = suggest("-n", "6", "--seed", "0", params=["-p", param])
    assert found.exit_code == 0, found.output
    found = suggest("-n", "7", "--seed", "0", params=["-p", param])
    assert found.exit_code == 0, found.output  # what was written can be read
    assert len({row["temp"] for row in rows()}) == 13


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        (["-p", "value=0.0..1"], "column of the outcome"),
        (["-p", "low80=0.0..1"], "column of forecasts"),
        (["-p", "x=0.0..1", "-p", "x=0.0..2"], "given twice"),
    ],
)
def test_parameters_that_would_spoil_the_table_are_refused(folder, params, complaint):
    found = suggest(params=params)
    assert found.exit_code == 1
    assert complaint in found.output
    assert not (folder / "data.csv").exists()


def test_a_parameter_may_have_the_name_of_the_notes(folder):
    for count in "12":
        found = suggest("-n", count, params=["-p", "note=0.0..1"])
        assert found.exit_code == 0, found.output
