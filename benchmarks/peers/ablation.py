"""What each part of calibrant's default is worth: a section of the page."""

from __future__ import annotations

import numpy as np

from benchmarks.kit.statistics import estimate_over_tasks, paired_p
from benchmarks.kit.words import markdown_table, signed
from benchmarks.peers import variants
from benchmarks.peers.calibration import areas_and_ends, results


def section() -> str:
    """Return the section, for the changes that have been run."""
    before = results("gaussian")
    rows = []
    for name, label in (ALSO | {change: change for change in variants.CHANGES}).items():
        changed = results(name)
        keys = sorted(before.keys() & changed.keys())
        if not keys:
            continue
        ours, theirs = (areas_and_ends(part, keys) for part in (before, changed))
        tasks = [np.array([task == t for t, _ in keys]) for task in dict(keys)]
        area, end = (
            estimate_over_tasks([(b - a)[task] for task in tasks])
            for a, b in zip(ours, theirs, strict=True)
        )
        better = np.mean(theirs[1] < ours[1])
        worse = np.mean(theirs[1] > ours[1])
        rows.append(
            (
                label,
                str(len(keys)),
                signed(end),
                f"{better:.0%} / {worse:.0%}",
                f"{paired_p(theirs[1], ours[1]):.2g}",
                signed(area),
            )
        )
    return f"{HEAD}\n\n{markdown_table(COLUMNS, rows)}" if rows else f"{HEAD} Not run yet."


# Variants of the other comparison that are changes of one thing as well.
ALSO = {
    "default": "**today's default**: the scale corrected on evidence",
    "raw": "uncalibrated",
    "pi": "probability of improvement",
    "lcb": "lower confidence bound",
}

HEAD = """\
## One thing changed at a time

Change of normalised regret after 30 evaluations, changed less unchanged: above zero, the change is a loss. Same tasks, same
first points. Unchanged is the default as it was when these searches were made: the scale recalibrated by its moments,
`GaussianRecalibrator(strength=5, limit=2.5)`; the first line is what has changed since, and the first four are searches by
the code of today."""

COLUMNS = ("changed", "searches", "change of regret", "lower / higher", "p", "change of area")
