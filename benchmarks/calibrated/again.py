"""Run stored searches again, and see what the versions between then and now have changed.

    python -m benchmarks.calibrated.again     # two core-minutes

From each commit's searches some are drawn at random. A search leads elsewhere after the first bit
that differs, so that single areas may change by rounding alone; their mean may not. The searches
are kept in results/again.jsonl, anew each time, and judged on the page.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.calibrated.methods import METHODS
from benchmarks.calibrated.run import RESULTS, execute, load
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import run_missing

FOUND = RESULTS / "again.jsonl"
COUNT = 40  # searches of each commit, drawn at random

Search = tuple[str, str, str, int]  # method, part, task, seed


def drawn(count: int = COUNT) -> list[Search]:
    """Return some searches of each commit."""
    by_commit: dict[str, list[Search]] = defaultdict(list)
    for method in METHODS:
        for row in load(method):
            by_commit[row["commit"]].append((method, row["part"], row["task"], row["seed"]))
    rng = np.random.default_rng(0)
    return [
        known[index]
        for _, known in sorted(by_commit.items())
        for index in rng.permutation(len(known))[:count]
    ]


def pairs() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return searches as they are stored, each with what came out when it was run again."""
    again = {_key(row): row for row in read_lines(FOUND)}
    return [
        (row, again[_key(row)]) for method in METHODS for row in load(method) if _key(row) in again
    ]


def _key(row: dict[str, Any]) -> Search:
    return row["method"], row["part"], row["task"], row["seed"]


def main() -> None:
    FOUND.unlink(missing_ok=True)
    run_missing(execute, drawn(), lambda row: append(FOUND, row), os.cpu_count())


if __name__ == "__main__":
    main()
