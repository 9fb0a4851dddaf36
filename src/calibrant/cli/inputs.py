"""What may be tried, and what is known, as the command line says it.

A file of candidates, given values, and earlier studies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from calibrant.cli.tables import Table, read_table
from calibrant.studies.candidates import NAME, Candidates, as_candidates
from calibrant.studies.earlier import Earlier
from calibrant.studies.loading import load_study
from calibrant.studies.optuna_private import contains
from calibrant.studies.space_text import describe, parse_parameter
from calibrant.studies.storage import hidden


def read_candidates(
    path: Path, names: str = NAME, space: Mapping[str, Any] | None = None
) -> Candidates:
    """Return the candidates of a CSV file: columns of numbers where all cells are, else of text.

    Raises:
        ValueError: for a file that is no table, and for cells that are empty.
    """
    if not path.exists():
        raise ValueError(f"The file of candidates {path} does not exist.")
    table = read_table(path)
    if names != NAME and names not in table.header:
        raise ValueError(
            f"{path} must have a column `{names}`, but its columns are {', '.join(table.header)}."
        )
    columns: dict[str, list[Any]] = {
        name: _column(table, [row[name].strip() for row in table.rows]) for name in table.header
    }
    if names in columns:
        columns[names] = [row[names].strip() for row in table.rows]
    return as_candidates(columns, space, names)


def parse_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Return parameters written as ``name=values``, by name, as :func:`parse_space` takes them.

    Raises:
        ValueError: for other text, and for a name that is given twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, values = parse_parameter(text)
        if name in found:
            raise ValueError(f"The parameter `{name}` is given twice.")
        found[name] = values
    return found


def parse_fixed(
    texts: Sequence[str], distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Return given values written as ``name=value``, such as ``batch=A``.

    Raises:
        ValueError: for other text, unknown names, and values that the parameter cannot have.
    """
    fixed: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            raise ValueError(f"A given value must be `name=value`, such as batch=A, not {text!r}.")
        if name in fixed:
            raise ValueError(f"The value of `{name}` is given twice.")
        if name not in distributions:
            known = ", ".join(sorted(distributions))
            raise ValueError(f"`{name}` is given, but the parameters are {known}.")
        fixed[name] = cell(Table([]), value, distributions[name])
        if fixed[name] is None:
            raise ValueError(
                f"`{name}` must be {describe(distributions[name])}, but {value!r} is given."
            )
    return fixed


def read_earlier(texts: Sequence[str], renamed: Mapping[str, str]) -> list[Earlier]:
    """Return earlier studies written as ``STORAGE`` or ``STORAGE::STUDY``.

    ``renamed`` parameters are those of the studies that have them.

    Raises:
        ValueError: for studies that are not there, and names that none of them has.
    """
    found, met = [], set[str]()
    for text in texts:
        place, _ = split_earlier(text)
        study = load_study(*split_earlier(text), how=f"as {hidden(place)}::NAME")
        names = {name for trial in study.get_trials(deepcopy=False) for name in trial.params}
        met |= names
        found.append(Earlier(study, {old: new for old, new in renamed.items() if old in names}))
    if unknown := renamed.keys() - met:
        raise ValueError(
            f"--rename is about parameters of earlier studies, which are "
            f"{', '.join(sorted(met)) or 'none'}, but names {', '.join(sorted(unknown))}."
        )
    return found


def split_earlier(text: str) -> tuple[str, str | None]:
    """Return the storage and, if it is named, the study of ``STORAGE::STUDY``."""
    # The address of a database may be [::1].
    start = text.rfind("]") + 1
    place, colons, name = text[start:].partition("::")
    return text[:start] + place, name if colons else None


def parse_renamed(texts: Sequence[str]) -> dict[str, str]:
    """Return the names that parameters have now, written as ``old=new``."""
    renamed: dict[str, str] = {}
    for text in texts:
        old, equals, new = (part.strip() for part in text.partition("="))
        if not old or not equals or not new:
            raise ValueError(
                f"A name must be given as `old=new`, such as learning_rate=lr, not {text!r}."
            )
        if old in renamed:
            raise ValueError(f"The parameter `{old}` is renamed twice.")
        renamed[old] = new
    return renamed


def cell(table: Table, text: str, distribution: BaseDistribution) -> Any:
    """Return text as a value of a parameter; None if it is none."""
    if isinstance(distribution, CategoricalDistribution):
        named = {str(choice): choice for choice in distribution.choices}
        if text.strip() in named:
            return named[text.strip()]
    try:
        found: float | int = table.number(text)
        if isinstance(distribution, IntDistribution) and found == int(found):
            found = int(found)
        if isinstance(distribution, CategoricalDistribution):
            found = next(choice for choice in distribution.choices if choice == found)
        if contains(distribution, distribution.to_internal_repr(found)):
            return found
    except (ValueError, StopIteration, OverflowError):
        pass
    return None


def _column(table: Table, cells: list[str]) -> list[Any]:
    """Return cells as whole numbers, as numbers or, where one is neither, as text."""
    try:
        return [int(text) for text in cells]
    except ValueError:
        pass
    try:
        return [table.number(text) for text in cells]
    except ValueError:
        return list(cells)
