"""Residuals: closed forms against quadrature to 1e-9, gradients against finite differences."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from calibrant import GaussianRecalibrator, LeaderRecalibrator, Normal, OnlineRecalibrator
from calibrant.core.normal import EDGE_SCORE
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.forecasts.residual import Calibrated, LocationScale, compose

RESIDUALS = {
    "leader": LeaderRecalibrator(5.0).update_scores([-2.0, 0.3, 0.5, 4.0]).residual,
    "gaussian": GaussianRecalibrator(2.0).update_scores([-2.0, 3.0, 0.5, 4.0]).residual,
    "table": WarpedNormal([0.1, 0.3, 0.5, 0.9], [0.02, 0.2, 0.6, 0.95]),
    "online": OnlineRecalibrator(49, rate=0.04).update_many(np.linspace(0, 1, 30) ** 3).residual,
}


@pytest.fixture(params=RESIDUALS, ids=str)
def residual(request):
    return RESIDUALS[request.param]


def monotone(draw_from):
    return st.lists(draw_from, min_size=1, max_size=12).map(sorted)


def test_a_score_that_is_an_outermost_jump_up_to_rounding_is_on_it():
    """Whether an outcome on a point mass counts must not depend on the last bit of its score."""
    residual = WarpedNormal([0.05, 0.1, 0.9, 0.95], [0.02, 0.02, 0.98, 0.98])
    first, last = ndtri(0.02), ndtri(0.98)
    below = [np.nextafter(first, -9.0), first, np.nextafter(first, 9.0)]
    np.testing.assert_allclose(residual.cdf(below), 0.1, rtol=1e-9)
    above = [np.nextafter(last, -9.0), last, np.nextafter(last, 9.0)]
    np.testing.assert_allclose(residual.cdf(above), 0.95, rtol=1e-9)
    np.testing.assert_allclose(residual.cdf(first - 1e-9), 0.05, rtol=1e-6)


@given(monotone(st.floats(0, 1)), st.floats(-9, 9))
def test_warped_normal_shortfall_and_crps_for_any_monotone_table(warped, v):
    residual = WarpedNormal(np.arange(1, len(warped) + 1) / (len(warped) + 1), warped)
    # An independent reading: G as an interpolation over the knots kept finite.
    q = np.clip(warped, 2.0**-53, 1 - 2.0**-53)
    u = np.concatenate([[0.0], q, [1.0]])
    p = np.arange(len(u)) / (len(u) - 1)
    edges = ndtri(u)

    def cdf(z):
        below = ndtr(z)
        k = np.searchsorted(edges, z, side="right")  # Φ is too coarse near 1 to tell segments
        if k == 1:
            return below * p[1] / u[1]
        if k >= len(u) - 1:  # measured from the top, where 1 − Φ still has its digits
            return 1 - ndtr(-z) * (1 - p[-2]) / (1 - u[-2])
        return p[k - 1] + (p[k] - p[k - 1]) * (below - u[k - 1]) / (u[k] - u[k - 1])

    knots = np.unique(np.clip(np.concatenate([[-12.0], ndtri(q), [v, 12.0]]), -12, 12))

    def integrate(function, low, high):
        points = knots[(knots >= low) & (knots <= high)]
        return sum(
            quad(function, a, b, epsabs=1e-13, limit=200)[0]
            for a, b in pairwise(points)
            if b - a > 1e-13
        )

    shortfall = integrate(cdf, -12, v)
    crps = integrate(lambda z: cdf(z) ** 2, -12, v) + integrate(lambda z: (1 - cdf(z)) ** 2, v, 12)
    np.testing.assert_allclose(residual.shortfall(v), shortfall, atol=1e-9)
    np.testing.assert_allclose(residual.crps(v), crps, atol=1e-9)
    assert np.isfinite([residual.mean(), residual.std(), residual.log_shortfall(v)]).all()


def test_shortfall_derivative_is_the_cdf(residual):
    v = np.linspace(-5, 5, 41) + 0.003
    slope = (residual.shortfall(v + 1e-5) - residual.shortfall(v - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, residual.cdf(v), atol=1e-6)


def test_gradients_of_location_scale_by_finite_differences(residual):
    location, scale, v = np.array([0.3, -1.0, 2.0]), np.array([0.7, 2.0, 1.1]), 0.137
    step = 1e-6

    def difference(value, d_location, d_scale):
        up = LocationScale(location + step * d_location, scale + step * d_scale, residual)
        down = LocationScale(location - step * d_location, scale - step * d_scale, residual)
        return (value(up) - value(down)) / (2 * step)

    forecast = LocationScale(location, scale, residual)
    for value, gradient in (
        (lambda f: f.cdf(v), forecast.cdf_gradient(v)),
        (lambda f: f.shortfall(v), forecast.shortfall_gradient(v)),
        (lambda f: f.log_shortfall(v), forecast.log_shortfall_gradient(v)),
    ):
        np.testing.assert_allclose(gradient[0], difference(value, 1, 0), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(gradient[1], difference(value, 0, 1), rtol=1e-5, atol=1e-8)


def test_log_shortfall_gradient_survives_where_the_shortfall_underflows(residual):
    forecast = LocationScale([60.0], [1.0], residual)
    d_location, d_scale = forecast.log_shortfall_gradient(0.0)
    assert np.isfinite(forecast.log_shortfall(0.0)).all()
    assert d_location[0] < 0 < d_scale[0]


def test_shortfall_at_infinity(residual):
    np.testing.assert_array_equal(residual.shortfall([-np.inf, np.inf]), [0.0, np.inf])
    np.testing.assert_array_equal(residual.log_shortfall([-np.inf, np.inf]), [-np.inf, np.inf])


def test_expectations_of_a_shape_with_a_far_outlier():
    outlier = LeaderRecalibrator().update_scores([0.0, 1e5]).residual
    closed = LocationScale([0.0], [1.0], outlier)
    cells = Calibrated(Normal([0.0], [1.0]), outlier)
    np.testing.assert_allclose(cells.crps([0.5]), closed.crps([0.5]), rtol=5e-3)
    np.testing.assert_allclose(cells.mean(), closed.mean(), rtol=5e-3)


def test_levels_played_at_infinity():
    residual = WarpedNormal([0.1, 0.5, 0.9], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(residual.quantile([0.1, 0.9]), [-np.inf, np.inf])
    np.testing.assert_allclose(residual.cdf([-30.0, 30.0]), [0.1, 0.9])
    # Expectations read the infinite tenths at ±8.2.
    assert abs(residual.mean()) < 1e-9
    np.testing.assert_allclose(residual.std(), np.sqrt(0.2) * EDGE_SCORE, rtol=0.05)


def test_warp_is_exact_at_the_knots():
    levels, warped = np.arange(1, 100) / 100, np.sort(np.random.default_rng(0).uniform(size=99))
    np.testing.assert_array_equal(WarpedNormal(levels, warped).warp(levels), warped)


@given(monotone(st.floats(0, 1)), st.floats(0, 1), st.floats(0, 1))
def test_unwarp_is_the_generalised_inverse(warped, p, u):
    residual = WarpedNormal(np.arange(1, len(warped) + 1) / (len(warped) + 1), warped)
    # R(p) ≤ u if and only if p ≤ G(u), up to rounding
    if residual.warp(p) <= u:
        assert p <= residual.unwarp(u) + 1e-12
    if p < residual.unwarp(u) - 1e-9:
        assert residual.warp(p) <= u + 1e-12


def test_compose_picks_the_simplest_exact_form():
    normal = Normal([1.0, 2.0], [1.0, 3.0])
    assert compose(normal, Normal(0.0, 1.0)) is normal
    stretched = compose(normal, Normal(0.5, 2.0))
    assert isinstance(stretched, Normal)
    np.testing.assert_allclose(stretched.mean(), [1.5, 3.5])
    np.testing.assert_allclose(stretched.std(), [2.0, 6.0])


def test_location_scale_is_what_the_general_composition_gives(residual):
    normal = Normal([1.0, -2.0], [0.5, 3.0])
    short, general = compose(normal, residual), Calibrated(normal, residual)
    y = np.array([0.2, 1.0])
    np.testing.assert_allclose(short.score(y), general.score(y), rtol=1e-9)
    np.testing.assert_allclose(short.quantile(0.3), general.quantile(0.3), rtol=1e-9)
    np.testing.assert_allclose(short.pdf(y), general.pdf(y), rtol=1e-9)
    np.testing.assert_allclose(short.mean(), general.mean(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(short.crps(y), general.crps(y), rtol=1e-3)


@pytest.mark.parametrize(
    ("levels", "warped", "message"),
    [
        ([0.1, 0.9], [0.5, 0.4], "non-decreasing"),
        ([0.1, 0.9], [0.5], "One warped value per level"),
        ([0.1, 0.9], [0.5, 1.4], "`0 <= warped <= 1`"),
    ],
)
def test_bad_tables(levels, warped, message):
    with pytest.raises(ValueError, match=message):
        WarpedNormal(levels, warped)


def test_a_shape_has_no_points():
    with pytest.raises(TypeError, match="cannot be indexed"):
        WarpedNormal([0.5], [0.5])[0]
