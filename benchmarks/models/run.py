"""Run the searches; results are JSON lines, one per search, and a finished search is not repeated.

python -m benchmarks.models.run                       # all that is missing
python -m benchmarks.models.run --families "deep ensemble" --folder elsewhere
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import file_name
from benchmarks.models.families import FAMILIES, PROBLEMS, search

RESULTS = Path(__file__).parent / "results"
REPETITIONS = 30


def path(family: str, folder: Path = RESULTS) -> Path:
    """Return where the results of a family are."""
    return folder / f"{file_name(family)}.jsonl"


def execute(family: str, problem: str, calibrated: bool, seed: int) -> dict:
    """Return a line of the results."""
    warnings.simplefilter("ignore")
    row = {"family": family, "problem": problem, "calibrated": calibrated, "seed": seed}
    found = search(family, problem, calibrated=calibrated, seed=seed)
    return row | found | {"commit": commit()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    missing = []
    for family in given.families:
        known = read_lines(path(family, given.folder))
        done = {(row["problem"], row["calibrated"], row["seed"]) for row in known}
        missing += [
            (family, problem, calibrated, seed)
            for seed in range(REPETITIONS)
            for problem in PROBLEMS
            for calibrated in (True, False)
            if (problem, calibrated, seed) not in done
        ]

    def keep(row: dict) -> None:
        append(path(row["family"], given.folder), row)

    run_missing(execute, missing, keep, given.jobs)


if __name__ == "__main__":
    main()
