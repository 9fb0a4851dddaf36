"""The ways to calibrate that are compared, each as settings of the same engine.

Same acquisition (expected improvement), same first points. What differs is the model, which a
method may wrap, or the recalibrator and what it learns from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.models import LocallyConformal, Model, Relaxed, SharpCalibrated
from calibrant.recalibration import (
    CalibrationSet,
    GaussianRecalibrator,
    GeneralisedNormalRecalibrator,
    LowerTail,
    OnlineRecalibrator,
)
from calibrant.search.defaults import RECALIBRATOR


def _as_it_is(model: Any) -> Any:
    return model


@dataclass(frozen=True)
class Method:
    """A way to calibrate.

    Args:
        settings: of the search: the recalibrator, and the calibration set where it is not the
            default's.
        inside: what is made of a Gaussian process before a control makes it wrong.
        outside: what is made of the model that a control has made wrong.
        about: what it is, in a few words.
    """

    settings: Mapping[str, Any]
    about: str
    inside: Callable[[Any], Model] = field(default=_as_it_is)
    outside: Callable[[Any], Model] = field(default=_as_it_is)


METHODS: dict[str, Method] = {
    "raw": Method({"recalibrator": None}, "no recalibration"),
    "default": Method({"recalibrator": RECALIBRATOR}, "what calibrant does if nothing is set"),
    "predecessor": Method(
        {
            "recalibrator": GaussianRecalibrator(strength=5.0, limit=2.5),
            "calibration_set": CalibrationSet(symmetric=True),
        },
        "the default before: one scale, scores clipped at 2.5, trust worth five outcomes",
    ),
    "paper": Method(
        {
            "recalibrator": OnlineRecalibrator(),
            "calibration_set": CalibrationSet(refit=True),
        },
        "Algorithms 3 and 4 of the paper: leave-one-out with refits, then the online rule",
    ),
    "tcGP": Method(
        {"recalibrator": GeneralisedNormalRecalibrator(), "calibration_set": LowerTail()},
        "a generalised normal residual, calibrated below the lower quartile of outcomes",
    ),
    "bcr-GP": Method(
        {
            "recalibrator": GeneralisedNormalRecalibrator(),
            "calibration_set": CalibrationSet(in_doubt=0.0),
        },
        "a generalised normal residual of all leave-one-out scores",
    ),
    "reGP": Method(
        {"recalibrator": None}, "outcomes above a threshold are relaxed", inside=Relaxed
    ),
    "LOCBO": Method(
        {"recalibrator": None},
        "widths by localised online conformal prediction",
        outside=LocallyConformal,
    ),
    "OSCBO": Method(
        {"recalibrator": None},
        "hyper-parameters by online learning: sharp, subject to coverage",
        outside=SharpCalibrated,
    ),
}
