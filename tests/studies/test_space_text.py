"""Search spaces as people write them."""

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.studies.space_text import parse_parameter, parse_space


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        ("lr=1e-5..1e-1:log", FloatDistribution(1e-5, 1e-1, log=True)),
        ("layers=1..8", IntDistribution(1, 8)),
        ("units=8..512:log", IntDistribution(8, 512, log=True)),
        ("drop=0..0.5:0.1", FloatDistribution(0.0, 0.5, step=0.1)),
        ("even=0..10:2", IntDistribution(0, 10, step=2)),
        ("shift=-3.5..-1", FloatDistribution(-3.5, -1.0)),
        ("act=relu,tanh", CategoricalDistribution(["relu", "tanh"])),
        ("batch=16,32,64", CategoricalDistribution([16, 32, 64])),
        ("only=adam", CategoricalDistribution(["adam"])),
        ("model=007,1e5,1.50,1_000", CategoricalDistribution(["007", "1e5", "1.50", "1_000"])),
        ("path=../a,../b", CategoricalDistribution(["../a", "../b"])),
        ("point=3..3", IntDistribution(3, 3)),
        (" weight_decay.first = 0.. 1 ", IntDistribution(0, 1)),
    ],
)
def test_text(text, distribution):
    name, found = parse_parameter(text)
    assert name == text.partition("=")[0].strip()
    assert found == distribution


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lr", "name=values"),
        ("=1..2", "name=values"),
        ("2x=1..2", "name=values"),
        ("lr=5..1", "low <= high"),
        ("lr=0..1:log", "must start above 0"),
        ("lr=-1..1:log", "must start above 0"),
        ("lr=a..b", "not a number"),
        ("lr=0..inf", "not a number"),
        ("lr=nan..1", "not a number"),
        ("lr=0..1:sideways", "not a number"),
        ("lr=0..1:0", "step > 0"),
        ("lr=0..1:-0.1", "step > 0"),
        ("act=", "empty choice"),
        ("act=relu,,tanh", "empty choice"),
        ("act=relu,relu", "must differ"),
        ("act=1.0,1", "1.0 and 1 are equal"),
    ],
)
def test_mistakes_in_text(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_parameter(text)


def test_python_values():
    own = FloatDistribution(0, 1)
    assert parse_space(
        {
            "l": (1e-3, 1.0, "log"),
            "a": (1, 8),
            "b": (0.0, 1),
            "c": ["x", None, True],
            "d": "1e-3..1:log",
            "e": own,
        }
    ) == {
        "l": FloatDistribution(1e-3, 1.0, log=True),
        "a": IntDistribution(1, 8),
        "b": FloatDistribution(0.0, 1.0),
        "c": CategoricalDistribution(["x", None, True]),
        "d": FloatDistribution(1e-3, 1.0, log=True),
        "e": own,
    }


@pytest.mark.parametrize(
    ("space", "kind", "complaint"),
    [
        ({}, ValueError, "space is empty"),
        ({"x": 3}, TypeError, "neither a range nor choices"),
        ({"x": (2.0, 1.0)}, ValueError, "low <= high"),
        ({"x": []}, ValueError, "no choices"),
        ({"x": ()}, ValueError, "no choices"),
        ({"x": [1, "1", True]}, ValueError, "1 and True are equal"),
        ({"x": (0.0, float("inf"))}, ValueError, "finite"),
        ({"x": (0.1, 1.0, "LOG")}, ValueError, "starts like a range"),
        ({"x": (1, 8, 2)}, ValueError, "choices as a list"),
    ],
)
def test_mistakes_in_python_values(space, kind, complaint):
    with pytest.raises(kind, match=complaint):
        parse_space(space)


def test_numbers_of_numpy_are_numbers():
    space = parse_space({"n": (np.int64(1), np.int64(8)), "x": (np.float32(0), np.float32(1))})
    assert space == {"n": IntDistribution(1, 8), "x": FloatDistribution(0.0, 1.0)}
    assert type(space["n"].low) is int
    (choice, _) = parse_space({"n": [np.int64(1), np.int64(2)]})["n"].choices
    assert type(choice) is int


def test_a_tuple_of_one_number_is_one_choice():
    assert parse_space({"n": (5,)}) == {"n": CategoricalDistribution((5,))}
