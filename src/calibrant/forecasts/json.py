"""Forecasts as plain JSON values, so that a trial can be stored with its forecast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import validate
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.normal import Mixture, Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, PowerMap
from calibrant.forecasts.output_maps.tanh import TanhMap
from calibrant.forecasts.quantiles import Quantiles

_STEEPEST = 10.0  # power of an output map, far beyond those that are fitted
_LEVELS = np.arange(1, 100) / 100  # at which any other kind of forecast is stored


def forecast_to_dict(forecast: Forecast) -> dict[str, Any]:
    """Return a forecast of one point as JSON values, for :func:`forecast_from_dict` to read.

    Normal forecasts and mixtures, with or without an output map, are restored exactly; any other
    forecast is restored as its quantiles at 99 levels.
    """
    if forecast.batch != ():
        raise ValueError(
            "Only the forecast of a single point can be stored, but got a batch of "
            f"{forecast.batch}."
        )
    match forecast:
        case Normal():
            return {"kind": "normal", "mean": float(forecast.mean()), "std": float(forecast.std())}
        case Mapped():
            inner = forecast_to_dict(forecast.forecast)
            return {"kind": "transformed", "forecast": inner, "outputs": forecast.outputs.to_dict()}
        case Mixture():
            return {
                "kind": "mixture",
                "weights": forecast.weights.tolist(),
                "means": forecast.means.tolist(),
                "stds": forecast.stds.tolist(),
            }
    values = forecast.quantile(_LEVELS)
    finite = np.isfinite(values)  # JSON has no infinity; tails extrapolate from finite quantiles
    if finite.sum() < 2:
        raise ValueError("A forecast needs at least two finite quantiles to be stored.")
    return {
        "kind": "quantiles",
        "levels": _LEVELS[finite].tolist(),
        "values": values[finite].tolist(),
    }


def forecast_from_dict(state: Mapping[str, Any]) -> Forecast:
    """Restore a forecast from the output of :func:`forecast_to_dict`."""
    match state:
        case {"kind": "normal", "mean": mean, "std": std}:
            return Normal(mean, std)
        case {"kind": "transformed", "forecast": inner, "outputs": outputs}:
            return Mapped(forecast_from_dict(inner), _outputs_from_dict(outputs))
        case {"kind": "mixture", "weights": weights, "means": means, "stds": stds}:
            return Mixture(weights, means, stds)
        case {"kind": "quantiles", "levels": levels, "values": values}:
            return Quantiles(levels, values)
    raise ValueError(f"This is not a stored forecast: {dict(state)!r}.")


def _outputs_from_dict(state: Mapping[str, Any]) -> MonotoneMap:
    if "heights" in state:
        return TanhMap(**state)
    known = dict(state)
    floor = known.pop("floor", None)  # the name of Box–Cox's low end in earlier versions' studies
    if floor and not known["signed"]:
        known["low"] = floor
    signed = known.pop("signed", True)
    numbers = validate.finite("outputs", list(known.values())).tolist()
    restored = PowerMap(bool(signed), **dict(zip(known, numbers, strict=True)))
    sizes = min(restored.unit, restored.std) > 0.0
    if not (sizes and restored.low < restored.high and abs(restored.power) <= _STEEPEST):
        raise ValueError(f"This is not a stored output map: {dict(state)!r}.")
    return restored
