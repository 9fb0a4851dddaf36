"""What the page says about earlier studies beside the ends of searches: regret on the way."""

from __future__ import annotations

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import interval, markdown_table, number
from benchmarks.problems.earlier import KIND, LEARNED, LEARNING, TASKS, TRIALS
from benchmarks.problems.kinds import regrets
from benchmarks.problems.run import results

AFTER = (5, 10, TRIALS)  # evaluations
_TIE = 1e-9

Paths = dict[str, dict[str, dict[int, np.ndarray]]]  # system, task, seed -> regret after each


def page() -> str:
    """Return the parts that follow the section of the kind."""
    return "\n\n".join([_on_the_way(), _never_worse(), _held(), _chosen()])


def _paths() -> Paths:
    scales = KIND.scales()
    found: Paths = {system: {task: {} for task in scales} for system in KIND.systems}
    for (system, task, seed), record in results(KIND.name).items():
        found[system][task][seed] = regrets(record["values"], *scales[task])
    return found


def _changes(found: Paths, rival: str, task: str, after: int) -> np.ndarray:
    """Return regret of calibrant less that of a rival, in the runs that both have."""
    ours, theirs = found["calibrant"][task], found[rival][task]
    return np.array(
        [ours[s][after - 1] - theirs[s][after - 1] for s in sorted(ours.keys() & theirs.keys())]
    )


def _on_the_way() -> str:
    found, rows = _paths(), []
    for misleads in (False, True):
        tasks = [name for name, task in TASKS.items() if task.misleads == misleads]
        for system in KIND.systems:
            cells = []
            for after in AFTER:
                runs = [path[after - 1] for task in tasks for path in found[system][task].values()]
                cells.append(interval(estimate(runs)))
            beaten = []
            for after in AFTER:
                if system == "calibrant":
                    beaten.append("")
                    continue
                change = np.concatenate([_changes(found, system, t, after) for t in tasks])
                won, lost = int((change < -_TIE).sum()), int((change > _TIE).sum())
                beaten.append(f"{won}–{lost} ({paired_p(change):.2g})")
            rows.append(["misleading" if misleads else "related", system, *cells, *beaten])
    head = ("tasks", "system", *(f"after {n}" for n in AFTER), *(f"at {n}" for n in AFTER))
    return f"""### Earlier studies, on the way

Mean regret after so many evaluations, with its interval; then in how many paired runs calibrant with earlier studies was better and
worse than the system at that time, with the p-value of Wilcoxon's test.

{markdown_table(head, rows, 2)}"""


def _never_worse() -> str:
    found, rows = _paths(), []
    for task, kind in TASKS.items():
        cells = []
        for after in AFTER:
            change = _changes(found, "anew", task, after)
            won, lost = int((change < -_TIE).sum()), int((change > _TIE).sum())
            cells.append(f"{number(change.mean())} ({won}–{lost}, p = {paired_p(change):.2g})")
        rows.append([task, "yes" if kind.misleads else "", *cells])
    worse = [
        f"{task} after {after}"
        for task, kind in TASKS.items()
        for after in AFTER
        if (change := _changes(found, "anew", task, after)).mean() > 0.0 and paired_p(change) < 0.05
    ]
    misled = [one for one in worse if TASKS[one.rpartition(" after ")[0]].misleads]
    head = ("task", "misleads", *(f"after {n}" for n in AFTER))
    return f"""### Never worse than anew?

Regret with earlier studies less regret anew: below zero is better. In brackets the runs better and worse, and Wilcoxon's p, not
corrected for the number of tests ({len(TASKS) * len(AFTER)}).

{markdown_table(head, rows, 2)}

Worse with p < 0.05 on tasks that mislead: {", ".join(misled) or "none"}. On related tasks:
{", ".join(one for one in worse if one not in misled) or "none"}."""


def _held() -> str:
    shares = []
    for system in ("calibrant", "anew"):
        held = [
            h for (who, _, _), r in results(KIND.name).items() if who == system for h in r["held"]
        ]
        shares.append(f"{np.mean(held):.1%} of {len(held):,} with {system}")
    return f"80 % intervals shown before evaluations held: {', '.join(shares)}."


def _chosen() -> str:
    rows, known = [], list(read_lines(LEARNED))
    systems = list(dict.fromkeys(record["system"] for record in known))
    for task, kind in LEARNING.items():
        scale, cells = kind.scale(), []
        for system in systems:
            paths = [
                regrets(r["values"], *scale)
                for r in known
                if (r["system"], r["task"]) == (system, task)
            ]
            means = np.mean(paths, axis=0)
            cells.append(" / ".join(number(float(means[after - 1])) for after in AFTER))
        rows.append([task, *cells])
    return f"""### How it was chosen

On tasks of their own (`python -m benchmarks.problems.earlier`), ten repetitions; cells are mean regrets after 5, 10 and {TRIALS}
evaluations. *Every other* gave every other first evaluation to earlier studies; now a study loses its places when it has ranked more
pairs of outcomes wrong than right. *Trust 0.1* and *trust 10* are other medians of the belief about trust, which made no clear
difference.

{markdown_table(("task", *systems), rows)}"""
