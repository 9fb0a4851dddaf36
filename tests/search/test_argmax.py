"""The search for the largest criterion, against known maxima and exhaustive search."""

import numpy as np
import pytest

from calibrant.core import Axis, Cube
from calibrant.core.cube import keys
from calibrant.search.argmax import argmax


def listed(count, categorical=False):
    return Axis(tuple((i + 0.5) / count for i in range(count)), categorical)


def rounded_to(count):
    return Axis(rounding=lambda u: np.round(u * count) / count)


REAL = Axis()
NOTHING = frozenset()


def search(criterion, cube, seed=0, near=None, taken=NOTHING):
    near = np.empty((0, cube.dim)) if near is None else np.asarray(near, dtype=float)
    return argmax(criterion, cube, np.random.default_rng(seed), near, taken)


def without_gradient(criterion):
    return lambda X: (criterion(X)[0], None)


def bump(centre, width=0.3):
    """A smooth hill; its derivative by a label does not matter, as labels do not move."""
    centre = np.asarray(centre)

    def criterion(X):
        value = -(((X - centre) / width) ** 2).sum(axis=1)
        return value, lambda: -2.0 * (X - centre) / width**2

    return criterion


def two_hills(X):
    """A broad hill of height 1, and a narrow one of height 2 that is the maximum."""
    broad, narrow = np.full(X.shape[1], 0.75), np.full(X.shape[1], 0.2)
    low = np.exp(-((X - broad) ** 2).sum(axis=1) / 0.2)
    high = 2.0 * np.exp(-((X - narrow) ** 2).sum(axis=1) / 0.01)

    def gradient():
        return -2 * (X - broad) / 0.2 * low[:, None] - 2 * (X - narrow) / 0.01 * high[:, None]

    return low + high, gradient


def check_allowed(cube, x):
    assert x.shape == (cube.dim,)
    np.testing.assert_array_equal(cube.snap(x[None])[0], x)


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_smooth_hill_is_climbed(dim, seed):
    centre = np.random.default_rng(seed).uniform(0.1, 0.9, dim)
    x = search(bump(centre), Cube.continuous(dim), seed)
    np.testing.assert_allclose(x, centre, atol=1e-3)


def test_a_maximum_outside_is_found_at_the_border():
    x = search(bump([1.4, -0.3, 0.6]), Cube.continuous(3))
    np.testing.assert_allclose(x, [1.0, 0.0, 0.6], atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_higher_of_two_hills_is_found(seed):
    x = search(two_hills, Cube.continuous(2), seed)
    np.testing.assert_allclose(x, 0.2, atol=0.01)


def test_a_needle_is_found_near_a_point_worth_looking_around():
    """In six dimensions screening alone would miss it."""
    centre = np.full(6, 0.37)
    needle = bump(centre, width=0.02)

    def criterion(X):
        value, gradient = needle(X)
        height = np.exp(np.maximum(value, -700.0))
        return height, lambda: gradient() * height[:, None]

    x = search(criterion, Cube.continuous(6), near=[centre + 0.03])
    np.testing.assert_allclose(x, centre, atol=1e-3)


@pytest.mark.parametrize("dim", [1, 3])
def test_without_a_gradient_the_neighbourhood_is_found(dim):
    centre = np.linspace(0.3, 0.6, dim)
    x = search(without_gradient(bump(centre)), Cube.continuous(dim))
    np.testing.assert_allclose(x, centre, atol=0.02)


@pytest.mark.parametrize("with_gradient", [True, False], ids=["gradient", "no gradient"])
def test_a_small_finite_cube_is_searched_through(with_gradient):
    cube = Cube((listed(9), listed(4, categorical=True), listed(30)))
    table = np.random.default_rng(0).standard_normal((9, 4, 30))

    def criterion(X):
        index = np.floor(X * [9, 4, 30]).astype(int)
        return table[tuple(index.T)], (lambda: np.zeros_like(X)) if with_gradient else None

    points = cube.every_point()
    values = criterion(points)[0]
    order = np.argsort(-values)
    taken = set()
    for place in order[:25]:  # the best of what is left, each time
        x = search(criterion, cube, taken=taken)
        np.testing.assert_array_equal(x, points[place])
        taken.update(keys(x[None]))


def test_a_large_finite_cube_is_climbed_along_its_coordinates():
    cube = Cube((listed(100), listed(50), listed(5, categorical=True)))
    points = cube.every_point()
    for seed in range(5):
        centre = np.random.default_rng(seed).random(3)
        criterion = bump(centre)
        best = points[np.argmax(criterion(points)[0])]
        np.testing.assert_array_equal(search(criterion, cube, seed), best)


def mixed_criterion(X):
    """A hill whose place in the first coordinate depends on a label and an integer."""
    label, integer = np.floor(X[:, 1] * 4), np.floor(X[:, 2] * 12)
    place = 0.15 + 0.2 * label
    bonus = np.array([0.0, 0.4, 1.0, 0.2])[label.astype(int)] - 0.02 * (integer - 8) ** 2
    value = bonus - 4.0 * (X[:, 0] - place) ** 2

    def gradient():
        by = np.zeros_like(X)
        by[:, 0] = -8.0 * (X[:, 0] - place)
        return by

    return value, gradient


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("first", [REAL, rounded_to(1000)], ids=["real", "rounded"])
@pytest.mark.parametrize("with_gradient", [True, False], ids=["gradient", "no gradient"])
def test_a_mixed_cube_is_searched_in_all_its_coordinates(seed, first, with_gradient):
    cube = Cube((first, listed(4, categorical=True), listed(12)))
    criterion = mixed_criterion if with_gradient else without_gradient(mixed_criterion)
    x = search(criterion, cube, seed)
    check_allowed(cube, x)
    grid = Cube((listed(1000), *cube.axes[1:])).every_point()
    best = grid[np.argmax(mixed_criterion(grid)[0])]
    np.testing.assert_array_equal(x[1:], best[1:])
    np.testing.assert_allclose(x[0], best[0], atol=0.002 if with_gradient else 0.02)


def test_the_same_seed_finds_the_same_point():
    cube = Cube((REAL, listed(4, categorical=True), listed(12)))
    np.testing.assert_array_equal(
        search(mixed_criterion, cube, 3), search(mixed_criterion, cube, 3)
    )


CUBES = {
    "real": Cube.continuous(1),
    "reals": Cube.continuous(3),
    "mixed": Cube((REAL, listed(3, categorical=True))),
    "rounded": Cube((rounded_to(300),)),
    "rounded and few": Cube((rounded_to(3), listed(4))),
    "finite": Cube((listed(5), listed(5))),
    "large": Cube((listed(100), listed(100))),
}


@pytest.fixture(params=CUBES, ids=str)
def cube(request):
    return CUBES[request.param]


@pytest.fixture(params=[True, False], ids=["gradient", "no gradient"])
def corner(request):
    """A criterion with its maximum in a corner of the cube, where rounding meets."""

    def criterion(X):
        return -X.sum(axis=1), (lambda: -np.ones_like(X)) if request.param else None

    return criterion


def test_no_point_is_returned_twice(cube, corner):
    best = cube.snap(np.zeros((1, cube.dim)))
    seen = list(best)
    for seed in range(6):
        x = search(corner, cube, seed, near=seen[:4], taken=set(keys(np.array(seen))))
        check_allowed(cube, x)
        assert keys(x[None])[0] not in set(keys(np.array(seen)))
        seen.append(x)


def test_no_point_is_returned_twice_at_the_top_of_a_hill():
    top = np.array([[0.3, 0.6]])
    for seed in range(5):
        x = search(bump(top[0]), Cube.continuous(2), seed, near=top, taken=set(keys(top)))
        assert keys(x[None]) != keys(top)
        assert np.abs(x - top).max() < 0.1


@pytest.mark.parametrize(
    "cube",
    [
        Cube((listed(3), listed(2, categorical=True))),
        Cube((rounded_to(4),)),
        Cube((rounded_to(2), listed(2))),
    ],
    ids=["finite", "rounded", "both"],
)
def test_when_all_points_are_taken_one_of_them_is_returned(cube, corner):
    taken = set(keys(cube.spread(400, np.random.default_rng(0))))
    check_allowed(cube, search(corner, cube, taken=taken))


def test_a_flat_criterion_still_has_an_answer():
    def flat(X):
        return np.zeros(len(X)), lambda: np.zeros_like(X)

    for cube in CUBES.values():
        check_allowed(cube, search(flat, cube))


def test_a_criterion_of_minus_infinity_still_has_an_answer():
    def nowhere(X):
        return np.full(len(X), -np.inf), None

    for cube in CUBES.values():
        check_allowed(cube, search(nowhere, cube))
