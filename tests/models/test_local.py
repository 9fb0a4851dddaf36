"""Widths by localised online conformal prediction."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from calibrant import Optimizer
from calibrant.models import GaussianProcess, LocallyConformal, Rotation

RNG = np.random.default_rng(5)
X = RNG.random((14, 2))
y = np.sin(9.0 * X[:, 0]) * X[:, 1]
POINTS = RNG.random((5, 2))
FAST = LocallyConformal(rate=0.03)


def test_before_the_first_forecast_nothing_changes():
    plain, local = GaussianProcess().fit(X[:5], y[:5]), LocallyConformal().fit(X[:5], y[:5])
    np.testing.assert_allclose(local.posterior(POINTS).std, plain.posterior(POINTS).std)
    np.testing.assert_allclose(local.predict(POINTS).cdf(0.1), plain.predict(POINTS).cdf(0.1))


def test_misses_make_forecasts_wider_and_most_of_all_nearby():
    missed_at = np.array([[0.1, 0.1]])
    near, far = FAST.width(missed_at, np.array([5.0]))(np.array([[0.1, 0.12], [0.9, 0.9]]))[0]
    assert near > far > 1.0


def test_hits_make_forecasts_narrower():
    at = RNG.random((10, 2))
    assert np.all(FAST.width(at, np.zeros(10))(POINTS)[0] < 1.0)


def test_the_level_is_the_published_recursion():
    """Two steps of it, spelled out with their constants."""
    at, sizes = np.array([[0.2, 0.2], [0.3, 0.4]]), np.array([2.0, 0.5])
    alpha, rates = 0.2, 0.005 * np.array([2.0, 3.0]) ** -0.05
    steps = rates * (alpha - np.array([1.0, 0.0]))  # the first is missed: 2 stds, a set of 1.28
    point = np.array([[0.25, 0.2]])
    kernel = np.exp(-((at - point) ** 2).sum(axis=1) / 0.25**2)
    level = alpha + steps.sum() + 4.0 * (steps * kernel).sum()
    expected = norm.isf(level / 2.0) / norm.isf(alpha / 2.0)
    assert LocallyConformal().width(at, sizes)(point)[0][0] == pytest.approx(expected)


def test_gradients():
    fitted = LocallyConformal(rate=0.02).fit(X, y)

    def loss(x):
        mean, std, _ = fitted.posterior(x[None])
        return float(mean[0] - 1.5 * std[0])

    for point in POINTS:
        pulled = fitted.posterior(point[None]).pullback(np.ones(1), np.full(1, -1.5))[0]
        np.testing.assert_allclose(pulled, approx_fprime(point, loss, 1e-7), rtol=1e-3, atol=1e-4)


def test_forecasts_and_draws_have_the_width_of_the_posterior():
    fitted = FAST.fit(X, y)
    plain = fitted.belief
    factor = fitted.width(POINTS)[0]
    np.testing.assert_allclose(
        fitted.predict(POINTS).score(0.1) * factor, plain.predict(POINTS).score(0.1)
    )
    mean = plain.posterior(POINTS).mean
    scores = RNG.normal(size=5)
    np.testing.assert_allclose(
        fitted.sample(POINTS, scores) - mean, factor * (plain.sample(POINTS, scores) - mean)
    )


def test_sets_that_miss_everything_are_as_wide_as_they_get():
    at = np.full((60, 2), 0.5)
    widest = FAST.width(at, np.full(60, 99.0))(at[:1])[0][0]
    assert widest == pytest.approx(3.4 / 1.2815515655)


def test_a_search_with_processes_in_turns():
    model = LocallyConformal(Rotation((GaussianProcess(), GaussianProcess(outputs="standardise"))))
    optimizer = Optimizer(2, model=model, recalibrator=None, seed=0)
    for _ in range(12):
        x = optimizer.ask()
        optimizer.tell(x, float(((x - 0.3) ** 2).sum()))
    assert optimizer.best[1] < 0.02


@pytest.mark.parametrize("bad", [{"level": 0.0}, {"rate": -1.0}, {"lengthscale": 0.0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"level|coverage|rate|lengthscale"):
        LocallyConformal(**bad)
