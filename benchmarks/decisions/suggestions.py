"""Does this suggestion improve on the best value? How true the probability is.

    python -m benchmarks.decisions.suggestions    # what is missing: searches on held-out tasks

Searches of 30 trials by calibrant's default. For each suggestion three probabilities are kept that
it beats the best value so far: as learned across searches, which `review` counts, that of the
forecast as it was shown, and that of the model alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decisions.outlook import BINS, OFF, stated_and_happened
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import markdown_table
from benchmarks.peers.run import FIRST
from benchmarks.peers.suite import HELD_OUT, TASKS
from calibrant.decisions.beating import chances_to_beat
from calibrant.studies.archive import Archive
from calibrant.studies.shown import ShownForecasts

sys.path.insert(0, str(Path(__file__).parents[1] / "peers" / "adapters"))
from own import Calibrant

RESULTS = Path(__file__).parent / "results" / "suggestions.jsonl"
TRIALS, REPETITIONS = 30, 30
EARLY = 10  # suggestions that count as the first ones


def execute(task_name: str, seed: int) -> dict[str, Any]:
    """Return of each suggestion of a search what was stated, and whether it came."""
    task, rng = TASKS[task_name], np.random.default_rng([seed, 1])
    search = Calibrant(list(task.space), seed, TRIALS)
    points = task.first(FIRST, seed)
    for step in range(TRIALS):
        settings = points[step] if step < FIRST else search.ask()
        search.tell(settings, task.evaluate(settings, rng).outcome)
    return {"task": task_name, "seed": seed, **stated(search.study), "commit": commit()}


def stated(study: Any) -> dict[str, list[Any]]:
    """Return the probabilities that suggestions beat the best value, and whether they did."""
    archive, shown = Archive(), ShownForecasts()
    archive.update(study)
    shown.update(archive.records)
    learned = chances_to_beat(study)
    found: dict[str, list[Any]] = {"raw": [], "shown": [], "learned": [], "came": []}
    best = np.inf
    for trial, record in archive.records.items():
        if record.values is None:
            continue
        value = record.values[0]
        if record.forecasts and np.isfinite(best):
            both = {"raw": record.forecasts[0], "shown": shown.issued[trial].calibrated}
            for name, forecast in both.items():
                found[name].append(round(float(np.clip(forecast.cdf(best), 0.0, 1.0)), 4))
            found["learned"].append(round(learned.get(trial, found["shown"][-1]), 4))
            found["came"].append(int(value < best))
        best = min(best, value)
    return found


BY = {"raw": "the model alone", "shown": "the shown forecast", "learned": "**as stated**"}
Part = Callable[[dict[str, Any], int], bool]
PARTS: dict[str, Part] = {
    "all": lambda r, n: True,
    "up to 4 dimensions": lambda r, n: len(TASKS[r["task"]].space) <= 4,
    "5 to 20 dimensions": lambda r, n: len(TASKS[r["task"]].space) > 4,
    "noisy": lambda r, n: bool(TASKS[r["task"]].noise),
    "without noise": lambda r, n: not TASKS[r["task"]].noise,
    f"first {EARLY} suggestions": lambda r, n: n < EARLY,
    "later": lambda r, n: n >= EARLY,
}


def section() -> list[str]:
    """Return the part of the page about single suggestions."""
    records = list(read_lines(RESULTS))
    if not records:
        return []
    rows: list[list[str]] = []
    for name, part in PARTS.items():
        for by, words in BY.items():
            made = np.array(
                [
                    (number, p, came)
                    for number, record in enumerate(records)
                    for n, (p, came) in enumerate(zip(record[by], record["came"], strict=True))
                    if part(record, n)
                ]
            )
            means = [f"{made[:, 1].mean():.0%}", f"{made[:, 2].mean():.0%}"]
            rows.append([name, words, str(len(made)), *means, *stated_and_happened(made)])
    head = ["suggestions", "forecast", "number", "stated", "improved"]
    return [
        "## Improvement by the next suggestion",
        "",
        f"The probability that a suggestion beats the best value so far, in {len(records)} "
        f"searches of {TRIALS} trials by calibrant on {len(HELD_OUT)} held-out tasks "
        f"({REPETITIONS} repetitions of each were planned). It is given by the model alone, by the "
        "forecast that was shown, and as it is stated, which `review` counts: by a logistic "
        "regression on the model's forecast and on where the search stands, learned from 1,500 "
        "long searches on other tasks (`python -m benchmarks.decisions.beating check`: there, with "
        "tasks left out in turn, 1/4/11/25/43/69 % came of 1/4/10/25/44/70 % stated). First the "
        "means of what was stated and of what happened, then by what was stated; marks as below.",
        "",
        markdown_table([*head, *(f"about {level:.0%}" for level in BINS)], rows, text_columns=2),
        "",
        f"Within 5 points of what happened, as was the goal, are {_reached(rows[2])} as stated, "
        f"{_reached(rows[1])} by the shown forecast, and {_reached(rows[0])} by the model alone, "
        "over all suggestions.",
        "",
    ]


def _reached(row: list[str]) -> str:
    known = [cell for cell in row[5:] if cell != "–"]
    return f"{sum(OFF not in cell for cell in known)} of {len(known)} probabilities"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="at most so many")
    given = parser.parse_args(arguments)
    known = {(r["task"], r["seed"]) for r in read_lines(RESULTS)}
    every = [(task, seed) for seed in range(given.repetitions) for task in HELD_OUT]
    missing = [run for run in every if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
