"""Search spaces as people write them."""

import re

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import calibrant
from calibrant.studies.space import Space
from calibrant.studies.space_text import describe, parse_parameter, parse_space


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
        ("model=007,1e5,1.50,1_000", CategoricalDistribution(["007", "1e5", "1.50", "1_000"])),
        ("path=../a,../b", CategoricalDistribution(["../a", "../b"])),
        ("point=3..3", IntDistribution(3, 3)),
        (" weight_decay.first = 0.. 2 ", IntDistribution(0, 2)),
        ("model=resnet-18,resnet-50", CategoricalDistribution(["resnet-18", "resnet-50"])),
        ("range=1-4,5-8", CategoricalDistribution(["1-4", "5-8"])),
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
        ("lr=0..1:sideways", "ends in `:sideways`"),
        ("lr=1e-4..1e-1:lgo", "ends in `:lgo`; `:log` may be meant"),
        ("lr=0..1:nan", "ends in `:nan`"),
        ("lr=1e-4-1e-1", "`lr=1e-4..1e-1`"),
        ("lr=1e-4:1e-1", "`lr=1e-4..1e-1`"),
        ("lr=1e-4:1e-1:log", "`lr=1e-4..1e-1:log`"),
        ("lr=1e-4...1e-1", "`lr=1e-4..1e-1`"),
        ("n=1 to 8", "`n=1..8`"),
        ("x=[0, 1]", "`x=0..1`"),
        ("x=(-1, 1)", "`x=-1..1`"),
        ("lr=5", "single value, which leaves nothing to choose"),
        ("x=5..", "without one of its ends"),
        ("x=..5", "without one of its ends"),
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


@pytest.mark.parametrize(
    ("text", "distribution", "warning"),
    [
        ("x=0..1", IntDistribution(0, 1), "write `x=0.0..1`"),
        ("x=-1..0", IntDistribution(-1, 0), "write `x=-1.0..0`"),
        ("only=adam", CategoricalDistribution(["adam"]), "will not be searched over"),
        ("n=64,16,32", CategoricalDistribution([64, 16, 32]), "`n=16,32,64`"),
    ],
)
def test_what_may_be_meant_otherwise_is_a_warning(text, distribution, warning):
    with pytest.warns(UserWarning, match=re.escape(warning)):
        assert parse_parameter(text)[1] == distribution


def test_numbers_in_order_are_a_scale_and_other_choices_are_labels():
    space = parse_space(
        {"n": "16,32,64,128", "down": [9, 3, 1], "two": [1, 2], "mixed": [1, 2, "many"],
         "odd": [3, 1, 2], "flag": [True, False], "name": ["a", "b", "c"]}
    )  # fmt: skip
    cube = Space(space).cube
    labels = {name for name, axis in zip(sorted(space), cube.axes, strict=True) if axis.categorical}
    assert labels == {"two", "mixed", "odd", "flag", "name"}
    assert "in this order" in describe(space["n"])
    assert "order" not in describe(space["name"])


def test_a_scale_is_searched_as_one():
    """A label would have to be tried to be known: the nearest of 41 is found in twelve trials."""
    scale = [2.0 ** (k / 4) for k in range(41)]
    study = calibrant.minimize(
        lambda p: abs(np.log2(p["n"]) - 3.7), {"n": scale}, n_trials=12, seed=0
    )
    assert study.best_value < 0.3


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
