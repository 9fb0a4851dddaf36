"""Optuna's distributions on [0, 1]."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.studies.coordinates import coordinate_of, is_value, union
from calibrant.studies.optuna_private import contains
from calibrant.studies.space import Space

DISTRIBUTIONS = {
    "float": FloatDistribution(-3.0, 5.0),
    "log": FloatDistribution(1e-7, 10.0, log=True),
    "step": FloatDistribution(-10.2, 10.2, step=0.1),
    "int": IntDistribution(-10, 10),
    "int step": IntDistribution(0, 9, step=3),
    "log int": IntDistribution(1, 100, log=True),
    "many": IntDistribution(0, 10**9),
    "many log": IntDistribution(1, 10**6, log=True),
    "many steps": FloatDistribution(0.0, 100.0, step=0.01),
    "category": CategoricalDistribution(("a", 3, None)),
    "huge": FloatDistribution(-1.7e308, 1.7e308),
    "tiny": FloatDistribution(0.0, 1e-300),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@given(u=st.floats(0.0, 1.0))
@example(u=0.5339631495940497)  # between 9 and 10 of "log int": nearer to one, in the logarithm
@example(u=1 / 3)  # just between −4 and −3 of "int"
def test_every_point_of_the_cube_is_an_allowed_value_and_comes_back(name, u):
    space = Space({name: DISTRIBUTIONS[name]})
    params = space.internal(np.array([u]))
    assert DISTRIBUTIONS[name]._contains(params[name])
    row = space.row(params)
    np.testing.assert_allclose(space.internal(row)[name], params[name], rtol=1e-9, atol=1e-12)
    # What the search rounds to is where the value lies; just between two values, where rounding
    # of the last digit decides, it is where that of a point right beside it lies.
    beside = space.cube.snap(np.array([[u - 1e-12], [u], [u + 1e-12]]))
    assert np.isclose(beside, row, rtol=1e-7, atol=1e-9).any()


@pytest.mark.parametrize("name", ["int", "int step", "category", "step"])
def test_listed_values_are_equally_likely(name):
    space = Space({name: DISTRIBUTIONS[name]})
    u = (np.arange(20_000) + 0.5) / 20_000
    values, counts = np.unique(
        [space.internal(np.array([x]))[name] for x in u[::10]], return_counts=True
    )
    assert len(values) == len(space.cube.axes[0].values)
    assert counts.max() - counts.min() <= 2


def test_parameters_have_the_types_of_their_distribution():
    space = Space(DISTRIBUTIONS)
    external = space.external(space.internal(np.full(space.cube.dim, 0.4)))
    assert type(external["int"]) is int
    assert type(external["float"]) is float
    assert external["category"] in ("a", 3, None)


def test_single_valued_parameters_have_no_coordinate():
    space = Space({"one": IntDistribution(2, 2), "x": FloatDistribution(0, 1)})
    assert list(space.coordinates) == ["x"]


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(1 / 3, 1 / 3 + 1.6, step=0.1),
        IntDistribution(10**15 + 1, 10**15 + 100),
        IntDistribution(-(2**53), 2**53),
    ],
)
def test_every_value_of_a_stepped_range_is_one_of_it(distribution):
    space = Space({"x": distribution})
    for u in np.linspace(0.0, 1.0, 101):
        assert distribution._contains(space.internal(np.array([u]))["x"])
    assert space.internal(np.zeros(1))["x"] == distribution.low


def test_large_integers_are_told_apart():
    space = Space({"microseconds": IntDistribution(17 * 10**14, 17 * 10**14 + 50)})
    reached = {space.internal(np.array([u]))["microseconds"] for u in np.linspace(0.0, 1.0, 1001)}
    assert reached == {17e14 + k for k in range(51)}


def test_steps_are_written_as_people_write_them():
    space = Space({"x": FloatDistribution(0.0, 1.0, step=0.1)})
    values = [space.internal(np.array([u]))["x"] for u in (0.05, 0.3, 0.65)]
    assert [str(value) for value in values] == ["0.0", "0.3", "0.7"]


def test_a_range_without_room_has_no_coordinate():
    narrow = FloatDistribution(1e10, np.nextafter(1e10, np.inf), log=True)
    assert list(Space({"n": narrow, "x": FloatDistribution(0, 1)}).coordinates) == ["x"]


def test_the_last_range_of_a_parameter_counts():
    old, new = FloatDistribution(0, 1), FloatDistribution(0, 5)
    assert union([{"x": old}, {"x": new, "y": old}]) == {"x": new, "y": old}


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(0, 1, step=1e-9),
        FloatDistribution(-3, 1e6, step=1e-3),
        IntDistribution(2**53 + 1, 2**53 + 9),
        IntDistribution(2**60 + 1, 2**62 + 3),
        IntDistribution(2**53 + 1, 2**60 + 1, log=True),
    ],
)
@given(u=st.floats(0, 1))
def test_many_steps_and_large_integers_stay_within_their_distribution(distribution, u):
    value = coordinate_of(distribution).from_unit(u)
    assert contains(distribution, value)
    assert distribution.low <= distribution.to_external_repr(value) <= distribution.high


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("float", 5.0, True),
        ("float", 5.1, False),
        ("step", 0.3, True),
        ("step", 0.35, False),
        ("category", None, True),
        ("category", "b", False),
        ("int", "a word", False),
        ("int", None, False),
        ("float", [1.0], False),
    ],
)
def test_what_a_parameter_may_be(name, value, is_one):
    assert is_value(DISTRIBUTIONS[name], value) is is_one
