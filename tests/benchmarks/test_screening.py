"""Stuck searches, and changes that were tried against them: their pages and their plans."""

import numpy as np
from benchmarks.peers import screening, screening_wide, stuck
from benchmarks.peers.suite import HELD_OUT


def test_stuck_searches_are_counted_of_all_that_were_planned():
    """And what was only tried meets no task that is held out."""
    rows = [(r["system"], r["task"], r["seed"]) for r in stuck.read_lines(stuck.RESULTS)]
    planned = [one for system in stuck.SYSTEMS for one in stuck.plan(system)]
    assert sorted(rows) == sorted(planned)
    assert not {task for name in stuck.CHANGES for _, task, _ in stuck.plan(name)} & set(HELD_OUT)
    assert stuck.PAGE.read_text(encoding="utf-8") == stuck.page()


def test_screened_changes_met_no_held_out_task_and_are_on_their_page():
    rows = list(screening.read_lines(screening.RESULTS))
    assert {row["change"] for row in rows} == {*screening.CHANGES, *screening.PROTOTYPES}
    assert not {row["task"] for row in rows} & set(HELD_OUT)
    assert screening.PAGE.read_text(encoding="utf-8") == screening.page()


def test_acquisitions_take_turns():
    asked = []

    class Noted(screening.Acquisition):
        def __init__(self, name):
            self.name = name

        def criterion(self, belief, rng, cube):
            asked.append(self.name)

    turns = screening.InTurns((Noted("a"), Noted("b")))
    for outcomes in (4, 5, 6):
        belief = screening.Belief(None, None, 0.0, outcomes)
        turns.criterion(belief, np.random.default_rng(0), None)
    assert asked == ["a", "b", "a"]


def test_the_wide_screening_met_no_held_out_task_and_is_on_its_page():
    rows = [row for part in screening_wide.PARTS for row in screening_wide.searches(part)]
    assert not {row["task"] for row in rows} & set(HELD_OUT)
    assert len({(row["change"], row["task"], row["seed"]) for row in rows}) == len(rows)
    assert screening_wide.PAGE.read_text(encoding="utf-8") == screening_wide.page()
