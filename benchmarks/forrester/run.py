"""Run the searches; results are JSON lines, one per search, and a finished search is not repeated.

    python -m benchmarks.forrester.run

A search ends when it has found the minimum, or after 25 evaluations. A line says which search it
was and lists the points evaluated and their values, to six digits; the first three are the start.
``k`` says how bold the bound was at step 7 (mean − k std; null: the search had ended), ``below``
how many of the points chosen had a value below their bound.

Beside it, settings.json says what the names stand for. Searches whose settings have changed since
are run again; other changes of the library are not noticed: then delete the results first.
"""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.forrester.problem import LEVELS, MODELS, WAYS, search, settings
from benchmarks.kit.lines import append, read_lines, rewrite
from benchmarks.kit.running import commit, run_missing

RESULTS = Path(__file__).parent / "results"
SEARCHES = RESULTS / "searches.jsonl"
SETTINGS = RESULTS / "settings.json"
SEEDS = range(100)
STEP = 7  # for a look at the recalibration: late enough to have learned, and few have ended


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    forget_outdated()
    done = {(r["model"], r["level"], r["way"], r["seed"]) for r in load()}
    every = itertools.product(MODELS, LEVELS, WAYS, SEEDS)
    missing = [one for one in every if one not in done]
    run_missing(execute, missing, partial(append, SEARCHES))


def forget_outdated() -> None:
    """Drop the results of models and ways whose settings are no longer what they were."""
    now = settings()
    if SETTINGS.exists():
        then = json.loads(SETTINGS.read_text())
        kept = [
            result
            for result in load()
            if all(then[kind].get(result[kind]) == now[kind].get(result[kind]) for kind in now)
        ]
        rewrite(SEARCHES, kept)
    SETTINGS.write_text(json.dumps(now, indent=2) + "\n")


def execute(model: str, level: float, way: str, seed: int) -> dict:
    """Return what is to be kept of a search."""
    x, y, bound = searched = search(model, level, way, seed)
    lower = [
        float(bound.lower(belief, point)[0])
        for belief, point in zip(bound.beliefs, x[3:, None], strict=True)
    ]
    return {
        "model": model,
        "level": level,
        "way": way,
        "seed": seed,
        "k": round(bound.boldness(searched.belief(STEP)), 2) if x.size >= STEP else None,
        "below": int(np.sum(y[3:] < lower)),
        "x": np.round(x, 6).tolist(),
        "y": np.round(y, 6).tolist(),
        "commit": commit(),
    }


def load() -> list[dict]:
    return list(read_lines(SEARCHES))


if __name__ == "__main__":
    main()
