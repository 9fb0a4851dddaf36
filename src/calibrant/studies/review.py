"""Reviews of studies: the best result, and how well the forecasts held."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from calibrant.core.typing import FloatArray
from calibrant.core.words import number
from calibrant.recalibration.base import Issued
from calibrant.studies.archive import Archive, Record
from calibrant.studies.evaluations import cut_off
from calibrant.studies.shown import COVERAGE, ShownForecasts
from calibrant.studies.statements import Statements
from calibrant.studies.suggestions import signs

FEASIBLE = "feasible suggestion"  # the kind of statement that promises to meet all constraints


@dataclass(frozen=True)
class Review:
    """A study of one objective, in the order in which its trials finished, in the user's units.

    ``numbers``, ``values`` and ``best_so_far`` have one entry per trial with a finite value; the
    fields from ``forecast_numbers`` on have one per such trial with a forecast made beforehand.
    """

    numbers: list[int]
    values: FloatArray
    best_so_far: FloatArray  # NaN before the first trial that meets all constraints
    best_number: int
    best_value: float
    best_params: dict[str, Any]
    failed: int
    forecast_numbers: list[int]
    outcomes: FloatArray  # the values that were forecast
    raw_pits: FloatArray
    pits: FloatArray
    low: FloatArray  # ends of the calibrated 80 % intervals
    high: FloatArray
    raw_low: FloatArray
    raw_high: FloatArray
    promised: FloatArray  # probabilities given before that all constraints would be met
    met: np.ndarray  # whether they were, of these suggestions
    hoped_numbers: list[int]  # of the trials that `hoped` is about; none with constraints
    hoped: FloatArray  # the probabilities given before that they would beat the best
    beaten: np.ndarray  # whether it was
    others: tuple[Statements, ...] = ()  # made of the study without being stored

    @property
    def statements(self) -> list[Statements]:
        """What was said with a probability before it was known, and how it came out."""
        every = np.full(self.held.size, COVERAGE)
        found = [Statements("interval", "held", every, self.held)]
        if self.promised.size:
            found.append(Statements(FEASIBLE, "met all constraints", self.promised, self.met))
        if self.hoped.size:
            verb = "improved on the best value"
            found.append(Statements("suggestion", verb, self.hoped, self.beaten))
        return [*found, *self.others]

    def figure(self) -> Any:
        """Draw stated against happened of all statements (:func:`calibrant.figures.promises`).

        Raises:
            ValueError: where nothing has been stated with a probability yet.
        """
        from calibrant.evaluation.figures import promises  # loads plotly

        stated = np.concatenate([kind.stated for kind in self.statements])
        if not stated.size:
            raise ValueError(
                "Nothing has been stated of the study with a probability yet: a calibrated "
                "sampler's suggestions, or 15 trials of any, give something to compare."
            )
        return promises(stated, np.concatenate([kind.came_true for kind in self.statements]), 10)

    def sentences(self) -> list[str]:
        """Return the review in words."""
        best = f"The best value is {number(self.best_value)}, of trial {self.best_number}."
        return [best, *map(str, self.statements)]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences())

    @property
    def held(self) -> np.ndarray:
        """Whether each outcome lay inside its calibrated interval."""
        return np.asarray((self.low <= self.outcomes) & (self.outcomes <= self.high))

    @property
    def raw_held(self) -> np.ndarray:
        """Whether each outcome lay inside the model's own interval."""
        return np.asarray((self.raw_low <= self.outcomes) & (self.outcomes <= self.raw_high))


def review(study: Study) -> Review:
    """Return the result of a study, and its forecasts as they were shown.

    Each forecast was stored before its outcome, and recalibrated with the outcomes known then only.
    """
    if len(study.directions) != 1:
        raise ValueError(
            f"A review needs a single objective, but the study has {len(study.directions)}; "
            "`calibrant.review_front` takes several, and `calibrant.recommend` returns their front."
        )
    archive, (sign,) = Archive(), signs(study)
    archive.update(study)
    known = {n: r for n, r in archive.records.items() if r.values is not None}
    if not known:
        raise ValueError("No trial of the study has finished with a finite value.")
    trials = study.get_trials(deepcopy=False)
    lowest, best = _lowest(known)
    best_number, values = list(known)[best], sign * _values(known)
    best_value, best_params = float(values[best]), trials[best_number].params
    due = {n: r for n, r in known.items() if r.forecasts}
    shown = ShownForecasts()
    shown.update(archive.records)
    rows = as_shown(due, shown.issued, sign)
    outcomes, raw_pits, pits, low, high, raw_low, raw_high = rows
    hopes = [] if any(r.constraints for r in known.values()) else _hopes(known, shown.issued)
    return Review(
        numbers=list(known),
        values=values,
        best_so_far=np.where(np.isinf(lowest), np.nan, sign * lowest),
        best_number=best_number,
        best_value=best_value,
        best_params=best_params,
        failed=len({t.number for t in trials if t.state == TrialState.FAIL} - cut_off(study)),
        forecast_numbers=list(due),
        outcomes=outcomes,
        raw_pits=raw_pits,
        pits=pits,
        low=low,
        high=high,
        raw_low=raw_low,
        raw_high=raw_high,
        promised=np.array([promised for promised, _ in archive.promises()]),
        met=np.array([met for _, met in archive.promises()], dtype=bool),
        hoped_numbers=[trial for trial, _, _ in hopes],
        hoped=np.array([stated for _, stated, _ in hopes]),
        beaten=np.array([came for _, _, came in hopes], dtype=bool),
    )


def _values(known: Mapping[int, Record]) -> FloatArray:
    """Return the values, with the sign in which they are minimised."""
    return np.array([r.values[0] for r in known.values() if r.values is not None])


def _lowest(known: Mapping[int, Record]) -> tuple[FloatArray, int]:
    """Return the lowest value after each trial, and the position of the best trial.

    As in Optuna, the best is among the trials that meet all constraints, if there are any; the
    lowest value is infinite before the first of them.
    """
    feasible = [record.met for record in known.values()]
    merit = _values(known) + (np.where(feasible, 0.0, np.inf) if any(feasible) else 0.0)
    return np.minimum.accumulate(merit), int(np.argmin(merit))


def _hopes(
    known: Mapping[int, Record], issued: Mapping[int, Issued]
) -> list[tuple[int, float, bool]]:
    """Return trials, the probability given to a new best value, and whether it came."""
    made: list[tuple[int, float, bool]] = []
    best = np.inf
    for (trial, record), value in zip(known.items(), _values(known).tolist(), strict=True):
        if record.forecasts and np.isfinite(best):
            stated = float(np.clip(issued[trial].calibrated.cdf(best), 0.0, 1.0))
            made.append((trial, stated, value < best))
        best = min(best, value)
    return made


def as_shown(due: Mapping[int, Record], issued: Mapping[int, Issued], sign: float) -> FloatArray:
    """Return outcome, PITs and ends of intervals, raw and calibrated, one column per trial."""
    columns = []
    for (trial, record), outcome in zip(due.items(), _values(due), strict=True):
        raw, calibrated = record.forecasts[0], issued[trial].calibrated
        shown = record.shown or calibrated.interval(COVERAGE)  # what was stored is what was shown
        columns.append(
            [
                sign * outcome,
                *(_flip(float(f.cdf(outcome)), sign) for f in (raw, calibrated)),
                *_ends(shown, sign),
                *_ends(raw.interval(COVERAGE), sign),
            ]
        )
    return np.array(columns).reshape(-1, 7).T


def _flip(pit: float, sign: float) -> float:
    """Return the PIT of an outcome, given the PIT of its minimised value."""
    return pit if sign > 0.0 else 1.0 - pit


def _ends(
    interval: tuple[FloatArray | float, FloatArray | float], sign: float
) -> tuple[float, float]:
    low, high = sorted(float(sign * end) for end in interval)
    return low, high
