"""Classic test functions: their minima, published values, and boxes that are moved."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc

from calibrant import test_functions

ALL = [
    test_functions.ackley(1),
    test_functions.ackley(5),
    test_functions.alpine(3),
    test_functions.rastrigin(4),
    test_functions.levy(1),
    test_functions.levy(6),
    test_functions.rosenbrock(2),
    test_functions.rosenbrock(4),
    test_functions.styblinski_tang(3),
    test_functions.michalewicz(1),
    test_functions.michalewicz(2),
    test_functions.michalewicz(5),
    test_functions.branin(),
    test_functions.goldstein_price(),
    test_functions.hartmann(3),
    test_functions.hartmann(6),
    test_functions.shekel(),
]
MOVABLE = [
    test_functions.ackley(5),
    test_functions.alpine(3),
    test_functions.rastrigin(4),
    test_functions.levy(6),
    test_functions.rosenbrock(4),
    test_functions.styblinski_tang(3),
]


@pytest.mark.parametrize("problem", ALL, ids=lambda p: p.name)
def test_the_minimum_is_where_it_is_said_to_be(problem):
    assert problem(problem.where) == pytest.approx(problem.minimum, abs=1e-9)
    low, high = np.array(problem.box).T
    assert np.all((low <= problem.where) & (problem.where <= high))


@pytest.mark.parametrize(
    "problem",
    [*ALL, *(test_functions.shifted(p, s) for p in MOVABLE for s in (0, 1))],
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
        (test_functions.branin(), [-np.pi, 12.275], 0.397887),
        (test_functions.branin(), [9.42478, 2.475], 0.397887),
        (test_functions.goldstein_price(), [0.0, 0.0], 600.0),
        (test_functions.rastrigin(2), [1.0, -1.0], 2.0),
        (test_functions.rosenbrock(3), [0.0, 0.0, 0.0], 2.0),
        (test_functions.styblinski_tang(2), [0.0, 1.0], -5.0),
        (test_functions.levy(2), [1.0, -3.0], 1.0),
        (test_functions.michalewicz(2), [2.202906, 1.570796], -1.8013),
        (test_functions.ackley(2), [1.0, 1.0], 3.625385),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_values_known_from_elsewhere(problem, x, value):
    assert problem(x) == pytest.approx(value, rel=3e-5)


@pytest.mark.parametrize("problem", MOVABLE, ids=lambda p: p.name)
def test_a_moved_box_has_its_minimum_elsewhere(problem):
    for seed in range(5):
        moved = test_functions.shifted(problem, seed)
        low, high = np.array(moved.box).T
        place = (np.array(problem.where) - low) / (high - low)
        before = np.array(problem.box)
        assert np.all((place >= 0.0) & (place <= 1.0))
        assert np.all(
            np.abs(place - (problem.where - before[:, 0]) / np.ptp(before, axis=1)) > 1e-3
        )
        np.testing.assert_allclose(high - low, np.ptp(before, axis=1))
        assert moved(problem.where) == pytest.approx(problem.minimum, abs=1e-9)
    assert test_functions.shifted(problem, 1) == test_functions.shifted(problem, 1)


@pytest.mark.parametrize(
    ("make", "dim", "rule"),
    [
        (test_functions.ackley, 0, "dim >= 1"),
        (test_functions.rosenbrock, 1, "dim >= 2"),
        (test_functions.michalewicz, 6, "dim <= 5"),
        (test_functions.hartmann, 4, "3 or 6"),
    ],
)
def test_dimensions_that_do_not_exist(make, dim, rule):
    with pytest.raises(ValueError, match=rule):
        make(dim)
