"""The special functions, against arbitrary precision and quadrature."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from calibrant.core import normal


@pytest.mark.parametrize("v", [-37.0, -12.0, -5.1, -4.9, -1.01, -0.99, 0.0, 1.3, 9.0])
def test_hinge_is_the_integral_of_the_cdf(v):
    expected = quad(lambda z: np.exp(log_ndtr(z)), -np.inf, v, epsabs=0, epsrel=1e-11)[0]
    np.testing.assert_allclose(normal.hinge(v), expected, rtol=1e-9)


@pytest.mark.parametrize("t", [1.0001, 7.0, 49.9, 50.1, 300.0])
def test_log_hinge_far_below_solves_its_differential_equation(t):
    # h' = Φ, so (log h)' = Φ/h; by finite differences of log h, in logarithms throughout
    step = 1e-4 / t
    slope = (normal.log_hinge(-t + step) - normal.log_hinge(-t - step)) / (2 * step)
    ratio = np.exp(log_ndtr(-t) - normal.log_hinge(-t))
    np.testing.assert_allclose(slope, ratio, rtol=1e-4)


def test_log_hinge_is_continuous_where_its_formulas_meet():
    for v in (-1.0, -50.0):
        left, right = normal.log_hinge(v - 1e-12), normal.log_hinge(v + 1e-12)
        np.testing.assert_allclose(left, right, rtol=1e-11)


def test_log_hinge_has_its_leading_asymptotics():
    t = 1e5
    expected = -0.5 * t * t - 0.5 * np.log(2 * np.pi) - 2 * np.log(t)
    np.testing.assert_allclose(normal.log_hinge(-t), expected, rtol=1e-15)


def test_log_hinge_is_finite_where_hinge_underflows():
    assert np.isfinite(normal.log_hinge(-1e5))
    assert normal.hinge(-np.inf) == 0.0


@pytest.mark.parametrize("z", [-6.0, -1.0, 0.4, 3.0])
def test_squared_cdf_integral(z):
    expected = quad(lambda t: ndtr(t) ** 2, -np.inf, z, epsabs=1e-14)[0]
    np.testing.assert_allclose(normal.squared_cdf_integral(z), expected, atol=1e-13)


def test_mean_absolute():
    mean, std = 0.7, 1.9
    expected = quad(lambda y: abs(y) * stats.norm.pdf(y, mean, std), -40, 40, points=[0])[0]
    np.testing.assert_allclose(normal.mean_absolute(mean, std), expected, rtol=1e-9)


def test_score_from_logs_does_not_saturate():
    z = np.array([-300.0, -40.0, -9.0, 0.0, 9.0, 40.0, 300.0])
    np.testing.assert_allclose(normal.score_from_logs(log_ndtr(z), log_ndtr(-z)), z, rtol=1e-9)


def test_score_from_logs_of_nothing_is_finite():
    assert normal.score_from_logs(-np.inf, 0.0) == -normal.LARGEST_SCORE
    assert normal.score_from_logs(0.0, -np.inf) == normal.LARGEST_SCORE
