"""calibrant: Bayesian optimisation whose error bars are true.

The recalibration library: any forecast in, a calibrated one out, on any stream of data.

    forecast ──────────────┬─▶ r.calibrate(forecast) ──▶ calibrated forecast: quantiles Q∘R
    (raw, made before y)   │         ▲
                           ▼         │
    outcome y ──▶ score of y ──▶ r = r.observe(forecast, y)

A *forecast* maps outcomes to normal scores and back (:mod:`calibrant.forecast`). A *recalibrator*
R (:mod:`calibrant.recalibrate`) is a fold over scores. Its *shape* (:mod:`calibrant.shape`) is one
univariate distribution that turns every raw forecast into a calibrated one.

The optimiser stands on it: one step of a search (:mod:`calibrant.policy`) is

    outcomes so far ──▶ model.fit ──▶ belief ──┐
    calibration set ──▶ recalibrator ─▶ shape ─┴─▶ acquisition ──▶ argmax ──▶ next point,
                                                                with its raw forecast

behind ask and tell (:class:`Optimizer`), Optuna (:class:`CalibratedSampler`), one call
(:func:`minimize`) or the command line (``calibrant tune``).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant.calibration_set import CalibrationSet
from calibrant.forecast import Forecast, Mixture, Normal
from calibrant.optimizer import Optimizer
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
    from calibrant import (
        acquisition,
        adaptive,
        classics,
        conformal,
        figures,
        models,
        outcomes,
        problems,
        scores,
    )
    from calibrant.sampler import CalibratedSampler
    from calibrant.storage import StorageLost
    from calibrant.study_review import review
    from calibrant.tune import minimize

__version__ = "0.3.0"

__all__ = [
    "CalibratedSampler",
    "CalibrationSet",
    "ChainRecalibrator",
    "Forecast",
    "GaussianRecalibrator",
    "IdentityRecalibrator",
    "IsotonicRecalibrator",
    "LeaderRecalibrator",
    "Mixture",
    "Normal",
    "OnlineRecalibrator",
    "Optimizer",
    "Outcomes",
    "Quantiles",
    "Recalibrator",
    "RegressionRecalibrator",
    "Replay",
    "ScipyForecast",
    "StorageLost",
    "acquisition",
    "adaptive",
    "classics",
    "conformal",
    "figures",
    "minimize",
    "models",
    "outcomes",
    "problems",
    "recalibrator_from_dict",
    "replay",
    "review",
    "scores",
]

# What needs Optuna is loaded when it is first used; so is plotly, with the figures.
_NAMES = {
    "CalibratedSampler": "calibrant.sampler",
    "StorageLost": "calibrant.storage",
    "minimize": "calibrant.tune",
    "review": "calibrant.study_review",
}
_MODULES = ("adaptive", "classics", "conformal", "figures", "problems", "scores")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name in _MODULES:
        return import_module(f"calibrant.{name}")
    raise AttributeError(f"module 'calibrant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
