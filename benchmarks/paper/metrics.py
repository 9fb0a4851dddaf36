"""What is measured on repetitions: the paper's m, f and a, calibration by step, and its Theorem 1.

=====  =====================================================================================
``m``  the lowest value found
``a``  mean over steps of (best so far − lower)/(upper − lower); lower is the known minimum,
       upper the best of the first points, which the methods of a repetition share
``f``  share of repetitions in which a baseline is worse: it ends with a higher minimum, or
       finds the same one later, or its whole curve lies above
=====  =====================================================================================
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
RATIOS = (1.5, 2.0, 5.0, 10.0)  # of Theorem 1
_SAME = 1e-3  # of the range from lower to upper: minima closer than this are the same


def curve(record: Record) -> FloatArray:
    """Return the best value so far: before the first step, and after each."""
    return np.array(record["best"], dtype=float)


def area(record: Record) -> float:
    """Return the normalised area a under the curve; 0 where the first points hold the minimum."""
    best, lower = curve(record), record["minimum"]
    if best[0] <= lower:
        return 0.0
    return float(np.mean(np.maximum(best[1:] - lower, 0.0) / (best[0] - lower)))


def is_worse(baseline: Record, ours: Record) -> bool:
    """Return whether a baseline does worse than ours, as the paper defines it."""
    theirs, own = curve(baseline), curve(ours)
    if np.all(theirs[1:] > own[1:]):
        return True
    same = _SAME * max(own[0] - ours["minimum"], 0.0)
    if abs(theirs[-1] - own[-1]) <= same:
        reached = max(theirs[-1], own[-1])
        return bool(_first_at(theirs, reached) > _first_at(own, reached))
    return bool(theirs[-1] > own[-1])


def _first_at(curve: FloatArray, value: float) -> int:
    return int(np.argmax(curve <= value))


class Comparison(NamedTuple):
    """A method beside another over the repetitions that both have run."""

    repetitions: int
    worse: float  # share of repetitions in which the method is worse than the other
    better: float
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
        float(np.mean([is_worse(method[s], other[s]) for s in seeds])),
        float(np.mean([is_worse(other[s], method[s]) for s in seeds])),
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


def exceedances(record: Record, which: str) -> FloatArray:
    """Return for each ratio r how often the regret was at least r times what was expected.

    The loss of Theorem 1 is the regret y − minimum: never negative, and increasing in y. The last
    entry is the share of steps whose expectation was infinite: these cannot be exceeded.
    """
    forecasts = record["forecasts"]
    expected = np.array(forecasts.get(which, forecasts["raw"])["regret"], dtype=float)
    expected = np.where(np.isnan(expected), np.inf, expected)
    realised = np.maximum(np.array(record["outcomes"]) - record["minimum"], 0.0)
    shares = [np.mean(realised >= r * expected) for r in RATIOS]
    return np.array([*shares, np.mean(np.isinf(expected))])
