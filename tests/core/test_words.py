"""Numbers in words."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant.core import words


@example(1.75e308, 2)  # 1.8e308 is no float
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(2, 12))
def test_a_number_is_read_back_to_its_digits(value, digits):
    assert float(words.number(value, digits).replace(",", "")) == pytest.approx(
        value, rel=10.0 ** (1 - digits), abs=1e-300
    )


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_an_interval_keeps_its_ends_apart(low, width):
    high = low + width
    said = words.interval(low, high)
    ends = [float(end.replace(",", "")) for end in said.split(" to ")]
    apart = width > 2e-9 * max(abs(low), abs(high))
    assert len(ends) == 2 or not apart
    for end, value in zip(ends, (low, high), strict=apart):
        assert abs(end - value) <= max(0.1 * (high - low), 0.06 * abs(value), 1e-12)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-math.inf, 92.9, "below 92.9"),
        (3.0, math.inf, "above 3"),
        (-math.inf, math.inf, "anything"),
        (0.0, 0.5, "0 to 0.50"),
        (2.0, 2.0, "2"),
        (0.4819999999986, 0.4820000000014, "0.482"),
        (0.1712, 0.1934, "0.171 to 0.193"),
    ],
)
def test_intervals(low, high, said):
    assert words.interval(low, high) == said


@given(st.floats(0, 1e9))
def test_a_duration_has_at_most_two_units(seconds):
    assert len(words.duration(seconds).split()) in (2, 4)


@given(st.text(max_size=300), st.integers(3, 80))
def test_a_shortened_text_is_short(text, most):
    assert len(words.shortened(text, most)) <= most


def test_there_is_no_minus_zero():
    assert words.number(-0.0) == "0"
