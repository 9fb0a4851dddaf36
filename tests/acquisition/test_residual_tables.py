"""Prepared residuals: what is read from a table, against the residual's own exact values."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri

from calibrant import (
    ChainRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    Mixture,
    Normal,
    OnlineRecalibrator,
)
from calibrant.acquisition.residual_tables import GaussianCurves, TabulatedCurves, curves
from calibrant.core.normal import log_hinge, log_hinge_and_slope

SCORES = 2.0 * np.random.default_rng(0).standard_normal(60)
NORMAL = {"standard": Normal(0.0, 1.0), "stretched": Normal(0.3, 1.5)}
SMOOTH = {
    "mixture": Mixture([0.3, 0.7], [-1.0, 0.5], [0.6, 1.4]),
    "leader": LeaderRecalibrator().update_scores(SCORES).residual,
}
KINKED = {
    "online": OnlineRecalibrator(19, rate=0.01).update_scores(SCORES[:10]).residual,
    "isotonic": IsotonicRecalibrator().update_scores(SCORES).residual,
    "few": IsotonicRecalibrator().update_scores(SCORES[:5]).residual,
    "point mass": IsotonicRecalibrator().update_many([*[0.5] * 10, 0.2, 0.8]).residual,
    "all low": IsotonicRecalibrator().update_many([1e-6] * 20).residual,
    "all high": OnlineRecalibrator(rate=0.1).update_many([1.0 - 1e-6] * 30).residual,
    "mass at infinity": OnlineRecalibrator(rate=0.05).update_scores(SCORES).residual,
}
TABULATED = {**SMOOTH, **KINKED}
CHAIN = ChainRecalibrator(then=OnlineRecalibrator(19, rate=0.05)).update_scores(SCORES).residual
V = np.linspace(-30.0, 30.0, 2411)


@pytest.fixture(params={**NORMAL, **TABULATED}, ids=str)
def residual(request):
    return {**NORMAL, **TABULATED}[request.param]


def log_cdf(residual, v):
    return log_ndtr(residual.score(v))


@pytest.mark.parametrize("name", NORMAL, ids=str)
def test_the_curves_of_a_normal_shape_are_exact(name):
    residual = NORMAL[name]
    read = curves(residual)
    assert isinstance(read, GaussianCurves)
    np.testing.assert_allclose(read.log_cdf(V)[0], log_cdf(residual, V), rtol=1e-12)
    np.testing.assert_allclose(read.log_shortfall(V)[0], residual.log_shortfall(V), rtol=1e-9)
    slope = np.exp(log_cdf(residual, V) - residual.log_shortfall(V))
    np.testing.assert_allclose(read.log_shortfall(V)[1], slope, rtol=1e-9)
    slope = residual.pdf(V[np.abs(V) < 20]) / residual.cdf(V[np.abs(V) < 20])
    np.testing.assert_allclose(read.log_cdf(V[np.abs(V) < 20])[1], slope, rtol=1e-9)


@pytest.mark.parametrize("name", SMOOTH, ids=str)
def test_the_curves_of_a_smooth_shape_are_close(name):
    residual = SMOOTH[name]
    read = curves(residual)
    assert isinstance(read, TabulatedCurves)
    near = V[np.abs(V) < 5]
    for v, tolerance in ((near, 5e-4), (V, 5e-3)):
        exact = log_cdf(residual, v)
        assert np.all(np.abs(read.log_cdf(v)[0] - exact) <= tolerance * (1 + np.abs(exact)))
        exact = residual.log_shortfall(v)
        assert np.all(np.abs(read.log_shortfall(v)[0] - exact) <= tolerance * (1 + np.abs(exact)))
    exact = residual.log_shortfall(near)
    np.testing.assert_allclose(read.log_shortfall(near)[0], exact, atol=1e-4)


@pytest.mark.parametrize("name", TABULATED, ids=str)
@pytest.mark.parametrize("curve", ["cdf", "shortfall"])
def test_a_table_lies_between_the_exact_values_around(name, curve):
    """A kink cannot be resolved between two knots, but nothing may be made up either."""
    residual = TABULATED[name]
    read, exact = {
        "cdf": (curves(residual).log_cdf, lambda v: log_cdf(residual, v)),
        "shortfall": (curves(residual).log_shortfall, residual.log_shortfall),
    }[curve]
    reach = 0.105 * np.hypot(1.0, V)  # a little more than one knot
    value = read(V)[0]
    assert np.all(value >= exact(V - reach) - 1e-5)
    assert np.all(value <= exact(V + reach) + 1e-5)


@pytest.mark.parametrize("name", [*KINKED, "chain"], ids=str)
def test_the_cdf_of_a_kinked_shape_is_close_on_both_sides_of_each_jump(name):
    residual = CHAIN if name == "chain" else KINKED[name]
    places = np.ravel(residual.at_score(ndtri(np.arange(1, 200) / 200)))
    places = np.unique(places[np.isfinite(places)])
    beside = (places + distance for distance in (-1e-3, -1e-6, 1e-6, 1e-3))
    v = np.concatenate([V[np.abs(V) < 9], *beside])
    read = np.exp(curves(residual).log_cdf(v)[0])
    np.testing.assert_allclose(read, residual.cdf(v), atol=2e-4)


def test_the_probability_of_improvement_beside_a_point_mass():
    """Half of a hundred outcomes were 0.3 standard deviations low: a jump of the CDF by half."""
    pits = np.concatenate([np.full(50, ndtr(-0.3)), (np.arange(50) + 0.5) / 50])
    residual = IsotonicRecalibrator().update_many(pits).residual
    v = np.array([-0.31, -0.3001, -0.3, -0.2999, -0.29])
    exact = np.array([np.mean(pits <= ndtr(place)) for place in v])
    np.testing.assert_allclose(np.exp(curves(residual).log_cdf(v)[0]), exact, atol=0.03)


def test_curves_increase(residual):
    read = curves(residual)
    for curve in (read.log_cdf, read.log_shortfall):
        value, slope = curve(V)
        assert np.all(np.diff(value) >= -1e-5)
        assert np.all(slope >= -1e-4)
    assert np.all(read.log_cdf(V)[0] <= 0.0)


def test_slopes_are_the_derivatives_of_the_curves(residual):
    read = curves(residual)
    v, step = V[1::13], 1e-6
    for curve in (read.log_cdf, read.log_shortfall):
        expected = (curve(v + step)[0] - curve(v - step)[0]) / (2 * step)
        np.testing.assert_allclose(curve(v)[1], expected, rtol=1e-4, atol=1e-4)


def test_curves_are_finite_however_far(residual):
    read = curves(residual)
    v = np.array([-1e9, -1e6, -1e4, -600.0, -40.0, 40.0, 600.0, 1e4, 1e6, 1e9])
    for curve in (read.log_cdf, read.log_shortfall):
        assert np.isfinite(curve(v)).all()


@pytest.mark.parametrize("name", KINKED, ids=str)
def test_the_shortfall_of_a_kinked_shape_is_close(name):
    residual = KINKED[name]
    v = np.linspace(-3, 8, 1001)
    exact = residual.log_shortfall(v)
    np.testing.assert_allclose(curves(residual).log_shortfall(v)[0], exact, atol=0.1)


def test_log_hinge_and_its_slope():
    v = np.concatenate([-np.geomspace(1e-3, 1e5, 400), [0.0], np.geomspace(1e-3, 1e5, 400)])
    for part in (v, v[v > -49.0], v[v < 29.0], v[(v > -49.0) & (v < 29.0)], v[:0]):
        value, slope = log_hinge_and_slope(part)
        np.testing.assert_allclose(value, log_hinge(part), rtol=1e-9, atol=1e-12)
        near, far = part > -50.0, part < -1e3
        expected = np.exp(log_ndtr(part) - log_hinge(part))
        np.testing.assert_allclose(slope[near], expected[near], rtol=1e-8)
        np.testing.assert_allclose(slope[~far], expected[~far], rtol=2e-6)
        # Further out, log Φ and log h have lost the digits of their difference.
        np.testing.assert_allclose(slope[far], -part[far] - 2.0 / part[far], rtol=1e-12)


@pytest.mark.parametrize("v", [-50.0, -1.0, 30.0])
def test_log_hinge_and_slope_are_continuous_where_their_formulas_meet(v):
    left, right = (
        log_hinge_and_slope(np.array([v - 1e-9])),
        log_hinge_and_slope(np.array([v + 1e-9])),
    )
    np.testing.assert_allclose(left[0], right[0], rtol=1e-8)
    np.testing.assert_allclose(left[1], right[1], rtol=2e-6)
