"""Recalibration by a regression model, from the paper's sensitivity study; needs scikit-learn."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.recalibration.base import Recalibrator, as_pits, as_scores

_GRID = np.arange(1, 200) / 200  # where the fitted curve is read, in steps of half a percent


class RegressionRecalibrator(Recalibrator):
    """The map G fitted by a Gaussian process or a small neural network.

    The model is fitted to the paper's recalibration set {(F_t, share of PITs ≤ F_t)}. It learns
    the difference to the identity, so that few data change little. Its curve is read on a grid,
    made increasing by isotonic regression, and joined to (0, 0) and (1, 1).

    All PITs are kept; the model is fitted again when the recalibrator is next used.

    Args:
        model: "gp" or "mlp".
        pits: of past outcomes, in any order.
    """

    def __init__(self, model: Literal["gp", "mlp"] = "gp", pits: ArrayLike = ()) -> None:
        if model not in ("gp", "mlp"):
            raise ValueError(f"`model` must be 'gp' or 'mlp', but got model={model!r}.")
        self._model: Literal["gp", "mlp"] = model
        self._pits = np.sort(as_pits(pits))

    def __repr__(self) -> str:
        return f"RegressionRecalibrator({self._model!r}, {self._pits.size} outcomes)"

    @cached_property
    def residual(self) -> WarpedNormal:
        count = self._pits.size
        if count == 0:
            return WarpedNormal([0.5], [0.5])
        pits = np.unique(self._pits)
        if pits.size > _GRID.size:  # more points add little, at cubic cost
            pits = pits[np.linspace(0, pits.size - 1, _GRID.size).round().astype(int)]
        share = np.searchsorted(self._pits, pits, side="right") / (count + 1)
        curve = _fit(self._model, pits, share - pits, _GRID, noise=0.25 / count) + _GRID
        curve = np.clip(isotonic_regression(curve).x, 0.0, 1.0)
        # The curve is G on a grid of u; R is its inverse, the same polyline with axes swapped.
        probabilities, first = np.unique(curve, return_index=True)
        inner = (probabilities > 0.0) & (probabilities < 1.0)
        if not inner.any():  # G jumps from 0 to 1 between two grid points
            jump = float(_GRID[np.searchsorted(curve, 0.5) - 1]) if curve[0] < 0.5 else 0.0
            return WarpedNormal([0.5], [jump])
        return WarpedNormal(probabilities[inner], _GRID[first[inner]])

    def __call__(self, p: ArrayLike) -> FloatArray:
        return self.residual.warp(p)

    def inverse(self, u: ArrayLike) -> FloatArray:
        return self.residual.unwarp(u)

    def update_many(self, us: ArrayLike) -> Self:
        return type(self)(self._model, np.concatenate([self._pits, as_pits(us)]))

    def update_scores(self, z: ArrayLike) -> Self:
        return self.update_many(ndtr(as_scores(z)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "regression", "model": self._model, "pits": self._pits.tolist()}


def _fit(model: str, x: FloatArray, y: FloatArray, at: FloatArray, noise: float) -> FloatArray:
    try:
        import sklearn.gaussian_process as gp
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor
    except ImportError as error:
        raise ImportError(
            "RegressionRecalibrator needs scikit-learn: pip install scikit-learn."
        ) from error
    if model == "gp":
        # Calibration curves bend over a tenth of [0, 1] or more. The share of N PITs has a standard
        # error of up to 0.5/√N, which is the noise. Without optimisation no fit can fail.
        kernel = 0.3**2 * gp.kernels.RBF(0.2)
        regressor = gp.GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    else:
        regressor = MLPRegressor(
            hidden_layer_sizes=(16,), solver="lbfgs", alpha=1e-2, max_iter=2000, random_state=0
        )
    with warnings.catch_warnings():
        # A curve that L-BFGS could still improve a little is good enough for isotonic regression.
        warnings.simplefilter("ignore", ConvergenceWarning)
        regressor.fit(x[:, None], y)
    return validate.finite("fit", regressor.predict(at[:, None]))
