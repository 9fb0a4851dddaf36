"""gest-api's door: a generator with `suggest` and `ingest`."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import calibrant

pytest.importorskip("gest_api", reason="needs pip install gest-api")

from gest_api import Generator
from gest_api.vocs import VOCS, ContinuousVariable

from calibrant.bridges.gest import CalibratedGenerator

BOWL = {"variables": {"x": [0.0, 1.0], "y": [-1.0, 1.0]}, "objectives": {"f": "MINIMIZE"}}


def bowl(point):
    return {**point, "f": (point["x"] - 0.3) ** 2 + (point["y"] - 0.2) ** 2}


def test_it_finds_the_minimum_in_batches_and_its_intervals_are_reviewed():
    generator = CalibratedGenerator(VOCS(**BOWL, constants={"tank": 5}), seed=0)
    assert isinstance(generator, Generator)
    for _ in range(8):
        points = generator.suggest(3)
        assert len({point["_id"] for point in points}) == 3
        assert all(set(point) == {"x", "y", "tank", "_id"} for point in points)
        generator.ingest([bowl(point) for point in reversed(points)])
    generator.finalize()
    assert generator.study.best_value < 1e-3
    assert calibrant.review(generator.study).held.size >= 15


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "doors" / "gest.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```\n(from gest_api.*?)```", page, re.DOTALL)

    def measure(point):
        return {"emittance": point["current"] ** 2 + point["foil"], "losses": 0.01}

    exec(code, {"measure": measure})  # noqa: S102 - our own page
    assert "intervals, promised" in capsys.readouterr().out


def test_every_kind_of_variable_constraint_and_objective():
    vocs = VOCS(
        variables={
            "x": [0.0, 1.0],
            "k": ContinuousVariable(domain=[0.5, 4.5], dtype=int),
            "size": {16, 64, 32},
            "kind": {"b", "a"},
        },
        objectives={"f": "MAXIMIZE", "g": "MINIMIZE"},
        constraints={"c": ["LESS_THAN", 0.5], "d": ["GREATER_THAN", 0.1], "e": ["BOUNDS", 0, 1]},
    )
    generator = CalibratedGenerator(vocs, seed=0)
    for _ in range(7):
        (point,) = generator.suggest(None)
        assert point["k"] in (1, 2, 3, 4)
        assert point["size"] in (16, 32, 64)
        x = point["x"]
        generator.ingest([{**point, "f": np.float64(x), "g": x, "c": x, "d": x, "e": 2.0 * x}])
    distributions = generator.study.trials[0].distributions
    assert distributions["size"].choices == (16, 32, 64)  # a scale, whatever order the set has
    assert distributions["kind"].choices == ("a", "b")
    trial = generator.study.trials[-1]
    x = trial.params["x"]
    assert trial.constraints == pytest.approx(
        {"c": x - 0.5, "d": 0.1 - x, "e at least": -2 * x, "e at most": 2 * x - 1}
    )
    assert [direction.name for direction in generator.study.directions] == ["MAXIMIZE", "MINIMIZE"]


def test_points_from_elsewhere_and_failed_ones():
    generator = CalibratedGenerator(VOCS(**BOWL), seed=0)
    generator.ingest([bowl({"x": 0.25, "y": 0.2}), {"x": 0.5, "y": 0.5, "f": math.nan}])
    (point,) = generator.suggest(1)
    generator.ingest([{**point, "f": math.inf}])
    (point,) = generator.suggest(1)
    generator.ingest([{**bowl(point), "_id": None}])  # known by its values
    states = [trial.state.name for trial in generator.study.trials]
    assert states == ["COMPLETE", "FAIL", "FAIL", "COMPLETE"]
    assert "inf" in generator.study.trials[2].user_attrs["error"]


def test_a_search_is_resumed(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    generator = CalibratedGenerator(VOCS(**BOWL), storage=storage, seed=0)
    (point,) = generator.suggest(1)
    again = CalibratedGenerator(VOCS(**BOWL), storage=storage, seed=0)
    again.ingest([bowl(point)])
    assert again.study.best_params == {"x": point["x"], "y": point["y"]}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"x": 0.5, "y": 0.5}, r"lacks \['f'\]"),
        ({"x": 0.5, "y": 9.0, "f": 1.0}, "`y=9.0`"),
        ({"x": "a", "y": 0.0, "f": 1.0}, "`x='a'`"),
        ({"x": 0.5, "y": 0.5, "f": 1.0, "_id": 7}, "no result yet, but got 7"),
    ],
)
def test_a_bad_result_is_refused_and_none_is_taken(result, words):
    generator = CalibratedGenerator(VOCS(**BOWL), seed=0)
    (point,) = generator.suggest(1)
    with pytest.raises(ValueError, match=words):
        generator.ingest([bowl(point), result])
    assert generator.study.trials[0].state.name == "RUNNING"
    generator.ingest([bowl(point)])
    with pytest.raises(ValueError, match="no result yet"):
        generator.ingest([bowl(point)])


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ({"variables": {"x": [0, 1]}, "objectives": {}}, "needs an objective"),
        ({"variables": {"x": [0, 1]}, "objectives": {"f": "EXPLORE"}}, "is EXPLORE"),
        ({"variables": {"x": "CONTEXTUAL"}, "objectives": {"f": "MINIMIZE"}}, "is contextual"),
        (
            {
                "variables": {"x": ContinuousVariable(domain=[0, 1], dtype=(float, (3,)))},
                "objectives": {"f": "MINIMIZE"},
            },
            "single value",
        ),
        (
            {
                "variables": {"x": ContinuousVariable(domain=[0, math.inf])},
                "objectives": {"f": "MINIMIZE"},
            },
            "must be finite",
        ),
    ],
)
def test_a_problem_that_cannot_be_searched_is_refused(problem, words):
    with pytest.raises(ValueError, match=words):
        CalibratedGenerator(VOCS(**problem))
    with pytest.raises(ValueError, match="num_points"):
        CalibratedGenerator(VOCS(**BOWL)).suggest(0)
