"""Write README.md from the results: `python -m benchmarks.large.tables`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import signed
from benchmarks.large import stored
from benchmarks.large.run import ASKS, LIMITS, PROBLEMS, RESULTS, SEEDS, SIZES
from benchmarks.peers.suite import TASKS
from calibrant.models import GaussianProcess

PAGE = Path(__file__).parent / "README.md"
DEFAULT = GaussianProcess().most_outcomes

HEAD = f"""# Large histories

How well does a search with thousands of outcomes do if the model uses only a part of them? Each search continues from n evaluations: a third of them are random, and the others approach the best of 3,000 random points. The default model, without the learned level, is
fitted to at most `most_outcomes` of them: the best, the latest, and an even selection of the others. Then {ASKS} asks, on
{", ".join(PROBLEMS)}; {len(SEEDS)} seeds each, the same histories for all.

*What is left*: regret after these asks, as a share of the regret before them. The change is against a limit of {DEFAULT:,}, the default, paired over
problems and seeds, with a 95 % bootstrap interval and Wilcoxon's p. *An ask*: CPU seconds on one thread, the mean over the {ASKS} asks, the first
fits included.

| n | most outcomes | an ask, s | slowest ask, s | what is left | change | p | pairs |
|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def main() -> None:
    found = {(r["task"], r["n"], r["most"], r["seed"]): r for r in read_lines(RESULTS)}
    rows = []
    for n in SIZES:
        for most in LIMITS:
            runs = {(k[0], k[3]): r for k, r in found.items() if k[1:3] == (n, most)}
            base = {(k[0], k[3]): r for k, r in found.items() if k[1:3] == (n, DEFAULT)}
            if not runs:
                continue
            keys = sorted(runs.keys() & base.keys())
            left = np.array([_left(key[0], runs[key]) for key in keys])
            change = left - np.array([_left(key[0], base[key]) for key in keys])
            asks = [r["seconds"] for r in runs.values()]
            beside = "| | |"
            if most != DEFAULT and len(keys) > 1:
                beside = f"| {signed(estimate(change))} | {paired_p(change):.2g} |"
            rows.append(
                f"| {n:,} | {most:,} | {np.mean(asks):.2f} | {np.median(np.max(asks, axis=1)):.1f} "
                f"| {left.mean():.3f} {beside} {len(keys)} |"
            )
    asks = "\n".join(_stored_rows())
    PAGE.write_text(HEAD + "\n".join(rows) + "\n" + STORED + asks + "\n" + TAIL, encoding="utf-8")
    print(PAGE)


def _stored_rows() -> list[str]:
    rows = list(read_lines(stored.RESULTS))
    lines = []
    for n in stored.SIZES:
        for system in dict.fromkeys(row["system"] for row in rows):
            mine = [row for row in rows if (row["system"], row["n"]) == (system, n)]
            first = [row["seconds"][0] for row in mine]
            later = [second for row in mine for second in row["seconds"][1:]]
            statements = np.median([row["statements"][1:] for row in mine])
            lines.append(
                f"| {n:,} | {system} | {np.median(first):.2f} | {np.median(later):.3f} "
                f"| {max(later):.2f} | {statements:.0f} | {len(mine)} |"
            )
    return lines


def _left(task: str, run: dict) -> float:
    low = TASKS[task].minimum
    return (run["after"] - low) / (run["before"] - low)


STORED = f"""
The limit is {DEFAULT:,}: an ask takes less than a second on average, and fewer outcomes tell the search less. More were not tried.

## A process that opens a large study

The study is an SQLite file of n finished trials with six parameters, each with its suggestion, forecast and interval. A new process opens it, then asks and
tells {stored.ASKS} times. *First*: CPU seconds of its first ask, which reads and decodes all trials and fits a model from scratch, the median of the processes.
*Later*: the median and the slowest of the others. *Statements*: of a later ask. `885c411` is the commit before only what is new was read,
decoded and observed; it asked for the same settings, bit by bit, in all nine runs.

| n | system | first, s | later, s | slowest, s | statements | processes |
|---:|---|---:|---:|---:|---:|---:|
"""

TAIL = """
What is left of a first ask is Optuna's reading (all of TPE's), decoding, and the first fit; of a later one nearly all is the search for the best
point under a model of 2,000 outcomes. So asks stay several times as dear as TPE's.

## Again

```
make large
```

runs what is missing in `results/` and writes this page. The rows of `885c411` were made with this benchmark in a checkout of that commit, with studies that had no notes of states yet.
"""

if __name__ == "__main__":
    main()
