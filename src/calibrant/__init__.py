"""calibrant: error bars that are true.

The recalibration library: any forecast in, a calibrated one out, on any stream of data.

    forecast ──────────────┬─▶ r.calibrate(forecast) ──▶ calibrated forecast: quantiles Q∘R
    (raw, made before y)   │         ▲
                           ▼         │
    outcome y ──▶ score of y ──▶ r = r.observe(forecast, y)

A *forecast* maps outcomes to normal scores and back (:mod:`calibrant.forecast`). A *recalibrator*
R (:mod:`calibrant.recalibrate`) is a fold over scores. Its *shape* (:mod:`calibrant.shape`) is one
univariate distribution that turns every raw forecast into a calibrated one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant.forecast import Forecast, Mixture, Normal
from calibrant.outcomes import Outcomes
from calibrant.quantiles import Quantiles
from calibrant.recalibrate import (
    ChainRecalibrator,
    GaussianRecalibrator,
    IdentityRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
    RegressionRecalibrator,
    recalibrator_from_dict,
)
from calibrant.scipy_forecast import ScipyForecast
from calibrant.stream import Replay, replay

if TYPE_CHECKING:
    from calibrant import figures, outcomes, scores

__version__ = "0.1.0"

__all__ = [
    "ChainRecalibrator",
    "Forecast",
    "GaussianRecalibrator",
    "IdentityRecalibrator",
    "IsotonicRecalibrator",
    "LeaderRecalibrator",
    "Mixture",
    "Normal",
    "OnlineRecalibrator",
    "Outcomes",
    "Quantiles",
    "Recalibrator",
    "RegressionRecalibrator",
    "Replay",
    "ScipyForecast",
    "figures",
    "outcomes",
    "recalibrator_from_dict",
    "replay",
    "scores",
]


_LATER = {  # what needs optuna or plotly is loaded when it is first used
    "CalibratedSampler": "calibrant.sampler",
    "minimize": "calibrant.tune",
    "figures": "calibrant",
    "scores": "calibrant",
    "models": "calibrant",
    "acquisition": "calibrant",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    if _LATER[name] == "calibrant":
        return import_module(f"calibrant.{name}")
    return getattr(import_module(_LATER[name]), name)

