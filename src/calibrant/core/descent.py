"""SciPy's L-BFGS-B, without the wrapper around it.

An ask descends some fifty times through functions of a few numbers, and around each value of such a
function ``scipy.optimize.minimize`` spends about as long as the function takes. So its loop is
written out here. The steps are SciPy's own, bit for bit. The name behind them is private: a version
of SciPy that it was not tried with gets the wrapper, and the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.linalg import lapack
from scipy.optimize import minimize

from calibrant.core.typing import FloatArray

Loss = Callable[[FloatArray], tuple[float, FloatArray]]  # a value, and its gradient

TRIED_WITH = ("1.15", "1.16", "1.17", "1.18")  # versions of SciPy

_KEPT = 10  # steps that the curvature is learned from: SciPy's default, as are the next two
_MOST_EVALUATIONS = 15_000
_SEARCHED = 20  # points along a line
_EVALUATE, _NEW_ITERATION = 3, 1  # what it asks for


class Descent(NamedTuple):
    """Where a descent has ended."""

    x: FloatArray
    value: float


def descend(
    loss: Loss,
    start: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    iterations: int,
    evaluations: int = _MOST_EVALUATIONS,
    ftol: float,
    gtol: float,
    known: tuple[float, FloatArray] | None = None,
) -> Descent:
    """Follow the gradient downwards, within finite bounds.

    Args:
        loss: what to minimise, with its gradient.
        start: where to begin.
        low, high: the bounds of each number.
        iterations: the most steps.
        evaluations: of the loss, after which no other step begins.
        ftol: a step that gains no more than this share of the value (or of 1) is the last.
        gtol: where no slope inside the bounds is steeper, the descent has ended.
        known: value and gradient at the start, if it lies within the bounds.
    """
    if not _is_tried():
        options: Any = {"maxiter": iterations, "maxfun": evaluations, "ftol": ftol, "gtol": gtol}
        start = np.clip(start, low, high)
        found = minimize(
            loss if known is None else _from(start, known, loss),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options=options,
        )
        return Descent(np.asarray(found.x), float(found.fun))
    from scipy.optimize import _lbfgsb

    advance: Any = _lbfgsb.setulb  # its stub asks for whole numbers where it takes others
    # It reads memory as it lies there.
    low, high = (np.ascontiguousarray(bound, dtype=float) for bound in (low, high))
    x = np.ascontiguousarray(np.clip(start, low, high), dtype=float)
    size = x.size
    value, gradient = 0.0, np.zeros(size)
    both = np.full(size, 2, dtype=np.int32)  # every number has two bounds
    factor = ftol / np.finfo(float).eps
    floats = np.zeros(2 * _KEPT * size + 5 * size + 11 * _KEPT * _KEPT + 8 * _KEPT)
    whole = np.zeros(3 * size, dtype=np.int32)
    task, line_task, flags = (np.zeros(count, dtype=np.int32) for count in (2, 2, 4))
    integers, numbers = np.zeros(44, dtype=np.int32), np.zeros(29)
    steps = evaluated = 0
    while True:
        advance(
            _KEPT, x, low, high, both, value, gradient, factor, gtol, floats, whole, task, flags,
            integers, numbers, _SEARCHED, line_task,
        )  # fmt: skip
        if task[0] == _EVALUATE:
            value, slope = known or loss(x.copy())
            known = None
            gradient = np.ascontiguousarray(slope, dtype=float)
            evaluated += 1
        elif task[0] == _NEW_ITERATION:
            steps += 1
            if steps >= iterations or evaluated > evaluations:
                break
        else:
            break
    return Descent(x, value)


def _from(start: FloatArray, known: tuple[float, FloatArray], loss: Loss) -> Loss:
    """Return the loss, of which value and gradient at the start need not be asked again."""
    return lambda x: known if np.array_equal(x, start) else loss(x)


def _is_tried() -> bool:
    # On a LAPACK whose whole numbers are long, those of 1.18 are too: nobody has tried that.
    versions = tuple(f"{version}." for version in TRIED_WITH)
    return scipy.__version__.startswith(versions) and not lapack.HAS_ILP64
