"""The benchmark of searches in trouble."""

import numpy as np
import optuna
import pytest
from benchmarks.kit.running import commit
from benchmarks.trouble import run, tables, tasks

pytestmark = pytest.mark.slow  # of a benchmark, not of the library


@pytest.mark.parametrize("name", tasks.TASKS)
def test_every_task_can_be_searched_and_nothing_is_better_than_its_best(name, monkeypatch):
    monkeypatch.setattr(run, "TRIALS", 8)
    known = [run.execute("random", name, seed) for seed in (0, 1)]
    assert known[0] == {**run.execute("random", name, 0), "seconds": known[0]["seconds"]}
    for result in known:
        assert result["commit"] == commit()
        assert result["failed"] + result["pruned"] <= 8
        assert result["regret"] is None or result["regret"] >= 0.0


def test_all_systems_get_the_same_first_points(monkeypatch):
    seen = {}

    def objective(trial, rng):
        seen.setdefault(current, []).append(trial.suggest_float("x", 0.0, 1.0))
        return seen[current][-1]

    monkeypatch.setitem(tasks.TASKS, "mine", tasks.Task("mine", objective, 0.0))
    monkeypatch.setattr(run, "TRIALS", 6)
    for current in ("random", "calibrant", "optuna-tpe"):
        run.execute(current, "mine", 3)
    firsts = [values[run.FIRST : 2 * run.FIRST] for values in seen.values()]  # drawn, then searched
    assert firsts[0] == firsts[1] == firsts[2]
    assert firsts[0] == seen["random"][: run.FIRST]


def test_what_a_front_dominates():
    points = np.array([[0.5, 0.25], [0.25, 0.5], [0.9, 0.9]])
    share = tasks._front(points, (1.0, 1.0))
    assert share == pytest.approx(optuna._hypervolume.compute_hypervolume(points, np.ones(2)))
    assert share == pytest.approx(0.5 * 0.75 + 0.25 * 0.5)


def test_the_page_says_who_was_better(tmp_path, monkeypatch):
    made = {
        (system, task, seed): {"regret": regret + 0.1 * seed, "failed": 1, "pruned": 0}
        for system, regret in (("random", 2.0), ("calibrant", 0.5), ("optuna-tpe", 1.0))
        for task in tasks.TASKS
        for seed in range(3)
    }
    made["calibrant", "zdt1", 0]["regret"] = None  # nothing succeeded: as the worst of random's
    made["calibrant", "two bowls", 2]["regret"] = 0.0
    monkeypatch.setattr(tables, "results", lambda: made)
    found = tables.regrets()
    assert found["calibrant"]["zdt1"][0] == pytest.approx(2.2 / 2.1)
    assert tables.rivals(found) == ["optuna-tpe"]
    text = tables.against(found, "optuna-tpe")
    assert "lower in 98% and higher in 2% of 60 runs" in text
    assert "A higher mean on: zdt1 (+0." in text
    assert "| **calibrant** | 3 | " in tables.table(found, ["pruned"])
    assert "| zdt1 | 1.000 | 0.556 | **0.524** | 1.0 | 1.0 |" in tables.each(found)
