"""Run what is missing of the problems, and keep each result as it comes.

    python -m benchmarks.problems.run [--kinds candidates] [--systems calibrant random] [--jobs 2]

A system whose library is not installed here is left out; its stored results stay.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import Any

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.problems import candidates, constraints, costs, earlier, noise, shapes
from benchmarks.problems.kinds import REPETITIONS, Kind

FOLDER = Path(__file__).parent / "results"
KINDS: dict[str, Kind] = {
    kind.KIND.name: kind.KIND for kind in (candidates, constraints, noise, costs, shapes, earlier)
}
NEEDS = {  # modules
    "baybe": "baybe",
    "botorch": "botorch",
    "optuna-gp": "torch",
    "gp-ei pool search": "sklearn",
}

Run = tuple[str, str, int]  # system, task, seed


def results(kind: str) -> dict[Run, dict[str, Any]]:
    known = read_lines(FOLDER / f"{kind}.jsonl")
    return {(record["system"], record["task"], record["seed"]): record for record in known}


def execute(kind: str, system: str, task: str, seed: int) -> tuple[str, dict[str, Any]]:
    began = time.process_time()
    found = KINDS[kind].systems[system](task, seed)
    seconds = round(time.process_time() - began, 2)
    return kind, {
        "system": system, "task": task, "seed": seed,
        **found, "seconds": seconds, "commit": commit(),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--systems", nargs="+")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--jobs", type=int)
    chosen = parser.parse_args()
    missing = []
    for seed in range(chosen.repetitions):
        for name in chosen.kinds:
            known = results(name)
            for system in KINDS[name].systems:
                installed = importlib.util.find_spec(NEEDS.get(system, "numpy")) is not None
                if not installed or (chosen.systems and system not in chosen.systems):
                    continue
                tasks = KINDS[name].scales()
                missing += [
                    (name, system, task, seed)
                    for task in tasks
                    if (system, task, seed) not in known
                ]
    run_missing(
        execute, missing, lambda pair: append(FOLDER / f"{pair[0]}.jsonl", pair[1]), chosen.jobs
    )


if __name__ == "__main__":
    main()
