"""What is measured on repetitions: the paper's m, f and a, and calibration by step.

=====  =====================================================================================
``m``  the lowest value found
``a``  mean over steps of (best so far − lower)/(upper − lower); lower is the known minimum,
       upper the best of the first points, which the methods of a repetition share
``f``  share of repetitions in which a baseline is worse: it does not find a lower minimum, or
       finds the same one later, or its whole curve lies above
=====  =====================================================================================

By these words a tie is a win: a baseline that finds the same minimum at the same step "does not
find a lower minimum". The paper counts so: its linear kernel with LCB has f = 1 where both areas
are 1. With ``ties=False`` a tie is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.kit.statistics import Estimate, estimate, paired_p
from benchmarks.paper.search import Record, pits
from calibrant.core.typing import FloatArray
from calibrant.evaluation import metrics

LEVELS = 20  # of the calibration score; the paper does not say
_SAME = 1e-3  # of the range from lower to upper: minima closer than this are the same


def curve(record: Record) -> FloatArray:
    """Return the best value so far: before the first step, and after each."""
    return np.minimum.accumulate([min(record["initial"]), *record["outcomes"]])


def area(record: Record) -> float:
    """Return the normalised area a under the curve; 0 where the first points hold the minimum."""
    best, lower = curve(record), record["minimum"]
    if best[0] <= lower:
        return 0.0
    return float(np.mean(np.maximum(best[1:] - lower, 0.0) / (best[0] - lower)))


def is_worse(baseline: Record, ours: Record, ties: bool = False) -> bool:
    """Return whether a baseline does worse than ours; with ``ties``, or just as well."""
    theirs, own = curve(baseline), curve(ours)
    if np.all(theirs[1:] > own[1:]):
        return True
    same = _SAME * max(own[0] - ours["minimum"], 0.0)
    if abs(theirs[-1] - own[-1]) <= same:
        reached = max(theirs[-1], own[-1])
        later = _first_at(theirs, reached) - _first_at(own, reached)
        return bool(later >= 0 if ties else later > 0)
    return bool(theirs[-1] > own[-1])


def _first_at(curve: FloatArray, value: float) -> int:
    return int(np.argmax(curve <= value))


class Comparison(NamedTuple):
    """A method beside another over the repetitions that both have run."""

    repetitions: int
    worse: float  # share of repetitions in which the method is worse than the other
    worse_or_tied: float  # the paper's f
    better: float
    better_or_tied: float
    area: Estimate
    difference: Estimate  # the method's area less the other's
    p: float  # of the areas' paired test


def compare(method: Mapping[int, Record], other: Mapping[int, Record]) -> Comparison:
    """Return how a method's repetitions compare with those of another."""
    seeds = sorted(method.keys() & other.keys())
    if not seeds:
        raise ValueError("There is no repetition that both methods have run.")
    areas = np.array([[area(m[s]) for s in seeds] for m in (method, other)])
    return Comparison(
        len(seeds),
        *(
            float(np.mean([is_worse(one[s], two[s], ties) for s in seeds]))
            for one, two in ((method, other), (other, method))
            for ties in (False, True)
        ),
        estimate(areas[0]),
        estimate(areas[0] - areas[1]),
        paired_p(areas[0], areas[1]),
    )


def calibration(record: Record, which: str) -> float:
    """Return the calibration score of all forecasts of a repetition, raw or calibrated."""
    return metrics.calibration_score(pits(record, which), LEVELS)


def calibration_by_step(record: Record, which: str) -> FloatArray:
    """Return the calibration score of the forecasts so far, after each step."""
    u = pits(record, which)
    return np.array([metrics.calibration_score(u[:t], LEVELS) for t in range(1, u.size + 1)])


def crps(record: Record, which: str) -> float:
    """Return the median CRPS of a repetition's forecasts, in units of the first points' spread.

    The median, because a forecast through a bounded output map may have no finite mean, and then
    one step of many would decide.
    """
    forecasts = record["forecasts"]
    values = np.array(forecasts.get(which, forecasts["raw"])["crps"], dtype=float)
    spread = float(np.std(record["initial"])) or 1.0
    return float(np.median(np.where(np.isnan(values), np.inf, values))) / spread


def coverage(record: Record, which: str, level: float = 0.8) -> float:
    """Return the share of outcomes in the central intervals of a level."""
    return metrics.pit_coverage(pits(record, which), level)


def learned(record: Record, step: int) -> tuple[float, float]:
    """Return the shift and the scale, in std of the raw forecast, that calibration had learned."""
    calibrated = record["forecasts"]["calibrated"]
    shift, scale = calibrated["shift"][step - 1], calibrated["scale"][step - 1]
    return shift, float("nan") if scale is None else scale  # a tail may have no finite std
