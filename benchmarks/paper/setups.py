"""One search of the paper's, in words: which task, model, recalibration, acquisition and start.

A :class:`Setup` is plain text, so that it can be written beside every result and read back. What
its words stand for is listed here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.paper.refits import Refitted
from calibrant.acquisition import (
    Acquisition,
    AdaptiveBound,
    AnnealedBound,
    ConformalBound,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    QuantileBound,
)
from calibrant.core import validate
from calibrant.core.cube import Design
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap
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
from calibrant.models.fitted_gp import FittedGP
from calibrant.recalibration import (
    CalibrationSet,
    GaussianRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
    RegressionRecalibrator,
    ScaleRecalibrator,
)


def _plain(kernel: Kernel, outputs: str = "standardise") -> GaussianProcess:
    """Return the paper's base model: one lengthscale, outcomes standardised, maximum likelihood."""
    return GaussianProcess(kernel, outputs, priors=None)


@dataclass(frozen=True)
class TooSure(GaussianProcess):
    """A Gaussian process whose std is a fraction of what it should be; its mean is as it was."""

    factor: float = 0.1

    def _fitted(
        self,
        X: FloatArray,
        y: FloatArray,
        noise: ArrayLike | None,
        outputs: MonotoneMap,
        theta: FloatArray,
    ) -> FittedGP:
        scaled = theta.copy()
        scaled[-2:] += 2.0 * np.log(self.factor)  # the variances of function and noise
        return super()._fitted(X, y, noise, outputs, scaled)


# What "calibrant" stands for below is spelled out, so that results keep their meaning when defaults
# change: one Gaussian process.
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
    "rbf-sure": TooSure(RBF(), "standardise", priors=None),
    "calibrant": GaussianProcess(Matern52(), "yeo-johnson"),
}

RECALIBRATORS: dict[str, Recalibrator | None] = {
    "none": None,
    "gaussian": GaussianRecalibrator(strength=10.0, limit=np.inf),
    "leader": LeaderRecalibrator(),
    # Eq. 8 to 10. The paper names neither grid nor rate: these are ours, others are in the
    # sensitivity study.
    "online": OnlineRecalibrator(levels=19, rate=0.05),
    "online-0.02": OnlineRecalibrator(levels=19, rate=0.02),
    "online-0.2": OnlineRecalibrator(levels=19, rate=0.2),
    "online-99": OnlineRecalibrator(levels=99, rate=0.05),
    "isotonic": IsotonicRecalibrator(),
    "isotonic-k/N": IsotonicRecalibrator(literal=True),
    "gp": RegressionRecalibrator("gp"),
    "mlp": RegressionRecalibrator("mlp"),
    "calibrant": ScaleRecalibrator(),
}

CALIBRATION_SETS: dict[str, CalibrationSet | None] = {
    "leave-one-out": Refitted("leave-one-out"),
    **{f"N-{k}": Refitted("time-series", first=k) for k in (1, 2, 3, 4)},
    "leave-one-out, no refits": CalibrationSet("leave-one-out", in_doubt=0.0),
    "leave-one-out, in doubt": CalibrationSet("leave-one-out", in_doubt=0.3),
    "online": CalibrationSet("online"),
    "calibrant": None,  # as a search does by itself: symmetric for expected improvement
}

# The margins and the weight 2 are the defaults of GPyOpt, on which the paper is built.
ACQUISITIONS: dict[str, Acquisition] = {
    "ei": ExpectedImprovement(margin=0.01),
    "pi": ProbabilityOfImprovement(margin=0.01),
    "lcb": QuantileBound(level=0.0228),
    "lcb-10%": QuantileBound(level=0.1),
    "lcb-annealed": AnnealedBound(),
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
