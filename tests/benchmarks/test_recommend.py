"""The benchmarks of recommendations and promises: known optima, and what their tables count."""

import numpy as np
import pytest
from benchmarks.decisions import constrained, feasibility, forecast, recommend, recommend_page
from benchmarks.decisions.constrained import CHOSEN_ON, JUDGED_ON, LANDSCAPES, PROBLEMS, problem
from benchmarks.peers.suite import HELD_OUT


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("gramacy", {"a": 0.1954, "b": 0.4044}),
        ("pressure vessel", {"shell": 13, "head": 7, "radius": 42.09844, "length": 176.6368}),
        ("tension spring", {"wire": 0.05168906, "coil": 0.3567178, "turns": 11.28896}),
        ("three bars", {"outer": 0.788675, "inner": 0.408248}),
        (
            "welded beam",
            {"weld": 0.205730, "joint": 3.470489, "height": 9.036624, "width": 0.20573},
        ),
        ("townsend", {"a": 2.0052938, "b": 1.1944509}),
        ("rosenbrock below a line", {"a": 1.0, "b": 1.0}),
    ],
)
def test_problems_of_the_literature_have_their_known_optimum(name, where):
    value, limits = PROBLEMS[name].evaluate(where)
    assert value == pytest.approx(PROBLEMS[name].minimum, rel=1e-4, abs=1e-9)
    assert max(limits.values()) < 1e-4


def test_landscapes_are_the_same_every_time_and_can_be_met():
    for name in LANDSCAPES:
        known = problem(name)
        rng = np.random.default_rng(0)
        found = [known.evaluate(feasibility.random_setting(name, rng)) for _ in range(300)]
        met = np.array([max(limits.values()) <= 0.0 for _, limits in found])
        assert 0.05 < met.mean() < 0.95
        value, limits = constrained.landscape.__wrapped__(LANDSCAPES.index(name)).evaluate(
            dict.fromkeys(known.space, 0.5)
        )
        assert (value, limits) == known.evaluate(dict.fromkeys(known.space, 0.5))
    assert not set(JUDGED_ON) & {*CHOSEN_ON, *LANDSCAPES}


def record(**changes):
    return {
        "task": "eggholder", "noise": "0.5", "seed": 0, "std": 2.0, "noise_std": 1.0,
        "by": "posterior", "true": 3.0, "true_of_best": 4.0, "true_of_posterior": 5.0,
        "lowest": 2.0, "stated": 2.5, "best_value": 1.0, "held": True, "expected_loss": 1.0,
        "probabilities": [0.5, 0.08], "is_best": [True, False], "repeat": [5, 0.2, 0.4], **changes,
    }  # fmt: skip


def test_recommendations_are_judged_on_other_tasks_than_they_were_chosen_on():
    assert not set(recommend.CHOSEN_ON) & {*recommend.FUNCTIONS, *HELD_OUT}
    assert set(recommend.FUNCTIONS) <= set(HELD_OUT)


def test_rows_of_recommendations():
    row = recommend_page._value_row("0.5", [record(), record()])
    assert row == [
        "0.5", "2", "-0.500 (-0.500 to -0.500)", "2 / 0", "+0.500 (+0.500 to +0.500)", "0 / 2",
        "–", "–", "–", "–",
    ]  # fmt: skip
    row = recommend_page._bias_row("0.5", [record()])
    assert row[1:3] == ["-0.50 (-0.50 to -0.50)", "-3.00 (-3.00 to -3.00)"]
    assert row[3:] == ["–", "–", "0.500", "0.500"]
    asked = record(true_of_ax=6.0, stated_by_ax=5.0)
    assert recommend_page._value_row("0.5", [asked])[6:] == [
        "–", "–", "+1.000 (+1.000 to +1.000)", "0 / 1",
    ]  # fmt: skip
    assert recommend_page._bias_row("0.5", [asked])[3:5] == ["–", "-1.00 (-1.00 to -1.00)"]
    assert "missed at noise 0.5" in recommend_page._goals([record()])[0]
    assert "reached" in recommend_page._goals([record()])[1]
    assert "| 40% to 100% | 1 | 50% | 100%" in recommend_page._chances([record()])
    assert "improved by 0.200" in recommend_page._repeats([record()])[0]


def test_old_and_new_answers_are_compared_on_the_same_searches():
    old = [record(held=False), record(seed=1), record(seed=2)]
    text = "\n".join(recommend_page._changed(old, [record(), record(seed=1)]))
    assert "| 0.5 | 2 | 50% (0% to 100%) | 100% (100% to 100%) |" in text
    assert "2 of the 3 held-out searches" in text


def test_rows_of_promises_count_those_that_could_be_made():
    one = {
        "system": "calibrated 0.9", "problem": "gramacy", "noise": 0.0, "seed": 0,
        "promised": [0.95, 0.92, 0.4], "met": "0110", "truly": "0100", "regret": 0.25,
    }  # fmt: skip
    row = feasibility._row("calibrated 0.9", 0.0, [one, {**one, "regret": None}])
    assert row[:4] == ["calibrated 0.9", "2", "4", "94%"]
    assert row[4].startswith("100%")
    assert row[5].startswith("50%")
    assert row[6:] == ["100%", "0.250", "1"]
    assert feasibility._row("raw 0.9", 0.0, [one]) is None
    assert feasibility._verdict([one]).endswith("reached.")
    broken = feasibility._verdict([{**one, "met": "0000"}])
    assert broken.endswith("missed at 90% without noise (0%; 0% of each).")
    tpe = {**one, "system": "optuna-tpe", "promised": []}
    assert feasibility._row("optuna-tpe", 0.0, [tpe])[3] == "–"


@pytest.mark.slow
def test_searches_run_and_are_kept_whole():
    kept = recommend.execute("eggholder", "0.2", 0)
    assert kept["lowest"] <= kept["true"]
    assert set(kept["forecasts"]) == set(forecast.PLACES)
    asked = recommend.again(kept)  # from settings rounded to five digits
    assert asked["true"] == pytest.approx(kept["true"], rel=1e-3)
    assert asked["stated"] == pytest.approx(kept["stated"], rel=0.05)
    assert not {"X", "y"} & asked.keys()
    kept = feasibility.execute("calibrated 0.9", "gramacy", 0.0, 0)
    assert len(kept["met"]) == feasibility.TRIALS - feasibility.FIRST
