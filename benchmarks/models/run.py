"""Run the searches; results are JSON lines, one a search, and a finished search is not repeated.

python -m benchmarks.models.run                       # all that is missing
python -m benchmarks.models.run --families "deep ensemble" --folder elsewhere
"""

from __future__ import annotations

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.words import file_name
from benchmarks.models.families import FAMILIES, PROBLEMS, search

RESULTS = Path(__file__).parent / "results"
REPETITIONS = 20


def path(family: str, folder: Path = RESULTS) -> Path:
    """Return where the results of a family are."""
    return folder / f"{file_name(family)}.jsonl"


def execute(family: str, problem: str, calibrated: bool, seed: int) -> dict:
    """Return a line of the results."""
    warnings.simplefilter("ignore")
    row = {"family": family, "problem": problem, "calibrated": calibrated, "seed": seed}
    return row | search(family, problem, calibrated=calibrated, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    plan = []
    for family in given.families:
        known = read_lines(path(family, given.folder))
        done = {(row["problem"], row["calibrated"], row["seed"]) for row in known}
        plan += [
            (family, problem, calibrated, seed)
            for seed in range(REPETITIONS)
            for problem in PROBLEMS
            for calibrated in (True, False)
            if (problem, calibrated, seed) not in done
        ]
    with ProcessPoolExecutor(given.jobs) as pool:
        running = [pool.submit(execute, *run) for run in plan]
        for count, future in enumerate(as_completed(running), start=1):
            row = future.result()
            append(path(row["family"], given.folder), row)
            if count % 20 == 0 or count == len(plan):
                print(f"{count} of {len(plan)} searches", flush=True)


if __name__ == "__main__":
    main()
