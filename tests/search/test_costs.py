"""The model of prices, and what a search makes of it."""

import numpy as np
import pytest

from calibrant.core.cube import as_cube
from calibrant.search.costs import Prices

RNG = np.random.default_rng(0)
X = RNG.random((30, 2))


def true_price(X):
    return 2.0 * np.exp(3.0 * X[:, 0])


PRICES = Prices.learned(X, true_price(X), as_cube(2))
NEW = RNG.random((7, 2))


def test_prices_are_learned():
    np.testing.assert_allclose(PRICES.expected(NEW), true_price(NEW), rtol=0.1)


@pytest.mark.parametrize("left", [1e6, 8.0], ids=["plenty", "little"])
def test_frugality_has_its_own_gradient(left):
    criterion = PRICES.frugality(0.7, left)
    values, gradient = criterion(NEW)
    for axis in range(2):
        step = np.zeros(2)
        step[axis] = 1e-4  # the wall is steep: shorter steps differ by rounding more than by slope
        slope = (criterion(NEW + step)[0] - criterion(NEW - step)[0]) / 2e-4
        np.testing.assert_allclose(gradient()[:, axis], slope, rtol=1e-4, atol=0.01)
    assert values.shape == (7,)


def test_what_cannot_be_paid_is_behind_a_wall():
    dear, cheap = PRICES.frugality(0.0, 5.0)(np.array([[0.9, 0.5], [0.1, 0.5]]))[0]
    assert dear < -500.0
    assert cheap == 0.0


def test_free_evaluations_and_equal_prices_are_no_trouble():
    free = Prices.learned(X, np.where(X[:, 0] < 0.5, 0.0, 3.0), as_cube(2))
    assert np.all(np.isfinite(free.expected(NEW)))
    assert np.all(np.isfinite(Prices.learned(X, np.zeros(30), as_cube(2)).expected(NEW)))
    same = Prices.learned(X, np.full(30, 4.0), as_cube(2))
    np.testing.assert_allclose(same.expected(NEW), 4.0, rtol=1e-3)


def test_prices_go_on_from_the_last_ones():
    early = Prices.learned(X[:21], true_price(X[:21]), as_cube(2))
    later = Prices.learned(X[:22], true_price(X[:22]), as_cube(2), early)
    assert later.fitted.v.size == 22
    assert later.fitted.fitted_at == 21
