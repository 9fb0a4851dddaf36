"""Many changes of the default, each tried with hundreds of searches on tasks to learn from.

    python -m benchmarks.peers.screening_wide     # screening-wide.md

The searches were run on a machine with sixteen cores, all changes in the same run. They patched the
library; what the patches did is in the names, their code is not kept. A line of the results holds
all searches of a change on a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.kit.lines import read_lines
from benchmarks.peers.screening import DEFAULT, FUNCTIONS, LEARNING, regrets, table

RESULTS = Path(__file__).parent / "screening-wide.jsonl"
PAGE = Path(__file__).parent / "screening-wide.md"
KINDS = (("training jobs and tables", LEARNING), ("functions", FUNCTIONS))
PARTS = {
    1: "First set of first points",
    2: "Second set of first points",
}


def searches(part: int) -> Iterator[dict[str, Any]]:
    """Return the searches from one set of first points, one by one."""
    for row in read_lines(RESULTS):
        if row["part"] == part:
            for seed, value in zip(row["seeds"], row["values"], strict=True):
                yield {"change": row["change"], "task": row["task"], "seed": seed, "value": value}


def page() -> str:
    """Return the page."""
    tables, count = [], 0
    for part, title in PARTS.items():
        rows = list(searches(part))
        found, count = regrets(rows), count + len(rows)
        changes = sorted({row["change"] for row in rows}, key=lambda name: (name != DEFAULT, name))
        seeds = range(min(r["seed"] for r in rows), max(r["seed"] for r in rows) + 1)
        tables += [
            f"## {title}, {kind}\n\n{table(found, tasks, seeds, changes)}" for kind, tasks in KINDS
        ]
    return f"""\
# Twenty-nine changes of the default, {count:,} searches

Does any of the usual improvements of a Gaussian-process search make the default better? Each was
tried on {len(LEARNING)} training jobs and tables of real ones and on {len(FUNCTIONS)} functions
(noisy, mixed and conditional ones too), none of them held out: 30 evaluations, of which the first
five were the same for all. Regret, *stuck* and pairs are as on the page of
[stuck searches](stuck.md); p is not corrected for the number of changes. The changes were patches
of the library that are not kept, so that the searches cannot be run again.
`python -m benchmarks.peers.screening_wide` writes this page. Raw results:
[screening-wide.jsonl](screening-wide.jsonl).

**What it says.** Not one of these changes holds up. *Hyper-parameters drawn* means drawn from their
posterior, by eight steps of elliptical slice sampling from the most probable ones. On the first set
of first points it was ahead of the default everywhere; so it was tried again on a second set, with
others like it, and there it is behind. So are its variants or they are level: for the acquisition
alone, or as a mean over three draws. Other priors, kernels and transforms of outcomes, and a more
thorough maximisation of the acquisition, change nothing that these searches can show. Only taking
something away does: without the level and the effects of single inputs, searches of functions end
behind. Differences of 0.03 between sets of first points are chance, even with 500 searches each. A
gain that is smaller cannot be found in this way, and is not worth a setting.

Two changes were tried under noise alone: transforms of outcomes chosen by the likelihood of the
model, and noise that is constant in the units of the outcomes (286 searches each, on 13 functions
with two levels of noise; not kept). Neither makes a difference (p = 0.5 and 0.4).

{(chr(10) * 2).join(tables)}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
