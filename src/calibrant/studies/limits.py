"""What an evaluation must not exceed: limits of a search, as constraints of its trials.

A limit is met where what was measured is at most the limit. Optuna's constraint is the difference,
met at 0 or below, so that all that knows constraints knows limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.trial import Trial


def checked(limits: Mapping[str, float] | None) -> dict[str, float]:
    """Return limits as numbers by name.

    Raises:
        TypeError: for anything but a dict with text as its names.
        ValueError: for a limit that is not a finite number.
    """
    if limits is None:
        return {}
    if not isinstance(limits, Mapping):
        raise TypeError(
            f'`limits` must be a dict of numbers by name, such as {{"memory": 8.0}}, but got '
            f"limits={limits!r}."
        )
    known = {}
    for name, limit in limits.items():
        if not isinstance(name, str):
            raise TypeError(
                f"A limit must have the name of a measurement, such as "
                f'{{"memory": 8.0}}, but got limits={limits!r}: {name!r} is no text.'
            )
        if not _is_number(limit) or not math.isfinite(limit):
            raise ValueError(f"A limit must be a finite number, but got {name}={limit!r}.")
        known[name] = float(limit)
    return known


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Return limits written as ``name=most``, such as ``memory=8``.

    Raises:
        ValueError: for other text, and for a name that is given twice.
    """
    known: dict[str, float] = {}
    for text in texts:
        name, _, most = (part.strip() for part in text.partition("="))
        try:
            limit = float(most)
        except ValueError:
            limit = math.nan
        if not name or not math.isfinite(limit):
            raise ValueError(f"A limit must be `name=most`, such as memory=8, but got {text!r}.")
        if name in known:
            raise ValueError(f"The limit of `{name}` is given twice.")
        known[name] = limit
    return known


def value_within(trial: Trial, outcome: Any, limits: Mapping[str, float]) -> Any:
    """Return the value of an outcome, and note with the trial by how much it exceeds each limit.

    Args:
        trial: the trial that was evaluated.
        outcome: what the objective returned: a value, and what it measured of each limit by name.
        limits: the most that each may be; without any, the outcome is the value.

    Raises:
        TypeError: where the outcome is not such a pair.
        ValueError: where something that has a limit was not measured, as a finite number.
    """
    if not limits:
        return outcome
    names = ", ".join(limits)
    if not (isinstance(outcome, tuple) and len(outcome) == 2 and isinstance(outcome[1], Mapping)):
        raise TypeError(
            f"With limits, the objective must return its value and a dict of what it measured of "
            f"{names}, but got {outcome!r}."
        )
    value, measured = outcome
    for name, limit in limits.items():
        found = measured.get(name, "missing")
        if not _is_number(found) or not math.isfinite(found):
            raise ValueError(
                f"The objective must measure {names}, but {name} is {found!r} in {dict(measured)}; "
                "a measurement is a finite number."
            )
        trial.set_constraint(name, float(measured[name]) - limit)
    return value


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str | bytes | bool)
