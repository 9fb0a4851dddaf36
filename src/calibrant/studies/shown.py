"""The forecasts of a study as they were shown: recalibrated by what was known at the time.

With workers, a forecast is shown while others still wait for their outcomes. Here each is issued by
the recalibrator that showed it, and observed when its trial has ended, so that the guarantee with
delay holds for what was shown. It allows 50 misses a level, and more with workers: with fewer
outcomes it says nothing.

Its state is noted with each suggestion (:mod:`calibrant.studies.shown_states`).
A process that opens a study goes on from the last note that agrees with what the study holds, so
that thousands of outcomes need not be observed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.forecasts.base import Forecast
from calibrant.recalibration.base import Issued
from calibrant.recalibration.chain import ChainRecalibrator
from calibrant.search.defaults import INFORMED, SHOWN
from calibrant.search.shown import Circumstances, informed
from calibrant.studies import shown_states
from calibrant.studies.records import Record
from calibrant.studies.suggestions import signs, stored

COVERAGE = 0.8  # of the intervals shown to the user
_ENDS = (0.1, 0.9)  # levels of their ends

_Due = list[tuple[int, Record]]  # trials with a forecast and an outcome, and their numbers


class ShownForecasts:
    """The first objective's forecasts, and the recalibrator that shows the next one.

    Args:
        go_on: go on from the last state that was noted, if it is known what it has observed. Then
            ``issued`` holds later forecasts only.
    """

    def __init__(self, go_on: bool = False) -> None:
        self.issued: dict[int, Issued] = {}  # by the numbers of trials that have an outcome
        self._go_on = go_on
        # The last note and its state, which mostly is the next one to be observed.
        self._noted: tuple[Mapping[str, Any], ChainRecalibrator] | None = None
        self._forget()

    def _forget(self) -> None:
        self.issued = {}
        self._records: Mapping[int, Record] = {}  # as they were given last
        self._looked = 0  # at so many of them
        self._finished: list[tuple[float, int]] = []  # when, and the trial's number, as observed
        self._marks = [shown_states.NOTHING]  # of 0, 1, … outcomes
        self._states: dict[int, ChainRecalibrator] = {0: SHOWN}  # after so many of them

    @property
    def recalibrator(self) -> ChainRecalibrator:
        """The recalibrator after all outcomes so far."""
        return self._states[len(self._finished)]

    def update(
        self,
        records: Mapping[int, Record],
        notes: Iterable[Mapping[str, Any] | None] = (),
    ) -> None:
        """Observe what has ended since last time.

        Records are in the order in which they ended. A mapping that was given before may have
        grown at its end; one whose order has changed is another mapping. Where many have ended,
        as with many workers, one of the ``notes`` of trials that still run may know of them.
        """
        if records is self._records:
            due = _due(islice(records.items(), self._looked, None))
        else:  # an outcome of another worker has come in late, or this is another study
            due = _due(records.items())
            same = (r.finished == then for (_, r), then in zip(due, self._finished, strict=False))
            self._back_to(sum(1 for _ in takewhile(bool, same)))
            due = due[len(self._finished) :]
        if not _is_known_who_showed(due, self._finished, min(self._states)):
            self._forget()
            due = _due(records.items())
        if due and not self._finished:
            self._states = {0: _start(due[0][1].known)}
        if self._go_on and due and (len(due) > 1 or not self._finished):
            due = self._left(due, notes)
        for number, record in due:
            self._observe(number, record)
        self._records, self._looked = records, len(records)

    def interval(self, forecast: Forecast, known: Circumstances | None) -> tuple[float, float]:
        """Return the interval to show for a new suggestion, as it is minimised."""
        shown = self._showing(known).calibrate(informed(forecast, known))
        low, high = shown.quantile(_ENDS)  # both at once: it costs as much as one of them
        return float(low), float(high)

    def note(self, known: Circumstances | None) -> dict[str, Any]:
        """Return what shows that interval, as JSON values to be kept with the suggestion."""
        state = self._showing(known)
        note = shown_states.noted(state, self._marks[-1])
        self._noted = note, state
        return note

    def _showing(self, known: Circumstances | None) -> ChainRecalibrator:
        return self.recalibrator if self._finished else _start(known)

    def _back_to(self, count: int) -> None:
        """Forget all outcomes but the first ones."""
        if count == len(self._finished):
            return
        if count not in self._states:  # it was observed by another process
            self._forget()
            return
        del self._finished[count:], self._marks[count + 1 :]
        kept = {number for _, number in self._finished}
        self.issued = {number: one for number, one in self.issued.items() if number in kept}
        self._states = {after: state for after, state in self._states.items() if after <= count}

    def _left(self, due: _Due, notes: Iterable[Mapping[str, Any] | None]) -> _Due:
        """Go on from the note that has observed most, if there is one; return what it has not.

        A note is one to go on from if its outcomes are the first ones of the study as it is now.
        """
        known, marks = len(self._finished), [self._marks[-1]]
        for _, record in due:
            marks.append(shown_states.after(marks[-1], record.finished, record.value))
        at = {
            place: note
            for note in (*notes, *(record.by for _, record in due))
            if (place := shown_states.place(note)) is not None
        }
        for count in range(known + len(due), known, -1):
            state = shown_states.read(at.get((count, marks[count - known])))
            seen, others = due[: count - known], due[count - known :]
            finished = [*self._finished, *(record.finished for _, record in seen)]
            if state is not None and _is_known_who_showed(others, finished, count):
                self._finished, self._states = finished, {count: state}
                self._marks += marks[1 : len(seen) + 1]
                return others
        return due

    def _observe(self, number: int, record: Record) -> None:
        if self._noted is not None and record.by == self._noted[0]:
            by: ChainRecalibrator | None = self._noted[1]  # it has its levels at hand
        else:
            by = shown_states.read(record.by)
        if by is None:  # an earlier version showed it
            by = self._states[_before(self._finished, number, record)]
        issued = by.issue(informed(record.forecasts[0], record.known))
        state = self.recalibrator.observe(issued, record.value)
        self.issued[number] = issued
        self._finished.append(record.finished)
        self._marks.append(shown_states.after(self._marks[-1], record.finished, record.value))
        self._states[len(self._finished)] = state


def _due(records: Iterable[tuple[int, Record]]) -> _Due:
    return [(n, r) for n, r in records if r.forecasts and r.values is not None]


def _is_known_who_showed(due: _Due, observed: list[tuple[float, int]], first: int) -> bool:
    """Return whether it is known what showed each forecast, if no state before the first one is.

    Versions that noted no state showed forecasts by all outcomes before their trials started.
    """
    if first == 0:
        return True
    finished = [*observed, *(record.finished for _, record in due)]
    return all(
        shown_states.read(record.by) is not None or _before(finished, number, record) >= first
        for number, record in due
    )


def _before(finished: list[tuple[float, int]], number: int, record: Record) -> int:
    """Return how many outcomes there were when a trial started."""
    return bisect_right(finished, (record.started, number))


def _start(known: Circumstances | None) -> ChainRecalibrator:
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
