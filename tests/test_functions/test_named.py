"""Test functions: minima against samples and descents, values against what is published."""

import re

import numpy as np
import pytest
from benchmarks.paper.tasks import FUNCTIONS
from scipy.optimize import minimize
from scipy.stats import qmc

import calibrant


@pytest.fixture(params=FUNCTIONS, ids=str)
def problem(request):
    return FUNCTIONS[request.param]


def sample(problem, power=13):
    """Points of the unit cube, with its corners, centre and the point of the minimum."""
    points = qmc.Sobol(problem.dim, rng=np.random.default_rng(0)).random_base2(power)
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * problem.dim), axis=-1).reshape(-1, problem.dim)
    return np.vstack([points, corners, np.full((1, problem.dim), 0.5)])


def test_the_minimum_is_where_it_is_said_to_be(problem):
    low, high = np.array(problem.box).T
    assert np.all((low <= problem.where) & (problem.where <= high))
    np.testing.assert_allclose(problem(problem.where), problem.minimum, rtol=1e-12, atol=1e-12)


def test_no_value_in_the_box_is_lower(problem):
    points = sample(problem)
    values = problem.on_cube(points)
    slack = 1e-9 * max(1.0, abs(problem.minimum))
    assert values.min() >= problem.minimum - slack
    for start in points[np.argsort(values)[:12]]:
        found = minimize(problem.on_cube, start, method="L-BFGS-B", bounds=[(0, 1)] * problem.dim)
        assert found.fun >= problem.minimum - slack
    # The values above are those of this function: its minimum is the lowest of them.
    beside = np.clip(problem.where + 1e-3 * np.eye(problem.dim), *np.array(problem.box).T)
    assert np.all(problem(beside) >= problem.minimum)


@pytest.mark.parametrize(
    "name", [name for name, problem in FUNCTIONS.items() if problem.dim <= 2 and name != "ackley"]
)
def test_descents_from_many_points_reach_the_minimum(name):
    """It is attained, not just a bound."""
    problem = FUNCTIONS[name]
    points = sample(problem, 11)
    best = points[np.argsort(problem.on_cube(points))[:10]]
    low, high = np.array(problem.box).T
    found = [
        minimize(
            problem,
            low + (high - low) * start,
            method="Nelder-Mead",
            bounds=problem.box,
            options={"xatol": 1e-8, "fatol": 1e-12},
        ).fun
        for start in best
    ]
    np.testing.assert_allclose(min(found), problem.minimum, atol=1e-6)


# By hand, or as published: Surjanovic and Bingham's library, GPyOpt's for the two variants.
KNOWN = [
    ("forrester", [0.0], 4 * np.sin(-4)),
    ("forrester", [1.0], 16 * np.sin(8)),
    ("forrester", [1 / 3], 0.0),
    ("ackley", [1.0, 1.0], 20 - 20 * np.exp(-0.2)),
    ("ackley", [0.5, 0.5], 20 + np.e - 20 * np.exp(-0.1) - np.exp(-1)),
    ("alpine", [np.pi] * 10, np.pi),
    ("alpine", [-np.pi / 2] + [0.0] * 9, 0.45 * np.pi),
    ("six-hump camel", [0.0898, -0.7126], -1.0316),
    ("six-hump camel", [-0.0898, 0.7126], -1.0316),
    ("six-hump camel", [1.0, 1.0], 4 - 2.1 + 1 / 3 + 1),
    ("six-hump camel", [-2.0, 1.0], (4 - 8.4 + 16 / 3) * 4 - 2),
    ("cosines", [0.3125, 0.3125], -1.6),
    ("cosines", [0.9375, 0.3125], 1 + 0.3 - 0.3 - 1),
    ("beale", [0.0, 0.0], 1.5**2 + 2.25**2 + 2.625**2),
    ("beale", [1.0, 2.0], 2.5**2 + 5.25**2 + 9.625**2),
    ("mccormick", [0.5 - np.pi / 3, -0.5 - np.pi / 3], -np.pi / 3 - np.sqrt(3) / 2),
    ("mccormick", [0.0, 0.0], 1.0),
    ("mccormick", [2.0, 1.0], np.sin(3) + 1 - 3 + 2.5 + 1),
    ("powers", [-0.5, 0.5], 0.25 + 0.125),
    ("powers", [1.0, -1.0], 2.0),
    ("cross-in-tray", [1.3491, -1.3491], -2.06261),
    ("cross-in-tray", [-1.3491, -1.3491], -2.06261),
    ("cross-in-tray", [0.0, 5.0], -1e-4),
    ("drop-wave", [0.0, 0.0], -1.0),
    ("drop-wave", [3.0, 4.0], -(1 + np.cos(60)) / 14.5),
    ("gpyopt-beale", [1.0, 1.0], 0.0),
    ("gpyopt-beale", [0.0, 1.0], -101.0),
    ("gpyopt-drop-wave", [0.6, 0.8], (1 + np.cos(12)) / 2.5),
]


@pytest.mark.parametrize(("name", "x", "value"), KNOWN)
def test_known_values(name, x, value):
    # Published minima are rounded.
    np.testing.assert_allclose(FUNCTIONS[name](x), value, rtol=3e-5, atol=1e-12)


def test_every_problem_has_a_known_value_and_its_name():
    assert {name for name, _, _ in KNOWN} == set(FUNCTIONS)
    assert all(problem.name == name for name, problem in FUNCTIONS.items())


def test_values_on_the_cube_are_those_in_the_box(problem):
    rng = np.random.default_rng(1)
    u = rng.random((7, problem.dim))
    low, high = np.array(problem.box).T
    np.testing.assert_allclose(problem.on_cube(u), problem(low + (high - low) * u), rtol=1e-12)
    np.testing.assert_allclose(problem.on_cube(np.zeros(problem.dim)), problem(low))
    np.testing.assert_allclose(problem.on_cube(np.ones(problem.dim)), problem(high))


def test_points_of_any_shape(problem):
    low, high = np.array(problem.box).T
    x = low + (high - low) * np.random.default_rng(2).random((2, 3, problem.dim))
    values = problem(x)
    assert values.shape == (2, 3)
    assert problem(x[0, 0]).shape == ()
    assert problem(x[:0]).shape == (0, 3)
    np.testing.assert_allclose(values[1, 2], problem(x[1, 2].tolist()), rtol=1e-12)


def test_a_wrong_number_of_coordinates_says_so(problem):
    name = re.escape(problem.name)
    message = f"`x` must have {problem.dim} coordinates for {name}, but got "
    for shape in [(problem.dim + 1,), (4, problem.dim + 1), ()]:
        for call in (problem, problem.on_cube):
            with pytest.raises(ValueError, match=message):
                call(np.zeros(shape))
    with pytest.raises(ValueError, match="`x` must be finite"):
        problem(np.full(problem.dim, np.nan))


def test_its_space_and_objective_can_be_minimised(problem):
    study = calibrant.minimize(
        problem.objective, problem.space(), n_trials=8, seed=0, progress=False
    )
    assert len(study.trials) == 8
    for trial in study.trials:
        x = [trial.params[f"x{i}"] for i in range(problem.dim)]
        assert all(a <= v <= b for v, (a, b) in zip(x, problem.box, strict=True))
        assert trial.value == pytest.approx(float(problem(x)))
    assert study.best_value >= problem.minimum


def test_a_search_finds_a_minimum():
    problem = FUNCTIONS["six-hump camel"]
    study = calibrant.minimize(
        problem.objective, problem.space(), n_trials=30, seed=0, progress=False
    )
    assert study.best_value < problem.minimum + 0.05
