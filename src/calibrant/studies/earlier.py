"""Earlier studies of related problems, as a new study learns from them.

Their trials are read once, translated to the parameters of the new study (by name or a map of
names, numbers by value, categories by name), and handed to :mod:`calibrant.search.earlier`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study

from calibrant.core import validate
from calibrant.models.informed import informed
from calibrant.models.protocol import Model
from calibrant.search.earlier import Lesson, learn
from calibrant.search.history import History
from calibrant.studies import optuna_private
from calibrant.studies.archive import Archive
from calibrant.studies.coordinates import searchable
from calibrant.studies.records import Record
from calibrant.studies.space import Space


@dataclass(frozen=True)
class Earlier:
    """An earlier study of a related problem, some of whose parameters have other names now.

    >>> import optuna
    >>> from calibrant import Earlier
    >>> old = optuna.create_study()
    >>> Earlier(old, rename={"learning_rate": "lr"}).rename
    {'learning_rate': 'lr'}

    Args:
        study: the study, of one objective, whichever sampler made it.
        rename: by the name that a parameter had there, the one that it has now.
    """

    study: Study
    rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        validate.like("study", self.study, Study, 'optuna.load_study(study_name="old", …)')
        if len(self.study.directions) > 1:
            raise ValueError(
                f"An earlier study must have one objective, but `{self.study.study_name}` has "
                f"{len(self.study.directions)}: copy the trials of the one that is meant."
            )
        if not isinstance(self.rename, Mapping):
            raise TypeError(
                '`rename` must be a dict such as {"learning_rate": "lr"}, but got '
                f"{self.rename!r}."
            )
        twice = len(set(self.rename.values())) < len(self.rename)
        if twice:
            raise ValueError(f"`rename` must give different names, but got {dict(self.rename)}.")


@dataclass
class EarlierStudies:
    """What earlier studies teach about the space of a new one; nothing is kept but in memory.

    Args:
        studies: the earlier studies.
    """

    studies: tuple[Earlier, ...] = ()
    notices: list[str] = field(default_factory=list)  # what the user should be told
    _archives: list[Archive] = field(default_factory=list)  # as they were when first used
    _known: tuple[Mapping[str, BaseDistribution], tuple[Lesson, ...]] | None = None
    _informed: tuple[Model, tuple[Lesson, ...], Model] | None = None
    _checked: Any = None  # the study that was found fit to learn from them

    @classmethod
    def of(cls, earlier: Any) -> EarlierStudies:
        """Return earlier studies as a user gives them: one, or several, or None."""
        if earlier is None:
            return cls()
        several = [earlier] if isinstance(earlier, Study | Earlier) else earlier
        if isinstance(several, str) or not isinstance(several, Sequence):
            raise TypeError(
                "`earlier` must be a list of Optuna studies, or of Earlier(study, rename={…}), but "
                f"got {earlier!r}."
            )
        return cls(tuple(one if isinstance(one, Earlier) else Earlier(one) for one in several))

    def __bool__(self) -> bool:
        return bool(self.studies)

    def __getstate__(self) -> dict[str, Any]:
        return {"studies": self.studies}  # a copy learns again, wherever it is

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["studies"])  # type: ignore[misc]

    def check(self, study: Study, declared: Mapping[str, BaseDistribution] | None = None) -> None:
        """Raise where a study, whose parameters may be declared, cannot learn from these.

        Raises:
            ValueError: for a study of several objectives, for one that is its own earlier study, or
                has their trials already, and where no parameter is shared.
        """
        if not self.studies or self._checked == optuna_private.storage_of(study):
            return
        if len(study.directions) > 1:
            raise ValueError(
                f"`earlier` is about one objective, but the study has {len(study.directions)}: "
                "leave it out."
            )
        self._read()
        mine = {_mark(trial) for trial in study.get_trials(deepcopy=False)}
        for one in self.studies:
            trials = one.study.get_trials(deepcopy=False)
            if any(_mark(t) in mine for t in trials if t.state.is_finished()):
                raise ValueError(
                    f"The trials of the earlier study `{one.study.study_name}` are trials of this "
                    "study already, and would count twice: leave it out of `earlier`."
                )
        for one, archive in zip(self.studies, self._archives, strict=True):
            before = archive.search_space()
            if declared and before:
                _names(one, before, list(searchable(declared)))
        self._checked = optuna_private.storage_of(study)  # once: a suggestion reads no old trials

    def lessons(self, space: Space) -> tuple[Lesson, ...]:
        """Return what the earlier studies teach about a space, of those that teach anything."""
        if self._known is None or self._known[0] != space.distributions:
            self._read()
            found = [
                self._lesson(one, archive, space)
                for one, archive in zip(self.studies, self._archives, strict=True)
            ]
            self._known = space.distributions, tuple(one for one in found if one is not None)
        return self._known[1]

    def informed(self, model: Model, space: Space) -> Model:
        """Return the model of a function that may be like those of the earlier studies."""
        lessons = self.lessons(space)
        if not lessons:
            return model
        if self._informed is None or self._informed[:2] != (model, lessons):
            known = informed(model, tuple(lesson.outcome for lesson in lessons))
            self._informed = model, lessons, known
        return self._informed[2]

    def _read(self) -> None:
        if not self._archives:
            self._archives = [Archive() for _ in self.studies]
            for one, archive in zip(self.studies, self._archives, strict=True):
                archive.update(one.study)

    def _lesson(self, one: Earlier, archive: Archive, space: Space) -> Lesson | None:
        name = one.study.study_name
        before = archive.search_space()
        if not before:
            self.notices.append(f"The earlier study `{name}` has no finished trials: not used.")
            return None
        names = _names(one, before, list(space.coordinates))
        shared = [old for old, new in names.items() if new in space.coordinates]
        joint = Space(
            {
                names[old]: space.distributions[names[old]] if old in shared else distribution
                for old, distribution in before.items()
            },
            structure=space.structure,
        )
        history = _history(archive, before, names, joint)
        places = {new: column for column, new in enumerate(space.coordinates)}
        columns = [places.get(new, -1) for new in joint.coordinates]
        lesson = learn(history, joint.cube, columns, space.cube)
        if lesson is None:
            self.notices.append(
                f"The earlier study `{name}` has fewer than three different outcomes for settings "
                "like those of this one: not used."
            )
        return lesson


def _names(
    one: Earlier, before: Mapping[str, BaseDistribution], now: Sequence[str]
) -> dict[str, str]:
    """Return the name that each earlier parameter has now, of which some must be there."""
    unknown = one.rename.keys() - before.keys()
    if unknown:
        raise ValueError(
            f"`rename` is about the parameters {', '.join(sorted(before))} of the earlier study "
            f"`{one.study.study_name}`, but names {', '.join(sorted(unknown))}."
        )
    names = {old: one.rename.get(old, old) for old in before}
    if len(set(names.values())) < len(names):
        raise ValueError(
            f"With rename={dict(one.rename)} two parameters of the earlier study "
            f"`{one.study.study_name}` have the same name; rename the other, too."
        )
    if not set(names.values()) & set(now):
        raise ValueError(
            f"The earlier study `{one.study.study_name}` has parameters "
            f"{', '.join(sorted(before))}, and none of {', '.join(sorted(now))}: if some have "
            'other names now, give Earlier(study, rename={"old": "new"}).'
        )
    return names


def _history(
    archive: Archive,
    before: Mapping[str, BaseDistribution],
    names: Mapping[str, str],
    joint: Space,
) -> History:
    """Return earlier trials as points of a space with the new names, ranges and choices."""
    translated = {}
    for number, record in archive.records.items():
        external = {
            names[old]: before[old].to_external_repr(value)
            for old, value in record.params.items()
            if old in before
        }
        params = joint.to_internal(external, outside=True)
        # A trial with a choice that there is no longer is no point of the space.
        if params.keys() == external.keys() & joint.coordinates.keys():
            translated[number] = _plain(record, params)
    return Archive(translated).history(joint, 1, [])


def _plain(record: Record, params: dict[str, float]) -> Record:
    """Return a record at other parameters; what was forecast for it then is of no interest now."""
    return record._replace(params=params, scores=None, limit_scores={}, promised=None)


def _mark(trial: Any) -> tuple[Any, ...]:
    """Return what tells a trial from all others, wherever it is copied to."""
    return trial.datetime_start, trial.datetime_complete, tuple(sorted(trial.params.items()))
