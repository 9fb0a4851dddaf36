"""The unit cube: allowed points, designs, neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core import Axis, Cube
from calibrant.core.cube import Design, as_cube, keys


def listed(count, categorical=False):
    return Axis(tuple((i + 0.5) / count for i in range(count)), categorical)


def round_to_thousandths(u):
    return np.round(u, 3)


REAL, INTEGERS, LABELS = Axis(), listed(7), listed(3, categorical=True)
UNEVEN = Axis((0.0, 0.1, 0.15, 0.9))
MANY = listed(200)
RNG = np.random.default_rng(0)
ROUNDED = Axis(rounding=round_to_thousandths)
SINGLE = Axis((0.3,))
MIXED = Cube((REAL, INTEGERS, LABELS, UNEVEN, ROUNDED, SINGLE))

axes = st.lists(
    st.sampled_from([REAL, INTEGERS, LABELS, UNEVEN, MANY, ROUNDED, SINGLE]), min_size=1, max_size=5
)


def check_allowed(cube, X):
    assert X.ndim == 2
    assert X.shape[1] == cube.dim
    assert np.all((X >= 0.0) & (X <= 1.0))
    for column, axis in zip(X.T, cube.axes, strict=True):
        if axis.values:
            assert set(column) <= set(axis.values)
        if axis.rounding is not None:
            np.testing.assert_array_equal(axis.rounding(column), column)


@given(axes, st.lists(st.floats(-0.5, 1.5), min_size=5, max_size=5))
def test_snapping_lands_on_allowed_points_and_stays_there(axes, coordinates):
    cube = Cube(tuple(axes))
    x = np.array([coordinates[: cube.dim]])
    snapped = cube.snap(x)
    check_allowed(cube, snapped)
    np.testing.assert_array_equal(cube.snap(snapped), snapped)


@given(st.floats(-0.5, 1.5))
def test_snapping_finds_the_nearest_value(u):
    for axis in (INTEGERS, LABELS, UNEVEN, MANY):
        (snapped,) = Cube((axis,)).snap(np.array([[u]]))[0]
        distance = np.abs(np.array(axis.values) - np.clip(u, 0, 1))
        np.testing.assert_allclose(abs(snapped - np.clip(u, 0, 1)), distance.min(), atol=1e-15)


def test_snapping_leaves_what_it_was_given_alone():
    X = np.full((2, MIXED.dim), 0.77)
    MIXED.snap(X)
    np.testing.assert_array_equal(X, 0.77)


def test_every_value_of_a_list_is_equally_likely_under_a_uniform_draw():
    X = Cube((INTEGERS, LABELS)).snap(np.random.default_rng(0).random((7000, 2)))
    for column, count in zip(X.T, (7, 3), strict=True):
        _, counts = np.unique(column, return_counts=True)
        assert counts.size == count
        assert np.all(np.abs(counts - 7000 / count) < 5 * np.sqrt(7000 / count))


def test_what_a_cube_knows_about_itself():
    assert MIXED.dim == 6
    np.testing.assert_array_equal(MIXED.free, [0, 4])
    assert MIXED.categorical == (2,)
    assert MIXED.size == np.inf
    finite = Cube((INTEGERS, LABELS, UNEVEN))
    assert finite.size == 7 * 3 * 4
    assert finite.free.size == 0
    assert Cube.continuous(3).axes == (Axis(),) * 3


def test_every_point_of_a_finite_cube_comes_once():
    finite = Cube((INTEGERS, LABELS, UNEVEN))
    points = finite.every_point()
    check_allowed(finite, points)
    assert len(set(keys(points))) == len(points) == finite.size


@pytest.mark.parametrize("kind", list(Design), ids=str)
@pytest.mark.parametrize("count", [0, 1, 5, 16, 23])
@pytest.mark.parametrize("cube", [Cube.continuous(3), MIXED], ids=["continuous", "mixed"])
def test_designs_have_the_size_asked_for(kind, count, cube):
    X = cube.design(kind, count, np.random.default_rng(0))
    assert X.shape == (count, cube.dim)
    check_allowed(cube, X)


def test_spread_points_are_allowed_and_depend_on_the_seed():
    X = MIXED.spread(100, np.random.default_rng(0))
    check_allowed(MIXED, X)
    assert not np.array_equal(X, MIXED.spread(100, np.random.default_rng(1)))


def test_neighbours_differ_in_exactly_one_listed_coordinate():
    cube = Cube((REAL, INTEGERS, LABELS, MANY, ROUNDED, SINGLE))
    for x in cube.spread(10, np.random.default_rng(0)):
        neighbours = cube.neighbours(x, RNG)
        check_allowed(cube, neighbours)
        differs = neighbours != x
        np.testing.assert_array_equal(differs.sum(axis=1), 1)
        assert not differs[:, cube.free].any()
        assert len(set(keys(neighbours))) == len(neighbours)


def test_neighbours_are_all_labels_and_all_of_a_few_values():
    cube = Cube((INTEGERS, listed(30, categorical=True)))
    neighbours = cube.neighbours(cube.snap(np.array([[0.5, 0.5]]))[0], RNG)
    assert len(neighbours) == 6 + 29


def test_of_a_great_many_labels_some_are_neighbours():
    count = 20_000
    labels = Axis(tuple(((np.arange(count) + 0.5) / count).tolist()), categorical=True)
    neighbours = Cube((labels,)).neighbours(np.array([labels.values[7]]), RNG)
    assert len(set(keys(neighbours))) == 500
    assert labels.values[7] not in neighbours
    assert neighbours.min() < 0.01
    assert neighbours.max() > 0.99


def test_neighbours_among_many_values_are_near_and_ever_further():
    x = np.array([MANY.values[70]])
    steps = np.rint(Cube((MANY,)).neighbours(x, RNG)[:, 0] * 200 - 0.5).astype(int) - 70
    up, down = np.sort(steps[steps > 0]), np.sort(-steps[steps < 0])
    np.testing.assert_array_equal(up, [1, 2, 4, 8, 16, 32, 64, 128])
    np.testing.assert_array_equal(down, [1, 2, 4, 8, 16, 32, 64])


def test_a_continuous_cube_has_no_neighbours():
    assert Cube.continuous(3).neighbours(np.full(3, 0.5), RNG).shape == (0, 3)


def test_keys_tell_points_apart_to_nine_digits():
    one, same, other, zero, minus = keys(
        np.array([[0.1, 0.2], [0.1 + 1e-11, 0.2], [0.1 + 1e-8, 0.2], [0.0, 0.0], [-0.0, 0.0]])
    )
    assert one == same != other
    assert zero == minus


def test_a_cube_from_its_dimension_or_its_axes():
    assert as_cube(2) == Cube.continuous(2)
    assert as_cube(np.int64(2)) == Cube.continuous(2)
    assert as_cube([REAL, LABELS]) == Cube((REAL, LABELS))
    assert as_cube(MIXED) is MIXED


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Cube(()), "at least one parameter"),
        (lambda: as_cube([]), "at least one parameter"),
        (lambda: as_cube(0), "`dim >= 1` must hold, but got dim=0"),
        (lambda: as_cube(-2), "`dim >= 1` must hold, but got dim=-2"),
        (lambda: MIXED.design("grid", 3, np.random.default_rng(0)), "`design` must be one of"),
    ],
)
def test_bad_cubes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("values", [(16.0, 32.0), (0.9, 0.1, 0.5), (0.1, 0.1), (np.nan,)])
def test_values_of_an_axis_are_increasing_places_in_the_unit_interval(values):
    with pytest.raises(ValueError, match=r"increasing and lie in \[0, 1\]"):
        Axis(values)


def test_a_part_around_a_point_holds_its_points_only():
    cube = Cube((Axis(), Axis(), Axis((0.0, 0.5, 1.0)), Axis((0.25, 0.75), categorical=True)))
    part = cube.around(np.array([0.9, 0.3, 0.5, 0.25]), 0.2)
    rng = np.random.default_rng(0)
    for points in (part.spread(500, rng), part.design("latin", 500, rng)):
        assert points[:, 0].min() >= 0.7
        assert points[:, 0].max() <= 1.0
        assert points[:, 1].min() >= 0.1
        assert points[:, 1].max() <= 0.5
        assert np.ptp(points[:, 0]) > 0.25
        assert np.ptp(points[:, 1]) > 0.35
        assert set(points[:, 2]) == {0.0, 0.5, 1.0}  # what is listed has no distance
        assert set(points[:, 3]) == {0.25, 0.75}
    np.testing.assert_allclose(part.snap(np.array([[0.0, 1.0, 0.4, 0.3]])), [[0.7, 0.5, 0.5, 0.25]])
