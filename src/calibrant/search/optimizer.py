"""Ask and tell on the unit cube: calibrated Bayesian optimisation (the paper's Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.acquisition.base import Acquisition
from calibrant.core import validate
from calibrant.core.cube import Axis, Cube, Design, as_cube
from calibrant.core.rule import NothingToTry, rule_of
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.protocol import Model
from calibrant.recalibration import Recalibrator
from calibrant.recalibration.calibration_sets import CalibrationSet, Splits
from calibrant.recalibration.score_log import ScoreLog
from calibrant.search.defaults import (
    ACQUISITION,
    MODEL,
    N_STARTUP_TRIALS,
    PATIENCE,
    RECALIBRATOR,
    SHOWN,
)
from calibrant.search.history import History
from calibrant.search.initial_design import is_startup, startup_point
from calibrant.search.notices import Notices
from calibrant.search.step import Fits, Policy, Suggestion

_ROUNDING = 1e-6  # how far single precision, on its way through another library, may move x


class Optimizer:
    """Minimises a function on the unit cube, one evaluation at a time.

    >>> from calibrant import Optimizer
    >>> optimizer = Optimizer(dim=2, seed=0)
    >>> for _ in range(20):
    ...     x = optimizer.ask()
    ...     optimizer.tell(x, ((x - 0.3) ** 2).sum())
    >>> x, y = optimizer.best
    >>> x.round(2).tolist()
    [0.3, 0.3]

    Several points may be asked for before any is told, and points told that were never asked for.

    Args:
        dim: number of coordinates; or the axes, where some allow only listed values.
        model: forecasts the outcomes; by default Gaussian processes with three kernels that take
            turns.
        recalibrator: corrects the model's forecasts inside the acquisition; None: uncalibrated.
        calibration_set: the scores that the recalibrator learns from: "leave-one-out",
            "time-series" or "online", or a :class:`~calibrant.recalibration.CalibrationSet` for the
            details. The default is leave-one-out, for expected improvement without the signs of
            scores, so that it learns spread but no shift; a name alone means with signs.
        acquisition: the acquisition function, which says how much a point is worth evaluating.
        design: how the first points are spread: "latin", "sobol" or "random".
        n_startup_trials: how many outcomes there must be, points told unasked included, before the
            model chooses; by default 5. With 0 and nothing told, the first point is random.
        repeats: whether a point may be evaluated twice.
        patience: after this many suggestions in a row without an improvement, forecasts are
            gradually widened; None: never.
        such_that: a function that returns whether a point, (dim,), may be tried.
        seed: the seed of all random choices.
    """

    def __init__(
        self,
        dim: int | Cube | Sequence[Axis],
        *,
        model: Model = MODEL,
        recalibrator: Recalibrator | None = RECALIBRATOR,
        calibration_set: CalibrationSet | Splits | str | None = None,
        acquisition: Acquisition = ACQUISITION,
        design: Design | str = Design.LATIN,
        n_startup_trials: int = N_STARTUP_TRIALS,
        repeats: bool = False,
        patience: int | None = PATIENCE,
        such_that: Callable[[FloatArray], bool] | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self._cube = as_cube(dim)
        if such_that is not None:
            self._cube = replace(self._cube, rule=rule_of(such_that))
        self._policy = Policy(model, recalibrator, calibration_set, acquisition, repeats, patience)
        self._rng = np.random.default_rng(seed)
        self._n_startup_trials = validate.at_least("n_startup_trials", n_startup_trials, 0)
        self._kind = validate.choice("design", Design, design)
        self._design = self._cube.design(self._kind, self._n_startup_trials, self._rng)
        self._place = 0  # in the design, of the next point
        self._told: list[tuple[FloatArray, float]] = []  # y is NaN where an evaluation failed
        self._stds: list[float] = []  # for each of them, of its noise; NaN where it is not known
        self._forecast: list[bool] = []  # for each of them, whether the model had forecast it
        self._outcomes = ScoreLog()
        self._pending: list[Suggestion] = []
        self._fits: Fits | None = None  # of the last suggestion
        self._notices = Notices()

    def ask(
        self, *, among: ArrayLike | None = None, fixed: Mapping[int, float] | None = None
    ) -> FloatArray:
        """Return the next point to evaluate.

        Args:
            among: points (n, dim) of which to choose one; it comes back as it stands there. Unless
                ``repeats`` are allowed, those told or asked for before are left out while there
                are others.
            fixed: coordinates that are given rather than chosen, by column.

        Raises:
            ValueError: where nothing is left to choose: no points, or none that keep to
                ``such_that`` and to what is ``fixed``.
        """
        suggestion = self._next(self._part(among, fixed))
        self._pending.append(replace(suggestion, fits=Fits()))  # which `_fits` has
        return suggestion.x.copy()

    def tell(self, x: ArrayLike, y: float, std: float | None = None) -> None:
        """Learn the outcome of an evaluation; NaN or ±inf: it failed, and is avoided now.

        Args:
            x: the point.
            y: its outcome.
            std: the standard deviation of the outcome's noise, where it is known.
        """
        noise = float("nan") if std is None else float(validate.not_negative("std", std))
        point = np.array(validate.finite("x", x))  # a copy: the caller may change the array
        if point.shape != (self._cube.dim,):
            raise ValueError(
                f"`x` must have shape ({self._cube.dim},), but got shape {point.shape}."
            )
        if np.any((point < 0.0) | (point > 1.0)):
            raise ValueError(f"`x` must lie in the unit cube, but got x={point}.")
        outcome = validate.as_floats("y", y)
        if y is None or outcome.shape != ():
            raise TypeError(f"`y` must be a number, but got {y!r}; NaN means a failed evaluation.")
        suggestion = self._asked(point)
        point = self._cube.rounded(point, _ROUNDING) if suggestion is None else suggestion.x
        forecasts = () if suggestion is None else suggestion.forecasts
        if np.isfinite(outcome) and forecasts:
            self._outcomes = self._outcomes.record(forecasts[0], outcome)
        self._forecast.append(bool(forecasts))
        self._told.append((point, float(outcome) if np.isfinite(outcome) else float("nan")))
        self._stds.append(noise)

    def forecast(self, X: ArrayLike) -> Forecast:
        """Forecast outcomes at the rows of X, calibrated by all forecasts that came due so far."""
        history = self._history()
        if not history.Y.size:
            raise ValueError("A forecast needs at least one outcome; tell one first.")
        data = self._policy.prepare(history, self._cube)
        fits = self._policy.fit(data, self._cube, self._fits)  # a look, which changes nothing
        recalibrator = self._outcomes.recalibrate(SHOWN)
        return recalibrator.calibrate(
            fits.objectives[0].predict(np.atleast_2d(np.asarray(X, float)))
        )

    @property
    def outcomes(self) -> ScoreLog:
        """The online calibration set: scores of outcomes under the forecasts made before them."""
        return self._outcomes

    @property
    def best(self) -> tuple[FloatArray, float]:
        """The point with the lowest outcome so far, and that outcome."""
        finite = [(x, y) for x, y in self._told if np.isfinite(y)]
        if not finite:
            raise ValueError("There is no best point before an evaluation has succeeded.")
        x, y = min(finite, key=lambda pair: pair[1])
        return x.copy(), y

    def __getstate__(self) -> dict[str, Any]:
        # Fits hold functions, which cannot be pickled; they are made again.
        return {**self.__dict__, "_fits": None}

    def _asked(self, point: FloatArray) -> Suggestion | None:
        """Return the suggestion that a told point was, which is no longer pending then."""
        distances = [np.abs(suggestion.x - point).max() for suggestion in self._pending]
        if not distances or min(distances) > _ROUNDING:
            return None
        return self._pending.pop(int(np.argmin(distances)))

    def _part(self, among: ArrayLike | None, fixed: Mapping[int, float] | None) -> Cube:
        """Return the part of the cube in which to choose."""
        cube = self._cube
        if among is not None:
            points = np.array(validate.finite("among", among))
            if points.ndim != 2 or points.shape[1] != cube.dim or not len(points):
                raise ValueError(
                    f"`among` must have shape (n, {cube.dim}) with n >= 1, but got {points.shape}."
                )
            if np.any((points < 0.0) | (points > 1.0)):
                raise ValueError("`among` must lie in the unit cube: scale its columns to [0, 1].")
            if cube.rule is not None:
                points = points[cube.rule.holds(points)]
            if not len(points):
                raise NothingToTry("None of the points of `among` keeps to `such_that`.")
            cube = replace(cube, rule=None, listed=points)
        if not fixed:
            return cube
        for column, value in fixed.items():
            if column not in range(cube.dim) or not 0.0 <= value <= 1.0:
                raise ValueError(
                    f"`fixed` must give values in [0, 1] by column from 0 to {cube.dim - 1}, but "
                    f"got {column!r}: {value!r}."
                )
        return cube.fixed(fixed)

    def _next(self, cube: Cube) -> Suggestion:
        history = self._history()
        if is_startup(history, self._n_startup_trials):
            taken, notices = self._policy.taken(history, cube)
            design = self._design[self._place :]
            if cube is not self._cube:  # a design of this part
                design = cube.design(self._kind, self._n_startup_trials, self._rng)[:1]
            x = startup_point(design, cube, taken, self._rng)
            self._place += 1
            suggestion = Suggestion(x, notices=notices)
        else:
            suggestion = self._policy.suggest(history, cube, self._rng, self._fits)
            self._fits = suggestion.fits
        self._notices.say(suggestion.notices)
        return suggestion

    def _history(self) -> History:
        dim = self._cube.dim
        X = np.array([x for x, _ in self._told]).reshape(-1, dim)
        y = np.array([y for _, y in self._told])
        known = np.isfinite(y)
        stds = np.array(self._stds)[known]
        return History(
            X=X[known],
            Y=y[known][:, None],
            constraints=np.empty((int(known.sum()), 0)),
            online=(self._outcomes,),
            was_forecast=np.array(self._forecast, dtype=bool)[known],
            failed=X[~known],
            pruned=np.empty((0, dim)),
            extrapolated=np.empty((0, 2)),
            pending=np.array([s.x for s in self._pending]).reshape(-1, dim),
            stds=None if np.isnan(stds).all() else stds[:, None],
        )
