"""Opening a study: the stored one of a name, if what is wanted fits it, or a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study

from calibrant.studies.budget import Budget
from calibrant.studies.domain import Domain, domain_of
from calibrant.studies.earlier import Earlier, EarlierStudies
from calibrant.studies.runner import quiet_optuna
from calibrant.studies.sampler import CalibratedSampler
from calibrant.studies.space_text import describe
from calibrant.studies.storage import open_storage
from calibrant.studies.structure import Parameters, keep


def open_study(
    space: Domain | Mapping[str, BaseDistribution],
    storage: str | BaseStorage | None,
    study_name: str,
    direction: str | Sequence[str],
    sampler: BaseSampler | None = None,
    seed: int | None = None,
    min_feasible: float | None = None,
    repeats: bool = False,
    budget: Budget | None = None,
    earlier: Study | Earlier | Sequence[Study | Earlier] | None = None,
) -> Study:
    """Return the study of a name: the stored one if there is one, otherwise a new one.

    Of several objectives, each has a ``direction``.
    """
    wanted = [direction] if isinstance(direction, str) else list(direction)
    domain = space if isinstance(space, Domain) else domain_of(space)
    distributions = domain.distributions
    if sampler is not None and not (domain.is_whole and not repeats):
        raise ValueError(
            "`such_that`, `candidates`, `fixed` and `repeats` apply to the default sampler, but "
            "there is a `sampler` too; pass them to that, CalibratedSampler(…), in a study of its "
            "own."
        )
    if sampler is not None and seed is not None:
        raise ValueError(
            f"`seed` applies to the default sampler, but got seed={seed} and a `sampler`; pass the "
            "seed to that instead, as in CalibratedSampler(seed=0)."
        )
    if sampler is not None and min_feasible is not None:
        raise ValueError(
            "`min_feasible` applies to the default sampler, but there is a `sampler` too; pass it "
            "to that instead, as in CalibratedSampler(min_feasible=0.9)."
        )
    if sampler is not None and earlier:
        raise ValueError(
            "`earlier` applies to the default sampler, but there is a `sampler` too; pass it to "
            "that instead, as in CalibratedSampler(earlier=[study])."
        )
    sampler = sampler or CalibratedSampler(
        search_space=Parameters(distributions, domain.structure),
        such_that=domain.constraints,
        candidates=domain.candidates,
        fixed=domain.fixed,
        seed=seed,
        min_feasible=min_feasible,
        repeats=repeats,
        budget=budget,
        earlier=earlier,
    )
    if storage is not None:
        _check_storable(distributions)
    with quiet_optuna():
        study = optuna.create_study(
            storage=open_storage(storage),
            study_name=study_name,
            directions=["maximize" if one == "maximize" else "minimize" for one in wanted],
            sampler=sampler,
            load_if_exists=True,
        )
    stored = " and ".join(d.name.lower() for d in study.directions)
    if stored != (named := " and ".join(wanted)):
        raise ValueError(
            f"The stored study `{study_name}` is set to {stored}, not to {named}; choose "
            "another name."
        )
    _check_kinds(study, distributions)
    keep(study, domain.structure)
    EarlierStudies.of(earlier).check(study, distributions)
    return study


def _check_storable(distributions: Mapping[str, BaseDistribution]) -> None:
    """Raise if a choice would be read back from a storage as something else."""
    for name, distribution in distributions.items():
        for choice in getattr(distribution, "choices", ()):
            if not isinstance(choice, bool | int | float | str | None):
                raise ValueError(
                    f"A storage can keep choices that are numbers, text, True, False or None, but "
                    f"`{name}` may be {choice!r}; use a name, and look it up in the objective."
                )


def _check_kinds(study: Study, distributions: Mapping[str, BaseDistribution]) -> None:
    """Raise if a parameter has changed its kind or choices, as Optuna would fail every trial."""
    for trial in study.get_trials(deepcopy=False):
        for name in distributions.keys() & trial.distributions.keys():
            before, now = trial.distributions[name], distributions[name]
            try:
                optuna.distributions.check_distribution_compatibility(before, now)
            except ValueError:
                raise ValueError(
                    f"`{name}` was {describe(before)} in the stored study `{study.study_name}` and "
                    f"is now {describe(now)}; a range may change, but neither its scale nor "
                    "choices or their order: use another name or storage."
                ) from None
