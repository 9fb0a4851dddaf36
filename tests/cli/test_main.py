"""The command line, as a person would use it."""

import csv
import json
import re
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import calibrant
from calibrant import OnlineRecalibrator, recalibrator_from_dict
from calibrant.cli import demo
from calibrant.cli.main import app
from calibrant.cli.recalibrate import Kind, _load, _new

runner = CliRunner()
FIRST_PAGE = Path(__file__).parents[2] / "docs" / "index.md"


def write_csv(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def plain(text):
    """Return what was printed, without the ends of lines that a terminal adds."""
    return " ".join(text.split())


def read_quantiles(path, column):
    with open(path, newline="") as file:
        return np.array([float(row[column]) for row in csv.DictReader(file)])


@pytest.fixture
def gaussian_file(tmp_path):
    y = np.random.default_rng(0).standard_normal(400)
    rows = [[outcome, 0.0, 0.5] for outcome in y]
    return write_csv(tmp_path / "forecasts.csv", ["y", "mean", "std"], rows)


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.output.strip() == calibrant.__version__


def test_without_a_command_it_helps():
    assert "recalibrate" in runner.invoke(app, []).output


def test_the_stream_demo_writes_its_report(tmp_path):
    result = runner.invoke(app, ["demo", "stream", "--report", str(tmp_path / "report.html")])
    assert result.exit_code == 0
    assert "80% coverage" in result.output
    assert (tmp_path / "report.html").stat().st_size < 100_000


@pytest.mark.parametrize("trials", [9, pytest.param(demo.TRIALS, marks=pytest.mark.slow)])
def test_the_tuning_demo_tunes_and_writes_its_report(trials, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "TRIALS", trials)
    result = runner.invoke(app, ["demo", "--report", str(tmp_path / "report.html")])
    assert result.exit_code == 0
    found = re.search(r"Best: ([\d.]+) in trial", result.output)
    assert float(found[1]) < 58  # the default settings of the regressor give 60.9
    assert re.search(r"\d+ of \d+ intervals held", result.output)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for heading in ("What did I get?", "Can I trust it?", "What next?", "Why?", "Everything"):
        assert heading in page
    assert "learning_rate" in page


def test_recalibrate_gaussian_forecasts(gaussian_file, tmp_path):
    out = tmp_path / "out.csv"
    page = tmp_path / "page.html"
    arguments = ["recalibrate", gaussian_file, "-o", str(out), "--report", str(page)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    grid = np.unique([*np.arange(1, 100) / 100, 0.025, 0.975])  # the promise at all levels written
    expected = calibrant.ChainRecalibrator(
        calibrant.GaussianRecalibrator(10.0), calibrant.OnlineRecalibrator(grid, 0.01)
    )
    y = read_quantiles(gaussian_file, "y")
    replayed = calibrant.replay(
        calibrant.Normal(np.zeros(400), 0.5 + np.zeros(400)), y, expected, levels=grid
    )
    np.testing.assert_allclose(read_quantiles(out, "q0.9"), replayed.quantiles[:, 90])
    assert page.exists()


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_recalibrate_quantile_tables_with_forecasts_still_to_come(count, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[rng.standard_normal() * 2, -1.2816, 0.0, 1.2816] for _ in range(count)]
    rows.append(["", -1.2816, 0.0, 1.2816])
    path = write_csv(tmp_path / "q.csv", ["y", "q0.1", "q0.5", "q0.9"], rows)
    out = tmp_path / "out.csv"
    arguments = ["recalibrate", path, "-o", str(out), "--kind", "leader", "--levels", "0.1,0.9"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    q90 = read_quantiles(out, "q0.9")
    assert q90[0] == pytest.approx(1.2816, abs=1e-3)  # nothing learned yet
    assert q90[-1] == pytest.approx(
        2 * 1.2816, rel=0.2
    )  # the row without outcome, after all others


def test_state_is_kept_between_runs(tmp_path):
    state = tmp_path / "state.json"
    y = 2.0 * np.random.default_rng(0).normal(size=800)
    for run in (1, 2):
        new = [[outcome, 0.0, 1.0] for outcome in y[400 * (run - 1) : 400 * run]]
        path = write_csv(tmp_path / "new.csv", ["y", "mean", "std"], new)
        arguments = ["recalibrate", path, "--state", str(state), "--kind", "online"]
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output
        assert json.loads(state.read_text())["count"] == 400 * run
    stored = json.loads(state.read_text())
    assert isinstance(recalibrator_from_dict(stored), OnlineRecalibrator)


def test_no_row_is_learned_from_twice(tmp_path):
    state = tmp_path / "state.json"
    rows = [[y, 0.0, 1.0] for y in np.random.default_rng(0).normal(size=30)]
    header = ["y", "mean", "std"]
    for count, learned in ((20, True), (20, False), (30, False)):  # the same, and a file that grew
        path = write_csv(tmp_path / "f.csv", header, [*rows[:count], ["", 0.0, 1.0]])
        arguments = ["recalibrate", path, "--state", str(state), "--kind", "online"]
        result = runner.invoke(app, arguments)
        assert (result.exit_code == 0) == learned
        assert learned or "has already learned from the first" in plain(result.output)
        assert json.loads(state.read_text())["count"] == 20
    path = write_csv(tmp_path / "f.csv", header, [["", 0.0, 1.0]])  # nothing to learn
    assert runner.invoke(app, ["recalibrate", path, "--state", str(state)]).exit_code == 0
    path = write_csv(tmp_path / "f.csv", header, rows[:20])
    assert runner.invoke(app, ["recalibrate", path, "--state", str(state)]).exit_code != 0
    path = write_csv(tmp_path / "f.csv", header, rows[20:])
    assert runner.invoke(app, ["recalibrate", path, "--state", str(state)]).exit_code == 0
    assert json.loads(state.read_text())["count"] == 30


def test_rows_with_more_fields_than_the_header(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean,std\n0,5,0,1\n")
    result = runner.invoke(app, ["recalibrate", str(path)])
    assert result.exit_code != 0
    assert "line 2 has more fields than the header" in plain(result.output)


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes("y,mean,std,größe\n0,0,1,2\n".encode("latin-1"))
    result = runner.invoke(app, ["recalibrate", str(path)])
    assert result.exit_code != 0
    assert "is not in UTF-8" in plain(result.output)


def test_quantiles_that_cross_are_put_in_order_and_named(tmp_path):
    rows = [[0.5, 3, 1], [0.2, 0, 2], [1, 5, 4]]
    path = write_csv(tmp_path / "q.csv", ["y", "q0.1", "q0.9"], rows)
    result = runner.invoke(app, ["recalibrate", path])
    assert result.exit_code == 0, result.output
    assert "quantiles crossed in 2 rows, and were put in order: line 2, 4." in plain(result.output)


def test_columns_of_ones_own_are_kept(tmp_path):
    rows = [[f"day {k}", k % 5, 2, 1.5, "a; b"] for k in range(12)]
    path = write_csv(tmp_path / "f.csv", ["when", "y", "mean", "std", "note"], rows)
    out = tmp_path / "out.csv"
    result = runner.invoke(app, ["recalibrate", path, "-o", str(out), "--levels", "0.1,0.9"])
    assert result.exit_code == 0, result.output
    assert "Recalibrator: gaussian" in result.output  # twelve outcomes are few
    with open(out, newline="") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == ["when", "y", "note", "q0.1", "q0.9"]
    assert [row["when"] for row in written] == [f"day {k}" for k in range(12)]
    assert written[3]["note"] == "a; b"


def test_the_default_has_ends_where_the_guarantee_alone_has_none(tmp_path):
    y = np.random.default_rng(1).standard_normal(292)
    path = write_csv(tmp_path / "f.csv", ["y", "mean", "std"], [[v, 0.0, 0.6] for v in y])
    unbounded = {}
    for options in ([], ["--kind", "online"]):
        out = tmp_path / "out.csv"
        result = runner.invoke(app, ["recalibrate", path, "-o", str(out), *options])
        assert result.exit_code == 0, result.output
        rows = np.genfromtxt(out, delimiter=",", skip_header=1)
        unbounded[bool(options)] = int((~np.isfinite(rows)).any(axis=1).sum())
    assert unbounded[False] == 0
    assert unbounded[True] > 100
    assert f"{unbounded[True]} rows of 292 have a quantile of ±inf" in plain(result.output)


def test_a_file_of_a_spreadsheet_with_decimal_commas(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("\ufeffy;mean;std\n0,5;0,1;1,5\n;0,2;1,0\n", encoding="utf-8")
    out = tmp_path / "out.csv"
    result = runner.invoke(app, ["recalibrate", str(path), "-o", str(out), "--levels", "0.1,0.9"])
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8-sig").startswith("y;q0.1;q0.9\n0,5;")


@pytest.mark.parametrize("kind", ["auto", "online", "chain", "leader", "gaussian", "isotonic"])
def test_every_kind_runs(kind, gaussian_file):
    assert runner.invoke(app, ["recalibrate", gaussian_file, "--kind", kind]).exit_code == 0


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (["z"], [[1]], "must have a column `y`"),
        (["y", "mu"], [[1, 2]], "columns mean and std, or quantile columns"),
        (["y", "mean", "std"], [], "no rows"),
        (["y", "mean", "std"], [[1, "a", 2]], "line 2: mean='a' is not a finite number"),
        (["y", "mean", "std"], [[1, 0, -2]], "`std > 0` must hold"),
        (["y", "mean", "std"], [["", 0, 1], [1, 0, 1]], "must come last"),
        (["y", "mean", "std"], [["inf", 0, 1]], "leave y empty if it is not known yet"),
        (["y", "mean", "std"], [[1, "nan", 1]], "is not a finite number"),
        (["y", "mean", "std"], [[1, 0]], "std='' is not a finite number"),
        (["y", "q0.5", "quality"], [[1, 0, 1]], "At least 2 levels"),
        (["y", "mean", "mean", "std"], [[1, 0, 1, 1]], "more than one column 'mean'"),
        (["y", "mean[/b]"], [[1, 0]], "mean[/b]"),
        (["y", "q0.5", "q.5"], [[1, 0, 1]], "strictly increasing"),
        (["y", "q0.5", "q1.5"], [[1, 0, 1]], "level=1.5"),
    ],
)
def test_bad_files_get_a_clear_error_and_write_nothing(header, rows, message, tmp_path):
    path = write_csv(tmp_path / "bad.csv", header, rows)
    out = tmp_path / "out.csv"
    result = runner.invoke(app, ["recalibrate", path, "-o", str(out)])
    assert result.exit_code == 1
    assert message in result.output.replace("\n", " ")
    assert not out.exists()


def test_spreadsheet_exports_are_read(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text('\ufeffday, y ,mean,std,note\n1,"0.5",0,1,a\n\n2,0.1,0,1,\n3,,0,1,b\n', "utf-8")
    out = tmp_path / "out.csv"
    result = runner.invoke(app, ["recalibrate", str(path), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert len(read_quantiles(out, "q0.5")) == 3


def test_a_file_of_forecasts_without_any_outcome_yet(tmp_path):
    path = write_csv(tmp_path / "f.csv", ["y", "mean", "std"], [["", 1.0, 2.0]])
    out = tmp_path / "out.csv"
    assert runner.invoke(app, ["recalibrate", path, "-o", str(out)]).exit_code == 0
    np.testing.assert_allclose(read_quantiles(out, "q0.5"), [1.0])
    result = runner.invoke(app, ["recalibrate", path, "--report", str(tmp_path / "page.html")])
    assert result.exit_code == 1
    assert "at least one row with an outcome" in result.output


def test_a_broken_state_file_is_not_overwritten(gaussian_file, tmp_path):
    state = tmp_path / "state.json"
    state.write_text("{ not json")
    result = runner.invoke(app, ["recalibrate", gaussian_file, "--state", str(state)])
    assert result.exit_code == 1
    assert state.read_text() == "{ not json"


def test_a_run_that_fails_is_not_learned(gaussian_file, tmp_path):
    state = tmp_path / "state.json"
    arguments = ["recalibrate", gaussian_file, "--state", str(state)]
    result = runner.invoke(app, [*arguments, "--report", str(tmp_path / "no" / "page.html")])
    assert result.exit_code == 1
    assert not state.exists()


def test_columns_of_extreme_levels_can_be_read_again(gaussian_file, tmp_path):
    out = tmp_path / "out.csv"
    levels = "0.00001,0.3,0.5,0.9999998,0.9999999"
    written = runner.invoke(
        app,
        ["recalibrate", gaussian_file, "-o", str(out), "--kind", "gaussian", "--levels", levels],
    )
    assert written.exit_code == 0, written.output
    assert out.read_text().splitlines()[0] == "y,q0.00001,q0.3,q0.5,q0.9999998,q0.9999999"
    again = runner.invoke(app, ["recalibrate", str(out)])
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("levels", ["abc", "0,1", "0.5,1.2", ""])
def test_bad_levels(levels, gaussian_file):
    result = runner.invoke(app, ["recalibrate", gaussian_file, "--levels", levels])
    assert result.exit_code == 1
    assert "level" in result.output


def test_names_with_brackets_are_shown_as_they_are(gaussian_file, tmp_path):
    odd = tmp_path / "a[b].csv"
    odd.write_bytes(Path(gaussian_file).read_bytes())
    result = runner.invoke(app, ["recalibrate", str(odd), "--state", str(tmp_path / "[s].json")])
    assert result.exit_code == 0, result.output
    assert "[s].json" in result.output.replace("\n", "")


def test_a_report_that_cannot_be_written_is_an_error_in_words(tmp_path):
    result = runner.invoke(
        app, ["demo", "stream", "--report", str(tmp_path / "no" / "report.html")]
    )
    assert result.exit_code == 1
    assert "Error:" in result.output


def test_missing_file():
    result = runner.invoke(app, ["recalibrate", "nowhere.csv"])
    assert result.exit_code == 1
    assert "nowhere.csv" in result.output


def test_every_command_is_on_the_first_page_of_the_documents():
    text = FIRST_PAGE.read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"calibrant {command.callback.__name__}" in text


@pytest.mark.parametrize("arguments", [["demo", "stream"], ["recalibrate", "FILE"]])
def test_a_report_in_no_folder_is_refused_before_any_work(arguments, gaussian_file, tmp_path):
    path = str(tmp_path / "none" / "report.html")
    arguments = [gaussian_file if word == "FILE" else word for word in arguments]
    result = runner.invoke(app, [*arguments, "--report", path])
    assert result.exit_code == 1
    assert "does not exist: create it first" in plain(result.output)
    assert "%" not in result.output  # no progress was made


@pytest.mark.parametrize("option", ["-o", "--report", "--state"])
def test_the_input_is_not_overwritten(gaussian_file, option):
    before = Path(gaussian_file).read_bytes()
    result = runner.invoke(app, ["recalibrate", gaussian_file, option, gaussian_file])
    assert result.exit_code == 1
    assert "the forecasts that are read" in result.output.replace("\n", " ")
    assert Path(gaussian_file).read_bytes() == before


def test_a_huge_field_is_an_error_and_no_traceback(tmp_path):
    path = tmp_path / "huge.csv"
    path.write_text("y,mean,std\n1,0,1\n" + "9" * 200_000 + ",0,1\n")
    result = runner.invoke(app, ["recalibrate", str(path)])
    assert result.exit_code == 1
    assert "line 3 cannot be read: field larger than" in result.output.replace("\n", " ")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(data=st.data(), kind=st.sampled_from(["online", "chain", "gaussian", "isotonic", "leader"]))
def test_a_damaged_state_file_is_an_error_and_no_traceback(data, kind):
    recalibrator = _new(Kind(kind), 0.01, 10.0, np.array([0.1, 0.5, 0.9])).update(0.3)
    stored = {**recalibrator.to_dict(), "learned": {"rows": 2, "sha256": "a"}}
    stored[data.draw(st.sampled_from(sorted(stored)))] = data.draw(anything)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.json"
        state.write_text(json.dumps(stored))
        with suppress(ValueError):  # anything else would be a traceback
            _load(state)
