"""What a study's trials say to the optimiser.

All that a search needs can be rebuilt from storage, by another worker or next week.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.core.cube import keys
from calibrant.core.typing import FloatArray
from calibrant.recalibration.score_log import ScoreLog
from calibrant.search.history import History
from calibrant.studies import optuna_private
from calibrant.studies.conditions import conditions, declared_conditions, parents_first
from calibrant.studies.coordinates import Internal, searchable
from calibrant.studies.evaluations import counts, forgiven
from calibrant.studies.records import Record as Record
from calibrant.studies.records import ended, read
from calibrant.studies.reports import extrapolated
from calibrant.studies.space import Space
from calibrant.studies.structure import NOTHING, Structure, structure_of
from calibrant.studies.suggestions import signs

_RECENT = 5  # trials without a parameter after which it is given up
_NEAR = 1.0  # cubes away: further outside a range that was changed, outcomes do not count


@dataclass
class Archive:
    """The finished trials of a study, in the order in which they finished; read once each.

    What depends on all of them is kept up to date trial by trial: a study of thousands costs a
    suggestion no more than one of tens, but for the model.
    """

    records: dict[int, Record] = field(default_factory=dict)
    longest: float | None = None  # seconds of the longest evaluation; None before one has ended
    declared: Structure = NOTHING  # of parameters, if not what is kept with the study
    structure: Structure = NOTHING  # what is known of parameters beyond their values
    _kept_in: tuple[BaseStorage, int] | None = None
    _slips: frozenset[int] = frozenset()
    _earlier: frozenset[int] = frozenset()  # numbers of trials that had finished before
    _looked: int = 0  # how many trials there were at the last look
    _open: list[int] = field(default_factory=list)  # those of them that had not ended
    _read: list[int] = field(default_factory=list)  # numbers, in the order of reading
    _told: list[int] = field(default_factory=list)  # numbers, in order: they ran with parameters
    _together: dict[frozenset[str], None] = field(default_factory=dict)  # parameters of any of them
    # By parameter: whether its trial is newer than the declared space, its number, and the range.
    _ranges: dict[str, tuple[bool, int, BaseDistribution]] = field(default_factory=dict)
    _rows: dict[int, FloatArray] = field(default_factory=dict)  # of the space last asked for
    _rows_of: Mapping[str, BaseDistribution] | None = None
    _plain: Space | None = None  # the space last asked for, if trials do not tell what exists when

    def update(self, study: Study, trials: Sequence[FrozenTrial] | None = None) -> None:
        """Read the trials that have finished since last time.

        All ``trials`` may be given, if they have just been read.
        """
        trials = optuna_private.every_trial(study) if trials is None else trials
        if not self._is_of(study, trials):
            vars(self).update(vars(Archive(declared=self.declared)))
            self.structure = self.declared or structure_of(study)
            self._kept_in = optuna_private.storage_of(study)
            self._slips = forgiven(optuna_private.user_attributes(study))
            self._earlier = frozenset(t.number for t in trials if t.state.is_finished())
        unread = [trials[number] for number in (*self._open, *range(self._looked, len(trials)))]
        self._looked = len(trials)
        self._open = [trial.number for trial in unread if not trial.state.is_finished()]
        flip = signs(study)
        finished = [t for t in unread if t.state.is_finished() and counts(t, self._slips)]
        for trial in sorted(finished, key=ended):
            self._add(trial, read(trial, flip))

    def _add(self, trial: FrozenTrial, record: Record) -> None:
        number = trial.number
        # By time of finishing, whoever read them and when: outcomes are a sequence.
        last = next(reversed(self.records.values())) if self.records else None
        self.records[number] = record
        if last is not None and record.finished < last.finished:
            by_time = sorted(self.records.items(), key=lambda item: item[1].finished)
            self.records = dict(by_time)
        self._read.append(number)
        if record.ran:
            self.longest = max(self.longest or 0.0, record.finished[0] - record.started)
        if record.ran and record.params:
            insort(self._told, number)
            self._together[frozenset(record.params)] = None
        for name, distribution in trial.distributions.items():
            place = number not in self._earlier, number
            if name not in self._ranges or self._ranges[name][:2] < place:
                self._ranges[name] = (*place, distribution)

    def _is_of(self, study: Study, trials: Sequence[FrozenTrial]) -> bool:
        """Whether these are the trials that were read before; ids alone are given out again."""
        if self._kept_in != optuna_private.storage_of(study) or self._looked > len(trials):
            return False
        return all(
            number < len(trials) and ended(trials[number]) == self.records[number].finished
            for number in (self._read[:1] + self._read[-1:])
        )

    def read_since(self, known: int) -> list[tuple[int, dict[str, float]]]:
        """Return numbers and points of the trials read after the first ``known``."""
        return [(number, self.records[number].params) for number in self._read[known:]]

    def search_space(
        self, declared: Mapping[str, BaseDistribution] | None = None
    ) -> dict[str, BaseDistribution]:
        """Return all parameters met so far, with the range each had last.

        What was ``declared`` is newer than trials that had finished before, older than others.
        """
        declared = declared or {}
        met = {
            name: distribution
            for name, (newer, _, distribution) in self._ranges.items()
            if newer or name not in declared
        }
        every = searchable(dict(sorted({**declared, **met}.items())))
        # A parameter that no recent trial has, without a condition that would explain it, was
        # taken out of the objective.
        if not self._told:
            return every
        recent = {name for number in self._told[-_RECENT:] for name in self.records[number].params}
        recent |= declared.keys()
        if every.keys() <= recent:
            return every
        explained = conditions(every, self._seen())
        return {name: d for name, d in every.items() if name in recent or name in explained}

    def settled(self) -> dict[str, BaseDistribution]:
        """Return the parameters with a single value that settings have beside those to choose.

        A parameter that some recent trial was without counts if it is known when it exists.
        """
        ranges = {name: distribution for name, (*_, distribution) in self._ranges.items()}
        recent = [self.records[number].params for number in self._told[-_RECENT:]]
        always = {name for name in ranges if all(name in params for params in recent)}
        kept = always | self.structure.conditions.keys()
        several = searchable(ranges)
        return {n: one for n, one in ranges.items() if n in kept and n not in several}

    def parameters(self) -> set[str]:
        """Return the names of all parameters that any finished trial had."""
        return set(self._ranges)

    def space(self, distributions: Mapping[str, BaseDistribution]) -> Space:
        """Return the cube of some parameters, with what trials tell about which exist when."""
        declared = declared_conditions(self.structure, distributions)
        always = distributions.keys() - declared.keys()
        if all(always <= names for names in self._together):
            known = self._plain
            if known is None or (known.distributions, known.structure) != (
                distributions,
                self.structure,
            ):
                self._plain = known = Space(distributions, declared, structure=self.structure)
            return known
        seen = self._seen()
        every = {**conditions(distributions, seen), **declared}
        return Space(distributions, parents_first(every), seen, self.structure)

    def _seen(self) -> list[dict[str, float]]:
        """Return parameters that went together; a trial may have ended before it asked for any."""
        return [record.params for record in self.records.values() if record.ran and record.params]

    def outcomes(self, objectives: int) -> tuple[ScoreLog, ...]:
        """Return the online calibration set of each objective."""
        known = [r.scores for r in self.records.values() if r.scores is not None]
        table = np.array(known).reshape(-1, objectives)
        return tuple(ScoreLog(column) for column in table.T)

    def history(self, space: Space, objectives: int, pending: Sequence[Internal]) -> History:
        """Return what is known, as points of a space."""
        there = self._there(space)
        known = [number for number in there if self.records[number].values is not None]
        pruned = [number for number in there if self.records[number].pruned]
        failed = [
            number
            for number in there
            if (record := self.records[number]).values is None
            and not record.pruned
            and (record.ran or space.is_whole(record.params))
        ]
        names = self._constraint_names(known)
        X = self._points(space, known)
        running = np.array([space.row(p) for p in pending]).reshape(-1, space.cube.dim)
        # A trial that failed and is tried again, because its worker died, has not failed.
        if failed:
            again = {*keys(X), *keys(running)}
            failed_keys = keys(self._points(space, failed))
            failed = [n for n, key in zip(failed, failed_keys, strict=True) if key not in again]
        told = known if names else []
        limits = [[self.records[n].constraints.get(name, np.nan) for name in names] for n in told]
        history = History(
            X=X,
            Y=np.array([self.records[n].values for n in known]).reshape(-1, objectives),
            constraints=np.array(limits).reshape(len(known), len(names)),
            online=self.outcomes(objectives),
            was_forecast=np.array([self.records[n].scores is not None for n in known], dtype=bool),
            failed=self._points(space, failed),
            pruned=self._points(space, pruned),
            extrapolated=np.zeros((len(pruned), 2)),
            pending=running,
            names=tuple(names),
            limits=tuple(self._limit_log(name) for name in names),
            promises=np.array(self.promises()).reshape(-1, 2),
            stds=self._stds(known, objectives),
        )
        if not pruned:
            return history
        good = [n for n, bad in zip(known, history.penalties, strict=True) if not bad]
        finished = [(self.records[n].reports, self.records[n].value) for n in good]
        reports = [self.records[n].reports for n in pruned]
        return replace(history, extrapolated=extrapolated(reports, finished))

    def promises(self) -> list[tuple[float, bool]]:
        """Return the probabilities promised that constraints are met, and whether they were."""
        known = self.records.values()
        return [(r.promised, r.met) for r in known if r.promised is not None]

    def priced(self, space: Space, by_time: bool) -> tuple[FloatArray, FloatArray]:
        """Return the points of trials whose cost is known, (n, d), and the costs, (n,).

        With ``by_time``, a trial that has not said what it has cost has cost the time it took.
        """
        costs = {}
        for n in self._there(space):
            record = self.records[n]
            cost = record.seconds if by_time and record.cost is None else record.cost
            if cost is not None:
                costs[n] = cost
        return self._points(space, list(costs)), np.array(list(costs.values()))

    def _stds(self, known: Sequence[int], objectives: int) -> FloatArray | None:
        """Return the stds of outcomes, NaN where they are not known; None where none are."""
        told = [self.records[n].stds for n in known]
        if all(stds is None for stds in told):
            return None
        missing = np.full(objectives, np.nan)
        return np.array([missing if stds is None else stds for stds in told])

    def _limit_log(self, name: str) -> ScoreLog:
        """Return the online calibration set of a constraint."""
        known = [r.limit_scores[name] for r in self.records.values() if name in r.limit_scores]
        return ScoreLog(np.array(known))

    def evaluated(self, space: Space) -> list[int]:
        """Return the numbers of the trials whose outcomes a history holds, in its order."""
        return [n for n in self._there(space) if self.records[n].values is not None]

    def constraint_names(self, space: Space) -> list[str]:
        """Return the names of the constraints that a history holds, in its order."""
        return self._constraint_names(self.evaluated(space))

    def _constraint_names(self, known: Sequence[int]) -> list[str]:
        return sorted({name for number in known for name in self.records[number].constraints})

    def _there(self, space: Space) -> list[int]:
        """Return the trials that say something about points of a space.

        One that ended before it had parameters says nothing about any point, nor does one far
        outside a range that has been changed.
        """
        names = space.coordinates.keys()
        there = [n for n, r in self.records.items() if not names.isdisjoint(r.params)]
        points = self._points(space, there)
        near = np.all((points >= -_NEAR) & (points <= 1.0 + _NEAR), axis=1)
        return [number for number, one in zip(there, near, strict=True) if one]

    def _points(self, space: Space, numbers: Sequence[int]) -> FloatArray:
        if self._rows_of != space.distributions:
            self._rows, self._rows_of = {}, space.distributions
        for number in numbers:
            if number not in self._rows:
                self._rows[number] = space.row(self.records[number].params)
        return np.array([self._rows[n] for n in numbers]).reshape(-1, space.cube.dim)
