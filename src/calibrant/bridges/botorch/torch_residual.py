"""Residuals for torch: tables of their curves, differentiable and on any device.

A residual Z is one distribution of normal scores for all points, so a posterior and its
acquisitions need no more than four curves of one variable:

=============  =======================================  ==================================
``transport``  z ↦ the value of Z whose normal score    draws: mean + std·transport(z)
               is z
``score``      its inverse: v ↦ Φ⁻¹(P(Z ≤ v))           probabilities, densities
``shortfall``  v ↦ log E[(v − Z)₊]                      improvement of a minimisation
``surplus``    v ↦ log E[(Z − v)₊]                      improvement of a maximisation
=============  =======================================  ==================================

Each is a cubic interpolation of exact values at knots that are even in asinh. Its error is about
1e-5 where a residual is smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

from calibrant.acquisition.residual_tables import even_knots, monotone_slopes, shortfall_at
from calibrant.core.normal import EDGE_SCORE, LARGEST_SCORE, density
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.residual import Calibrated, LocationScale, mirrored

_FINE, _COARSE = 0.02, 0.05  # steps between knots, in asinh; log-improvements are smoother
_T = np.arange(-700, 701) * _FINE  # |v| up to 600,000
_V = np.sinh(_T)
_DRAWN = slice(555, -555)  # |z| up to 9: draws go no further, and each value needs a root search
_NODES, _WEIGHTS = hermegauss(64)  # E[f(z)] for z ~ N(0, 1), once the weights are divided by √2π


class TorchResiduals:
    """The residuals of all outputs, one per output, readable with gradients.

    Tables are made on first use, once per device and precision, because draws and improvements need
    different ones.
    """

    def __init__(self, residuals: Sequence[Forecast]) -> None:
        self.residuals = tuple(residuals)
        self._tables: dict[tuple[str, torch.device, torch.dtype], Tensor] = {}

    @property
    def gaussian(self) -> bool:
        """Whether a Gaussian posterior stays Gaussian."""
        return all(isinstance(residual, Normal) for residual in self.residuals)

    @property
    def identity(self) -> bool:
        """Whether a posterior stays unchanged."""
        return self.gaussian and all(s.mean() == 0.0 and s.std() == 1.0 for s in self.residuals)

    def subset(self, outputs: Sequence[int]) -> TorchResiduals:
        """Return the residuals of some outputs."""
        return TorchResiduals([self.residuals[output] for output in outputs])

    def mirrored(self) -> TorchResiduals:
        """Return the residuals of outcomes with the opposite sign."""
        return TorchResiduals([mirrored(residual) for residual in self.residuals])

    def mean(self, like: Tensor) -> Tensor:
        """Return E[Z] of each output, with the device and precision of ``like``."""
        return self._table("mean", like)

    def std(self, like: Tensor) -> Tensor:
        """Return the standard deviation of each output's Z."""
        return self._table("std", like)

    def transport(self, z: Tensor) -> Tensor:
        """Return the values of Z with normal scores z; outputs lie along the last axis."""
        if self.gaussian:
            return z * self.std(z) + self.mean(z)
        return _read(self._table("transport", z), z, _FINE)

    def score(self, v: Tensor) -> Tensor:
        """Return the normal scores of values v of Z."""
        if self.gaussian:
            return (v - self.mean(v)) / self.std(v)
        return _read(self._table("score", v), v, _FINE)

    def log_shortfall(self, v: Tensor) -> Tensor:
        """Return log E[(v − Z)₊]."""
        return _read(self._table("shortfall", v), v, _COARSE)

    def log_surplus(self, v: Tensor) -> Tensor:
        """Return log E[(Z − v)₊]."""
        return _read(self._table("surplus", v), v, _COARSE)

    def at_score(self, z: float, like: Tensor) -> Tensor:
        """Return the exact values of Z with normal score z, one per output; they may be ±∞."""
        values = [float(residual.at_score(z)) for residual in self.residuals]
        return torch.tensor(values, dtype=like.dtype, device=like.device)

    def cdf(self, v: Tensor) -> Tensor:
        """Return P(Z ≤ v): exact values, with the gradients of the table of scores."""
        values = v.detach().double().cpu().numpy()
        each = [residual.cdf(values[..., output]) for output, residual in enumerate(self.residuals)]
        exact = torch.from_numpy(np.stack(each, axis=-1)).to(device=v.device, dtype=v.dtype)
        smooth = torch.special.ndtr(self.score(v))
        return exact + (smooth - smooth.detach())

    def pdf(self, v: Tensor) -> Tensor:
        """Return the exact densities of Z at v, without gradients."""
        values = v.detach().double().cpu().numpy()
        each = [residual.pdf(values[..., output]) for output, residual in enumerate(self.residuals)]
        return torch.from_numpy(np.stack(each, axis=-1)).to(device=v.device, dtype=v.dtype)

    def quadrature(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return Gauss–Hermite nodes of Z, (64, outputs), and their weights, (64, 1)."""
        weights = torch.from_numpy(_WEIGHTS[:, None] / np.sqrt(2.0 * np.pi))
        return self._table("nodes", like).T, weights.to(like)

    def _table(self, name: str, like: Tensor) -> Tensor:
        key = name, like.device, like.dtype
        if key not in self._tables:
            table = np.stack([_TABLES[name](residual) for residual in self.residuals])
            with torch.inference_mode(False):  # cached, and gradients may be needed later
                self._tables[key] = torch.from_numpy(table).to(device=like.device, dtype=like.dtype)
        return self._tables[key]


def _at_score(residual: Forecast, z: FloatArray) -> FloatArray:
    """Return values of a residual, with levels at ±∞ read at ±8.2 in the innermost residual.

    Its mean and its improvements read them there too.
    """
    match residual:
        case LocationScale():
            return np.asarray(residual.location + residual.scale * _at_score(residual.residual, z))
        case Calibrated():
            return residual.forecast.at_score(_at_score(residual.residual, z))
    return np.nan_to_num(residual.at_score(z), posinf=EDGE_SCORE, neginf=-EDGE_SCORE)


def _transport(residual: Forecast) -> FloatArray:
    z = _V[_DRAWN]
    values = _at_score(residual, z)
    return _with_slopes(values, _ratio(density(z), residual.pdf(values)) * np.cosh(_T[_DRAWN]))


def _score(residual: Forecast) -> FloatArray:
    scores = residual.score(_V)
    known = scores[np.isfinite(scores)]
    low, high = min(known.min(), -LARGEST_SCORE), max(known.max(), LARGEST_SCORE)
    values = np.clip(scores, low, high)  # an infinite score becomes the largest of all
    return _with_slopes(values, _ratio(residual.pdf(_V), density(values)) * np.cosh(_T))


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Return a ratio of densities, which is a slope; NaN where they are too small to divide."""
    known = (under > 1e-200) & (over > 1e-200)
    return np.asarray(np.divide(over, under, out=np.full(over.shape, np.nan), where=known))


def _with_slopes(values: FloatArray, slopes: FloatArray) -> FloatArray:
    slopes = np.where(np.isfinite(slopes), slopes, np.gradient(values, _FINE))
    return np.stack([values, monotone_slopes(values, slopes, _FINE) * _FINE])


def _shortfall(residual: Forecast) -> FloatArray:
    values, slopes = shortfall_at(residual, even_knots(_COARSE))
    return np.stack([values, monotone_slopes(values, slopes, _COARSE) * _COARSE])


_TABLES: dict[str, Callable[[Forecast], FloatArray]] = {
    "mean": lambda residual: residual.mean(),
    "std": lambda residual: residual.std(),
    "nodes": lambda residual: _at_score(residual, _NODES),
    "transport": _transport,
    "score": _score,
    "shortfall": _shortfall,
    # E[(Z − v)₊] is the shortfall of −Z below −v: the table of −Z, reversed.
    "surplus": lambda residual: _shortfall(mirrored(residual))[:, ::-1] * [[1.0], [-1.0]],
}


def _read(table: Tensor, v: Tensor, step: float) -> Tensor:
    """Return the curve of each output at the values v (…, m), given the table (m, 2, knots)."""
    outputs, _, knots = table.shape
    end = (knots - 1) // 2 * step  # knots are symmetric about 0
    place = (torch.asinh(v).clamp(-end, end) + end) / step
    left = place.detach().long().clamp(max=knots - 2)
    s = place - left
    values, slopes = table.unbind(dim=1)
    index = left + knots * torch.arange(outputs, device=v.device)
    start, rise = values.reshape(-1)[index], slopes.reshape(-1)[index]
    stop, fall = values.reshape(-1)[index + 1], slopes.reshape(-1)[index + 1]
    a = 2.0 * (start - stop) + rise + fall
    b = 3.0 * (stop - start) - 2.0 * rise - fall
    return start + s * (rise + s * (b + s * a))
