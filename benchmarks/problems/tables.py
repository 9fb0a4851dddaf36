"""The page of the problems, from stored results: python -m benchmarks.problems.tables"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.kit.statistics import paired_p
from benchmarks.kit.words import markdown_table, number, p_value
from benchmarks.problems.run import KINDS, results

PAGE = Path(__file__).parent / "README.md"

HEAD = """# Problems as people have them

Each kind of problem has a file here: its tasks, its systems and what counts. Written by `python -m benchmarks.problems.tables` from the results in `results/`; `python -m benchmarks.problems.run noise costs` runs what is missing of them.

Cells are median regrets over repetitions: how far the true value is from the minimum. All systems get the same seeds and, where there is noise, the same luck. "Won" counts repetitions in which calibrant ended lower than the other system, over all tasks; p-values are those of Wilcoxon's signed-rank test on the logarithms of paired regrets.
"""

TITLES = {
    "noise": "Noise known of each measurement",
    "costs": "Evaluations that differ in price",
}


def main() -> None:
    parts = [HEAD, *(_section(kind) for kind in KINDS)]
    PAGE.write_text("\n".join(parts))


def _section(kind: str) -> str:
    problem = import_module(f"benchmarks.problems.{kind}")
    about = (problem.__doc__ or "").strip()
    parts = [f"## {TITLES[kind]}\n", f"```text\n{about}\n```\n"]
    if problem.LEARNING:
        parts += ["On the tasks that a choice was made on:\n"]
        parts += [_table(kind, tuple(problem.LEARNING), problem.VARIANTS), ""]
        parts += ["On tasks that had no part in it:\n"]
    parts += [_table(kind, tuple(problem.JUDGED), problem.SYSTEMS), ""]
    return "\n".join(parts)


def _table(kind: str, tasks: tuple[str, ...], systems: tuple[str, ...]) -> str:
    """Return median regrets by system and task, and how calibrant fared against each."""
    done = results(kind)
    head = ["system", *tasks, "runs", "won", "lost", "p"]
    rows = []
    for system in systems:
        medians = []
        for task in tasks:
            found = [r["regret"] for (s, t, _), r in done.items() if (s, t) == (system, task)]
            medians.append(number(float(np.median(found)), 4) if found else "–")
        pairs = [
            (done["calibrant", task, seed]["regret"], done[system, task, seed]["regret"])
            for task in tasks
            for seed in range(100)
            if (system, task, seed) in done and ("calibrant", task, seed) in done
        ]
        runs = sum(s == system and t in tasks for s, t, _ in done)
        if system == "calibrant" or not pairs:
            rows.append([system, *medians, str(runs), "", "", ""])
            continue
        ours, theirs = np.log(np.maximum(np.array(pairs), 1e-12)).T
        p = p_value(paired_p(ours, theirs))
        won, lost = int(np.sum(ours < theirs)), int(np.sum(ours > theirs))
        rows.append([system, *medians, str(runs), str(won), str(lost), p])
    return markdown_table(head, rows)


if __name__ == "__main__":
    main()
