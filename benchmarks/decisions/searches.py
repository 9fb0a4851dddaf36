"""Searches of 90 trials to learn from, and of 70 to judge by.

    python -m benchmarks.decisions.searches learn   # tasks to learn from: the suite, other kinds
    python -m benchmarks.decisions.searches judge   # held-out tasks, which nothing is learned from

A line has the outcomes as reported and the means they were drawn from where those differ. Some
searches ask other rules for stopping, too, at some numbers of trials.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decisions import kinds
from benchmarks.decisions.draws import Prospects, prospects
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_all
from benchmarks.peers.run import FIRST
from benchmarks.peers.suite import HELD_OUT, SUITE, TASKS, TUNING
from benchmarks.peers.tasks import Task
from calibrant.search.step import Policy
from calibrant.studies.archive import Archive
from calibrant.studies.coordinates import searchable

sys.path.insert(0, str(Path(__file__).parents[1] / "peers" / "adapters"))
from own import GP, TPE, Calibrant, OptunaStudy

FOLDER = Path(__file__).parent / "results"
BUDGETS = {"learn": 90, "judge": 70}  # longer to learn from: what came is known for longer
LEFT = (0.5, 0.75, 0.9, 0.95, 0.975)  # levels of what is left to gain
RULES_AT = (10, 20, 30, 40, 50)  # trials: each look of theirs takes about a second
SEEDS = range(60, 90)  # of the searches to judge by; 0 to 59 were those looked at before
WITH_RULES = SEEDS[:6]  # those of the searches in which other rules are asked, too
LEARN_SEEDS = range(20, 30)  # one in each round: some new kinds of tasks, and all of the suite
KINDS = 3000


class RandomStudy(OptunaStudy):
    """Uniform points, as a study."""

    def _sampler(self, seed: int) -> Any:
        import optuna

        return optuna.samplers.RandomSampler(seed=seed)


SAMPLERS = {"calibrant": Calibrant, "random": RandomStudy, "optuna-tpe": TPE, "optuna-gp": GP}


def task_of(name: str) -> Task:
    """Return a task of the peers, or the one of a number (``kind 7``)."""
    return kinds.task(int(name[5:])) if name.startswith("kind ") else TASKS[name]


def execute(*which: Any) -> dict[str, Any]:
    """Return what is to be kept of one search; the arguments are those of :func:`search`."""
    return search(*which)[1]


def search(
    sampler: str,
    task_name: str,
    seed: int,
    rules_at: tuple[int, ...] = (),
    budget: int = BUDGETS["learn"],
) -> tuple[Any, dict[str, Any]]:
    """Return a study, and what is to be kept; after ``rules_at`` trials, other rules' values."""
    task, rng = task_of(task_name), np.random.default_rng([seed, 1])
    asked = SAMPLERS[sampler](list(task.space), seed, budget)
    points, outcomes, means, rules = task.first(FIRST, seed), [], [], {}
    for step in range(budget):
        if step in rules_at:
            rules[str(step)] = rule_values(asked.study, np.random.default_rng([seed, step]))
        settings = points[step] if step < FIRST else asked.ask()
        evaluation = task.evaluate(settings, rng)
        outcomes.append(_short(evaluation.outcome, 7))
        means.append(_short(evaluation.mean, 7))
        asked.tell(settings, evaluation.outcome)
    line = {"sampler": sampler, "task": task_name, "seed": seed, "dim": len(task.space)}
    line["outcomes"] = outcomes
    if means != outcomes:
        line["means"] = means
    return asked.study, {**line, "rules": rules} if rules else line


def rule_values(study: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return what other rules for stopping go by.

    ``regret`` and ``emmr``: the bounds of Optuna's terminators on what is left to gain; ``median``:
    the level that EMMR is compared with by default; ``left``: quantiles of how far calibrant's
    model believes the minimum to lie below the best (Wilson's rule asks for one of them).
    """
    from optuna import terminator

    trials, direction = study.trials, study.direction
    emmr = terminator.EMMREvaluator(seed=0)
    found = {
        "regret": terminator.RegretBoundEvaluator(seed=0).evaluate(trials, direction),
        "emmr": emmr.evaluate(trials, direction),
        "median": terminator.MedianErrorEvaluator(emmr).evaluate(trials, direction),
    }
    left = np.quantile(_prospects(study, rng).left, LEFT)
    return {**{k: _short(v, 4) for k, v in found.items()}, "left": [_short(x, 4) for x in left]}


def _prospects(study: Any, rng: np.random.Generator) -> Prospects:
    """Return what calibrant's model expects of a study."""
    archive, policy = Archive(), Policy()
    archive.update(study)
    space = archive.space(searchable(archive.search_space()))
    history = archive.history(space, 1, [])
    data = policy.prepare(history, space.cube)
    fits = policy.fit(data, space.cube)
    residual = policy.recalibrate(data, fits)[0]
    best = history.X[np.argsort(history.merit, kind="stable")[:4]]
    process, cube = fits.objectives[0].current, space.cube
    return prospects(process, residual, cube, best, policy.taken(history, cube)[0], rng)


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def plan(what: str) -> list[tuple[Any, ...]]:
    """Return the searches, so ordered that every task is met before any is met again."""
    if what == "judge":
        return [
            ("calibrant", task, seed, RULES_AT if seed in WITH_RULES else (), BUDGETS[what])
            for seed in SEEDS
            for task in HELD_OUT
        ]
    per_round = KINDS // len(LEARN_SEEDS)
    own = [
        ("calibrant", task, seed)
        for turn, seed in enumerate(LEARN_SEEDS)
        for task in (
            *(f"kind {number}" for number in range(turn * per_round, (turn + 1) * per_round)),
            *TUNING,
            *SUITE,
        )
    ]
    others = [
        (sampler, f"kind {number}", 2, (), 70)
        for number in range(240)
        for sampler in ("optuna-tpe", "random")
    ]
    return [*own, *others]


def load(what: str) -> list[dict[str, Any]]:
    """Return the searches kept."""
    return list(read_lines(FOLDER / f"searches-{what}.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["learn", "judge"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    done = {(r["sampler"], r["task"], r["seed"]) for r in load(given.what)}
    missing = [run for run in plan(given.what) if run[:3] not in done]
    path, here = FOLDER / f"searches-{given.what}.jsonl", commit()
    run_all(execute, missing, lambda r: append(path, {**r, "commit": here}), given.jobs)


if __name__ == "__main__":
    main()
