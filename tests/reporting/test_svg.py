"""Axes and marks of drawings."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.reporting.svg import NARROW, WIDE, Axis, Plot, within

finite = st.floats(-1e300, 1e300)


@given(finite, finite, st.integers(2, 9))
def test_ticks_lie_on_the_axis_and_differ(one, other, most):
    low, high = min(one, other), max(one, other)
    axis = Axis(low, high)
    ticks = axis.ticks(most)
    values = [value for value, _ in ticks]
    assert len(ticks) <= 2 * most + 3
    slack = 1e-6 * (high / 2 - low / 2)
    assert all(low - slack <= value <= high + slack for value in values)
    assert values == sorted(values)


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_ticks_of_a_log_axis(one, other):
    low, high = min(one, other), max(one, other)
    assert all(value > 0 for value, _ in Axis(low, high, log=True).ticks(5))


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (Axis(0, 1), ["0", "0.25", "0.5", "0.75", "1"]),
        (Axis(0, 40, whole=True), ["0", "10", "20", "30", "40"]),
        (Axis(0, 3, whole=True), ["0", "1", "2", "3"]),
        (Axis(1e-4, 1, log=True), ["0.0001", "0.01", "1"]),
        (Axis(2, 64, log=True), ["2", "5", "10", "20", "50"]),
        (Axis(0, 1, share=True), ["0 %", "25 %", "50 %", "75 %", "100 %"]),
        (Axis(-0.5, 1.5, names=("relu", "tanh")), ["relu", "tanh"]),
        (Axis(5, 5), ["5"]),
    ],
)
def test_ticks_are_round(axis, expected):
    assert [words for _, words in axis.ticks(4)] == expected


@given(st.lists(finite, min_size=1, max_size=30))
def test_an_axis_around_values_is_one(values):
    low, high = within(values)
    assert math.isfinite(low)
    assert low < high


def test_outliers_lie_beyond_the_axis():
    low, high = within([1.0, 2.0, 3.0, 4.0, 5.0, 1e9, -1e9, math.nan, math.inf])
    assert -1 < low < 1
    assert 5 < high < 7
    assert within([]) == (0.0, 1.0)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20))
def test_marks_stay_inside_the_drawing(values):
    plot = Plot(WIDE, Axis(0, 5), Axis(-1, 1, "value"))
    x = np.linspace(-1, 6, len(values))
    plot.dots(x, values, "")
    plot.bars(x, values, values, "", 2)
    text = plot.svg("a picture")
    for path in re.findall(r'd="([^"]*)"', text):
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path)]
        assert all(0 <= number <= WIDE.width for number in numbers)


def test_a_line_is_broken_where_a_value_is_missing():
    plot = Plot(NARROW, Axis(0, 3), Axis(0, 1))
    plot.line([0, 1, 2, 3], [0.1, math.nan, 0.2, 0.3], "")
    (path,) = re.findall(r'd="([^"]*)" class="line', plot.svg("x"))
    assert path.count("M") == 2
    assert path.count("L") == 1
