"""What the reports of pruned trials foretell: the outcomes that they would have had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibrant.core.typing import FloatArray

_TOLD = 3  # finished trials that reported at a step, before they tell what comes after it


def extrapolated(
    pruned: Sequence[Mapping[int, float]], finished: Sequence[tuple[Mapping[int, float], float]]
) -> FloatArray:
    """Return what the last reports of pruned trials extrapolate to, and the std of that, (n, 2).

    What came after a report at that step, in trials that finished, is expected to come. Where too
    few have reported then, an outcome is no better than the middle one, and uncertain.

    Args:
        pruned: the reports of each, by step, of which there is one at least.
        finished: the reports of each, and its outcome.
    """
    if not finished:
        return np.zeros((len(pruned), 2))
    y = np.array([value for _, value in finished])
    middle = 2.0 * np.median(y / 2.0)  # halves, as the sum of the largest two is none
    ends = y.min() / 2.0, y.max() / 2.0
    half_range = ends[1] - ends[0]
    after = {
        step: np.array([value / 2.0 - r[step] / 2.0 for r, value in finished if step in r])
        for step in {max(reports) for reports in pruned}
    }
    rows = []
    for reports in pruned:
        step, last = max(reports.items())
        if after[step].size >= _TOLD:
            value = 2.0 * np.clip(last / 2.0 + np.median(after[step]), *ends)
            with np.errstate(over="ignore"):
                std = min(2.0 * after[step].std(ddof=1), half_range)
        else:
            value, std = np.clip(last, middle, y.max()), half_range
        rows.append((value, std))
    return np.array(rows).reshape(-1, 2)
