"""One search of the paper's, in words: which task, model, recalibration, acquisition and start.

A :class:`Setup` is plain text, so that it can be written beside every result and read back. What
its words stand for is listed here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from calibrant.acquisition import (
    Acquisition,
    AdaptiveBound,
    ConformalBound,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    QuantileBound,
)
from calibrant.core import validate
from calibrant.core.cube import Design
from calibrant.models import (
    RBF,
    BaggedProcesses,
    GaussianProcess,
    Kernel,
    Kumaraswamy,
    Linear,
    Matern52,
    Model,
    Periodic,
    Priors,
)
from calibrant.recalibration import (
    CalibrationSet,
    GaussianRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
    RegressionRecalibrator,
)


def _plain(kernel: Kernel, outputs: str = "standardise") -> GaussianProcess:
    """Return the paper's base model: one lengthscale, outcomes standardised, maximum likelihood."""
    return GaussianProcess(kernel, outputs, priors=None)


# What "calibrant" stands for below: one Gaussian process, lightly calibrated, with expected
# improvement. It is spelled out here so that the results keep their meaning when defaults change.
MODELS: dict[str, Model] = {
    "rbf": _plain(RBF()),
    "matern": _plain(Matern52()),
    "linear": _plain(Linear()),
    "periodic": _plain(Periodic()),
    "input-warping": GaussianProcess(Kumaraswamy(kernel=RBF()), "standardise", Priors.flat()),
    "output-warping": _plain(RBF(), "tanh"),
    "box-cox": _plain(RBF(), "box-cox"),
    "log": _plain(RBF(), "log"),
    "bagged": BaggedProcesses(_plain(RBF())),
    "calibrant": GaussianProcess(Matern52(), "yeo-johnson"),
}

RECALIBRATORS: dict[str, Recalibrator | None] = {
    "none": None,
    "gaussian": GaussianRecalibrator(strength=10.0, limit=np.inf),
    "leader": LeaderRecalibrator(),
    "online": OnlineRecalibrator(rate=0.05),
    "gp": RegressionRecalibrator("gp"),
    "mlp": RegressionRecalibrator("mlp"),
    "calibrant": GaussianRecalibrator(strength=10.0, limit=np.inf),
}

CALIBRATION_SETS: dict[str, CalibrationSet] = {
    "leave-one-out": CalibrationSet("leave-one-out", refit=True),
    **{f"N-{k}": CalibrationSet("time-series", refit=True, first=k) for k in (1, 2, 3, 4)},
    "leave-one-out, no refits": CalibrationSet("leave-one-out", in_doubt=0.0),
    "online": CalibrationSet("online"),
    "calibrant": CalibrationSet("leave-one-out", in_doubt=0.3),
}

# The margins and the weight 2 are the defaults of GPyOpt, on which the paper is built.
ACQUISITIONS: dict[str, Acquisition] = {
    "ei": ExpectedImprovement(margin=0.01),
    "pi": ProbabilityOfImprovement(margin=0.01),
    "lcb": QuantileBound(level=0.0228),
    "lcb-10%": QuantileBound(level=0.1),
    "conformal": ConformalBound(),
    "adaptive": AdaptiveBound(),
    "calibrant": ExpectedImprovement(),
}

DESIGNS = (*Design, "missed")  # "missed": random, but not where Forrester's minimum is


@dataclass(frozen=True)
class Setup:
    """All that makes one search what it is, except for its seed.

    Args:
        task: what is minimised, see :mod:`benchmarks.paper.tasks`.
        model: a key of ``MODELS``.
        recalibrator: a key of ``RECALIBRATORS``.
        calibration_set: a key of ``CALIBRATION_SETS``.
        acquisition: a key of ``ACQUISITIONS``.
        initial: how many points come first.
        design: how they are spread.
        steps: how many points the search chooses after them.
    """

    task: str
    model: str = "rbf"
    recalibrator: str = "none"
    calibration_set: str = "leave-one-out"
    acquisition: str = "ei"
    initial: int = 5
    design: str = "random"
    steps: int = 25

    def __post_init__(self) -> None:
        for name, known in (
            ("model", MODELS),
            ("recalibrator", RECALIBRATORS),
            ("calibration_set", CALIBRATION_SETS),
            ("acquisition", ACQUISITIONS),
            ("design", DESIGNS),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"`{name}` must be one of {', '.join(known)}, but got {getattr(self, name)!r}."
                )
        for name in ("initial", "steps"):
            validate.positive(name, getattr(self, name))

    @property
    def calibrated(self) -> bool:
        """Whether anything is recalibrated."""
        return self.recalibrator != "none"

    @property
    def method(self) -> str:
        """What the search does, in words."""
        calibration = f", {self.recalibrator} on {self.calibration_set}" if self.calibrated else ""
        return f"{self.model}, {self.acquisition}{calibration}"

    @property
    def settings(self) -> dict[str, str | int]:
        """All but the task, as it is written beside results."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "task"}
