"""Shapes for torch: the curves of :mod:`calibrant.shape` as tables, differentiable on any device.

A shape Z is one distribution of normal scores for all points, so four curves of one variable are
all that a posterior and its acquisitions need:

=============  =======================================  ==================================
``transport``  z ↦ the value of Z whose normal score    draws: mean + std·transport(z)
               is z
``score``      its inverse: v ↦ Φ⁻¹(P(Z ≤ v))           probabilities, densities
``shortfall``  v ↦ log E[(v − Z)₊]                      improvement of a minimisation
``surplus``    v ↦ log E[(Z − v)₊]                      improvement of a maximisation
=============  =======================================  ==================================

Each is read off cubic pieces between exact values at knots that are even in asinh: within about
1e-8 where a shape is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

from calibrant.curves import TabulatedCurves, monotone_slopes
from calibrant.forecast import Forecast, Normal
from calibrant.gaussian import EDGE_SCORE, LARGEST_SCORE, FloatArray, density
from calibrant.shape import mirrored

_STEP = 0.02
_T = np.arange(-700, 701) * _STEP  # |z| up to 600,000
_V = np.sinh(_T)
_NODES, _WEIGHTS = hermegauss(64)  # E[f(z)] for z ~ N(0, 1), once the weights are divided by √2π


class TorchShapes(torch.nn.Module):
    """One shape an output, ready to be read with gradients."""

    def __init__(self, shapes: Sequence[Forecast]) -> None:
        super().__init__()
        self.shapes = tuple(shapes)
        self.mean = _constant([shape.mean() for shape in self.shapes])
        self.std = _constant([shape.std() for shape in self.shapes])
        if not self.gaussian:  # a Gaussian needs no table
            for name in ("transport", "score", "shortfall", "surplus"):
                table = np.stack([_TABLES[name](shape) for shape in self.shapes])
                self.register_buffer(f"_{name}", torch.from_numpy(table), persistent=False)

    @property
    def gaussian(self) -> bool:
        """Whether a Gaussian posterior stays one."""
        return all(isinstance(shape, Normal) for shape in self.shapes)

    @property
    def identity(self) -> bool:
        """Whether a posterior stays as it is."""
        return self.gaussian and all(s.mean() == 0.0 and s.std() == 1.0 for s in self.shapes)

    def subset(self, outputs: Sequence[int]) -> TorchShapes:
        """Return the shapes of some outputs."""
        return TorchShapes([self.shapes[output] for output in outputs])

    def mirrored(self) -> TorchShapes:
        """Return the shapes of outcomes with the opposite sign."""
        return TorchShapes([mirrored(shape) for shape in self.shapes])

    def transport(self, z: Tensor) -> Tensor:
        """Return the values of Z with normal scores z; outputs lie along the last axis."""
        return z * self.std.to(z) + self.mean.to(z) if self.gaussian else _read(self._transport, z)

    def score(self, v: Tensor) -> Tensor:
        """Return the normal scores of values v of Z."""
        return (v - self.mean.to(v)) / self.std.to(v) if self.gaussian else _read(self._score, v)

    def log_shortfall(self, v: Tensor) -> Tensor:
        """Return log E[(v − Z)₊]; not for Gaussian shapes, of which BoTorch knows better."""
        return _read(self._shortfall, v)

    def log_surplus(self, v: Tensor) -> Tensor:
        """Return log E[(Z − v)₊]; not for Gaussian shapes."""
        return _read(self._surplus, v)

    def at_score(self, z: float) -> Tensor:
        """Return the exact values of Z with normal score z, one an output; they may be ±∞."""
        return _constant([shape.at_score(z) for shape in self.shapes])

    def quadrature(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return nodes of Z, (64, outputs), and their weights, (64, 1)."""
        nodes = np.stack([_finite(shape.at_score(_NODES)) for shape in self.shapes], axis=-1)
        weights = _WEIGHTS[:, None] / np.sqrt(2.0 * np.pi)
        return torch.from_numpy(nodes).to(like), torch.from_numpy(weights).to(like)


def _constant(values: Sequence[FloatArray]) -> Tensor:
    return torch.tensor([float(value) for value in values], dtype=torch.float64)


def _finite(values: FloatArray) -> FloatArray:
    """Return values with levels played at ±∞ as far away as a PIT can see."""
    return np.nan_to_num(values, posinf=EDGE_SCORE, neginf=-EDGE_SCORE)


def _transport(shape: Forecast) -> FloatArray:
    values = _finite(shape.at_score(_V))
    return _with_slopes(values, _ratio(density(_V), shape.pdf(values)))


def _score(shape: Forecast) -> FloatArray:
    values = np.clip(shape.score(_V), -LARGEST_SCORE, LARGEST_SCORE)
    return _with_slopes(values, _ratio(shape.pdf(_V), density(values)))


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Return a slope by z, as a slope by t = asinh z; NaN where densities cannot tell."""
    known = (under > 1e-200) & (over > 1e-200)
    ratio = np.divide(over, under, out=np.full(over.shape, np.nan), where=known)
    return np.asarray(ratio * np.cosh(_T))


def _with_slopes(values: FloatArray, slopes: FloatArray) -> FloatArray:
    slopes = np.where(np.isfinite(slopes), slopes, np.gradient(values, _STEP))
    return np.stack([values, monotone_slopes(values, slopes, _STEP) * _STEP])


def _shortfall(shape: Forecast) -> FloatArray:
    values, slopes = TabulatedCurves(shape, _STEP).shortfall_table
    return np.stack([values, slopes * _STEP])


_TABLES = {
    "transport": _transport,
    "score": _score,
    "shortfall": _shortfall,
    # E[(Z − v)₊] is the shortfall of −Z below −v: the same table, read from the other side.
    "surplus": lambda shape: _shortfall(mirrored(shape))[:, ::-1] * [[1.0], [-1.0]],
}


def _read(table: Tensor, v: Tensor) -> Tensor:
    """Return each output's curve, table (m, 2, knots), at the values v (…, m)."""
    outputs, _, knots = table.shape
    place = (torch.asinh(v).clamp(float(_T[0]), float(_T[-1])) - float(_T[0])) / _STEP
    left = place.detach().long().clamp(max=knots - 2)
    s = place - left
    values, slopes = table.to(v).unbind(dim=1)
    index = left + knots * torch.arange(outputs, device=v.device)
    start, rise = values.reshape(-1)[index], slopes.reshape(-1)[index]
    end, fall = values.reshape(-1)[index + 1], slopes.reshape(-1)[index + 1]
    a = 2.0 * (start - end) + rise + fall
    b = 3.0 * (end - start) - 2.0 * rise - fall
    return start + s * (rise + s * (b + s * a))
