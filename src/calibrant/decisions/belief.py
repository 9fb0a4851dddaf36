"""What the trials of a study make one believe: read from storage, whichever sampler made them.

    study ──▶ archive ──▶ history on the cube ──▶ Gaussian processes ──▶ a quantity each

A quantity is an objective or a constraint. Inside, all are minimised; ``sign`` turns values into
the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study

from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.decisions.quantity import MODEL, Quantity, quantity_of
from calibrant.decisions.words import in_order
from calibrant.search.history import History
from calibrant.search.training import prepare
from calibrant.studies.archive import Archive
from calibrant.studies.coordinates import only_value
from calibrant.studies.space import Space
from calibrant.studies.space_text import describe
from calibrant.studies.structure import NOTHING, Structure
from calibrant.studies.suggestions import signs

NOISY = "calibrant:noisy"  # user attribute of a study: whether evaluations vary, where it is known


@dataclass(frozen=True)
class StudyBelief:
    """What is believed about a study now.

    Args:
        space: its parameters as a cube.
        history: its trials that count, as points of the cube, minimised; penalties are failures,
            and constraints that a trial did not report are the medians of what is believed of them.
        numbers: of the trials whose outcomes the history holds, in its order.
        objectives: one per direction of the study.
        constraints: one per constraint that evaluations reported, by name.
        settled: the values of parameters that have a single one, and no coordinate.
        ignored: names of parameters that a setting may have, and that have no coordinate.
        noisy: whether evaluating a setting twice can give two values; None: nobody has said.
        names: the parameters in the order in which trials asked for them; the cube has its own.
    """

    space: Space
    history: History
    numbers: tuple[int, ...]
    objectives: tuple[Quantity, ...]
    constraints: tuple[Quantity, ...]
    settled: Mapping[str, Any] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    noisy: bool | None = None
    names: tuple[str, ...] = ()

    @property
    def cube(self) -> Cube:
        """The search space."""
        return self.space.cube

    def points(self, params: Sequence[Mapping[str, Any]]) -> FloatArray:
        """Return settings, as the objective sees them, as points of the cube, (m, d).

        Raises:
            ValueError: for a parameter that the study does not have or that is missing, and for a
                value outside its range.
        """
        return np.array([self._point(setting) for setting in params]).reshape(-1, self.cube.dim)

    def settings(self, X: FloatArray) -> list[dict[str, Any]]:
        """Return points of the cube as the objective sees them."""
        settings = (self.space.external(self.space.internal(x)) for x in X)
        return [in_order(self._whole(setting), self.names) for setting in settings]

    def _whole(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return a setting with the parameters that have a single value, where they exist."""
        every, exists = {**self.settled, **setting}, self.space.structure.exists
        return {n: v for n, v in every.items() if n in setting or exists(n, every)}

    def _point(self, setting: Mapping[str, Any]) -> FloatArray:
        setting = {name: value for name, value in setting.items() if name not in self.ignored}
        unknown = sorted(setting.keys() - self.space.distributions.keys())
        if unknown:
            known = ", ".join(sorted(self.space.distributions))
            raise ValueError(
                f"The study has no parameter {unknown[0]!r} to choose; its parameters are {known}."
            )
        internal = self.space.to_internal(setting)
        outside = sorted(setting.keys() - internal.keys())
        if outside:
            name = outside[0]
            raise ValueError(
                f"`{name}` must be {describe(self.space.distributions[name])}, "
                f"but got {setting[name]!r}."
            )
        existing = self.space.existing(internal)
        if not self.space.is_whole(existing):
            every = {name: internal.get(name, np.nan) for name in self.space.coordinates}
            missing = sorted(self.space.existing(every).keys() - existing.keys())
            raise ValueError(
                f"A setting needs a value of every parameter, but {', '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} missing in {dict(setting)}."
            )
        return self.space.row(existing)


def believe(
    study: Study,
    structure: Structure | None = None,
    declared: Mapping[str, BaseDistribution] | None = None,
) -> StudyBelief:
    """Return what the finished trials of a study make one believe.

    Args:
        study: an Optuna study, of any sampler.
        structure: what is known of its parameters beyond their values, if not what is kept with it.
        declared: parameters whose ranges are known now, whichever they had in trials.

    Raises:
        ValueError: where no trial has finished with a finite value, or there is nothing to choose.
    """
    archive, flip = Archive(declared=structure or NOTHING), signs(study)
    archive.update(study)
    if not any(record.values is not None for record in archive.records.values()):
        raise ValueError(
            "No trial of the study has finished with a finite value: evaluate a few settings first."
        )
    if not (distributions := archive.search_space(declared)):
        raise ValueError("The study has no parameter with more than one value: nothing to choose.")
    space = archive.space(distributions)
    history = archive.history(space, flip.size, [])
    numbers = np.array(archive.evaluated(space))
    if not numbers.size:
        raise ValueError("All finished trials lie far outside the ranges that parameters have now.")
    names = archive.constraint_names(space)
    data = prepare(MODEL, history, space.cube)
    processes = MODEL.with_labels(space.cube.categorical).processes
    several = flip.size > 1
    objectives = tuple(
        quantity_of(f"value {i}" if several else "value", float(sign), processes, *target, stds)
        for i, (sign, target, stds) in enumerate(zip(flip, data.objectives, data.stds, strict=True))
    )
    said = [names[column] for column in history.reported]
    constraints = tuple(
        quantity_of(name, 1.0, processes, *target)
        for name, target in zip(said, data.constraints, strict=True)
    )
    limits = {i: limit.outcome for i, limit in zip(history.reported, constraints, strict=True)}
    counted = numbers[~history.penalties]
    return StudyBelief(
        space,
        history.without_penalties().believed(limits),
        tuple(counted.tolist()),
        objectives,
        constraints,
        {name: only_value(one) for name, one in archive.settled().items()},
        frozenset(archive.parameters() - distributions.keys()),
        study.user_attrs.get(NOISY),
        tuple(dict.fromkeys(n for t in study.get_trials(deepcopy=False) for n in t.params)),
    )
