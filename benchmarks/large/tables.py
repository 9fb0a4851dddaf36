"""Write README.md from the results: `python -m benchmarks.large.tables`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import signed
from benchmarks.large.run import ASKS, LIMITS, PROBLEMS, RESULTS, SEEDS, SIZES
from benchmarks.peers.suite import TASKS
from calibrant.models import GaussianProcess

PAGE = Path(__file__).parent / "README.md"
DEFAULT = GaussianProcess().most_outcomes

HEAD = f"""# Large histories

Searches that go on from n evaluations, a third of them anywhere and the others around the best of 3,000 random points, ever closer. The default model, without the learned level, is
fitted to at most so many of them (`most_outcomes`): the best, the latest, and an even choice of the others. Then {ASKS} asks, on
{", ".join(PROBLEMS)}; {len(SEEDS)} seeds each, the same histories for all.

*What is left*: regret after these asks, as a share of the regret before them. The change is beside a limit of {DEFAULT:,}, the default, paired over
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
    PAGE.write_text(HEAD + "\n".join(rows) + "\n" + TAIL, encoding="utf-8")
    print(PAGE)


def _left(task: str, run: dict) -> float:
    low = TASKS[task].minimum
    return (run["after"] - low) / (run["before"] - low)


TAIL = f"""
The limit is {DEFAULT:,}: an ask takes less than a second on average, and fewer outcomes tell the search less. More were not tried.

## Again

```
make large
```

runs what is missing in `results/large.jsonl` and writes this page.
"""

if __name__ == "__main__":
    main()
