"""Which parameters exist when, as trials tell."""

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.studies.conditions import Condition, conditions
from calibrant.studies.space import Space

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


def test_a_condition_on_a_parameter_outside_the_space_is_no_condition():
    space = Space(
        {"width": TREE["width"]}, conditions({"width": TREE["width"]}, [{}, {"width": 1}])
    )
    assert space.conditions == {}
