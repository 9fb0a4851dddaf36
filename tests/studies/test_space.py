"""Optuna's distributions on the unit cube, and which parameters exist when."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.studies.optuna_private import contains
from calibrant.studies.space import Condition, Space, _coordinate, conditions, union

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


def test_a_value_outside_its_present_range_lies_outside_the_cube():
    space = Space({"x": FloatDistribution(0.0, 2.0), "l": FloatDistribution(1.0, 10.0, log=True)})
    np.testing.assert_allclose(space.row({"x": 7.0, "l": 100.0}), [2.0, 3.5])
    np.testing.assert_allclose(space.row({"x": -1e9, "l": -1.0}), [-10.0, -10.0])


def test_values_that_are_none_are_left_out():
    space = Space({"x": FloatDistribution(0.0, 1.0), "c": CategoricalDistribution(["a", "b"])})
    assert space.to_internal({"x": "abc", "c": "z"}) == {}
    assert space.to_internal({"x": float("nan"), "c": None}) == {}
    assert space.to_internal({"x": 3.0, "c": "a"}) == {"c": 0.0}


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


def test_an_empty_space_is_refused():
    with pytest.raises(ValueError, match="at least one parameter"):
        Space({})


def test_the_last_range_of_a_parameter_counts():
    old, new = FloatDistribution(0, 1), FloatDistribution(0, 5)
    assert union([{"x": old}, {"x": new, "y": old}]) == {"x": new, "y": old}


TREE = {
    "kind": CategoricalDistribution(("a", "b", "c")),
    "depth": IntDistribution(1, 3),
    "width": FloatDistribution(0, 1),
    "deep": FloatDistribution(0, 1),
}


def test_conditions_are_read_off_the_trials():
    trials = [
        {"kind": 0.0, "depth": 1.0},
        {"kind": 0.0, "depth": 3.0, "deep": 0.2},
        {"kind": 1.0, "width": 0.3},
    ]
    found = conditions(TREE, trials)
    assert found["depth"] == Condition("kind", frozenset({0.0, 2.0}))  # 2 was not seen yet
    assert found["width"] == Condition("kind", frozenset({1.0, 2.0}))
    assert found["deep"].parent == "depth"
    space = Space(TREE, found)
    everything = {"kind": 1.0, "depth": 3.0, "width": 0.5, "deep": 0.5}
    assert space.existing(everything) == {"kind": 1.0, "width": 0.5}
    assert space.existing({**everything, "kind": 0.0}) == {"kind": 0.0, "depth": 3.0, "deep": 0.5}


def test_a_parameter_that_comes_and_goes_without_a_reason_is_always_searched():
    trials = [{"kind": 0.0, "width": 0.1}, {"kind": 0.0}]
    assert conditions({k: TREE[k] for k in ("kind", "width")}, trials) == {}


def test_branches_that_two_parameters_decide_about_do_not_explain_each_other():
    yes_no, few = CategoricalDistribution((True, False)), IntDistribution(1, 12)
    space = {"kind": yes_no, "deep": yes_no, "a": few, "a2": few, "b": few}
    trials = [
        {"kind": 0.0, "deep": 0.0, "a": 3.0, "a2": 5.0},
        {"kind": 0.0, "deep": 1.0, "b": 2.0},
        {"kind": 1.0, "deep": 0.0, "b": 7.0},
        {"kind": 1.0, "deep": 1.0, "b": 9.0},
    ]
    assert conditions(space, trials) == {}


def test_a_long_list_explains_nothing_until_its_values_come_again():
    space = {"k": IntDistribution(1, 200), "y": FloatDistribution(0.0, 1.0)}
    trials = [{"k": float(k), "y": 0.5} if k > 9 else {"k": float(k)} for k in range(1, 31)]
    assert conditions(space, trials) == {}
    assert conditions(space, [*trials, *trials])["y"].parent == "k"


def test_points_that_differ_only_in_what_does_not_exist_are_the_same():
    found = conditions(
        TREE,
        [
            {"kind": 0.0, "depth": 1.0},
            {"kind": 0.0, "depth": 3.0, "deep": 0.2},
            {"kind": 1.0, "width": 0.3},
        ],
    )
    space = Space(TREE, found)
    rng = np.random.default_rng(0)
    points = space.cube.snap(rng.random((300, 4)))
    for point in points:
        # one by one and all at once they say the same
        np.testing.assert_allclose(space.row(space.internal(point)), point, atol=1e-12)
    np.testing.assert_array_equal(space.cube.snap(points.copy()), points)


def test_a_point_that_would_be_a_past_trial_again_is_that_trial():
    few = IntDistribution(1, 4)
    everything = {"gate": few, "other": few, "a": few, "b": few}
    trials = [
        {},  # says nothing about any point
        {"gate": 1.0, "other": 1.0, "a": 2.0},  # b was not known then: it may be new
        {"gate": 1.0, "other": 2.0, "b": 3.0},
    ]
    space = Space(everything, {}, trials)
    again = space.row({"gate": 1.0, "other": 2.0, "a": 4.0, "b": 3.0})
    new = space.row({"gate": 1.0, "other": 1.0, "a": 2.0, "b": 4.0})
    snapped = space.cube.snap(np.array([again, new]))
    np.testing.assert_array_equal(snapped[0], space.row(trials[2]))
    np.testing.assert_array_equal(snapped[1], new)


def test_a_condition_on_a_parameter_outside_the_space_is_no_condition():
    space = Space(
        {"width": TREE["width"]}, conditions({"width": TREE["width"]}, [{}, {"width": 1}])
    )
    assert space.conditions == {}


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
    value = _coordinate(distribution).from_unit(u)
    assert contains(distribution, value)
    assert distribution.low <= distribution.to_external_repr(value) <= distribution.high
