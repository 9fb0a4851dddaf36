"""The benchmark beside other systems: its tasks, and what happens when a rival fails."""

import json
import sys
from collections import Counter

import numpy as np
import pytest
from benchmarks.kit.running import commit
from benchmarks.peers import (
    further,
    held_out,
    prior,
    regret,
    run,
)
from benchmarks.peers.adapters.worker import active, from_unit
from benchmarks.peers.rivals import RIVALS, Part, Rival, Run, plan
from benchmarks.peers.suite import HELD_OUT, SUBSET, SUITE, TASKS, TUNING
from benchmarks.peers.tasks import choice, integer, real, when

KNOWN = [t for t in TASKS.values() if t.groups & {"functions", "mixed"} and "live" not in t.groups]
KNOWN = [t for t in KNOWN if "tables" not in t.groups]


def test_the_suite_is_as_wide_as_it_says():
    assert len(SUITE) >= 40
    assert set(SUBSET) <= set(SUITE)
    assert len(TASKS) == len(SUITE) + len(TUNING) + len(HELD_OUT)  # no name twice
    sizes = {len(TASKS[name].space) for name in SUITE}
    assert min(sizes) == 1
    assert max(sizes) == 20
    for part in (SUITE, HELD_OUT):
        groups = set.union(*(set(TASKS[name].groups) for name in part))
        assert groups >= {
            "moved",
            "noisy",
            "mixed",
            "conditional",
            "tables",
            "live",
            "20 dimensions",
        }


@pytest.mark.parametrize("task", KNOWN, ids=lambda t: t.name)
def test_no_point_lies_below_the_minimum(task):
    rng = np.random.default_rng(0)
    found = [task.evaluate(settings, rng).mean for settings in task.first(300, 0)]
    assert min(found) >= task.minimum - 1e-6 * max(1.0, abs(task.minimum))
    assert np.ptp(found) > 0.0


@pytest.mark.parametrize(
    "problem",
    [
        held_out.schwefel(4),
        held_out.eggholder(),
        held_out.dixon_price(6),
        held_out.zakharov(5),
        held_out.griewank(8),
        held_out.powell(20),
        held_out.colville(),
        further.qing(5),
        further.himmelblau(),
        further.holder_table(),
        further.trid(6),
        further.brown(4),
        further.schaffer(),
        further.salomon(4),
        further.sum_of_powers(8),
    ],
    ids=lambda problem: problem.name,
)
def test_the_minimum_of_a_held_out_function_is_where_it_says(problem):
    where = np.array(problem.where)
    assert problem(where) == pytest.approx(problem.minimum, abs=1e-9)
    low, high = np.array(problem.box).T
    steps = 1e-4 * (high - low) * np.random.default_rng(0).standard_normal((200, problem.dim))
    assert problem(np.clip(where + steps, low, high)).min() > problem.minimum


def test_further_tasks_are_of_every_kind_and_can_be_evaluated():
    assert len(prior.FURTHER) == 18
    assert not set(prior.FURTHER) & set(TASKS)
    groups = set.union(*(set(task.groups) for task in prior.FURTHER.values()))
    assert groups >= {"functions", "moved", "noisy", "mixed", "conditional", "tables", "live"}
    rng = np.random.default_rng(0)
    for task in prior.FURTHER.values():
        if "tables" in task.groups:
            continue  # its package is only in the benchmark's environment
        found = [task.evaluate(settings, rng) for settings in task.first(5, 0)]
        assert np.isfinite([one.outcome for one in found]).all(), task.name
        assert np.ptp([one.mean for one in found]) > 0.0, task.name
        assert all((one.outcome != one.mean) == ("noisy" in task.groups) for one in found)


@pytest.mark.parametrize(
    "task", [t for t in prior.FURTHER.values() if np.isfinite(t.minimum)], ids=lambda t: t.name
)
def test_no_point_of_a_further_task_lies_below_its_minimum(task):
    rng = np.random.default_rng(0)
    found = [task.evaluate(settings, rng).mean for settings in task.first(300, 0)]
    assert min(found) >= task.minimum - 1e-6 * max(1.0, abs(task.minimum))


def test_the_lightest_gearbox_breaks_no_constraint():
    task = TASKS["speed reducer"]
    lengths = {"l1": 7.3, "l2": 7.7153199, "d1": 3.3502147, "d2": 5.2866545}
    lightest = {"face": 3.5, "module": 0.7, "teeth": 17, **lengths}
    rng = np.random.default_rng(0)
    assert task.evaluate(lightest, rng).mean == pytest.approx(task.minimum, rel=1e-6)
    for name, length in lengths.items():  # a little thinner or shorter, and it costs more
        if name != "l1":  # which is at its end already
            broken = task.evaluate({**lightest, name: length - 0.001}, rng).mean
            assert broken > task.minimum


def test_first_points_depend_on_the_seed_alone():
    task = TASKS["training script"]
    assert task.first(5, 3) == task.first(5, 3)
    assert task.first(5, 3) != task.first(5, 4)


def test_settings_that_do_not_exist_are_dropped_and_may_be_left_out():
    task = TASKS["three branches"]
    full = {"branch": "one", "a": 0.2, "b": 0.1, "c": 0.1, "d": 0.1, "e": 0.1, "f": 3}
    assert active(list(task.space), full) == {"branch": "one", "a": 0.2}
    rng = np.random.default_rng(0)
    assert task.evaluate(full, rng) == task.evaluate({"branch": "one", "a": 0.2}, rng)


def test_a_condition_on_what_does_not_exist_is_not_met():
    space = [choice("a", "x", "y"), when(choice("b", "u", "v"), "a", "y")]
    space.append(when(real("c", 0.0, 1.0), "b", "u"))
    assert active(space, {"a": "x", "b": "u", "c": 0.5}) == {"a": "x"}


@pytest.mark.parametrize("u", [0.0, 0.3, 0.999999, 1.0])
def test_shares_of_a_range(u):
    assert from_unit(choice("c", "a", "b", "c"), u) == "abc"[min(int(3 * u), 2)]
    assert 1 <= from_unit(integer("n", 1, 6, log=True), u) <= 6
    assert 0.01 <= from_unit(real("x", 0.01, 100.0, log=True), u) <= 100.0
    assert from_unit(real("x", 2.0, 4.0), u) == pytest.approx(2.0 + 2.0 * u)


def test_noise_is_told_and_not_judged_by():
    task = TASKS["branin, noisy"]
    evaluations = [task.evaluate({"x1": 1.0, "x2": 2.0}, np.random.default_rng(s)) for s in (0, 1)]
    assert evaluations[0].mean == evaluations[1].mean
    assert evaluations[0].outcome != evaluations[1].outcome


ADAPTER = """
import sys, time, os
sys.path.insert(0, {folder!r})
from worker import serve

class Fake:
    def __init__(self, space, seed, budget):
        print("chatter that must not come between the answers")
        self.asked = 0
    def tell(self, settings, outcome):
        pass
    def ask(self):
        self.asked += 1
        if self.asked == 3:
            {deed}
        return {{"x": 0.5}}

serve({{"fake": Fake}})
"""

DEEDS = {
    "raises": ("raise KeyError('lost')", "KeyError: 'lost'"),
    "ends": ("os._exit(3)", "its process ended"),
    "hangs": ("time.sleep(60)", "more than 2 s"),
    "works": ("pass", None),
}


def a_rival(code, folder, monkeypatch):
    script = folder / "fake.py"
    script.write_text(code)

    class Fake(Rival):
        python = sys.executable

    monkeypatch.setitem(RIVALS, "fake", Fake("own", str(script), fast=True))
    monkeypatch.setattr(run, "_workers", {})


@pytest.mark.parametrize("deed", DEEDS)
def test_a_rival_that_fails_has_a_result_that_says_so(deed, tmp_path, monkeypatch):
    code, error = DEEDS[deed]
    folder = str(run.RESULTS.parent / "adapters")
    a_rival(ADAPTER.format(folder=folder, deed=code), tmp_path, monkeypatch)
    monkeypatch.setattr(run, "TIME_LIMIT", 2 if deed == "hangs" else 60)
    result = run.execute(Run("fake", "forrester", 10, 0))
    assert result["error"] == error
    assert len(result["values"]) == (7 if error else 10)
    assert json.loads(json.dumps(result)) == result
    assert result["commit"] == commit()
    for worker in run._workers.values():
        worker.close()


def test_a_rival_that_does_not_start_is_told_of_and_not_kept(tmp_path, monkeypatch, capsys):
    a_rival("import nothing_of_this_name", tmp_path, monkeypatch)
    missing = Run("fake", "forrester", 10, 0)
    result = run.execute(missing)
    assert result["values"] == []
    assert result["error"].endswith("No module named 'nothing_of_this_name'")
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    run.keep(result)
    assert not list(tmp_path.glob("*.jsonl"))
    assert "fake did not start on forrester" in capsys.readouterr().out


def test_the_plan_holds_what_was_declared():
    planned = plan()
    assert len(set(planned)) == len(planned)
    runs = Counter((r.rival, r.budget, r.task in HELD_OUT) for r in planned)
    assert runs["optuna-tpe", 30, False] == 20 * len(SUITE)
    assert runs["hebo", 30, False] == 10 * len(SUBSET)
    assert runs["hebo", 100, False] == len(SUBSET)
    assert not runs["vizier", 30, False]  # minutes a run: no table waits for it
    for budget, fresh in ((30, False), (30, True), (100, False)):  # what regret is measured by
        assert runs["random", budget, fresh] >= runs["calibrant", budget, fresh]


def a_result(rival, values, seed=0, task="forrester", error=None):
    seconds = 0.1
    return {
        "rival": rival, "task": task, "budget": 30, "seed": seed,
        "values": values, "seconds": seconds, "error": error,
    }  # fmt: skip


@pytest.fixture
def fabricated(monkeypatch):
    """Two rivals on one task with the minimum m: random search ends 4 above it on average."""
    from benchmarks.peers import tables

    m = TASKS["forrester"].minimum
    results = [
        a_result("random", [m + 9.0] * 29 + [m + 3.0]),
        a_result("random", [m + 9.0] * 29 + [m + 5.0], seed=1),
        a_result("calibrant", [m + 8.0] * 5 + [m + 2.0] * 25),
        a_result("calibrant", [m + 8.0] * 5 + [m + 1.0] * 25, seed=1),
        a_result("hebo", [m + 8.0] * 10, error="KeyError"),
        a_result("hebo", [m + 8.0] * 29 + [m + 6.0], seed=1),
    ]
    for module in (tables, regret):
        monkeypatch.setattr(module, "load", lambda: iter(results))
    monkeypatch.setattr(regret, "units", lambda: {"forrester": {"mean": m + 4.0}})
    return tables


def test_regret_is_0_at_the_minimum_and_1_where_random_search_ends(fabricated):
    found = fabricated.curves(30)
    assert np.mean([c[-1] for c in found["random"]["forrester"].values()]) == pytest.approx(1.0)
    assert found["calibrant"]["forrester"][0][-1] == pytest.approx(0.5)


def test_the_unit_is_the_same_for_all_budgets(fabricated, monkeypatch):
    m = TASKS["forrester"].minimum
    longer = [
        {**a_result(rival, [m + 4.0] * 99 + [m + end]), "budget": 100}
        for rival, end in (("random", 0.001), ("calibrant", 1.0))
    ]
    no_unit = {**a_result("calibrant", [3.0] * 30), "task": "beale"}  # random search has not met it
    known = [*fabricated.load(), *longer, no_unit]
    for module in (fabricated, regret):
        monkeypatch.setattr(module, "load", lambda: iter(known))
    found = fabricated.curves(100)
    assert found["random"]["forrester"][0][-1] == pytest.approx(0.00025)
    assert found["calibrant"]["forrester"][0][-1] == pytest.approx(0.25)
    assert set(fabricated.curves(30)["calibrant"]) == {"forrester"}


def test_a_run_that_ended_early_keeps_what_it_had_reached(fabricated):
    found = fabricated.curves(30)
    assert found["hebo"]["forrester"][0].shape == (30,)
    assert found["hebo"]["forrester"][0][-1] == pytest.approx(2.0)
    shared = fabricated.common(found, ["hebo"], ["forrester"], 2)
    assert fabricated.failed(shared, 30)["hebo"] == 1


def test_the_summary_orders_rivals_and_says_how_far_apart_they_are(fabricated):
    found = fabricated.common(
        fabricated.curves(30), ["random", "calibrant", "hebo", "ax"], ["forrester"], 2
    )
    assert found.rivals == ["random", "calibrant", "hebo"]  # ax has not run
    assert found.mean(found.final[1]) == pytest.approx(0.375)
    assert found.area[1, 0] == pytest.approx(0.5)
    text = fabricated.summary(found, 30)
    assert text.index("calibrant") < text.index("| random") < text.index("| hebo")
    assert "hebo: 1" in text
    row = next(line for line in text.splitlines() if line.startswith("| hebo"))
    worst = max(found.final[2])  # of two runs
    assert row.split("|")[3].strip() == f"{worst:.3f}"
    assert "Against the best other system of this table, random" in text


def test_a_rival_with_fewer_runs_is_compared_on_those(fabricated):
    found = fabricated.curves(30)
    del found["hebo"]["forrester"][0]
    assert fabricated.common(found, ["calibrant", "hebo"], ["forrester"], 2).rivals == ["calibrant"]
    line = fabricated.on_fewer_runs(found, "hebo", ["forrester"])
    assert "hebo has a mean regret of 1.500, calibrant on the same runs 0.250" in line
    assert "lower in 100% and higher in 0% of 1 runs" in line
    assert "over repetitions, " not in line  # one repetition has no interval
    assert fabricated.on_fewer_runs(found, "hebo", ["forrester", "beale"]) is None


def test_tasks_are_compared_on_the_runs_that_all_share(fabricated, monkeypatch):
    part = Part("", 30, ("forrester",), 2, ("calibrant", "hebo", "ax"), {})
    monkeypatch.setattr(fabricated, "PARTS", (part,))
    found = fabricated.curves(30)
    table = fabricated.per_task(found, 30)
    assert "| forrester | 2 | 1.000 | **0.375** | 1.750 |" in table
    del found["hebo"]["forrester"][0]  # met once, planned twice
    assert fabricated.per_task(found, 30).endswith("| forrester | 2 | 1.000 | **0.375** |")
    shared = fabricated.common(found, ["calibrant"], ["forrester"], 2)
    fewer, absent = fabricated.rest(found, shared, part)
    assert fewer.startswith("On fewer runs (1 of each task or more), hebo")
    assert absent == "Planned for this table, and not run on all of its tasks: ax."


@pytest.mark.parametrize("logs", [False, True])
def test_coded_settings_are_the_settings(logs, monkeypatch):
    monkeypatch.syspath_prepend(run.RESULTS.parent / "adapters")  # as rivals' own processes have it
    import coding

    space = [
        real("x", 0.01, 100.0, log=True),
        integer("n", 1, 64, log=True),
        integer("k", -3, 3),
        choice("c", "a", "b", "c"),
    ]
    for settings in (
        {"x": 0.5, "n": 7, "k": -3, "c": "c"},
        {"x": 100.0, "n": 64, "k": 0, "c": "a"},
    ):
        decoded = coding.decode(space, coding.encode(space, settings, logs), logs)
        assert decoded == pytest.approx(settings) if logs else decoded == settings
    assert coding.limits(space[3]) == (0, 2)


def test_random_search_is_a_stream_of_its_own_for_each_task(monkeypatch):
    ends = [regret.random_search(name, 0) for name in ("branin", "branin", "branin, noisy")]
    assert ends[0] == ends[1] != ends[2]  # the same function
    monkeypatch.setattr(regret, "SEARCHES", 8)
    unit = regret.measure("branin")
    reached = [regret.random_search("branin", seed) for seed in range(8)]
    assert unit["mean"] == pytest.approx(np.mean(reached), rel=1e-6)
    assert unit["error"] == pytest.approx(np.std(reached, ddof=1) / np.sqrt(8), rel=0.05)


def test_all_tasks_have_a_unit_and_all_systems_say_what_they_are():
    assert set(regret.units()) == set(TASKS)
    for name, unit in regret.units().items():
        assert unit["mean"] > TASKS[name].minimum
    assert all(rival.about(name).endswith(".") for name, rival in RIVALS.items())


def test_tasks_that_a_rival_lacks_leave_it_out(fabricated):
    found = fabricated.common(
        fabricated.curves(30), ["random", "calibrant"], ["forrester", "beale"], 2
    )
    assert found.rivals == []


@pytest.fixture
def fabricated_variants(fabricated, monkeypatch):
    """Calibrated searches end a unit lower, and are forecast with a spread that is right."""
    from benchmarks.peers import calibration, variants

    m, rng = TASKS["forrester"].minimum, np.random.default_rng(0)
    pits = {"default": rng.random(25), "raw": 0.5 + 0.4 * rng.random(25)}

    def results(name):
        for seed in range(8 if name in pits else 0):
            end = m + (1.0 if name == "default" else 2.0) + 0.01 * seed
            yield {
                "task": "forrester", "seed": seed, "values": [m + 8.0] * 5 + [end] * 25,
                "pit": pits["raw"].tolist(), "shown_pit": pits["default"].tolist(),
                "crps": [2.0] * 25, "shown_crps": [1.5] * 25,
            }  # fmt: skip

    monkeypatch.setattr(variants, "load", results)
    return calibration


def test_calibrated_beside_uncalibrated_searches(fabricated_variants):
    found = fabricated_variants.compare(
        fabricated_variants.results("default"), fabricated_variants.results("raw")
    )
    np.testing.assert_allclose(found.all_changes, np.full(8, -0.25))
    assert found.p["forrester"] == pytest.approx(2 / 2**8)
    assert found.errors[1] > 3 * found.errors[0]
    np.testing.assert_allclose(found.crps["forrester"], np.log(0.75))
    assert found.cells()[-1].startswith("0.750, 0.750 (p = ")
    four = {
        task: np.full(2, np.log(ratio)) for task, ratio in zip("abcd", (1, 2, 0.5, 4), strict=True)
    }
    assert "most on d (× 4.00), b (× 2.00), a (× 1.00); without these × 0.500" in (
        found._replace(crps=four).note()
    )
    section = fabricated_variants.section()
    assert "| expected improvement | 8 | 100.0% | 0.0% | 0.0078 | -0.250 " in section
    assert "1 / 0" in section
    assert "lower confidence bound |" not in section  # not run
