"""The streams: each is asked for the next outcome, and may look at the quantiles just played."""

from __future__ import annotations

import numpy as np


def iid(played, surplus, levels, t, total, rng):
    """Outcomes twice as wide as forecast."""
    return 2.0 * rng.standard_normal()


def drifting(played, surplus, levels, t, total, rng):
    """The std goes from half to three times the forecast one; the mean swings."""
    return np.sin(6.0 * t / total) + (0.5 + 2.5 * t / total) * rng.standard_normal()


def switching(played, surplus, levels, t, total, rng):
    """Every 500 outcomes another regime: narrow, shifted, wide."""
    mean, std = ((0.0, 0.5), (2.0, 1.0), (-1.0, 3.0))[(t // 500) % 3]
    return mean + std * rng.standard_normal()


def adversarial(played, surplus, levels, t, total, rng):
    """Pick a place that leaves some level as far off as possible: in a gap, or on a quantile."""
    finite = np.clip(played, -40.0, 40.0)
    edges = np.concatenate([[-41.0], finite, [41.0]])
    gaps = np.flatnonzero(np.diff(edges) > 1e-9)
    if gaps.size == 0:
        return 0.0
    outcomes = np.concatenate([0.5 * (edges[gaps] + edges[gaps + 1]), finite])
    hits = outcomes[:, None] <= played
    furthest = np.abs(surplus + hits - levels).max(axis=1)
    return float(rng.choice(outcomes[furthest >= furthest.max() - 1e-12]))


STREAMS = {
    "i.i.d.": iid,
    "drifting": drifting,
    "switching": switching,
    "adversarial": adversarial,
}
