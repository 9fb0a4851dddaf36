"""The benchmark of ways to calibrate: its controls are wrong in the way they say."""

import numpy as np
import pytest
from benchmarks.calibrated import again, controls, run, tables
from benchmarks.calibrated.controls import PROBLEMS, PROCESS, Misjudged, area, search, too_smooth
from benchmarks.calibrated.methods import METHODS
from benchmarks.peers.suite import SUITE, TASKS
from scipy.optimize import approx_fprime
from scipy.special import ndtr

from calibrant import GaussianRecalibrator
from calibrant.recalibration import leave_one_out

RNG = np.random.default_rng(0)
X = RNG.random((14, 2))
y = PROBLEMS["cosines"].on_cube(X)
POINTS = RNG.random((5, 2))


def test_a_misjudged_model_has_the_mean_of_the_right_one_and_a_factor_on_its_std():
    right, wrong = PROCESS.fit(X, y), Misjudged(PROCESS, 0.1).fit(X, y)
    assert np.array_equal(wrong.posterior(POINTS).mean, right.posterior(POINTS).mean)
    np.testing.assert_allclose(wrong.posterior(POINTS).std, 0.1 * right.posterior(POINTS).std)
    z = right.predict(POINTS).score(1.0)
    np.testing.assert_allclose(wrong.predict(POINTS).cdf(1.0), ndtr(10.0 * z), atol=1e-12)


def test_scores_of_a_misjudged_model_are_those_of_its_forecasts():
    wrong = Misjudged(PROCESS, 3.0)
    closed = wrong.fit(X, y).leave_one_out()[0]
    np.testing.assert_allclose(closed, PROCESS.fit(X, y).leave_one_out()[0] / 3.0)
    # With refits hyper-parameters differ a little: the same scores, but not to the last digit.
    assert np.corrcoef(closed, leave_one_out(wrong, X, y, refit=True).scores)[0, 1] > 0.8


def test_gradients_of_a_misjudged_model():
    wrong = Misjudged(PROCESS, 0.3).fit(X, y)

    def loss(x):
        mean, std, _ = wrong.posterior(x[None])
        return float(mean[0] + 2.0 * std[0])

    pulled = wrong.posterior(POINTS[:1]).pullback(np.ones(1), np.full(1, 2.0))[0]
    np.testing.assert_allclose(pulled, approx_fprime(POINTS[0], loss, 1e-6), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_the_lengthscale_of_the_other_control_is_held(dim):
    rng = np.random.default_rng(dim)
    points = rng.random((20, dim))
    fitted = too_smooth(dim).fit(points, np.sin(9.0 * points.sum(axis=1)))
    lengthscale = np.exp(fitted.parameters.kernel[0])
    assert lengthscale == pytest.approx(2.0, rel=0.05)


def test_searches_of_a_repetition_share_their_first_points():
    problem = PROBLEMS["cosines"]
    raw = search(problem, 3, model=PROCESS, recalibrator=None)
    calibrated = search(problem, 3, model=PROCESS, recalibrator=GaussianRecalibrator(1.0))
    assert len(raw) == controls.BUDGET
    assert raw[: controls.FIRST] == calibrated[: controls.FIRST]
    assert 0.0 <= area(problem, raw) <= 1.0


def test_area_of_a_known_search():
    problem = PROBLEMS["cosines"]
    half_way = problem.minimum + 1.0
    values = [problem.minimum + 2.0] * controls.FIRST + [half_way] * 25
    assert area(problem, values) == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_searches_with_every_kind_of_model(method, monkeypatch):
    monkeypatch.setattr(controls, "BUDGET", 7)
    first = {part: run.execute(method, part, "cosines", 100) for part in ("std x 0.1", "std x 1")}
    first |= {run.TOO_SMOOTH: run.execute(method, run.TOO_SMOOTH, "cosines", 100)}
    for row in first.values():
        assert len(row["values"]) == 7
        assert row["values"][:5] == first["std x 1"]["values"][:5]
    assert len(run.execute(method, "suite", "three branches", 0)["values"]) == 7


def test_parts_name_tasks_that_exist():
    assert set(run.SUITE) <= set(SUITE)
    assert len(run.SUITE) == len(set(run.SUITE)) == 24
    assert set(run.PARTS["held out"]) <= set(TASKS)


def stored(areas):
    """Return a stand-in for stored results: (method, part) → areas by task and seed."""
    return lambda method, part: areas.get((method, part), {})


def test_differences_pair_the_same_task_and_seed(monkeypatch):
    ours = {("a", 0): 0.5, ("a", 1): 0.7, ("b", 0): 0.1, ("b", 9): 9.0}
    theirs = {("a", 0): 0.6, ("a", 1): 0.6, ("b", 0): 0.4}
    known = {("tcGP", "suite"): ours, ("raw", "suite"): theirs}
    monkeypatch.setattr(tables, "areas", stored(known))
    change = tables.difference("tcGP", "raw", "suite")
    assert change.count == 3
    assert change.mean == pytest.approx(np.mean([0.0, -0.3]))
    assert tables.difference("tcGP", "raw", "held out") is None


def test_the_rule_for_a_new_default(monkeypatch):
    rng = np.random.default_rng(0)
    keys = [(task, seed) for task in ("a", "b") for seed in range(30)]
    default = {key: float(rng.random()) for key in keys}
    better = {key: area - 0.1 for key, area in default.items()}
    known = {("default", part): default for part in ("suite", "held out")}
    monkeypatch.setattr(tables, "areas", stored(known))
    assert "met by: none. Not yet run on both: paper, tcGP" in tables.verdict()
    known |= {("tcGP", "suite"): better, ("tcGP", "held out"): better}
    known |= {("reGP", "suite"): better, ("reGP", "held out"): default | {("a", 0): 9.0}}
    assert "It is met by: tcGP." in tables.verdict()


def test_missed_goals_are_said(monkeypatch):
    monkeypatch.setattr(tables, "areas", stored({}))
    assert "**missed in 63 of 63** cells" in tables.progress()
    full = {
        (method, part): {(task, seed): 0.5 for task in tasks for seed in range(30)}
        for method in METHODS
        for part, tasks in run.PARTS.items()
    }
    monkeypatch.setattr(tables, "areas", stored(full))
    assert "as planned" in tables.progress()
    del full["raw", "suite"]["forrester", 3]
    assert "**missed in 1 of 63** cells" in tables.progress()


def test_what_rests_on_few_repetitions_says_so(monkeypatch):
    few = {
        (method, part): {(task, seed): 0.5 for task in run.PARTS[part] for seed in range(10)}
        for method in METHODS
        for part in ("suite", "held out")
    }
    monkeypatch.setattr(tables, "areas", stored(few))
    assert "That rests on 10 repetitions of each task" in tables.verdict()


def test_searches_of_unknown_code_are_counted(monkeypatch):
    rows = [{"commit": "abc"}, {"commit": "abc-dirty"}, {}]
    monkeypatch.setattr(tables, "load", lambda method: rows)
    n = len(METHODS)
    said = tables.provenance()
    assert f"the {3 * n} searches: abc ({n}), abc-dirty ({n})." in said
    assert f"{n} searches carry no commit, and {n} that of a checkout with changes" in said
    monkeypatch.setattr(tables, "load", lambda method: rows[:1])
    assert tables.provenance().endswith(f"the {n} searches: abc ({n}).")


def test_searches_run_again_are_compared_with_those_of_their_commit(monkeypatch):
    def row(seed, best, commit):
        values = [0.0] * controls.FIRST + [best] * 25
        where = {"method": "raw", "part": "std x 1", "task": "cosines", "seed": seed}
        return {**where, "values": values, "commit": commit}

    low = PROBLEMS["cosines"].minimum
    stored = [row(0, -1.0, "old"), row(1, low, "old"), row(2, -1.0, "older")]
    repeated = [row(0, -1.0, "new"), row(1, 0.5 * low, "new")]
    monkeypatch.setattr(again, "METHODS", ["raw"])
    monkeypatch.setattr(again, "load", lambda method: stored)
    monkeypatch.setattr(again, "read_lines", lambda path: repeated)
    assert again.drawn(1)[0][:3] == ("raw", "std x 1", "cosines")
    assert {one[-1] for one in again.drawn(5)} == {0, 1, 2}
    said = tables.repeated()
    assert "run again with the code of new" in said
    assert "old 1 of 2, mean change +0.25" in said
    assert "older" not in said
    monkeypatch.setattr(again, "read_lines", lambda path: [])
    assert tables.repeated() == ""


def test_kinds_keep_the_suite_and_what_is_held_out_apart():
    kinds = tables._kinds(["forrester, noisy", "colville, noisy"])
    assert kinds["suite: all"] == kinds["suite: noisy"] == ["forrester, noisy"]
    assert kinds["held out: all"] == kinds["held out: noisy"] == ["colville, noisy"]
    assert next(iter(kinds)) == "suite: all"
