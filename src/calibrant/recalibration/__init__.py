"""Recalibrators: maps R of probability levels, learned from past outcomes.

Owns: the recalibrators, the guarantee of online recalibration, the score log that they learn from,
and calibration sets: ways to score outcomes by forecasts that had not seen them.
May use: core, forecasts, models (to fit them on splits); scikit-learn in
:mod:`~calibrant.recalibration.regression`, which loads it on first use.
Public names: below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.calibration_sets import (
    CalibrationSet,
    k_fold,
    leave_one_out,
    time_series,
)
from calibrant.recalibration.chain import ChainRecalibrator
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.recalibration.generalised_normal import GeneralisedNormalRecalibrator, LowerTail
from calibrant.recalibration.identity import IdentityRecalibrator
from calibrant.recalibration.isotonic import IsotonicRecalibrator
from calibrant.recalibration.leader import LeaderRecalibrator
from calibrant.recalibration.online import OnlineRecalibrator
from calibrant.recalibration.regression import RegressionRecalibrator
from calibrant.recalibration.scale import ScaleRecalibrator
from calibrant.recalibration.score_log import ScoreLog

__all__ = [
    "CalibrationSet",
    "ChainRecalibrator",
    "GaussianRecalibrator",
    "GeneralisedNormalRecalibrator",
    "IdentityRecalibrator",
    "IsotonicRecalibrator",
    "LeaderRecalibrator",
    "LowerTail",
    "OnlineRecalibrator",
    "Recalibrator",
    "RegressionRecalibrator",
    "ScaleRecalibrator",
    "ScoreLog",
    "k_fold",
    "leave_one_out",
    "recalibrator_from_dict",
    "time_series",
]

_KINDS: dict[str, type[Recalibrator]] = {
    "identity": IdentityRecalibrator,
    "online": OnlineRecalibrator,
    "leader": LeaderRecalibrator,
    "isotonic": IsotonicRecalibrator,
    "gaussian": GaussianRecalibrator,
    "scale": ScaleRecalibrator,
    "generalised normal": GeneralisedNormalRecalibrator,
    "regression": RegressionRecalibrator,
    "chain": ChainRecalibrator,
}


def recalibrator_from_dict(state: Mapping[str, Any]) -> Recalibrator:
    """Restore a recalibrator from the output of its ``to_dict``, for example from a JSON file.

    >>> import json
    >>> from calibrant import Normal, OnlineRecalibrator, recalibrator_from_dict
    >>> r = OnlineRecalibrator().observe(Normal([0.0, 0.0], 1.0), [0.3, 2.5])
    >>> again = recalibrator_from_dict(json.loads(json.dumps(r.to_dict())))
    >>> bool(again(0.8) == r(0.8))
    True

    The key ``learned``, in which `calibrant recalibrate --state` counts its rows, is ignored.
    """
    kind = state.get("kind") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"`kind` must be one of {sorted(_KINDS)}, but got kind={kind!r}.")
    fields = {
        name: recalibrator_from_dict(value) if isinstance(value, Mapping) else value
        for name, value in state.items()
        if name not in ("kind", "learned")
    }
    try:
        return _KINDS[kind](**fields)
    except TypeError as error:
        raise ValueError(
            f"This is not the state of a recalibrator of kind {kind!r}: {error}"
        ) from error
