"""Suggestions as they are kept with their trials.

The point suggested and its raw forecast are stored with the trial, before the objective runs. A
record that cannot be read, because a later version wrote it or because it was damaged, counts as no
suggestion, and the search goes on.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.json import forecast_from_dict, forecast_to_dict
from calibrant.search.shown import Circumstances
from calibrant.search.step import Suggestion
from calibrant.studies import optuna_private
from calibrant.studies.coordinates import Internal

logger = logging.getLogger(__name__)

_KEY = "calibrant:suggestion"  # of the system attribute that holds a suggestion
_VERSION = 1  # of these records; to be raised when an older version would misread a new one


class Stored(NamedTuple):
    """A suggestion as it is kept with its trial."""

    params: dict[str, float]  # internal values
    forecasts: tuple[Forecast, ...]  # one per objective, minimised; none in the initial design
    signs: tuple[float, ...]  # that objectives had then; none where an earlier version stored it
    known: Circumstances | None  # of the default model's forecasts; None of another or earlier one
    shown: tuple[float, float] | None  # the interval shown for a single objective, minimised
    limits: dict[str, Forecast]  # of constraints, by name
    feasible: float | None  # the probability promised that all of them are met
    by: Mapping[str, Any] | None = None  # the state that showed the interval, as it was noted
    cost: float | None = None  # what it is expected to cost, where there is a budget


def signs(study: Study) -> FloatArray:
    """Return what turns each objective into one to be minimised: 1 or −1."""
    return np.array([-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in study.directions])


def store(
    study: Study,
    trial: FrozenTrial,
    params: Internal,
    suggestion: Suggestion,
    shown: tuple[float, float] | None,
    by: Mapping[str, Any] | None = None,
    random: Mapping[str, Any] | None = None,
) -> None:
    """Keep a suggestion with its trial, where every worker can see it.

    Args:
        study: of the trial.
        trial: that runs.
        params: internal values of the point.
        suggestion: the point, and what was forecast of it.
        shown: the interval shown for a single objective, as it is minimised.
        by: the state that shows it (:mod:`calibrant.studies.shown_states`).
        random: what was drawn for it (:mod:`calibrant.studies.randomness`).
    """
    record: dict[str, Any] = {
        "version": _VERSION,
        "params": dict(params),
        "forecasts": [forecast_to_dict(forecast) for forecast in suggestion.forecasts],
        "signs": signs(study).tolist(),
        "known": suggestion.known and asdict(suggestion.known),
    }
    if suggestion.feasible is not None:
        record["limits"] = {name: forecast_to_dict(f) for name, f in suggestion.limits.items()}
        record["feasible"] = suggestion.feasible
    if shown is not None:  # JSON has no infinity
        record["shown"] = [end if np.isfinite(end) else None for end in shown]
        record["by"] = by
    if suggestion.cost is not None:
        record["cost"] = suggestion.cost
    if random is not None:
        record["random"] = random
    optuna_private.note_trial(study, trial, _KEY, record)


def stored(trial: FrozenTrial) -> Stored | None:
    """Return the suggestion kept with a trial, if there is one that can be read."""
    record = optuna_private.trial_note(trial, _KEY)
    if record is None:
        return None
    try:
        return _decoded(record)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError) as error:
        _complain(trial, error)
        return None


def suggested(trial: FrozenTrial) -> dict[str, float]:
    """Return the point of that suggestion alone, which needs no forecast to be decoded."""
    record = optuna_private.trial_note(trial, _KEY)
    if record is None:
        return {}
    try:
        return _params(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _complain(trial, error)
        return {}


def showing(trial: FrozenTrial) -> Mapping[str, Any] | None:
    """Return the state that showed the interval of a trial, as it was noted."""
    record = optuna_private.trial_note(trial, _KEY)
    note = record.get("by") if isinstance(record, Mapping) else None
    return note if isinstance(note, Mapping) else None


def drawn(trial: FrozenTrial) -> Mapping[str, Any] | None:
    """Return what was noted about random numbers with the suggestion of a trial."""
    record = optuna_private.trial_note(trial, _KEY)
    note = record.get("random") if isinstance(record, Mapping) else None
    return note if isinstance(note, Mapping) else None


def _complain(trial: FrozenTrial, error: Exception) -> None:
    _say(trial.number, optuna_private.trial_id(trial), f"{type(error).__name__}: {error}"[:200])


@cache  # once each: a running trial is read before every suggestion
def _say(number: int, trial_id: int, reason: str) -> None:
    logger.warning(
        "The suggestion stored with trial %d cannot be read and counts as none (%s).",
        number,
        reason,
    )


def _decoded(record: Mapping[str, Any]) -> Stored:
    """Return a suggestion from its record, or raise if any part of it is not what it should be."""
    params = _params(record)
    forecasts = tuple(map(forecast_from_dict, record["forecasts"]))
    told = record.get("limits", {})
    limits = {str(name): forecast_from_dict(one) for name, one in told.items()}
    if any(forecast.batch != () for forecast in (*forecasts, *limits.values())):
        raise ValueError("a forecast is of more than one point")
    then = tuple(map(_number, record.get("signs", ())))
    if not set(then) <= {-1.0, 1.0}:
        raise ValueError(f"signs are 1 or -1, and not {then}")
    known = _circumstances(record.get("known"))
    shown, feasible = _interval(record.get("shown")), _probability(record.get("feasible"))
    by = record.get("by")
    if by is not None and not isinstance(by, Mapping):
        raise ValueError(f"{by!r} is not the state of a recalibrator")
    cost = record.get("cost")
    if cost is not None and _number(cost) < 0.0:
        raise ValueError(f"{cost} is not a cost")
    return Stored(params, forecasts, then, known, shown, limits, feasible, by, cost)


def _params(record: Mapping[str, Any]) -> dict[str, float]:
    version = record.get("version", 0)  # the first records had none
    if not isinstance(version, int) or version > _VERSION:
        raise ValueError(f"version {version} is later than {_VERSION}: update calibrant")
    return {str(name): _number(value) for name, value in record["params"].items()}


def _circumstances(noted: Any) -> Circumstances | None:
    if noted is None:
        return None
    numbers: dict[str, Any] = {
        part.name: _number(noted.get(part.name, part.default))
        for part in fields(Circumstances)
        if part.name != "blind"
    }
    if any(value < 0.0 for value in numbers.values()):
        raise ValueError(f"{noted} are no circumstances of a forecast")
    whole = {name: int(numbers[name]) for name in ("outcomes", "dim", "running")}
    return Circumstances(**{**numbers, **whole}, blind=noted.get("blind", False) is True)


def _interval(ends: Any) -> tuple[float, float] | None:
    """Return the ends of an interval, of which JSON keeps an infinite one as null."""
    if ends is None:
        return None
    low, high = ends
    interval = (
        -math.inf if low is None else _number(low),
        math.inf if high is None else _number(high),
    )
    if interval[0] > interval[1]:
        raise ValueError(f"{ends} is not an interval")
    return interval


def _probability(value: Any) -> float | None:
    if value is not None and not 0.0 <= _number(value) <= 1.0:
        raise ValueError(f"{value} is not a probability")
    return None if value is None else float(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
