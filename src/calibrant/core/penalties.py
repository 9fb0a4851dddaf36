"""Outcomes that stand for "bad", and not for themselves: 1e6 where a program crashed.

Two rules, because two things go wrong beside a penalty, and they need different caution:

``far_apart``  No model could tell the other outcomes apart. Such outcomes are counted as failures,
               which changes what a search does, so the rule is strict: a factor of 1,000, values
               that may differ, and several different outcomes on the other side.
``scale_of``   The quartiles no longer describe the outcomes that matter. Only the scale of an
               output map depends on it, and the outcomes themselves stay, so a factor of 10 is
               enough; but only one repeated worst value is taken for a penalty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray

_FACTOR = 1000.0  # times as far away as the others are apart
_DIFFERENT = 4  # values that the others must have at least: equal ones lie close by chance
_ROUNDING = 1e-9  # of their size: what is closer counts as equal
_SCALE_FACTOR = 10.0  # the same factor, where only a scale depends on it


def far_apart(y: FloatArray) -> NDArray[np.bool_]:
    """Return which outcomes are penalties: at most half, and far above all others."""
    none = np.zeros(y.size, dtype=bool)
    if y.size < _DIFFERENT:
        return none
    halves = np.sort(y / 2.0)  # the difference of the two largest floats is not a float
    apart, gap = halves[:-1] - halves[0], np.diff(halves)
    at_most_half = np.arange(1, y.size) >= 0.5 * y.size
    distinct = gap > _ROUNDING * np.maximum(np.abs(halves[:-1]), np.abs(halves[1:]))
    different = np.concatenate([[1], 1 + np.cumsum(distinct[:-1])]) >= _DIFFERENT
    jumps = np.flatnonzero(at_most_half & different & (gap / _FACTOR > apart))
    return np.asarray(y / 2.0 > halves[jumps[0]]) if jumps.size else none


def scale_of(y: FloatArray) -> FloatArray:
    """Return the outcomes that tell the scale: all but a worst value that several have."""
    worst = y.max()
    others = np.asarray(y[y < worst])
    if others.size < 2 or y.size - others.size < 2:
        return y
    apart = others.max() - others.min()
    return others if (worst - others.max()) / _SCALE_FACTOR > apart else y
