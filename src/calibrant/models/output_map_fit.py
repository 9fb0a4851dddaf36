"""Warped Gaussian processes (Snelson et al. 2003): an output map fitted together with the process.

The steps of a :class:`~calibrant.forecasts.output_maps.TanhMap` and the hyper-parameters are fitted
jointly, as the most probable ones (MAP). The density of y is that of g(y) times g′(y); this
Jacobian keeps the map from squeezing all outcomes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.core.descent import descend
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap, PowerMap
from calibrant.forecasts.output_maps.tanh import TanhMap
from calibrant.models.hyperparameters import Layout
from calibrant.models.kernels.base import Kernel
from calibrant.models.likelihood import (
    Priors,
    enough,
    log_bounds,
    most_probable,
    negative_log_joint,
)

STEPS = 3  # the number of tanh terms in the paper on warped processes

# Priors of a step, as mean and standard deviation: of log height, of log slope, and of the shift,
# in units of the spread of outcomes. Ten outcomes alone cannot determine nine parameters.
_HEIGHT, _SLOPE, _SHIFT = (np.log(0.3), 1.5), (0.0, 1.0), (0.0, 1.5)
_CENTRE = np.repeat([_HEIGHT[0], _SLOPE[0], _SHIFT[0]], STEPS)
_WIDTH = np.repeat([_HEIGHT[1], _SLOPE[1], _SHIFT[1]], STEPS)
_BOUNDS = [(-7.0, 4.0)] * STEPS + [(-3.0, 3.0)] * STEPS + [(-4.0, 4.0)] * STEPS

# A warp adds nine parameters along a narrow valley, so the fit takes more iterations.
_DESCENT: Any = {"iterations": 50, "ftol": 1e-6, "gtol": 1e-3}


def most_probable_warp(
    kernel: Kernel,
    X: FloatArray,
    y: FloatArray,
    scale: MonotoneMap,
    priors: Priors | None,
    start: tuple[FloatArray, TanhMap] | None,
) -> tuple[TanhMap, FloatArray]:
    """Return the output map and log hyper-parameters of a warped GP (Snelson et al. 2003), by MAP.

    Args:
        kernel: the correlation function.
        X: inputs (n, d).
        y: outcomes (n,).
        scale: the affine map from outcomes to the units in which steps are described.
        priors: priors of the hyper-parameters, or None.
        start: an earlier fit to start from, as hyper-parameters and map.
    """
    assert isinstance(scale, PowerMap)
    centre, unit = scale.centre, scale.unit
    some = enough(y.size, X.shape[1])
    X, told = X[some], y[some]
    t = scale(told) * scale.std + scale.mean
    joint = negative_log_joint(kernel, X, None, priors)
    layout = Layout.of(kernel, X.shape[1], learns_noise=True)
    size = layout.size

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        theta, psi = point[:size], point[size:]
        v, log_jacobian, pullback = _warped(t, psi)
        value, by_theta, by_v = joint(theta, v)
        z = (psi - _CENTRE) / _WIDTH
        value += 0.5 * z @ z - log_jacobian
        return value, np.concatenate([by_theta, pullback(by_v, -1.0) + z / _WIDTH])

    low, high = np.array([*log_bounds(layout.names), *_BOUNDS]).T
    if start is not None:
        known = start[1]
        steps = [np.log(known.heights), np.log(known.slopes), known.shifts]
        points = [np.concatenate([start[0], *steps])]
    else:  # from steps too small to matter, and from larger ones
        theta = most_probable(kernel, X, scale(told), None, priors)
        places = -np.quantile(t, np.linspace(0.1, 0.9, STEPS))
        points = [
            np.concatenate([theta, np.full(STEPS, height), np.zeros(STEPS), places])
            for height in (-4.0, 0.0)
        ]
    found = [descend(loss, point, low, high, **_DESCENT) for point in points]
    best = min(found, key=lambda end: end.value).x
    heights, slopes, shifts = best[size:].reshape(3, STEPS)
    rough = TanhMap.of(np.exp(heights), np.exp(slopes), shifts, centre=centre, unit=unit)
    risen = rough(y)
    fitted = replace(rough, mean=float(risen.mean()), std=_spread(risen))
    return fitted, best[:size]


def _warped(
    t: FloatArray, psi: FloatArray
) -> tuple[FloatArray, float, Callable[[FloatArray, float], FloatArray]]:
    """Return v, Σ log g′, and the pullback of (∂loss/∂v, ∂loss/∂Σ log g′) to psi."""
    heights, slopes, shifts = psi.reshape(3, STEPS)
    heights, slopes = np.exp(heights), np.exp(slopes)
    inner = slopes * (t[:, None] + shifts)
    step = np.tanh(inner)
    rise = heights * slopes * (1.0 - step**2)  # each step's part of the slope
    risen, slope = t + step @ heights, 1.0 + rise.sum(axis=1)
    spread = _spread(risen)
    v = (risen - risen.mean()) / spread
    log_jacobian = float(np.log(slope).sum() - t.size * np.log(spread))

    def pullback(by_v: FloatArray, by_log_jacobian: float) -> FloatArray:
        by_risen = (by_v - by_v.mean() - v * (by_v @ v) / t.size) / spread
        by_risen = (by_risen - by_log_jacobian * v / spread)[:, None]
        by_slope = (by_log_jacobian / slope)[:, None]
        by_height = by_risen * heights * step + by_slope * rise
        by_slopes = by_risen * rise * inner / slopes + by_slope * rise * (1.0 - 2.0 * step * inner)
        by_shift = by_risen * rise - by_slope * 2.0 * rise * step * slopes
        return np.concatenate([part.sum(axis=0) for part in (by_height, by_slopes, by_shift)])

    return v, log_jacobian, pullback


def _spread(risen: FloatArray) -> float:
    """Return the std, or 1 if all values are equal and there is no spread to divide by."""
    return (
        float(risen.std()) if np.ptp(risen) > 1e-12 * max(1.0, float(np.abs(risen).max())) else 1.0
    )
