"""Run stored searches again, and see whether they come out the same.

    OPENBLAS_CORETYPE=Haswell python -m benchmarks.paper.again
    OPENBLAS_CORETYPE=SkylakeX python -m benchmarks.paper.again

A search is random only by its seed. Where today's code does not repeat it to the last digit kept,
the code has changed since, or rounding has: searches were run on two machines, whose BLAS chose
kernels of its own, and a search leads elsewhere after the first bit that differs. So the second
command tries with other kernels what the first did not repeat. What came out is kept in again.json,
and said on the page.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.kit.running import commit
from benchmarks.paper.records import Records, Repetition
from benchmarks.paper.run import missing_data
from benchmarks.paper.search import search

FOLDER = Path(__file__).parent
FOUND = FOLDER / "again.json"
COUNT = 12  # searches of each commit, drawn at random

Kernels = Sequence[str | None]  # with which kernels each search came out the same, if with any


def drawn(records: Records, count: int = COUNT) -> dict[str, list[Repetition]]:
    """Return some searches of each commit, of those whose data are here."""
    lacking = missing_data({one.setup.task for one in records})
    by_commit: dict[str, list[Repetition]] = {}
    for one in records:
        if one.setup.task not in lacking:
            by_commit.setdefault(records.of(one.setup)[one.seed]["commit"], []).append(one)
    rng = np.random.default_rng(0)
    return {
        name: [known[index] for index in rng.permutation(len(known))[:count]]
        for name, known in sorted(by_commit.items())
    }


def repeat(
    records: Records,
    searches: Mapping[str, Sequence[Repetition]],
    kernels: str,
    before: Mapping[str, Kernels] | None = None,
) -> dict[str, list[str | None]]:
    """Run again what did not come out the same ``before``; say what does with these kernels."""
    found: dict[str, list[str | None]] = {}
    for name, some in searches.items():
        known = (before or {}).get(name, [None] * len(some))
        found[name] = [
            then or (kernels if _is_same(records, one) else None)
            for one, then in zip(some, known, strict=True)
        ]
    return found


def _is_same(records: Records, one: Repetition) -> bool:
    return bool(search(*one)["outcomes"] == records.of(one.setup)[one.seed]["outcomes"])


def sentence(path: Path = FOUND) -> str:
    """Return what came out of it, in words; nothing where it was not tried."""
    if not path.exists():
        return ""
    kept = json.loads(path.read_text(encoding="utf-8"))
    parts = []
    for name, found in kept["same"].items():
        same = [kernels for kernels in found if kernels]
        kinds = ", ".join(f"{same.count(one)} {one}" for one in sorted(set(same)))
        parts.append(f"{name} {len(same)} of {len(found)}" + (f" ({kinds})" if kinds else ""))
    return (
        f"Drawn at random and run again with the code of {kept['commit']}, these came out the same "
        "to all digits kept, with the BLAS kernels of one or the other of two machines: "
        f"{'; '.join(parts)}."
    )


def main() -> None:
    """Run from a shell."""
    parser = argparse.ArgumentParser(description="Run stored searches again, and compare.")
    parser.add_argument("--count", type=int, default=COUNT, help="of each commit, at most")
    given = parser.parse_args()
    kernels = os.environ.get("OPENBLAS_CORETYPE")
    if not kernels:
        parser.error("OPENBLAS_CORETYPE must be set, to Haswell or SkylakeX: it decides rounding.")
    records = Records(FOLDER / "results")
    before = json.loads(FOUND.read_text(encoding="utf-8"))["same"] if FOUND.exists() else None
    same = repeat(records, drawn(records, given.count), kernels, before)
    found = {"commit": commit(), "same": same}
    FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(sentence())


if __name__ == "__main__":
    main()
