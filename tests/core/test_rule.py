"""Rules that points keep to, and cubes that are lists."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import Optimizer
from calibrant.core import Axis, Cube
from calibrant.core.cube import keys
from calibrant.core.planes import Planes, Scale
from calibrant.core.rule import NothingToTry, Rule, first_point, rule_of

RNG = np.random.default_rng(0)


def plain(low=0.0, high=1.0):
    return Scale(
        low, high, 0.0, False, lambda v: (v - low) / (high - low), lambda u: low + u * (high - low)
    )


def planes(weights, bounds, equal=None):
    weights = np.atleast_2d(weights)
    equal = np.zeros(len(weights), dtype=bool) if equal is None else np.array(equal)
    scales = {column: plain() for column in range(weights.shape[1])}
    return Planes(scales, weights, np.array(bounds), equal)


def test_the_slopes_of_planes_are_their_derivatives():
    scale = Scale(1e-3, 1.0, 0.0, True, np.log, lambda u: float(np.exp(np.log(1e-3) * (1 - u))))
    both = Planes({0: plain(-2, 3), 2: scale}, np.array([[1.0, 2.0], [-1.0, 0.5]]),
                  np.array([0.3, 0.1]), np.zeros(2, dtype=bool))  # fmt: skip
    x = np.array([0.3, 0.9, 0.6])
    excess, by_x = both.slopes(x)
    for column in range(3):
        step = np.zeros(3)
        step[column] = 1e-6
        numeric = (both.slopes(x + step)[0] - both.slopes(x - step)[0]) / 2e-6
        np.testing.assert_allclose(by_x[:, column], numeric, atol=1e-7)
    assert excess.shape == (2,)


@pytest.mark.parametrize("rng", [None, np.random.default_rng(1)])
def test_points_are_mended(rng):
    several = planes([[1, 1, 1], [1, -1, 0]], [0.5, -0.1])
    X = several.mend(RNG.random((100, 3)), rng)
    kept = (X.sum(axis=1) <= 0.5) & (X[:, 0] - X[:, 1] <= -0.1 + 1e-12)
    assert kept.mean() > 0.95
    sums = planes([[1, 1, 1]], [1.0], [True]).mend(RNG.random((100, 3)), rng).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)


def test_what_keeps_to_the_rule_is_left_as_it_is():
    X = 0.2 * RNG.random((20, 3))
    np.testing.assert_array_equal(planes([[1, 1, 1]], [1.0]).mend(X), X)


def test_planes_that_exclude_each_other_have_no_anchor():
    assert planes([[1, 1], [-1, -1]], [0.4, -0.6]).anchor(2) is None
    x = planes([[1, 1]], [0.5]).anchor(2)
    assert x is not None
    assert x.sum() <= 0.5


INSIDE = rule_of(lambda x: bool(((x - 0.5) ** 2).sum() < 0.01))


def test_points_of_a_small_region_come_from_each_other():
    cube = replace(Cube.continuous(4), rule=INSIDE)
    X = cube.spread(200, RNG)
    assert len(X) > 100
    assert INSIDE.holds(X).all()
    assert len(set(keys(X))) > 100
    design = cube.design("sobol", 5, RNG)
    assert INSIDE.holds(design).all()
    assert len(set(keys(design))) == 5


def test_nothing_to_try_is_said():
    cube = replace(Cube.continuous(2), rule=Rule(lambda X: np.zeros(len(X), dtype=bool), "`never`"))
    with pytest.raises(NothingToTry, match="keeps to `never`"):
        first_point(cube)
    grid = replace(Cube((Axis((0.1, 0.2)),)), rule=cube.rule)
    with pytest.raises(NothingToTry, match="No setting keeps to `never`"):
        grid.every_point()


def test_a_list_is_all_there_is():
    points = RNG.random((50, 3))
    cube = replace(Cube.continuous(3), listed=points)
    assert cube.countable
    assert cube.size == 50
    known = set(keys(points))
    for X in (cube.spread(20, RNG), cube.design("latin", 7, RNG), cube.untaken(RNG, set())[None]):
        assert set(keys(X)) <= known
        assert len(set(keys(X))) == len(X)
    part = cube.fixed({1: float(points[3, 1])})
    np.testing.assert_array_equal(part.every_point(), points[3:4])
    with pytest.raises(NothingToTry):
        cube.fixed({0: 0.123})


def test_ask_among_points_and_with_given_coordinates():
    X = RNG.random((40, 2))
    optimizer = Optimizer(2, seed=0)
    for _ in range(12):
        x = optimizer.ask(among=X)
        assert (x == X).all(axis=1).any()
        optimizer.tell(x, float(((x - 0.5) ** 2).sum()))
    assert optimizer.best[1] == ((X - 0.5) ** 2).sum(axis=1).min()
    assert optimizer.ask(fixed={0: 0.25})[0] == 0.25


def test_ask_such_that():
    optimizer = Optimizer(2, seed=0, such_that=lambda x: x[0] + x[1] <= 0.5)
    for _ in range(9):
        x = optimizer.ask()
        assert x.sum() <= 0.5
        optimizer.tell(x, float(((x - 0.4) ** 2).sum()))
    assert optimizer.best[1] < 0.05  # 0.045 at (0.25, 0.25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"among": [[0.1, 0.2, 0.3]]}, "must have shape"),
        ({"among": np.empty((0, 2))}, "must have shape"),
        ({"among": [[0.1, 1.2]]}, "unit cube"),
        ({"among": [[0.1, np.nan]]}, "must be finite"),
        ({"among": [[0.9, 0.9]]}, "keeps to `such_that`"),
        ({"fixed": {2: 0.1}}, "by column from 0 to 1"),
        ({"fixed": {0: 1.1}}, "by column from 0 to 1"),
    ],
)
def test_what_cannot_be_asked_for(options, message):
    optimizer = Optimizer(2, seed=0, such_that=lambda x: x[0] + x[1] <= 0.5)
    with pytest.raises(ValueError, match=message):
        optimizer.ask(**options)
