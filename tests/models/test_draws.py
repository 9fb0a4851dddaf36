"""Draws: each is what conditioning on its values gives, and all together are the belief itself."""

import numpy as np
import pytest

from calibrant.models import GaussianProcess, Matern52
from calibrant.models.draws import Draws

RNG = np.random.default_rng(5)
X = RNG.random((12, 2))
y = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.standard_normal(12)
PROCESS = GaussianProcess(Matern52(), "standardise", noise=0.3).fit(X, y)
RIVALS, POINTS = X[:4], RNG.random((5, 2))


def drawn(count: int) -> Draws:
    return Draws.of(PROCESS, RIVALS, np.random.default_rng(0).standard_normal((count, 4)))


def test_each_draw_is_the_belief_after_its_values():
    draws = drawn(3)
    means, std, _ = draws.posteriors(POINTS)
    for values, mean in zip(draws.values, means, strict=True):
        after = PROCESS.condition(RIVALS, values, std=0.0).posterior(POINTS)
        np.testing.assert_allclose(mean, after.mean, atol=1e-4)
        np.testing.assert_allclose(std, after.std, rtol=1e-3)


def test_each_draw_goes_through_its_values():
    draws = drawn(3)
    means, std, _ = draws.posteriors(RIVALS)
    np.testing.assert_allclose(means, draws.values, atol=1e-6)
    assert std.max() < 1e-4 * np.sqrt(PROCESS.signal_variance)


def test_the_mean_of_many_draws_is_the_belief():
    belief = PROCESS.posterior(POINTS)
    means, std, _ = drawn(20_000).posteriors(POINTS)
    np.testing.assert_allclose(means.mean(axis=0), belief.mean, atol=0.02)
    np.testing.assert_allclose(np.sqrt(means.var(axis=0) + std**2), belief.std, rtol=0.02)


def test_the_pullback_is_the_derivative():
    draws = drawn(3)
    by_means, by_std = RNG.standard_normal((3, 5)), RNG.standard_normal(5)

    def loss(points):
        means, std, _ = draws.posteriors(points)
        return float((by_means * means).sum() + by_std @ std)

    found = draws.posteriors(POINTS).pullback(by_means, by_std)
    step = 1e-6
    for i, j in np.ndindex(POINTS.shape):
        moved = np.zeros_like(POINTS)
        moved[i, j] = step
        slope = (loss(POINTS + moved) - loss(POINTS - moved)) / (2.0 * step)
        assert found[i, j] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_points_that_are_the_same_are_drawn_the_same():
    twice = np.vstack([RIVALS, RIVALS[:2]])
    draws = Draws.of(PROCESS, twice, np.random.default_rng(0).standard_normal((50, 6)))
    np.testing.assert_allclose(draws.values[:, :2], draws.values[:, 4:], atol=1e-3)
    assert np.isfinite(draws.posteriors(POINTS).means).all()
