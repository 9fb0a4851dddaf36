"""What of a history the models of a step are given: prepared once, before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.core.cube import Cube
from calibrant.core.front import non_dominated
from calibrant.core.typing import FloatArray
from calibrant.models.informed import uninformed
from calibrant.models.protocol import FittedModel, HasLimit, KnowsLabels, Model, TakesNoise
from calibrant.recalibration.score_log import ScoreLog
from calibrant.search.history import History

# The subset is chosen again after so many outcomes; in between, a model can continue from its last
# fit, as outcomes are only added to it.
_BLOCK = 100

Targets = list[tuple[FloatArray, FloatArray]]  # inputs (n, d) and outcomes (n,) of what is modelled


@dataclass(frozen=True)
class TrainingData:
    """A history as models see it.

    Args:
        model: what to fit, told which columns of the inputs are labels.
        subset: the history, with no more outcomes than the model can take.
        succeeded: the same, with penalties counted as failures.
        objectives: what each objective's model is fitted to.
        constraints: what each constraint's model is fitted to: where evaluations reported it.
        limit_names: the names of these constraints.
        limit_logs: the scores of their outcomes under the forecasts made before them.
        notices: what the user should be told about it.
        stds: of each objective, the noise of its outcomes as far as it is known, (n,); or None.
    """

    model: Model
    subset: History
    succeeded: History
    objectives: Targets
    constraints: Targets
    limit_names: tuple[str, ...] = ()
    limit_logs: tuple[ScoreLog, ...] = ()
    notices: tuple[str, ...] = ()
    stds: tuple[FloatArray | None, ...] = ()

    @property
    def limit_model(self) -> Model:
        """What to fit to constraints: nothing is known of them beforehand."""
        return uninformed(self.model)

    def believed(self, history: History, constraints: Sequence[FittedModel]) -> History:
        """Return a history with the constraints that some evaluations did not report.

        Where one is believed to be broken, an outcome is no rival, and nothing to refine.
        """
        columns = self.subset.reported
        limits = {i: fitted.predict for i, fitted in zip(columns, constraints, strict=True)}
        return history.believed(limits)


def prepare(model: Model, history: History, cube: Cube) -> TrainingData:
    """Return what a step needs of a history."""
    if isinstance(model, KnowsLabels):
        model = model.with_labels(cube.categorical)
    most = model.most_outcomes if isinstance(model, HasLimit) else None
    notices: tuple[str, ...] = ()
    if most is not None and max(map(len, (history.Y, history.failed, history.pruned))) > most:
        history = training_subset(history, most)
        notices = (
            f"More than {most} outcomes: from now on the model is fitted to the best, the latest "
            f"and an even choice of the others, {most} in all. For more, set its `most_outcomes`.",
        )
    stds_used = history.stds is not None
    if stds_used and not (isinstance(model, TakesNoise) and model.takes_noise):
        stds_used = False
        notices = (
            *notices,
            f"The stds of outcomes are not used: {type(model).__name__} learns the noise of all of "
            "them, and takes none of single ones. The default model does.",
        )
    succeeded = history.without_penalties()
    objectives = [(succeeded.X, y) for y in succeeded.Y.T]
    said = history.reported
    return TrainingData(
        model,
        history,
        succeeded,
        objectives,
        [_reported(history, column) for column in said],
        tuple(history.names[column] if history.names else str(column) for column in said),
        tuple(history.limits[column] if history.limits else ScoreLog() for column in said),
        notices,
        tuple(succeeded.stds.T)
        if stds_used and succeeded.stds is not None
        else (None,) * len(objectives),
    )


def training_subset(history: History, most: int) -> History:
    """Return the history as a model sees it that can take no more than ``most`` outcomes.

    It keeps the best, which is where the search continues; the latest, which a model has learned
    least from; and of all others an even choice from good to bad, for an idea of the whole.
    """
    count = history.Y.shape[0]
    subset = history
    if count > most:
        settled = _settled(count, most)
        chosen = _choice(history.rows(np.arange(settled)), most - _block(most))
        subset = history.rows(np.concatenate([chosen, np.arange(settled, count)]))
    return replace(
        subset,
        failed=history.failed[-most:],
        pruned=history.pruned[-most:],
        extrapolated=history.extrapolated[-most:],
    )


def _reported(history: History, column: int) -> tuple[FloatArray, FloatArray]:
    """Return inputs and values of a constraint, where evaluations have reported it."""
    y = history.constraints[:, column]
    said = ~np.isnan(y)
    return history.X[said], _finite(y[said])


def _finite(limits: FloatArray) -> FloatArray:
    """Return constraint values with ±inf as the largest size seen."""
    sizes = np.abs(limits[np.isfinite(limits)])
    largest = float(sizes.max(initial=0.0)) or 1.0
    return np.clip(limits, -largest, largest)


def _choice(history: History, room: int) -> NDArray[np.intp]:
    """Return which outcomes to keep, at most so many, in the order in which they came."""
    kept = np.zeros(history.Y.shape[0], dtype=bool)
    # Where not all evaluations report a constraint, its model needs the latest that did.
    known = np.isfinite(history.constraints)
    for column in known.T[~known.all(axis=0)]:
        kept[np.flatnonzero(column)[-max(1, room // 10) :]] = True
    order = np.argsort(history.merit, kind="stable")
    if history.Y.shape[1] > 1:  # the front of several objectives comes first, with its ends
        front = non_dominated(history.Y) & history.feasible
        order = np.concatenate([order[front[order]], order[~front[order]]])
        kept[history.Y.argmin(axis=0)] = True
    kept[order[: max(0, room // 2 - int(kept.sum()))]] = True
    kept[order[kept[order]][room:]] = False  # many constraints may ask for more than there is room
    others = order[~kept[order]]
    left = room - int(kept.sum())
    kept[others[np.linspace(0, others.size - 1, left).round().astype(np.intp)]] = True
    return np.flatnonzero(kept)


def _block(most: int) -> int:
    return max(1, min(_BLOCK, most // 2))


def _settled(count: int, most: int) -> int:
    """Return from how many outcomes the choice is made; those after them are all kept."""
    return count - 1 - (count - 1 - most) % _block(most)
