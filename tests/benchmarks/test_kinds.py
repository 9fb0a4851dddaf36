"""Noise, workers and long searches: what is run of each, and how it is read."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.kinds import run, tables
from benchmarks.kinds.kinds import FIRST, KINDS, SYSTEMS
from benchmarks.kit.lines import read_lines
from benchmarks.peers.rivals import RIVALS


def test_held_out_tasks_are_others_than_those_that_choices_were_made_on():
    for kind in KINDS.values():
        assert not kind.learning.keys() & kind.held_out.keys()
        assert set(kind.systems) <= SYSTEMS.keys() | RIVALS.keys()
        assert {"calibrant", "random"} <= set(kind.systems)


@pytest.mark.parametrize("kind", ["noise", "workers"])
def test_a_search_starts_from_the_same_points_and_keeps_the_best_true_means(kind):
    task = next(iter(KINDS[kind].held_out))
    one, other = (run.execute(kind, system, task, 3) for system in ("random", "optuna-tpe"))
    assert one["values"][0] == other["values"][0]  # the best of the first points
    for row in (one, other):
        assert len(row["values"]) == KINDS[kind].trials - FIRST + 1
        assert np.all(np.diff(row["values"]) <= 0.0)
        assert row["values"][-1] >= KINDS[kind].held_out[task].minimum


def test_noise_is_a_share_of_the_spread_of_values():
    tasks = KINDS["noise"].held_out
    little, much = (tasks[f"schwefel-4, noise {share}"].noise for share in (0.05, 0.2))
    assert much == pytest.approx(4.0 * little)


def test_parameters_that_do_not_exist_are_not_told():
    row = run.execute("mixed", "random", "a network four deep", 0)
    assert 0.0 <= row["values"][-1] <= row["values"][0]


@pytest.mark.parametrize("name", ["hartmann-6 in 60", "branin in 100", "levy-4 in 200"])
def test_of_an_embedded_function_only_its_own_dimensions_matter(name):
    task = KINDS["dimensions"].learning[name]
    inner = int(name.split(" in ")[0].split("-")[1]) if "-" in name else 2
    middle = {p["name"]: 0.5 * (p["low"] + p["high"]) for p in task.space}
    matters = [
        task.values({**middle, p["name"]: 0.9 * p["low"] + 0.1 * p["high"]}) != task.values(middle)
        for p in task.space
    ]
    assert len(task.space) == int(name.split(" in ")[1])
    assert sum(matters) == inner


@pytest.mark.parametrize("name", ["a solver three deep", "a network four deep"])
def test_the_minimum_of_a_deep_tree_is_what_it_is_said_to_be(name):
    best = {
        "a solver three deep": {
            "solver": "iterative",
            "tolerance": 1e-4,
            "preconditioner": "multigrid",
            "levels": 4,
            "smoother": "gauss",
            "sweeps": 2,
        },
        "a network four deep": {
            "rate": 10**-2.5,
            "body": "mixed",
            "dropout": 0.25,
            "norm": "group",
            "groups": 5,
            "schedule": "warm",
            "warmup": 0.1,
            "decay": "cosine",
            "cycles": 3,
        },
    }[name]
    task = KINDS["mixed"].tasks[name]
    assert task.values(best) == pytest.approx(task.minimum, abs=1e-12)


def test_the_page_is_of_the_stored_results():
    found, seconds = tables.regrets("noise")
    assert np.mean([np.mean(list(r.values())) for r in found["random"].values()]) == (
        pytest.approx(1.0)
    )
    assert seconds["calibrant"] > 0.0


def test_where_calibrant_stands_against_the_best_and_the_steadiest_rival():
    kind = replace(KINDS["long"], systems=("calibrant", "optuna-tpe", "optuna-cma"), learning={})
    tasks = list(kind.held_out)

    def regrets(values):
        return {task: dict(enumerate(values)) for task in tasks}

    found = {
        "calibrant": regrets([0.1] * 10 + [0.5]),
        "optuna-tpe": regrets([0.2] * 10 + [1.0]),  # the lower mean
        "optuna-cma": regrets([0.6] * 11),  # the lower worst tenth
    }
    now = tables.standing(kind, found)
    assert (now.rival, now.steadiest) == ("optuna-tpe", "optuna-cma")
    assert now.ratio == pytest.approx(0.5)
    assert now.worst == pytest.approx((0.5, 0.6))
    assert now.goal == "reached"
    assert now._replace(p=0.02).goal == "missed"
    assert now._replace(ratio=0.85).goal == "missed"
    assert now._replace(worst=(0.5, 0.4)).goal == "missed"
    said = tables.verdict(kind, found)
    assert "calibrant is first" in said
    assert "0.50 of that of the best rival, optuna-tpe (p < 0.001;" in said
    assert tables.standing(kind, {**found, "calibrant": regrets([0.1])}) is None


def test_calibrant_stands_by_the_searches_that_both_have():
    kind = replace(KINDS["long"], systems=("calibrant", "optuna-tpe", "optuna-cma"), learning={})

    def regrets(values):
        return {task: dict(enumerate(values)) for task in kind.held_out}

    found = {
        "calibrant": regrets([0.4] * 10 + [9.0]),
        "optuna-tpe": regrets([0.5] * 10),
        "optuna-cma": regrets([0.1] * 4),
    }
    now = tables.standing(kind, found)
    assert now.rival == "optuna-tpe"
    assert now.ratio == pytest.approx(0.8)
    assert now.worst == pytest.approx((0.4, 0.5))
    assert now._replace(ratio=0.7).goal == "open: optuna-cma"
    found |= {"calibrant": regrets([0.5] * 10), "optuna-tpe": regrets([0.75, 0.25] * 5)}
    assert "no one is shown to be first" in tables.verdict(kind, found)


def test_a_rival_of_another_environment_meets_the_same_points(monkeypatch):
    asked = []

    def search(system, task, seed, budget):
        asked.append((system, seed, budget))
        return {"values": [5.0, 4.0, 9.0, 3.0, 8.0, 6.0, 1.0], "seconds": 0.5, "error": "no memory"}

    monkeypatch.setattr(run.peers, "search", search)
    row = run.execute("noise", "ax", next(iter(KINDS["noise"].held_out)), 2)
    assert asked == [("ax", 2, KINDS["noise"].trials)]
    assert row["values"] == [3.0, 3.0, 1.0]  # the best of the first five, and what came after
    assert row["seconds"] == 0.5 * (KINDS["noise"].trials - FIRST)
    assert row["error"] == "no memory"
    nothing = {"values": [], "seconds": None, "error": "no ax"}
    monkeypatch.setattr(run.peers, "search", lambda *_: nothing)
    with pytest.raises(RuntimeError, match=r"ax did not start on .*: no ax"):
        run.execute("noise", "ax", next(iter(KINDS["noise"].held_out)), 2)


def test_what_is_left_is_read_after_as_many_evaluations_as_are_asked_for():
    name = "4 at a time"
    rows = {(r["system"], r["task"], r["seed"]): r["values"] for r in read_lines(run.path(name))}
    assert len(rows) > 100
    for count in (0, 12, tables.SPENT):
        found = tables.left(name, count)
        for (system, task, seed), values in rows.items():
            least = KINDS[name].held_out[task].minimum
            assert found[system][task][seed] == max(values[count] - least, 0.0)
