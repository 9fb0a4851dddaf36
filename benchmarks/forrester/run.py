"""Run the searches; results are JSON lines, one a search, and a finished search is not repeated.

    python -m benchmarks.forrester.run [rbf] [default]

A search ends when it has found the minimum, or after 25 evaluations. A line says which search it
was and lists the points evaluated and their values, to six digits; the first three are the start.
The models named share no file, so that each may have a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.forrester.problem import LEVELS, MODELS, WAYS, search

RESULTS = Path(__file__).parent / "results"
SEEDS = range(100)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    for model in sys.argv[1:] or MODELS:
        done = {(r["level"], r["way"], r["seed"]) for r in load(model)}
        for level in LEVELS:
            for way in WAYS:
                print(f"{model}, level {level}, {way}", flush=True)
                for seed in SEEDS:
                    if (level, way, seed) not in done:
                        append(model, level, way, seed)


def append(model: str, level: float, way: str, seed: int) -> None:
    x, y = search(model, level, way, seed)
    task = {"model": model, "level": level, "way": way, "seed": seed}
    result = task | {"x": np.round(x, 6).tolist(), "y": np.round(y, 6).tolist()}
    with path(model).open("a") as file:
        file.write(json.dumps(result, separators=(",", ":")) + "\n")


def load(model: str) -> list[dict]:
    lines = path(model).read_text().splitlines() if path(model).exists() else []
    return [json.loads(line) for line in lines]


def path(model: str) -> Path:
    return RESULTS / f"{model}.jsonl"


if __name__ == "__main__":
    main()
