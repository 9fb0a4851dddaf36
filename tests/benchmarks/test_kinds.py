"""Noise, workers and long searches: what is run of each, and how it is read."""

import numpy as np
import pytest
from benchmarks.kinds import run, tables
from benchmarks.kinds.kinds import FIRST, KINDS, SYSTEMS


def test_held_out_tasks_are_others_than_those_that_choices_were_made_on():
    for kind in KINDS.values():
        assert not kind.learning.keys() & kind.held_out.keys()
        assert set(kind.systems) <= SYSTEMS.keys()
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


def test_the_worst_tenth():
    assert tables.worst_tenth(np.arange(20.0)) == 18.5
    assert tables.worst_tenth(np.arange(3.0)) == 2.0


def test_the_page_is_of_the_stored_results():
    found, seconds = tables.regrets("noise")
    assert np.mean([np.mean(list(r.values())) for r in found["random"].values()]) == (
        pytest.approx(1.0)
    )
    assert seconds["calibrant"] > 0.0
