"""What repeated, paired runs show: means with intervals, paired tests, and corrections for many.

Bootstrap draws are the same every time, so that a page is the same whenever it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

DRAWS = 4000
DRAWS_OVER_TASKS = 2000  # each draws from every task, one by one
EXACT = 12  # pairs that differ: up to these, 4096 assignments of signs, all are tried


class Estimate(NamedTuple):
    """A mean and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def estimate(values: ArrayLike, draws: int = DRAWS) -> Estimate:
    """Return the mean over repetitions, with a percentile bootstrap interval."""
    values = np.asarray(values, dtype=float)
    rng = np.random.default_rng(0)
    means = values[rng.integers(values.size, size=(draws, values.size))].mean(axis=1)
    return Estimate(float(values.mean()), *_interval(means))


def estimate_over_tasks(by_task: Sequence[np.ndarray], tasks_too: bool = False) -> Estimate:
    """Return the mean over tasks of the mean over their repetitions, with a bootstrap interval.

    Repetitions are drawn again, and tasks if asked. Without tasks the interval is about these
    tasks; with them, about others of their kind.
    """
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS_OVER_TASKS):
        means = np.array([rng.choice(values, values.size).mean() for values in by_task])
        drawn.append(rng.choice(means, means.size).mean() if tasks_too else means.mean())
    return Estimate(float(np.mean([values.mean() for values in by_task])), *_interval(drawn))


def _interval(means: Sequence[float] | np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def paired_p(ours: ArrayLike, theirs: ArrayLike = 0.0) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test on pairs, or on differences.

    Of a few pairs that differ, all assignments of signs are tried, and equal pairs say nothing.
    Beyond, the normal approximation will do.
    """
    from scipy.stats import rankdata, wilcoxon  # 0.3 s to load

    difference = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    unequal = difference[difference != 0.0]
    if unequal.size > EXACT:
        return float(wilcoxon(difference, zero_method="zsplit", method="approx").pvalue)
    ranks = rankdata(np.abs(unequal))
    signs = 1.0 - 2.0 * (np.arange(2**unequal.size)[:, None] >> np.arange(unequal.size) & 1)
    observed = abs(ranks @ np.sign(unequal))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


def sign_test(
    more: int, less: int, alternative: Literal["two-sided", "greater"] = "two-sided"
) -> float:
    """Return the exact p-value of how many pairs have more and how many less; ties say nothing."""
    from scipy.stats import binomtest

    if more + less == 0:
        return 1.0
    return float(binomtest(more, more + less, alternative=alternative).pvalue)


def worst_tenth(values: np.ndarray) -> float:
    """Return the mean of the highest tenth of some values, at least one."""
    return float(np.sort(values)[-max(1, round(values.size / 10)) :].mean())


def mcnemar(new: np.ndarray, old: np.ndarray) -> float:
    """Return the two-sided exact p-value of paired successes, each an array of booleans."""
    return sign_test(int(np.sum(new & ~old)), int(np.sum(old & ~new)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in the order given."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected
