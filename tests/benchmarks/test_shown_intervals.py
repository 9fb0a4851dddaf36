"""Shown intervals: how they are judged, and the prior that was learned across searches."""

import numpy as np
import pytest
from benchmarks.peers import prior, prior_replay, prior_tables
from scipy.special import ndtr

from calibrant import GaussianRecalibrator, IdentityRecalibrator, Normal
from calibrant.evaluation import metrics
from calibrant.search import shown


def test_what_recalibrates_shown_intervals_is_judged_by_what_was_shown():
    from benchmarks.peers import shown

    made = [(Normal(0.0, 1.0), y) for y in (0.0, 1.0, 2.0, -3.0)]
    error, held, infinite, crps = shown.judge(IdentityRecalibrator(), made)
    assert (held, infinite) == (0.5, 0.0)  # within 1.28 stds
    assert crps == pytest.approx(np.mean([f.crps(y) for f, y in made]), rel=1e-3)
    assert error == pytest.approx(metrics.calibration_score([ndtr(y) for _, y in made]), rel=1e-3)
    wider = shown.judge(
        GaussianRecalibrator(strength=1.0), [(Normal(0.0, 1.0), 3.0 * (-1) ** k) for k in range(40)]
    )
    assert wider[1] > 0.5  # what was missed at first is held once the spread is learned


def test_the_section_on_shown_intervals_compares_settings_on_the_same_searches(monkeypatch):
    from benchmarks.peers import shown

    def line(variant, crps):
        judged = {name: [0.1, 0.8, 0.0, crps] for name in shown.SETTINGS}
        return {"variant": variant, "judged": judged | {shown.OWN: [0.4, 0.6, 0.0, 2.0]}}

    known = [line(v, crps) for v in ("default", "pi", "lcb") for crps in (1.0, 4.0)]
    monkeypatch.setattr(shown, "load", lambda: known)
    text = shown.section()
    assert "| the model's own | 0.400 · 60% · 0.0% · 1.000 (1.000) |" in text
    assert "| **both, as shown** | 0.100 · 80% · 0.0% · 1.000 (1.250) |" in text
    monkeypatch.setattr(shown, "load", lambda: [])
    assert shown.section().endswith("Not run yet.")


def test_the_prior_of_shown_intervals_is_the_one_that_the_searches_give():
    fitted = prior.fit()
    shipped = {"low": shown._LOW, "high": shown._HIGH, "shape": shown._SHAPE}
    for name, numbers in shipped.items():
        np.testing.assert_allclose(fitted[name], numbers, atol=2e-3)


def test_a_search_with_workers_is_forecast_with_so_many_running():
    record = prior.execute_suite("forrester", 4, 0)
    known = np.array(record["known"])
    assert len(record["z"]) == len(known) == 25
    np.testing.assert_array_equal(known[:5, 2], [0, 1, 2, 3, 3])  # running
    np.testing.assert_array_equal(known[:5, 0], [5, 5, 5, 5, 6])  # outcomes
    np.testing.assert_array_equal(known[:6, 5], [1, 1, 1, 1, 0, 0])  # blind


def judged_row(task, held, crps):
    return {
        "task": task,
        "workers": 1,
        "pit": [0.5, 0.95, 0.95, 0.95],
        "held": held,
        "crps": [2.0] * 4,
        "shown_crps": [crps] * 4,
    }


def test_shown_intervals_are_judged_by_tasks_not_by_searches():
    rows = [judged_row("a", [1, 1, 1, 1], 1.0)] * 3 + [judged_row("b", [1, 1, 1, 0], 3.0)]
    one = prior_tables.judge(rows, slice(None))
    assert one.own == pytest.approx(0.25)
    assert one.shown.mean == pytest.approx(0.875)
    assert (one.alike.low, one.alike.high) == pytest.approx((0.75, 1.0))
    assert one.between == pytest.approx(0.125)
    assert one.crps == pytest.approx(0.5)  # the median over searches
    assert prior_tables.judge(rows, slice(0, 3)).shown.mean == 1.0


@pytest.mark.parametrize(
    ("share", "crps", "reached"),
    [
        (0.7796, 1.0, True),
        (0.7794, 1.0, False),
        (0.8204, 0.9, True),
        (0.8206, 0.9, False),
        (0.8, 1.0001, False),
    ],
)
def test_a_goal_is_reached_as_the_page_prints_it(share, crps, reached):
    shown = prior_tables.Estimate(share, share - 0.01, share + 0.01)
    one = prior_tables.Judged(0.6, shown, shown, 0.1, crps)
    assert one.reached == reached
    assert (one.cells()[-1] == "reached") == reached


def test_rows_that_other_tasks_could_decide_otherwise():
    def undecided(low, high):
        shown = prior_tables.Estimate(0.5 * (low + high), low, high)
        return prior_tables.Judged(0.6, shown, shown, 0.1, 0.9).undecided

    assert undecided(0.77, 0.81)
    assert undecided(0.75, 0.9)
    assert not undecided(0.785, 0.815)
    assert not undecided(0.83, 0.86)


def test_the_page_of_shown_intervals_has_all_tasks_and_both_sets():
    rows = list(prior_tables.read_lines(prior.RESULTS))
    assert {(r["task"], r["workers"]) for r in rows} == {
        (task, workers) for task in prior.JUDGED for workers in prior.WORKERS
    }
    page = prior.PAGE.read_text(encoding="utf-8")
    assert page.startswith("\n".join(prior_tables.section()))


def test_a_replay_shows_the_prior_and_learns_as_late_as_outcomes_came():
    known = [[5 + i, 2, 0, 0.2, 0.0, False] for i in range(6)]
    row = {"task": "one", "workers": 3, "z": [9.0] * 6, "known": known}
    alone = prior_replay.replayed(row, IdentityRecalibrator(), 0)
    assert alone["held"] == [0] * 6
    residual = prior.fitted(0)(shown.Circumstances(*known[0]))
    low, high = residual.quantile([0.1, 0.9])
    assert alone["loss"][0] == pytest.approx(high - low + 10.0 * (9.0 - high), rel=1e-6)
    learned = prior_replay.replayed(row, GaussianRecalibrator(strength=1.0), 0)
    # Nothing is known of the first three outcomes when the first three are shown.
    assert learned["loss"][:3] == pytest.approx(alone["loss"][:3])
    assert learned["held"][-1] == 1
