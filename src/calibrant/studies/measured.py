"""What an evaluation says beside its value: how far off that may be, and what it has cost.

Both are user attributes of the trial, so that any storage keeps them, and other programs can write
them: ``calibrant:std``, a number or one per objective, and ``calibrant:cost``, a number.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, Trial

from calibrant.core import validate
from calibrant.core.typing import FloatArray

logger = logging.getLogger("calibrant")

STD = "calibrant:std"  # user attribute of a trial: the std of the noise of its value
COST = "calibrant:cost"  # user attribute of a trial: what it has cost


def set_std(trial: Trial, std: float | Sequence[float]) -> None:
    """Say how far the value of a trial may be from the mean of many evaluations.

    >>> import optuna, calibrant
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 0, 1)
    ...     calibrant.set_std(trial, 0.02)  # the standard error of five folds
    ...     return (x - 0.3) ** 2
    >>> study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    >>> study.optimize(objective, n_trials=3)
    >>> study.trials[0].user_attrs["calibrant:std"]
    0.02

    Args:
        trial: the trial that is being evaluated.
        std: the standard deviation of the noise of its value, in the value's units; of several
            objectives one each. 0 says that another evaluation would give the same.

    Raises:
        ValueError: for a std that is negative or not finite, and unless there is one per objective.
    """
    stds = np.atleast_1d(validate.not_negative("std", std)).tolist()
    objectives = len(trial.study.directions)
    if len(stds) != objectives:
        raise ValueError(
            f"One `std` per objective is needed, but got std={std} for {objectives}; as in "
            "set_std(trial, [0.02, 0.5])."
        )
    trial.set_user_attr(STD, stds[0] if objectives == 1 else stds)


def set_cost(trial: Trial, cost: float) -> None:
    """Say what a trial has cost, in the unit of the budget.

    >>> import optuna, calibrant
    >>> study = optuna.create_study()
    >>> trial = study.ask()
    >>> calibrant.set_cost(trial, 3.2)
    >>> trial.user_attrs["calibrant:cost"]
    3.2

    Args:
        trial: the trial that is being evaluated.
        cost: what it has cost: hours, money, or anything of which there is a budget.

    Raises:
        ValueError: for a cost that is negative or not finite.
    """
    found = validate.not_negative("cost", cost)
    if found.shape != ():
        raise ValueError(f"A trial has one `cost`, a number, but got cost={cost!r}.")
    trial.set_user_attr(COST, float(found))


def stds_of(trial: FrozenTrial, objectives: int) -> FloatArray | None:
    """Return the stds stored with a trial, one per objective; what cannot be read is none."""
    noted = trial.user_attrs.get(STD)
    if noted is None:
        return None
    each = noted if isinstance(noted, list | tuple) else [noted]
    known = [_readable(std) for std in each]
    if len(known) != objectives or all(std is None for std in known):
        return None
    return np.array([math.nan if std is None else std for std in known])


def cost_of(trial: FrozenTrial) -> float | None:
    """Return the cost stored with a trial; one that cannot be read is none."""
    return _readable(trial.user_attrs.get(COST))


def without_measured(trial: Trial, returned: Any, limits: Mapping[str, float]) -> Any:
    """Keep std and cost of what an objective returned with its trial, and return the rest of it.

    It may be ``value``, ``(value, std)`` or ``(value, {"std": …, "cost": …})``; with limits, the
    dict is returned as well, as it holds what was measured of these. A std or a cost that makes no
    sense is left out, with a warning: the value is not lost for it.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        return returned
    value, beside = returned
    if not isinstance(beside, Mapping):
        note(trial, std=beside)
        return returned if limits else value
    # A limit of the same name means what it meant before there were stds.
    note(trial, std=None if "std" in limits else beside.get("std"), cost=beside.get("cost"))
    return returned if limits else value


def note(trial: Trial, *, std: Any = None, cost: Any = None) -> None:
    """Keep a std and a cost with their trial, where they are known and make sense."""
    for what, found, keep in (("std", std, set_std), ("cost", cost, set_cost)):
        if found is None:
            continue
        try:
            keep(trial, found)
        except (TypeError, ValueError) as error:
            logger.warning(
                "Trial %d: its %s is not used, and its value is. %s", trial.number, what, error
            )


def _readable(noted: Any) -> float | None:
    if isinstance(noted, bool) or not isinstance(noted, int | float):
        return None
    return float(noted) if math.isfinite(noted) and noted >= 0.0 else None
