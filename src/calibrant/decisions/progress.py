"""What a search looks like from its outcomes: a few numbers without units.

They are the same whatever the outcomes are measured in, so that what searches on some problems
gained can be carried over to others. Outcomes are minimised here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray

_FLOOR = 1e-3  # of the unit: closer to the best is as good as equal
_LATEST = 5  # outcomes that say where the search looks now
_NEAR = 0.05  # of the unit: near the best
_RECENT = 10  # outcomes that say whether a search meets the same values again

FEATURES = (
    "trials",
    "dimensions",
    "since the best",
    "improvements",
    "second",
    "fifth",
    "lower quartile",
    "median",
    "latest, median",
    "latest, best",
    "latest, spread",
    "near the best",
    "equal to the best",
    "latest, rank",
    "trend of ranks",
    "whole",
    "equal among the latest",
    "latest, met before",
)


class Progress(NamedTuple):
    """Where a search stands.

    Args:
        best: the lowest outcome.
        unit: the interquartile range of outcomes, or their range where that is 0; 0 where all
            are equal.
        features: one number for each of ``FEATURES``.
        chosen: whether calibrant chose the latest points.
    """

    best: float
    unit: float
    features: FloatArray
    chosen: bool


def progress(y: FloatArray, dim: int, chosen: bool = False, whole: float = 0.0) -> Progress:
    """Return where a search stands after outcomes ``y``, in the order in which they came.

    Args:
        y: at least one finite outcome, to be minimised; what failed counts as the worst one.
        dim: the number of parameters.
        chosen: whether calibrant chose the latest points.
        whole: the share of parameters that take some values only: whole numbers, steps, labels.
    """
    count, ordered = y.size, np.sort(y)
    best, unit = float(ordered[0]), _unit(ordered)
    # Halves, as the difference of the two largest floats is none.
    above = (y / 2.0 - best / 2.0) / (unit / 2.0) if unit > 0.0 else np.zeros(count)
    gaps, latest = np.sort(above), above[-_LATEST:]
    lowest = np.minimum.accumulate(y)
    records = 1 + np.flatnonzero(lowest[1:] < lowest[:-1])
    last = int(records[-1]) if records.size else 0
    quartiles = np.quantile(latest, (0.25, 0.75))
    sizes = [
        gaps[min(1, count - 1)],
        gaps[min(4, count - 1)],
        gaps[count // 4],
        gaps[count // 2],
        np.median(latest),
        latest.min(),
        quartiles[1] - quartiles[0],
    ]
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    recent = y[-_RECENT:]
    by_chance = np.sum(1.0 / np.arange(1, count + 1))  # records of random search
    features = [
        np.log(count),
        np.log(max(dim, 1)),
        np.log(count - last),
        np.log((1 + records.size) / by_chance),
        *np.log(_FLOOR + np.array(sizes)),
        np.mean(above <= _NEAR),
        np.log(np.sum(above == 0.0)),
        np.mean(ranks[-_LATEST:]) / count,
        _trend(ranks),
        whole,
        1.0 - np.unique(recent).size / recent.size,
        np.mean(np.isin(recent, y[:-_RECENT])),
    ]
    return Progress(best, unit, np.array(features), chosen)


def _trend(ranks: NDArray[np.intp]) -> float:
    """Return the correlation of ranks with time: below 0 where later outcomes are better."""
    if ranks.size < 2:
        return 0.0
    middle = 0.5 * (ranks.size - 1)
    return float(((np.arange(ranks.size) - middle) * (ranks - middle)).sum() / _squares(ranks.size))


def _squares(count: int) -> float:
    """Return the sum of squares of the ranks around their mean."""
    return count * (count**2 - 1) / 12.0


def _unit(ordered: FloatArray) -> float:
    low, high = np.quantile(ordered / 2.0, (0.25, 0.75))
    spread = high - low if high > low else ordered[-1] / 2.0 - ordered[0] / 2.0
    return 2.0 * min(float(spread), np.finfo(float).max / 2.0)
