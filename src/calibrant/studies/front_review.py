"""Reviews of studies with several objectives: the volume of the front, and how forecasts held."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from optuna.study import Study

from calibrant.core import validate
from calibrant.core.front import hypervolume, non_dominated
from calibrant.core.typing import FloatArray
from calibrant.core.words import count, number
from calibrant.evaluation.verdict import Verdict, verdict
from calibrant.studies.archive import Archive
from calibrant.studies.records import Record
from calibrant.studies.review import FEASIBLE, as_shown
from calibrant.studies.shown import COVERAGE, ShownForecasts
from calibrant.studies.statements import Statements
from calibrant.studies.suggestions import signs

_MARGIN = 0.1  # of the extent of the front, beyond its worst values


@dataclass(frozen=True)
class ObjectiveReview:
    """The forecasts of one objective that have met their outcomes, in the user's units.

    Each was stored before its outcome; here it is recalibrated with the outcomes that were known
    when its trial started.
    """

    name: str
    outcomes: FloatArray
    raw_pits: FloatArray
    pits: FloatArray
    low: FloatArray  # ends of the calibrated 80 % intervals
    high: FloatArray
    raw_low: FloatArray
    raw_high: FloatArray

    @property
    def held(self) -> np.ndarray:
        """Whether each outcome lay inside its calibrated interval."""
        return np.asarray((self.low <= self.outcomes) & (self.outcomes <= self.high))

    @property
    def raw_held(self) -> np.ndarray:
        """Whether each outcome lay inside the model's own interval."""
        return np.asarray((self.raw_low <= self.outcomes) & (self.outcomes <= self.raw_high))

    @property
    def verdict(self) -> Verdict:
        """How many calibrated intervals held, and what that means."""
        return verdict(int(self.held.sum()), int(self.held.size), COVERAGE)


@dataclass(frozen=True)
class FrontReview:
    """A study of several objectives, in the order in which its trials finished.

    Args:
        numbers: the trials with finite values.
        values: their values, (trials, objectives), in the user's units.
        front: which trials are on the front, of those that meet all constraints.
        reference_point: the values up to which volume is counted, in the user's units.
        hypervolume: the volume that trials which meet all constraints dominate, after each trial.
        objectives: how the forecasts of each objective held.
        promised: the probabilities given before that all constraints would be met.
        met: whether they were, of these suggestions.
    """

    numbers: list[int]
    values: FloatArray
    front: list[int]
    reference_point: tuple[float, ...]
    hypervolume: FloatArray
    objectives: tuple[ObjectiveReview, ...]
    promised: FloatArray
    met: np.ndarray

    def sentences(self) -> list[str]:
        """Return the review in words."""
        goal = ", ".join(number(value) for value in self.reference_point)
        volume = (
            f"{count(len(self.front), 'trial')} of {len(self.numbers)} on the front; hypervolume "
            f"{number(float(self.hypervolume[-1]))} up to ({goal})."
        )
        held = [f"{one.name}: {one.verdict}" for one in self.objectives]
        return [volume, *held, *map(str, self.statements)]

    @property
    def statements(self) -> list[Statements]:
        """What was promised of constraints before they were evaluated, and how it came out."""
        made = Statements(FEASIBLE, "met all constraints", self.promised, self.met)
        return [made] if self.promised.size else []

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences())


def review_front(study: Study, reference_point: Sequence[float] | None = None) -> FrontReview:
    """Return how the front of a study with several objectives grew, and how many intervals held.

    >>> import optuna, calibrant
    >>> def both(trial):
    ...     x = trial.suggest_float("x", 0, 1)
    ...     return x**2, (x - 1) ** 2
    >>> sampler = calibrant.CalibratedSampler(seed=0)
    >>> study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    >>> study.optimize(both, n_trials=8)
    >>> found = calibrant.review_front(study)
    >>> bool(found.hypervolume[-1] > found.hypervolume[0])
    True

    Args:
        study: an Optuna study with two objectives or more, whichever sampler made it.
        reference_point: for each objective the worst value that is of any use, in the study's own
            units and directions; by default a tenth of the front's extent beyond its worst values.
    """
    flip = signs(study)
    if flip.size < 2:
        raise ValueError("A front needs several objectives, but the study has one; use `review`.")
    archive = Archive()
    archive.update(study)
    known = {n: r for n, r in archive.records.items() if r.values is not None}
    if not known:
        raise ValueError("No trial of the study has finished with finite values.")
    Y = np.array([record.values for record in known.values()])
    met = np.array([record.met for record in known.values()])
    front = np.flatnonzero(met)[non_dominated(Y[met])]
    goal = _reference(reference_point, flip, Y, Y[front])
    counted = np.where(met[:, None], Y, np.inf)
    names = study.metric_names or [f"objective {k}" for k in range(flip.size)]
    return FrontReview(
        numbers=list(known),
        values=flip * Y,
        front=[list(known)[row] for row in front],
        reference_point=tuple((flip * goal).tolist()),
        hypervolume=_volumes(counted, goal),
        objectives=tuple(
            _objective(name, known, k, float(flip[k])) for k, name in enumerate(names)
        ),
        promised=np.array([promised for promised, _ in archive.promises()]),
        met=np.array([met for _, met in archive.promises()], dtype=bool),
    )


def _reference(
    given: Sequence[float] | None, flip: FloatArray, Y: FloatArray, front: FloatArray
) -> FloatArray:
    """Return the reference point, as objectives are minimised."""
    if given is not None:
        point = validate.finite("reference_point", given)
        if point.shape != flip.shape:
            raise ValueError(
                f"`reference_point` must hold one number per objective, but got {given!r} for "
                f"{flip.size} of them."
            )
        return np.asarray(flip * point)
    worst = (front if front.size else Y).max(axis=0)
    extent = worst - (front if front.size else Y).min(axis=0)
    # A front of one point has no extent: then that of all outcomes.
    extent = np.where(extent > 0.0, extent, np.ptp(Y, axis=0))
    return np.asarray(worst + _MARGIN * np.where(extent > 0.0, extent, 1.0))


def _volumes(Y: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the volume dominated after each row; only a row on the front so far changes it."""
    volumes, best = np.zeros(Y.shape[0]), np.empty((0, Y.shape[1]))
    for row, y in enumerate(Y):
        volumes[row] = volumes[row - 1] if row else 0.0
        if np.all(y < reference) and not np.any(np.all(best <= y, axis=1)):
            best = np.vstack([best[~np.all(y <= best, axis=1)], y])
            volumes[row] = hypervolume(best, reference)
    return volumes


def _objective(name: str, known: dict[int, Record], column: int, sign: float) -> ObjectiveReview:
    """Return how the forecasts of one objective held."""
    due = {n: _alone(r, column) for n, r in known.items() if r.forecasts}
    shown = ShownForecasts()
    shown.update(due)
    return ObjectiveReview(name, *as_shown(due, shown.issued, sign))


def _alone(record: Record, column: int) -> Record:
    """Return the record of a trial as if it had one objective.

    No interval was shown for it, and the prior of chosen points is about single objectives.
    """
    assert record.values is not None
    return record._replace(
        values=record.values[column : column + 1],
        forecasts=record.forecasts[column : column + 1],
        known=None,
        shown=None,
        by=None,
    )
