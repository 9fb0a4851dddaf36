"""What may be tried, as the command line says it: a file of candidates, and given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from calibrant.cli.tables import Table, read_table
from calibrant.studies.candidates import NAME, Candidates, as_candidates
from calibrant.studies.optuna_private import contains
from calibrant.studies.space_text import describe


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
