"""calibrant: Bayesian optimisation whose error bars are true.

A *forecast* Q is recalibrated by a *recalibrator* R, learned online, so that 80 % intervals hold
80 % of the time. The calibrated forecast is Q∘R:

    forecast ──────────────┬─▶ r.calibrate(forecast) ──▶ calibrated forecast
    (raw, made before y)   │         ▲
                           ▼         │
    outcome y ──▶ score of y ──▶ r = r.observe(forecast, y)

A search stands on that. One step, and the rooms that it goes through:

    studies   ──▶ search      ──▶ models         ──▶ recalibration ──▶ acquisition ──▶ search
    trials        history         fit: a belief      its residual      a criterion     argmax: a
    and storage   (X, y)          about y                                              suggestion

behind ask and tell (:class:`Optimizer`), Optuna (:class:`CalibratedSampler`), one call
(:func:`minimize`) or the command line (``calibrant tune``).

The rooms, each of which knows only those before it:
:mod:`~calibrant.core`, :mod:`~calibrant.forecasts`, :mod:`~calibrant.models`,
:mod:`~calibrant.recalibration`, :mod:`~calibrant.acquisition` beside :mod:`~calibrant.evaluation`,
:mod:`~calibrant.search`, :mod:`~calibrant.studies`, :mod:`~calibrant.decisions`,
:mod:`~calibrant.reporting`, :mod:`~calibrant.bridges` and :mod:`~calibrant.cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0rc1"

# The public API: each name, and the room that it is loaded from when it is first used. So
# `import calibrant` loads neither Optuna nor plotly.
_HOMES = {
    # forecasts
    "Forecast": "forecasts",
    "Mixture": "forecasts",
    "Normal": "forecasts",
    "Quantiles": "forecasts",
    "ScipyForecast": "forecasts",
    # recalibrators, and what they learn from
    "CalibrationSet": "recalibration",
    "ChainRecalibrator": "recalibration",
    "GaussianRecalibrator": "recalibration",
    "IdentityRecalibrator": "recalibration",
    "IsotonicRecalibrator": "recalibration",
    "LeaderRecalibrator": "recalibration",
    "OnlineRecalibrator": "recalibration",
    "Recalibrator": "recalibration",
    "RegressionRecalibrator": "recalibration",
    "ScaleRecalibrator": "recalibration",
    "ScoreLog": "recalibration",
    "recalibrator_from_dict": "recalibration",
    # streams
    "Replay": "evaluation",
    "replay": "evaluation",
    # searches
    "Axis": "core",
    "Cube": "core",
    "Optimizer": "search",
    # decisions about studies, and pages of them
    "CalibratedPruner": "decisions",
    "Outlook": "decisions",
    "Explanation": "decisions",
    "Proposal": "decisions",
    "explain": "decisions",
    "StopWhen": "decisions",
    "contour": "decisions",
    "forecast": "decisions",
    "importance": "decisions",
    "outlook": "decisions",
    "recommend": "decisions",
    "review": "decisions",
    "slices": "decisions",
    "suggest": "decisions",
    "report": "reporting",
    # studies
    "Budget": "studies",
    "CalibratedSampler": "studies",
    "Earlier": "studies",
    "FrontReview": "studies",
    "Review": "studies",
    "StorageLost": "studies",
    "maximize": "studies",
    "minimize": "studies",
    "open_storage": "studies",
    "ordered": "studies",
    "permutation": "studies",
    "review_front": "studies",
    "set_cost": "studies",
    "set_std": "studies",
    "when": "studies",
}
_MODULES = {
    "acquisition": "acquisition",
    "figures": "evaluation.figures",
    "forecasts": "forecasts",
    "metrics": "evaluation.metrics",
    "models": "models",
    "recalibration": "recalibration",
    "test_functions": "test_functions",
}

__all__ = sorted([*_HOMES, *_MODULES])

if TYPE_CHECKING:  # the same table for type checkers; a test holds the two together
    from calibrant import acquisition as acquisition
    from calibrant import forecasts as forecasts
    from calibrant import models as models
    from calibrant import recalibration as recalibration
    from calibrant import test_functions as test_functions
    from calibrant.core import Axis as Axis
    from calibrant.core import Cube as Cube
    from calibrant.decisions import CalibratedPruner as CalibratedPruner
    from calibrant.decisions import Explanation as Explanation
    from calibrant.decisions import Outlook as Outlook
    from calibrant.decisions import Proposal as Proposal
    from calibrant.decisions import StopWhen as StopWhen
    from calibrant.decisions import contour as contour
    from calibrant.decisions import explain as explain
    from calibrant.decisions import forecast as forecast
    from calibrant.decisions import importance as importance
    from calibrant.decisions import outlook as outlook
    from calibrant.decisions import recommend as recommend
    from calibrant.decisions import review as review
    from calibrant.decisions import slices as slices
    from calibrant.decisions import suggest as suggest
    from calibrant.evaluation import Replay as Replay
    from calibrant.evaluation import figures as figures
    from calibrant.evaluation import metrics as metrics
    from calibrant.evaluation import replay as replay
    from calibrant.forecasts import Forecast as Forecast
    from calibrant.forecasts import Mixture as Mixture
    from calibrant.forecasts import Normal as Normal
    from calibrant.forecasts import Quantiles as Quantiles
    from calibrant.forecasts import ScipyForecast as ScipyForecast
    from calibrant.recalibration import CalibrationSet as CalibrationSet
    from calibrant.recalibration import ChainRecalibrator as ChainRecalibrator
    from calibrant.recalibration import GaussianRecalibrator as GaussianRecalibrator
    from calibrant.recalibration import IdentityRecalibrator as IdentityRecalibrator
    from calibrant.recalibration import IsotonicRecalibrator as IsotonicRecalibrator
    from calibrant.recalibration import LeaderRecalibrator as LeaderRecalibrator
    from calibrant.recalibration import OnlineRecalibrator as OnlineRecalibrator
    from calibrant.recalibration import Recalibrator as Recalibrator
    from calibrant.recalibration import RegressionRecalibrator as RegressionRecalibrator
    from calibrant.recalibration import ScaleRecalibrator as ScaleRecalibrator
    from calibrant.recalibration import ScoreLog as ScoreLog
    from calibrant.recalibration import recalibrator_from_dict as recalibrator_from_dict
    from calibrant.reporting import report as report
    from calibrant.search import Optimizer as Optimizer
    from calibrant.studies import Budget as Budget
    from calibrant.studies import CalibratedSampler as CalibratedSampler
    from calibrant.studies import Earlier as Earlier
    from calibrant.studies import FrontReview as FrontReview
    from calibrant.studies import Review as Review
    from calibrant.studies import StorageLost as StorageLost
    from calibrant.studies import maximize as maximize
    from calibrant.studies import minimize as minimize
    from calibrant.studies import open_storage as open_storage
    from calibrant.studies import ordered as ordered
    from calibrant.studies import permutation as permutation
    from calibrant.studies import review_front as review_front
    from calibrant.studies import set_cost as set_cost
    from calibrant.studies import set_std as set_std
    from calibrant.studies import when as when


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"calibrant.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"calibrant.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    globals()[name] = value  # the next look-up finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
