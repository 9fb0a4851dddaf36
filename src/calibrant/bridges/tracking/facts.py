"""What there is to log about a trial: its value, what was forecast of it, and whether that held."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies.records import read
from calibrant.studies.runner import ERROR_KEY
from calibrant.studies.suggestions import signs


@dataclass(frozen=True)
class Facts:
    """What there is to log about a trial that has ended.

    Args:
        number: of the trial.
        state: "complete", "pruned" or "fail".
        params: its parameters.
        metrics: by name, finite numbers: ``value`` (``value_0``, … of several objectives), ``best``
            so far, and, where it was forecast, the model's ``forecast``, the ends ``low`` and
            ``high`` of the calibrated 80 % interval, ``held`` (1 or 0) and ``held_so_far``.
        error: why it failed, if that is known.
    """

    number: int
    state: str
    params: dict[str, Any]
    metrics: dict[str, float]
    error: str | None = None


@dataclass
class Tally:
    """What is counted from trial to trial: the best value, and how many intervals held."""

    best: float | None = None
    held: int = 0
    total: int = 0

    def take(self, study: Study, trial: FrozenTrial) -> Facts:
        """Count a trial that has ended, and return what there is to log about it."""
        metrics = _values(trial)
        if len(study.directions) == 1 and metrics:
            metrics |= self._one(study, trial, metrics["value"])
        if trial.duration is not None:
            metrics["seconds"] = trial.duration.total_seconds()
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        error = trial.user_attrs.get(ERROR_KEY)
        return Facts(
            trial.number, trial.state.name.lower(), dict(trial.params), finite,
            None if error is None else str(error),
        )  # fmt: skip

    def _one(self, study: Study, trial: FrozenTrial, value: float) -> dict[str, float]:
        """Return what a single objective has beside its value."""
        flip = signs(study)
        record, sign = read(trial, flip), float(flip[0])
        if record.values is None:
            return {}
        if record.met and (self.best is None or sign * value < sign * self.best):
            self.best = value
        found = {} if self.best is None else {"best": self.best}
        if record.forecasts and record.shown is not None:
            low, high = sorted(sign * end for end in record.shown)
            self.held += low <= value <= high
            self.total += 1
            found |= {
                "forecast": sign * float(record.forecasts[0].mean()),
                "low": low,
                "high": high,
                "held": float(low <= value <= high),
                "held_so_far": self.held / self.total,
            }
        return found


def _values(trial: FrozenTrial) -> dict[str, float]:
    if trial.state != TrialState.COMPLETE:
        return {}
    if len(trial.values) == 1:
        return {"value": trial.values[0]}
    return {f"value_{place}": value for place, value in enumerate(trial.values)}
