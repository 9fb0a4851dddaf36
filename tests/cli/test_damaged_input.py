"""Input that was damaged, or that is anything at all: an error with a reason, never a traceback."""

import tempfile
import warnings
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution

from calibrant.cli.csv_files import read_forecasts
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
