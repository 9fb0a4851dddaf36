"""Input that was damaged, or that is anything at all: an error with a reason, never a traceback."""

import contextlib
import json
import tempfile
import warnings
from pathlib import Path
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from typer.testing import CliRunner

from calibrant import ChainRecalibrator
from calibrant.cli.csv_files import read_forecasts
from calibrant.cli.main import app
from calibrant.studies.results import NoResult, read_result
from calibrant.studies.space_text import parse_parameter

cells = st.sampled_from(["", "1", "-2.5", "1e400", "nan", "inf", "0x1", "a", '"', "\x00", "é", "٣"])
headers = st.lists(
    st.sampled_from(["y", "mean", "std", "q0.1", "q0.9", "q0.5", "q2", "q", " y", "", "x"]),
    max_size=5,
)


@st.composite
def tables(draw):
    header = draw(headers)
    rows = draw(st.lists(st.lists(cells, max_size=6), max_size=5))
    end = draw(st.sampled_from(["\n", "\r\n", "\r", ""]))
    text = end.join(",".join(row) for row in [header, *rows]).encode("utf-8", errors="replace")
    cut = draw(st.integers(0, len(text)))
    return text[:cut] + draw(st.binary(max_size=4)) + text[cut:]


@given(st.one_of(tables(), st.binary(max_size=200)))
def test_any_table_is_read_or_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecasts.csv"
        path.write_bytes(content)
        try:
            forecast, y = read_forecasts(path)
        except ValueError as error:
            assert str(error)  # noqa: PT017
        else:
            assert forecast.batch == y.shape


parts = st.sampled_from(["..", ":", "log", *",=10-e5.a x/"])


@given(st.one_of(st.lists(parts, max_size=8).map("".join), st.text(max_size=20)))
def test_any_parameter_is_understood_or_refused(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            name, distribution = parse_parameter(f"x={text}")
        except ValueError as error:
            assert str(error)  # noqa: PT017
        else:
            assert name == "x"
            assert isinstance(distribution, BaseDistribution)


pieces = st.sampled_from(['"loss"', "1.5", "nan", "null", *"{}:,[] \na"])


@given(
    st.one_of(st.lists(pieces, max_size=20).map("".join), st.text(max_size=40)),
    st.sampled_from([None, "loss", "a.b"]),
    st.booleans(),
)
def test_any_output_gives_a_number_or_a_reason(text, field, cut):
    try:
        reading = read_result(text, "the output", field, None, cut)
    except NoResult as failure:
        assert "the output" in str(failure)  # noqa: PT017
    else:
        assert abs(reading.value) < float("inf")


def ends_with_a_reason(*arguments):
    """Run a command; it may refuse, and then says why."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 0 or done.output.strip()
    assert "Traceback" not in done.output


anything = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 1e308, float("nan"), float("inf"), 2**70, "", "x", "chain"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@st.composite
def states(draw):
    """The state of a recalibrator, of which a part was replaced, removed, or cut off."""
    state = json.loads(json.dumps(ChainRecalibrator().update(0.3).to_dict()))
    part, way = state, draw(st.integers(0, 3))
    while way and isinstance(part, dict) and part:
        key = draw(st.sampled_from(sorted(part)))
        if isinstance(part[key], dict) and draw(st.booleans()):
            part = part[key]
            continue
        part[key] = draw(anything)
        way -= 1
    text = json.dumps(draw(st.sampled_from([state, draw(anything)])))
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@given(states())
def test_any_state_of_a_recalibrator_is_read_or_refused(text):
    with tempfile.TemporaryDirectory() as folder:
        table, state = Path(folder) / "forecasts.csv", Path(folder) / "state.json"
        table.write_text("y,mean,std\n0.1,0,1\n0.4,0,1\n,0,1\n")
        state.write_text(text)
        ends_with_a_reason("recalibrate", table, "--kind", "chain", "--state", state)


words = st.sampled_from([
    "tune", "worker", "report", "recommend", "merge", "recalibrate", "suggest", "outlook",
    "--param", "x=0..1", "x=1..", "x=a,b", "--trials", "0", "-3", "1e9", "--study", "s",
    "--storage", "sqlite:///none/s.db", "journal:///none/s", "x://", "-", "--", "{x}", "{",
    "\x00", "--jobs", "--workers", "--limit", "a<=1", "--such-that", "x<", "none.csv",
    "--seed", "--help", "\ud800",
])  # fmt: skip


@given(st.lists(words, max_size=7))
def test_any_command_line_is_understood_or_refused(arguments):
    if "--" in arguments:  # whatever might be a program is none that exists
        arguments = [*arguments, "no-such-program"]
    # A worker waits for a storage that is being started; here none is.
    with (
        mock.patch("calibrant.cli.worker._START", 0.0),
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
    ):
        ends_with_a_reason(*arguments)
