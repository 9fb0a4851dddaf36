"""Output maps: increasing transforms of outcomes to the units in which a model works."""

from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs, PowerMap, fit_map
from calibrant.forecasts.output_maps.tanh import TanhMap

__all__ = ["MonotoneMap", "Outputs", "PowerMap", "TanhMap", "fit_map"]
