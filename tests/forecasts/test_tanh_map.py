"""The output map of a line and smooth steps."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from calibrant.forecasts.output_maps import TanhMap


def maps(steepest=1e4):
    step = st.tuples(st.floats(0, 50), st.floats(1e-2, steepest), st.floats(-4, 4))
    return st.builds(
        lambda steps, *scales: TanhMap(*(tuple(zip(*steps, strict=True)) or ((), (), ())), *scales),
        st.lists(step, max_size=3),
        st.floats(-100, 100),
        st.floats(1e-3, 1e3),
        st.floats(-10, 10),
        st.floats(1e-2, 1e2),
    )


@given(maps(), st.lists(st.floats(-100, 100), min_size=1, max_size=6), st.floats(-3, 3))
def test_inverse_round_trip(m, t, away):
    """Anywhere, and on the bends, which may be steep."""
    bends = [away / s - d for s, d in zip(m.slopes, m.shifts, strict=True)]
    y = m.centre + m.unit * np.array([*t, *bends])
    tolerance = 1e-10 * m.unit + 1e-13 * abs(m.centre)
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-12, atol=tolerance)


def test_the_inverse_does_not_run_in_circles():
    """Newton's steps alone do so here: from one side of the bend to the other and back."""
    m = TanhMap((22.801595612054502,), (0.24146696826520464,), (0.10882557275624372,))
    np.testing.assert_allclose(m.inverse(m(2.7119507550358453)), 2.7119507550358453, rtol=1e-12)


@given(maps(30.0), st.floats(-50, 50))
def test_the_inverse_is_the_root_that_brent_finds(m, v):
    far = m.unit * (m.std * 50 + 400)
    root = brentq(lambda y: float(m(y)) - v, m.centre - far, m.centre + far, xtol=1e-12 * far)
    np.testing.assert_allclose(m.inverse(v), root, atol=1e-11 * far)


@given(maps(1e3), st.floats(-20, 20), st.floats(-3, 3))
def test_slope_is_the_derivative(m, t, away):
    bends = [away / s - d for s, d in zip(m.slopes, m.shifts, strict=True)]
    y = m.centre + m.unit * np.array([t, *bends])
    step = 1e-5 * m.unit / max(1.0, *m.slopes, 1.0)
    # Rounding of the centre's size is felt by so small a step.
    noise = 1e-15 * (200 + abs(m.centre) / m.unit * max(m.slope(y)) * m.unit * m.std) / m.std
    difference = (m(y + step) - m(y - step)) / (2 * step)
    np.testing.assert_allclose(m.slope(y), difference, rtol=1e-3, atol=noise / step)


@given(maps(), st.lists(st.floats(-50, 50), min_size=2, max_size=10, unique=True))
def test_the_map_increases(m, t):
    t = np.sort(t)
    v = m(m.centre + m.unit * t)
    assert np.all(np.diff(v) >= 0.0)
    apart = np.diff(t) > 1e-6
    # At least as fast as its line, up to rounding.
    assert np.all(np.diff(v)[apart] * m.std > 0.5 * np.diff(t)[apart])


MAP = TanhMap((1.5, 0.4), (3.0, 20.0), (0.5, -1.0), centre=2.0, unit=4.0, mean=0.3, std=0.7)


def test_the_map_is_a_line_and_its_steps():
    y = np.array([-7.0, 0.0, 2.0, 6.1])
    t = (y - 2.0) / 4.0
    risen = t + 1.5 * np.tanh(3.0 * (t + 0.5)) + 0.4 * np.tanh(20.0 * (t - 1.0))
    np.testing.assert_allclose(MAP(y), (risen - 0.3) / 0.7, rtol=1e-12)
    np.testing.assert_allclose(TanhMap((), (), (), 2.0, 4.0)(y), t, rtol=1e-12)


def test_infinite_values_come_from_infinite_outcomes():
    np.testing.assert_array_equal(MAP.inverse([-np.inf, np.inf]), [-np.inf, np.inf])
    assert np.isfinite(MAP.inverse(0.3))
    assert MAP.inverse(0.3).shape == MAP(1.0).shape == MAP.slope(1.0).shape == ()


def test_huge_outcomes_are_simply_far_away():
    v = MAP(np.array([-1e300, -1e3, 1e3, 1e300]))
    assert np.isfinite(v).all()
    assert np.all(np.diff(v) > 0.0)
    assert np.isfinite(MAP.slope([-1e300, 1e300])).all()


@pytest.mark.parametrize("unit", [1e300, 1e308])
def test_huge_units_come_back(unit):
    m = replace(MAP, centre=0.5 * unit, unit=unit)
    y = unit * np.array([-0.4, 0.1, 0.5, 1.6])
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-12)


def test_values_beyond_the_largest_number_are_infinite_without_a_warning():
    m = replace(MAP, centre=0.0, unit=1e300)
    np.testing.assert_array_equal(m.inverse([-1e10, 1e10]), [-np.inf, np.inf])


def test_slopes_of_tiny_units_are_finite():
    assert np.isfinite(replace(MAP, unit=1e-308, std=0.01).slope([0.0, 1e-308])).all()


def test_a_map_comes_back_from_json():
    back = TanhMap(**json.loads(json.dumps(MAP.to_dict())))
    assert back == MAP
    assert hash(back) == hash(MAP)
    arrays = TanhMap.of(*map(np.array, (MAP.heights, MAP.slopes, MAP.shifts)), centre=2.0, unit=4.0)
    assert replace(arrays, mean=0.3, std=0.7) == MAP
    assert TanhMap([1.5, 0.4], [3, 20], [0.5, -1], 2.0, 4.0, 0.3, 0.7) == MAP


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (((1.0, 2.0), (1.0,), (0.0,)), "must have the same length"),
        (((1.0,), (1.0,), ()), "must have the same length"),
        (((1.0,), (0.0,), (0.0,)), "`slopes > 0` must hold, but got slopes=0"),
        (((1.0,), (-2.0,), (0.0,)), "`slopes > 0`"),
        (((-1.0,), (1.0,), (0.0,)), "`heights >= 0` must hold, but got heights=-1"),
        (((np.inf,), (1.0,), (0.0,)), "`heights` must be finite"),
        (((1.0,), (np.nan,), (0.0,)), "`slopes` must be finite"),
    ],
)
def test_steps_that_would_not_increase_say_so(steps, message):
    with pytest.raises(ValueError, match=message):
        TanhMap(*steps)
