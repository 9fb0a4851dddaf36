"""The benchmark of decisions: what is learned, and what counts as a wrong stop."""

import numpy as np
import optuna
import pytest
from benchmarks.decisions import (
    beating,
    choosing,
    kinds,
    learning,
    outlook,
    pruning,
    pruning_live,
    stopping,
    suggestions,
)
from benchmarks.decisions.learning import Curve, States
from benchmarks.peers.suite import HELD_OUT

from calibrant import CalibratedSampler, review
from calibrant import outlook as calibrant_outlook
from calibrant.decisions.beating import TABLE
from calibrant.decisions.gains import FAR, STOP_BELOW, TERMS, exceedance
from calibrant.decisions.outlook import LATELY
from calibrant.decisions.progress import FEATURES, Progress, progress


def test_the_fit_has_no_part_in_the_tail_that_is_set_by_hand():
    assert learning.GAINS.max() <= FAR


def test_a_law_of_the_right_form_is_found_again():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, len(FEATURES)))
    table = np.zeros((1 + len(FEATURES), 2 + 2 * TERMS))
    table[:, 1] = 1.0
    table[0, 2 : 2 + TERMS] = (-1.0, 0.3, 0.5, -0.5, -1.0, 0.5)
    table[3, 2] = -1.0  # the longer since the best, the less
    table[3, 4] = 0.5  # but what comes then is larger
    table[3, 2 + TERMS] = 0.3  # though ever more slowly
    above = np.array(
        [exceedance(_at(row), learning.TRIALS, learning.GAINS, table) for row in features]
    )
    # One uniform number per state and horizon: gains that exceed with these probabilities.
    level = rng.random((4000, learning.TRIALS.size, 1))
    count = (level < above).sum(axis=2)
    between = np.array([-1.0, 0.001, 0.005, 0.02, 0.05, 0.2, 0.5, 2.0])
    tasks = rng.integers(0, 20, 4000).astype(str)
    found = learning.fit(States(features, between[count], tasks, np.ones(4000, dtype=bool)))
    new = _at(rng.normal(size=len(FEATURES)))
    stated, true = (exceedance(new, [5, 20], [0.0, 0.1], each) for each in (found, table))
    np.testing.assert_allclose(stated, true, atol=0.05)


def _at(features):
    return Progress(0.0, 1.0, features, chosen=True)


def test_no_held_out_task_is_learned_from():
    assert not {curve.task for curve in learning.curves()} & set(HELD_OUT)


def test_kinds_are_the_same_every_time_and_finite():
    rng = np.random.default_rng(0)
    for number in range(9):
        task = kinds.task(number)
        settings = task.first(3, 0)
        values = [task.evaluate(s, rng).mean for s in settings]
        kinds.task.cache_clear()
        again = [kinds.task(number).evaluate(s, rng).mean for s in settings]
        assert values == again
        assert np.isfinite(values).all()


def test_a_stop_is_wrong_if_an_improvement_would_have_come():
    flat = Curve("any", "flat", np.array([3.0, 1.0, 2.0, 4.0] * 10), 2)
    late = Curve("any", "late", np.array([*[3.0, 1.0, 2.0, 4.0] * 4, *[-9.0] * 24]), 2)
    never = stopping.follow([flat, late], lambda now, y, ahead: False, 10)
    assert [s.wrong for s in never] == [None, None]
    always = stopping.follow([flat, late], lambda now, y, ahead: True, 10)
    assert [s.wrong for s in always] == [False, True]
    assert [s.saved for s in always] == [0.75, 0.75]
    assert always[1].regret > 1.0
    oracle = stopping.follow([flat, late], None, 10)
    assert [s.wrong for s in oracle] == [False, False]
    assert oracle[1].saved < always[1].saved
    now = progress(flat.y, 2)
    assert stopping.patience(10)(now, flat, 10)
    assert not stopping.patience(10)(now, flat._replace(y=flat.y[:5]), 10)


def test_the_rule_that_is_judged_is_the_one_that_stops_studies():
    rng = np.random.default_rng(0)
    y = np.array([*rng.random(9), *(0.5 + rng.random(20))])
    study = optuna.create_study()
    for value in y:
        study.add_trial(
            optuna.create_trial(
                params={"x": 0.5, "k": 1},
                distributions={
                    "x": optuna.distributions.FloatDistribution(0.0, 1.0),
                    "k": optuna.distributions.IntDistribution(1, 3),
                },
                value=value,
            )
        )
    curve = Curve("another", "none", y, 2, whole=0.5)
    expected = stopping.stated(curve, 20)
    assert calibrant_outlook(study).lately == pytest.approx(expected)


@pytest.mark.parametrize("name", ["none", pruning.OURS, "median"])
def test_pruners_meet_the_same_curves(name):
    rng = np.random.default_rng(0)
    final = rng.random(80)
    table = final[:, None] + np.linspace(1.0, 0.0, 27)
    found = pruning.execute("made up", table, name, 0)
    assert found["least"] <= found["found"]
    everything = pruning.TRIALS * 27
    assert found["epochs"] == everything if name == "none" else found["epochs"] < everything
    assert found["wrong"] <= found["pruned"]


def test_the_fan_states_how_often_its_intervals_hold():
    def inside(low, high, any_gain):
        quantiles = np.zeros((3, outlook.LEVELS.size))
        quantiles[0, 1], quantiles[0, -2] = low, high
        look = outlook.Look(0, None, 10, None, None, np.full(3, any_gain), None, quantiles, None)
        return outlook._inside(look, 0)

    assert inside(0.1, 0.5, 0.99) == pytest.approx(0.8)  # a gain is almost certain
    assert inside(0.0, 0.5, 0.6) == pytest.approx(0.9)  # nothing lies below no gain
    assert inside(0.0, 0.0, 0.04) == pytest.approx(0.96)  # only a gain lies outside


def test_what_was_decided_was_decided_on_tasks_that_are_not_held_out():
    searches = [(r["task"], r["noise"], r["seed"]) for r in choosing.read_lines(choosing.RESULTS)]
    assert sorted(searches) == sorted(choosing.runs())
    assert not {task for task, _, _ in searches} & set(HELD_OUT)
    # The rules differ in what they say, not in what they choose.
    for record in choosing.read_lines(choosing.ANSWERS):
        before, now = record["before"], record["now"]
        assert (before["by"], before["exact"]) == (now["by"], now["exact"])
        assert before["expected_loss"] == now["expected_loss"]
    repeats = list(choosing.read_lines(choosing.REPEATS))
    assert sorted((r["task"], r["noise"], r["seed"]) for r in repeats) == sorted(choosing.runs())


def test_a_stored_search_is_answered_by_both_rules():
    assert choosing.RULES["now"].items() <= vars(choosing.RECOMMEND).items()
    answers = choosing.answered(next(choosing.read_lines(choosing.RESULTS)))
    before, now = answers["before"], answers["now"]
    assert before["probabilities"] != now["probabilities"]
    assert before["expected_loss"] == now["expected_loss"]


def test_the_share_of_promises_that_came_weighs_them_by_size():
    told = [(2.0, [1.0, 3.0], 1.0), (6.0, [0.0, 0.0], 1.0), (1.0, [1.0, 1.0], 0.5)]
    records = [{"times": 3, "gain": g, "came": came, "std": std} for g, came, std in told]
    records.append({"times": None, "std": 1.0})
    promised = choosing.promises(records)
    np.testing.assert_allclose(promised, [[2, 2, 3], [6, 0, 3], [2, 2, 3]])
    assert choosing.share(promised).mean == pytest.approx(0.4)


def test_what_is_said_of_suggestions_is_what_review_counts():
    study = optuna.create_study(sampler=CalibratedSampler(seed=0, n_startup_trials=3))
    study.optimize(lambda trial: trial.suggest_float("x", -1.0, 2.0) ** 2, n_trials=7)
    found, counted = suggestions.stated(study), review(study)
    assert found["learned"] == pytest.approx(counted.hoped, abs=1e-4)
    assert found["came"] == counted.beaten.astype(int).tolist()
    assert len(found["raw"]) == len(found["shown"]) == len(found["learned"]) == 4


@pytest.mark.slow
def test_the_risk_of_stops_is_what_searches_by_others_missed():
    """Of searches by calibrant there are too many to follow in a test."""
    told = stopping.left_out(chosen=False)(LATELY)
    counted = {rate: round(level, 4) for rate, level in stopping.thresholds(told).items()}
    assert counted == pytest.approx(STOP_BELOW[False], abs=0.003)


@pytest.mark.slow
def test_the_chances_shipped_are_those_learned_from_tasks_that_are_not_held_out():
    data = beating.suggestions()
    assert not {*data.tasks.tolist()} & set(HELD_OUT)
    fitted = beating.fit(data.features, data.came)
    np.testing.assert_allclose(fitted, np.array(list(TABLE.values())), atol=0.01)
    stated = beating.answers(fitted, data.features)
    for low, high in beating.BINS:
        some = (stated >= low) & (stated < high)
        assert abs(stated[some].mean() - data.came[some].mean()) < 0.03


def test_pruned_trials_are_trained_on_to_know_what_was_lost(monkeypatch):
    monkeypatch.setattr(pruning_live, "TRIALS", 8)
    ends = {number: 0.1 * (number % 4) for number in range(8)}

    def training(job, trial):
        trial.suggest_float("x", 0.0, 1.0)
        return (ends[trial.number] + 1.0 / step for step in range(1, pruning_live.EPOCHS + 1))

    monkeypatch.setattr(pruning_live, "training", training)
    everything = pruning_live.execute("made up", "none", 0)
    assert everything["epochs"] == 8 * pruning_live.EPOCHS
    assert everything["lost"] == everything["pruned"] == 0
    some = pruning_live.execute("made up", "median", 0)
    assert some["pruned"] > 0
    assert some["epochs"] < everything["epochs"]
    assert some["found"] == everything["found"]
