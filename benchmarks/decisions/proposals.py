"""Does a proposal of `calibrant.suggest` beat the best value? On tasks to learn from.

    python -m benchmarks.decisions.proposals    # what is missing

After 8 to 40 trials of a search by calibrant, three settings are proposed and evaluated. What is
learned of suggestions (:mod:`~benchmarks.decisions.beating`) was learned of the sampler's own, not
of these; here is whether it holds for them, before `suggest` states it. The tasks are those that it
was learned from: no other search of them was, and no held-out task is needed for a yes or no.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decisions.searches import SAMPLERS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.peers.run import FIRST
from benchmarks.peers.stuck import SLOW
from benchmarks.peers.suite import SUITE, TASKS, TUNING
from calibrant import suggest
from calibrant.decisions.beating import chance_to_beat
from calibrant.decisions.belief import believe
from calibrant.decisions.outlook import outcomes

RESULTS = Path(__file__).parent / "results" / "proposals.jsonl"
SEEDS, AFTER, BATCH = range(700, 703), (8, 15, 25, 40), 3
LEARNING = [
    name
    for name in (*SUITE, *TUNING)
    if "20 dimensions" not in TASKS[name].groups and name not in SLOW
]


def execute(name: str, seed: int, trials: int) -> dict[str, Any]:
    """Return what was stated of the proposals after so many trials, and what came."""
    task, rng = TASKS[name], np.random.default_rng([seed, 1])
    search, points = SAMPLERS["calibrant"](list(task.space), seed, trials), task.first(FIRST, seed)
    for step in range(trials):
        settings = points[step] if step < FIRST else search.ask()
        search.tell(settings, task.evaluate(settings, rng).outcome)
    belief, stands = believe(search.study), outcomes(search.study)
    now, objective = stands.progress(trials), belief.objectives[0]
    found: dict[str, list[Any]] = {"forecast": [], "learned": [], "came": []}
    for proposal in suggest(search.study, BATCH, seed=seed):
        internal = belief.space.to_internal(proposal.params, outside=True)
        forecast = objective.outcome(belief.space.row(belief.space.existing(internal))[None])
        found["forecast"].append(round(float(forecast.cdf(now.best)[0]), 4))
        found["learned"].append(round(chance_to_beat(now, forecast[0]) or found["forecast"][-1], 4))
        found["came"].append(int(task.evaluate(proposal.params, rng).outcome < now.best))
    return {"task": name, "seed": seed, "trials": trials, **found, "commit": commit()}


def section() -> list[str]:
    """Return the part of the page about proposals."""
    rows = list(read_lines(RESULTS))
    if not rows:
        return []
    forecast, learned, came = (
        np.concatenate([row[name] for row in rows]) for name in ("forecast", "learned", "came")
    )
    high = forecast >= 0.4
    return [
        "What was learned of the sampler's suggestions holds for what `suggest` proposes, too. Of "
        f"{came.size} proposals after {min(AFTER)} to {max(AFTER)} trials, on "
        f"{len({row['task'] for row in rows})} of the tasks that it was learned from, "
        f"{came.mean():.0%} improved; by their forecasts it would have been "
        f"{forecast.mean():.0%}, as learned {learned.mean():.0%}. Of the {high.sum()} whose "
        f"forecasts promised 40 % and more, {came[high].mean():.0%} did: "
        f"{forecast[high].mean():.0%} by the forecasts, {learned[high].mean():.0%} as learned, "
        "which is what `suggest` states (`python -m benchmarks.decisions.proposals`).",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args()
    done = {(row["task"], row["seed"]) for row in read_lines(RESULTS)}
    missing = [
        (name, seed, AFTER[(number + seed) % len(AFTER)])
        for seed in SEEDS
        for number, name in enumerate(LEARNING)
        if (name, seed) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
