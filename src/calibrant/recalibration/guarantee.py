"""The guarantee of online recalibration when levels must not cross.

A single level keeps its surplus N = hits − p·T within max(1, 1/η) on any sequence. With K levels
and isotonic projection, let E(a, b) = θ_a − mean(θ_a … θ_b): by how much a level exceeds the mean
of those it may be averaged with. Two facts bound it:

* Inside a block of the projection all levels are hit or missed together, so each step changes
  E(a, b) by η·(p_a − mean(p_a … p_b)) < 0.
* Outcomes separate levels only between blocks. If an outcome separates c from c + 1, then
  mean(θ_a … θ_c) < mean(θ_{c+1} … θ_b) before it, so that E(a, b) < E(a, c), and after it
  E(a, b) < E(a, c) + η·((b − c)/(b − a + 1) − (mean(p_a … p_b) − p_a)).

By induction E(a, b) ≤ η·e(a, b), where e is computed by that recursion (``overhang``). Dropping
the last bracket gives the simple bound e ≤ 1/2 + … + 1/K < ln K. Hence, for any rate and any
sequence, |N| ≤ max(1, 1/η) + max e. Moreover, the third rule in ``online.py`` frees every level
that its block holds back, unless a level i must be hit while a level j, in the same or a higher
block, must be missed. For η ≤ 1 that needs θ_i − θ_j > 1 + (1 − η)(p_i + 1 − p_j). But, with e′
the mirror image of e,

* i < j in one block: the last separation, between some c and c + 1, left
  θ_i − θ_j ≤ η·(e(i, c) + e′(c + 1, j) + 1 − (p_j − p_i)), which has shrunk since;
* i < j in two blocks, the first ending in c and the second starting in c′ > c:
  θ_i − θ_j ≤ η·(e(i, c) + e′(c′, j));
* j < i in one block from s to t: θ_i − θ_j ≤ η·(e(i, t) + e′(s, j)).

If these bounds are small enough for all i and j, then |N| ≤ max(1, 1/η) exactly. ``exact_rate``
is the largest rate at which they are: 0.199 for 99 even levels.

Some growth with K seems unavoidable: even when the outcomes are chosen greedily to keep the surplus
of 99 levels small, it grows to 1.5 (it is then the discrepancy of a sequence).

**Late outcomes.** With workers, forecasts are issued while others still wait for their outcomes.
Let at most D wait whenever another is issued, count each outcome on the quantiles that were *shown*
for it, and let N* be the surplus of all forecasts issued so far, in the order of issue, outcomes
still to come included. N* and the surplus N of what has arrived differ by at most D·max(p, 1 − p).

* The third rule looks at N. A forecast is played above −∞ only where N + 1 − p ≤ max(1, 1/η), so
  that N* ≤ max(1, 1/η) + D·(1 − p) after it; and in the same way N* ≥ −max(1, 1/η) − D·p.
* θ* = p − η·N* differs from the θ that is projected by the waiting forecasts. Where that projection
  separates c from c + 1, mean(θ*_a … θ*_c) < mean(θ*_{c+1} … θ*_b) + η·D, so that the recursion
  above holds for θ* with 1 + D in place of 1: e_D(a, b) = max over c of
  e_D(a, c) + (1 + D)·(b − c)/(b − a + 1) − (mean(p_a … p_b) − p_a).
* A conflict of levels i and j is about θ, not θ*. Taking the waiting forecasts out again, the three
  differences above grow by η·D·(1 + p_j − p_i), η·D·(p_j − p_i) and η·D·(1 − p_i + p_j).

So |N*| ≤ max(1, 1/η) + D·max(p, 1 − p) for rates up to ``exact_rate(levels, D)``, and
|N*| ≤ max(1, 1/η) + max e_D + 2·D for any rate: on any sequence, in whatever order outcomes arrive,
however long one of them takes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from calibrant.core.typing import FloatArray


@lru_cache(maxsize=64)
def largest_surplus(levels: tuple[float, ...], rate: float, delay: int = 0) -> float:
    """Return a bound on |hits − p·T| that holds at every level and time, on any sequence.

    Args:
        levels: the grid.
        rate: the step size η.
        delay: how many forecasts may wait for their outcomes when another is issued.
    """
    allowance = max(1.0, 1.0 / rate)
    if rate <= exact_rate(levels, delay):
        return allowance + delay * max(*levels, *(1.0 - p for p in levels))
    above, below = overhang(levels, delay), _overhang_below(levels, delay)
    return allowance + float(max(above.max(), below.max())) + 2.0 * delay


@lru_cache(maxsize=64)
def exact_rate(levels: tuple[float, ...], delay: int = 0) -> float:
    """Return the largest rate at which preventing crossings provably does not loosen the bound."""
    p = np.array(levels)
    above, below = overhang(levels, delay), _overhang_below(levels, delay)
    best = 1.0
    for i in range(p.size):
        for j in range(p.size):
            if i < j:
                together = (above[i, i:j] + below[i + 1 : j + 1, j]).max() + 1.0 - (p[j] - p[i])
                furthest = np.maximum.accumulate(above[i, i:j])
                apart = (furthest + below[i + 1 : j + 1, j]).max()
                width = p[j] - p[i]
                difference = max(together + delay * (1.0 + width), apart + delay * width)
            elif j < i:
                outside = 1.0 - p[i] + p[j]
                difference = above[i, i:].max() + below[: j + 1, j].max() + delay * outside
            else:
                continue  # a level cannot have both too many hits and too few
            room = p[i] + 1.0 - p[j]  # θ_i − θ_j ≤ rate·difference must be ≤ 1 + (1 − rate)·room
            best = min(best, (1.0 + room) / (difference + room))
    return float(best)


@lru_cache(maxsize=64)
def overhang(levels: tuple[float, ...], delay: int = 0) -> FloatArray:
    """Return e(a, b), the bound on (θ_a − mean(θ_a … θ_b))/η; zero below the diagonal."""
    p = np.array(levels)
    size = p.size
    sums = np.concatenate([[0.0], np.cumsum(p)])
    e = np.zeros((size, size))
    for a in range(size):
        for b in range(a + 1, size):
            length = b - a + 1
            separated = e[a, a:b] + (1 + delay) * (b - np.arange(a, b)) / length
            drift = (sums[b + 1] - sums[a]) / length - p[a]
            e[a, b] = max(0.0, separated.max() - drift)
    return e


def _overhang_below(levels: tuple[float, ...], delay: int = 0) -> FloatArray:
    """Return e′(a, b), the bound on (mean(θ_a … θ_b) − θ_b)/η, by reflecting levels p → 1 − p."""
    mirrored = overhang(tuple(1.0 - p for p in reversed(levels)), delay)
    return mirrored[::-1, ::-1].T
