"""Classic test functions: their minima, published values, and boxes that are moved."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc

from calibrant import classics

ALL = [
    classics.ackley(1),
    classics.ackley(5),
    classics.alpine(3),
    classics.rastrigin(4),
    classics.levy(1),
    classics.levy(6),
    classics.rosenbrock(2),
    classics.rosenbrock(4),
    classics.styblinski_tang(3),
    classics.michalewicz(1),
    classics.michalewicz(2),
    classics.michalewicz(5),
    classics.branin(),
    classics.goldstein_price(),
    classics.hartmann(3),
    classics.hartmann(6),
    classics.shekel(),
]
MOVABLE = [
    classics.ackley(5),
    classics.alpine(3),
    classics.rastrigin(4),
    classics.levy(6),
    classics.rosenbrock(4),
    classics.styblinski_tang(3),
]


@pytest.mark.parametrize("problem", ALL, ids=lambda p: p.name)
def test_the_minimum_is_where_it_is_said_to_be(problem):
    assert problem(problem.where) == pytest.approx(problem.minimum, abs=1e-9)
    low, high = np.array(problem.box).T
    assert np.all((low <= problem.where) & (problem.where <= high))


@pytest.mark.parametrize(
    "problem",
    [*ALL, *(classics.shifted(p, s) for p in MOVABLE for s in (0, 1))],
    ids=lambda p: p.name,
)
def test_nothing_in_the_box_is_lower(problem):
    points = qmc.Sobol(problem.dim, rng=0).random(2**13)
    values = problem.on_cube(points)
    assert values.min() >= problem.minimum - 1e-9
    for start in points[np.argsort(values)[:4]]:
        found = minimize(
            lambda u: float(problem.on_cube(np.clip(u, 0.0, 1.0))), start, method="Nelder-Mead"
        )
        assert found.fun >= problem.minimum - 1e-7


@pytest.mark.parametrize(
    ("problem", "x", "value"),
    [
        (classics.branin(), [-np.pi, 12.275], 0.397887),
        (classics.branin(), [9.42478, 2.475], 0.397887),
        (classics.goldstein_price(), [0.0, 0.0], 600.0),
        (classics.rastrigin(2), [1.0, -1.0], 2.0),
        (classics.rosenbrock(3), [0.0, 0.0, 0.0], 2.0),
        (classics.styblinski_tang(2), [0.0, 1.0], -5.0),
        (classics.levy(2), [1.0, -3.0], 1.0),
        (classics.michalewicz(2), [2.202906, 1.570796], -1.8013),
        (classics.ackley(2), [1.0, 1.0], 3.625385),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_values_known_from_elsewhere(problem, x, value):
    assert problem(x) == pytest.approx(value, rel=3e-5)


@pytest.mark.parametrize("problem", MOVABLE, ids=lambda p: p.name)
def test_a_moved_box_has_its_minimum_elsewhere(problem):
    for seed in range(5):
        moved = classics.shifted(problem, seed)
        low, high = np.array(moved.box).T
        place = (np.array(problem.where) - low) / (high - low)
        before = np.array(problem.box)
        assert np.all((place >= 0.0) & (place <= 1.0))
        assert np.all(
            np.abs(place - (problem.where - before[:, 0]) / np.ptp(before, axis=1)) > 1e-3
        )
        np.testing.assert_allclose(high - low, np.ptp(before, axis=1))
        assert moved(problem.where) == pytest.approx(problem.minimum, abs=1e-9)
    assert classics.shifted(problem, 1) == classics.shifted(problem, 1)


@pytest.mark.parametrize(
    ("make", "dim", "rule"),
    [
        (classics.ackley, 0, "dim >= 1"),
        (classics.rosenbrock, 1, "dim >= 2"),
        (classics.michalewicz, 6, "dim <= 5"),
        (classics.hartmann, 4, "3 or 6"),
    ],
)
def test_dimensions_that_do_not_exist(make, dim, rule):
    with pytest.raises(ValueError, match=rule):
        make(dim)
