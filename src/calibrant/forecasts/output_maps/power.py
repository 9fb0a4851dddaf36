"""Power transforms of outcomes: Box–Cox (1964) and Yeo–Johnson (2000).

A model works in units in which outcomes look Gaussian. A power map is
``g(y) = (power((y − centre)/unit) − mean)/std`` with a power fitted to the outcomes so far;
:mod:`calibrant.forecasts.output_maps.tanh` has a more flexible map. Quantiles, intervals and
probabilities pass through g unchanged; expectations do not. Outcomes may have any finite size:
nothing here overflows at 1e300 next to 1e−300.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import penalties, validate
from calibrant.core.typing import FloatArray


class Outputs(StrEnum):
    """How a model transforms outcomes."""

    STANDARDISE = "standardise"
    LOG = "log"
    BOX_COX = "box-cox"
    YEO_JOHNSON = "yeo-johnson"
    TANH = "tanh"  # fitted together with the model, see calibrant.forecasts.output_maps.tanh


_LARGEST = 1e100  # outcomes are clipped to this many units, so that their squares are finite
_LEAST = 1e-140  # the smallest positive outcome, in units, whose powers are finite


class MonotoneMap(ABC):
    """An increasing function g from outcomes to a model's units."""

    @abstractmethod
    def __call__(self, y: ArrayLike) -> FloatArray:
        """Return outcomes in the model's units."""

    @abstractmethod
    def inverse(self, v: ArrayLike) -> FloatArray:
        """Return the outcome whose value in the model's units is v; ±inf outside g's range."""

    @abstractmethod
    def slope(self, y: ArrayLike) -> FloatArray:
        """Return g′(y), the factor from a small error of y to one in the model's units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain JSON values: the arguments of its constructor."""


@dataclass(frozen=True)
class PowerMap(MonotoneMap):
    """A Yeo–Johnson (2000) or Box–Cox (1964) transform of outcomes, scaled and standardised.

    Beyond ``low`` and ``high`` the map continues as a straight line. Many powers are bounded on one
    side: a Gaussian forecast in the model's units would then have no mean in the user's units, and
    some of its quantiles would be infinite, although no outcome seen suggests anything that far.

    Args:
        signed: Yeo–Johnson, for outcomes of both signs; otherwise Box–Cox, for positive ones.
        power: 1 gives a straight line; Box–Cox with 0 is the logarithm.
        centre, unit: subtracted from an outcome, and dividing it, before the power.
        mean, std: of the outcomes after the power; they standardise the result.
        low, high: the range, after scaling, in which the power applies.
    """

    signed: bool = True
    power: float = 1.0
    centre: float = 0.0
    unit: float = 1.0
    mean: float = 0.0
    std: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def __call__(self, y: ArrayLike) -> FloatArray:
        return (self._raised(self._inner(y)) - self.mean) / self.std

    def inverse(self, v: ArrayLike) -> FloatArray:
        v = np.asarray(v, dtype=float) * self.std + self.mean
        inside = np.clip(v, *self._curve(np.array([self.low, self.high])))
        if self.signed:
            t = np.where(
                inside >= 0.0,
                _unraised(inside, self.power),
                -_unraised(-inside, 2.0 - self.power),
            )
        else:
            t = _unraised(inside, self.power, offset=0.0)
        t = np.clip(t, self.low, self.high)  # rounding may have moved it beyond the ends
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            t = np.where(inside == v, t, t + (v - inside) / self._curve_slope(t))
            # Computed on halves, because the difference of two large floats may overflow.
            return np.asarray((t * (self.unit / 2.0) + self.centre / 2.0) * 2.0)

    def slope(self, y: ArrayLike) -> FloatArray:
        by_t = self._curve_slope(np.clip(self._inner(y), self.low, self.high))
        with np.errstate(over="ignore"):  # the inverse of a tiny unit may overflow
            return np.asarray(np.minimum(by_t / self.unit / self.std, np.finfo(float).max))

    @property
    def is_affine(self) -> bool:
        """Whether the map is a straight line, so that a Gaussian stays Gaussian."""
        return self.power == 1.0

    def to_dict(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if np.isfinite(v)}  # JSON has no infinity

    def _inner(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        largest = _LARGEST if self.signed else 1.0 / _LEAST  # a logarithm allows a wider range
        with np.errstate(over="ignore"):
            return np.clip((y / 2.0 - self.centre / 2.0) / self.unit * 2.0, -largest, largest)

    def _raised(self, t: FloatArray) -> FloatArray:
        inside = np.clip(t, self.low, self.high)
        return self._curve(inside) + self._curve_slope(inside) * (t - inside)

    def _curve(self, t: FloatArray) -> FloatArray:
        if self.signed:
            size = np.abs(t)
            return np.where(t >= 0.0, _raised(size, self.power), -_raised(size, 2.0 - self.power))
        with np.errstate(divide="ignore"):  # without a low end, the logarithm of 0 can occur
            return _box_cox(np.maximum(t, 0.0), self.power)

    def _curve_slope(self, t: FloatArray) -> FloatArray:
        if self.signed:
            exponent = np.where(t >= 0.0, self.power - 1.0, 1.0 - self.power)
            return np.asarray(np.exp(exponent * np.log1p(np.abs(t))))
        return np.asarray(t ** (self.power - 1.0))


def fit_map(outputs: Outputs | MonotoneMap | str, y: ArrayLike) -> MonotoneMap:
    """Return the map of the given kind under which the outcomes look most Gaussian.

    A map passed as ``outputs`` is returned unchanged. A tanh map cannot be fitted from outcomes
    alone: its fit, which needs the model, starts from the affine map returned here.
    """
    if isinstance(outputs, MonotoneMap):
        return outputs
    y = validate.finite("y", y)
    match Outputs(outputs):
        case Outputs.STANDARDISE | Outputs.TANH:
            inner = _scaled(y)
        case Outputs.YEO_JOHNSON:
            inner = _scaled(y)
            t = inner._inner(y)
            inner = PowerMap(True, _likely_power(t, True), inner.centre, inner.unit)
        case Outputs.LOG | Outputs.BOX_COX as kind:
            inner = _positive(y)
            t = np.maximum(inner._inner(y), _LEAST)
            power = 0.0 if kind is Outputs.LOG else _likely_power(t, False)
            inner = PowerMap(False, power, inner.centre, inner.unit)
    t = inner._inner(y)
    # Box–Cox extends to half the lowest outcome, so that it still separates outcomes near zero.
    low = float(t.min()) if inner.signed else max(0.5 * float(t.min()), _LEAST)
    inner = replace(inner, low=low, high=float(t.max()))
    raised = inner._raised(t)
    spread = float(raised.std())
    level = float(raised.mean())
    # Outcomes that are all equal have no spread to divide by.
    std = spread if spread > 1e-12 * max(1.0, abs(level)) else 1.0
    return replace(inner, mean=level, std=std)


def _scaled(y: FloatArray) -> PowerMap:
    """Return the affine map that takes the median to 0 and the quartiles to about ±0.7."""
    halves = y / 2.0  # so that no sum or difference of two overflows
    low, centre, high = np.quantile(penalties.scale_of(halves), [0.25, 0.5, 0.75])
    spread = high - low
    # Rounding is relative to the quartiles: one distant outcome must not make them look equal.
    if spread <= 1e-14 * max(abs(low), abs(high)):  # most are equal: use the extremes
        size = float(np.abs(halves).max())
        spread = halves.max() - halves.min()
        if spread <= 1e-14 * size:  # all are equal
            spread = max(1.0, size)
    with np.errstate(over="ignore"):
        return PowerMap(centre=float(2.0 * centre), unit=_unit(spread / 0.6745))


def _unit(value: float) -> float:
    """Return ``value`` clipped to normal floats: the inverse of a subnormal one is infinite."""
    return float(np.clip(value, np.finfo(float).tiny, np.finfo(float).max))


def _positive(y: FloatArray) -> PowerMap:
    """Return the affine map that makes outcomes positive; no shift where they already are."""
    if y.min() > 0.0:
        return PowerMap(centre=0.0, unit=_unit(np.exp(np.mean(np.log(y)))))
    span = y.max() / 2.0 - y.min() / 2.0
    unit = _unit(span if span > 0.0 else max(1.0, float(np.abs(y).max())))
    # Put 0 a twentieth of the span below the lowest, so that the logarithm can separate the lowest.
    lowest = float(np.clip(y.min() / 2.0 - 0.05 * unit, *_HALF_RANGE))
    return PowerMap(centre=2.0 * lowest, unit=unit)


_HALF_RANGE = (-np.finfo(float).max / 2.0, np.finfo(float).max / 2.0)
_PRIOR_WIDTH = 1.0  # prior std of the power around 1: few outcomes say little about a tail
_POWERS = np.linspace(-1.0, 3.0, 81)


def _likely_power(t: FloatArray, signed: bool) -> float:
    """Return the MAP power: Gaussian likelihood with the Jacobian, under the prior N(1, 1)."""
    if t.size < 3 or np.ptp(t) == 0.0:
        return 1.0
    powers = _POWERS[:, None]
    if signed:
        size = np.abs(t)
        raised = _raised(size, powers)
        raised = np.where(t >= 0.0, raised, -raised[::-1])  # the grid of 2 − power is its mirror
        jacobian = (np.sign(t) * np.log1p(size)).sum()
    else:
        raised = _box_cox(t, powers)
        jacobian = np.log(t).sum()
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        fit = -t.size * np.log(raised.std(axis=1))
    posterior = fit + (_POWERS - 1.0) * jacobian - 0.5 * ((_POWERS - 1.0) / _PRIOR_WIDTH) ** 2
    return float(_POWERS[np.argmax(np.where(np.isfinite(posterior), posterior, -np.inf))])


def _raised(t: FloatArray, power: ArrayLike) -> FloatArray:
    """Return ((1 + t)^power − 1)/power for t ≥ 0, or its limit log(1 + t) at power 0."""
    return _box_cox(1.0 + t, power, np.log1p(t))


def _box_cox(t: ArrayLike, power: ArrayLike, log: FloatArray | None = None) -> FloatArray:
    log = np.log(t) if log is None else log
    power = np.asarray(power, dtype=float)
    nonzero = np.where(power == 0.0, 1.0, power)
    with np.errstate(over="ignore"):
        curve = np.expm1(np.minimum(nonzero * log, 460.0)) / nonzero  # e^460 is 1e200
    return np.asarray(
        np.where(power == 0.0, log, np.where(power == 1.0, np.asarray(t) - 1.0, curve))
    )


def _unraised(v: FloatArray, power: float, offset: float = 1.0) -> FloatArray:
    """Return the t with ((offset + t)^power − 1)/power = v; +inf where v is out of range."""
    from_log = np.expm1 if offset else np.exp  # either keeps the digits of a small t
    if power == 1.0:
        return v + (1.0 - offset)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if power == 0.0:
            return np.asarray(from_log(v))
        inside = power * v > -1.0
        t = from_log(np.log1p(np.where(inside, power * v, 0.0)) / power)
    return np.where(inside, t, np.inf)
