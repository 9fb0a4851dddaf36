"""Points spread over the unit cube."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from calibrant.core import Cube
from calibrant.core.designs import Design, designed, representatives


@pytest.mark.parametrize("kind", list(Design), ids=str)
def test_designs_are_repeated_by_their_seed_and_by_no_other(kind):
    cube = Cube.continuous(2)
    first, again, other = (cube.design(kind, 8, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 100))
def test_a_latin_design_has_one_point_in_each_stratum(count, dim, seed):
    X = Cube.continuous(dim).design("latin", count, np.random.default_rng(seed))
    for column in X.T:
        np.testing.assert_array_equal(np.sort(np.floor(column * count)), np.arange(count))


def test_the_columns_of_a_latin_design_are_not_ordered_alike():
    X = Cube.continuous(2).design("latin", 200, np.random.default_rng(0))
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.25


def test_a_sobol_design_fills_every_eighth_evenly():
    X = Cube.continuous(3).design("sobol", 64, np.random.default_rng(0))
    _, counts = np.unique(np.floor(2 * X), axis=0, return_counts=True)
    np.testing.assert_array_equal(counts, 8)


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 10, 20])
def test_spread_points_fill_the_cube_evenly(dim):
    X = Cube.continuous(dim).spread(256, np.random.default_rng(0))
    assert X.shape == (256, dim)
    assert np.all((X >= 0.0) & (X < 1.0))
    lower = (X < 0.5).mean(axis=0)
    assert np.all((lower > 0.4) & (lower < 0.6))
    # Of any two axes, each quarter holds about a quarter.
    for i in range(dim):
        for j in range(i):
            quarter = ((X[:, i] < 0.5) & (X[:, j] < 0.5)).mean()
            assert 0.17 < quarter < 0.33


def test_spread_points_lie_more_evenly_than_random_ones():
    spread = Cube.continuous(3).spread(256, np.random.default_rng(0))
    random = np.random.default_rng(0).random((256, 3))
    assert qmc.discrepancy(spread) < 0.3 * qmc.discrepancy(random)


def test_points_represent_a_pool_by_its_clusters():
    rng = np.random.default_rng(0)
    centres = np.array([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]])
    pool = np.concatenate([c + 0.02 * rng.standard_normal((40, 2)) for c in centres])
    chosen = representatives(pool, 12, rng)
    assert len({x.tobytes() for x in chosen}) == 12
    assert {x.tobytes() for x in chosen} <= {x.tobytes() for x in pool}
    nearest = np.argmin(((chosen[:, None] - centres) ** 2).sum(axis=2), axis=1)
    assert set(nearest) == {0, 1, 2}
    np.testing.assert_array_equal(representatives(pool, 120, rng), pool)


@pytest.mark.parametrize("kind", list(Design), ids=str)
def test_a_design_is_the_whole_cubes(kind):
    by_cube = Cube.continuous(3).design(kind, 9, np.random.default_rng(2))
    np.testing.assert_array_equal(designed(kind, 9, 3, np.random.default_rng(2)), by_cube)
