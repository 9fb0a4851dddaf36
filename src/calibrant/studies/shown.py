"""The forecasts of a study as they were shown: recalibrated by what was known at the time.

With workers, a forecast is shown while others still wait for their outcomes. Here each is issued by
the recalibrator as it was when its trial started, and observed when the trial has ended, so that
the guarantee with delay holds for what was shown. It allows 50 misses a level, and more with
workers: with fewer outcomes it says nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import takewhile

from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.forecasts.base import Forecast
from calibrant.recalibration.base import Issued, Recalibrator
from calibrant.search.defaults import INFORMED, SHOWN
from calibrant.search.shown import Circumstances, informed
from calibrant.studies.archive import Record
from calibrant.studies.suggestions import signs, stored

COVERAGE = 0.8  # of the intervals shown to the user
_ENDS = (0.1, 0.9)  # levels of their ends


class ShownForecasts:
    """The first objective's forecasts, and the recalibrator that shows the next one."""

    def __init__(self) -> None:
        self.issued: dict[int, Issued] = {}  # by the numbers of trials that have an outcome
        self._states: list[Recalibrator] = [SHOWN]  # after 0, 1, … of them
        self._finished: list[tuple[float, int]] = []  # when, and the trial's number

    @property
    def recalibrator(self) -> Recalibrator:
        """The recalibrator after all outcomes so far."""
        return self._states[-1]

    def update(self, records: Mapping[int, Record]) -> None:
        """Observe what has ended since last time; records are in the order in which they ended."""
        due = {n: r for n, r in records.items() if r.forecasts and r.values is not None}
        # An outcome of another worker may have come in late, or this be another study.
        same = (r.finished == then for r, then in zip(due.values(), self._finished, strict=False))
        known = sum(1 for _ in takewhile(bool, same))
        self.issued = dict(list(self.issued.items())[:known])
        del self._states[known + 1 :], self._finished[known:]
        for number, record in list(due.items())[known:]:
            assert record.values is not None
            if not self._finished:
                self._states = [_start(record.known)]
            before = bisect_right(self._finished, (record.started, number))
            by = self._states[before]
            issued = by.issue(informed(record.forecasts[0], record.known))
            self.issued[number] = issued
            self._states.append(self.recalibrator.observe(issued, record.values[0]))
            self._finished.append(record.finished)

    def interval(self, forecast: Forecast, known: Circumstances | None) -> tuple[float, float]:
        """Return the interval to show for a new suggestion, as it is minimised."""
        by = self.recalibrator if self._finished else _start(known)
        shown = by.calibrate(informed(forecast, known))
        low, high = shown.quantile(_ENDS)  # both at once: it costs as much as one of them
        return float(low), float(high)


def _start(known: Circumstances | None) -> Recalibrator:
    return SHOWN if known is None else INFORMED


def interval_shown(study: Study, trial: FrozenTrial) -> tuple[float, float] | None:
    """Return the interval stored with a trial before it ran, in the user's units, if there is one.

    Trials of the initial design, of several objectives and of other samplers have none.
    """
    suggestion, flip = stored(trial), signs(study)
    if suggestion is None or suggestion.shown is None or not suggestion.forecasts:
        return None
    if suggestion.signs not in ((), tuple(flip)):  # copied from a study with another direction
        return None
    low, high = sorted(float(flip[0] * end) for end in suggestion.shown)
    return low, high
