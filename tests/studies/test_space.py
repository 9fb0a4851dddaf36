"""Search spaces as unit cubes."""

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.studies.space import Space


def test_a_value_outside_its_present_range_lies_outside_the_cube():
    space = Space({"x": FloatDistribution(0.0, 2.0), "l": FloatDistribution(1.0, 10.0, log=True)})
    np.testing.assert_allclose(space.row({"x": 7.0, "l": 100.0}), [2.0, 3.5])
    np.testing.assert_allclose(space.row({"x": -1e9, "l": -1.0}), [-10.0, -10.0])


def test_values_that_are_none_are_left_out():
    space = Space({"x": FloatDistribution(0.0, 1.0), "c": CategoricalDistribution(["a", "b"])})
    assert space.to_internal({"x": "abc", "c": "z"}) == {}
    assert space.to_internal({"x": float("nan"), "c": None}) == {}
    assert space.to_internal({"x": 3.0, "c": "a"}) == {"c": 0.0}


def test_an_empty_space_is_refused():
    with pytest.raises(ValueError, match="at least one parameter"):
        Space({})


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
