"""Numbers, tables and names as the pages and folders of benchmarks show them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from benchmarks.kit.statistics import Estimate


def number(value: float, digits: int = 3) -> str:
    """Return a number as a person would write it: a proper minus, and no zero with a sign."""
    if abs(value) >= 1e6:
        text = f"{value:.3g}"
    elif abs(value) >= 1000.0:
        text = f"{value:,.1f}"
    else:
        text = f"{value:.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(value: Estimate, digits: int = 3) -> str:
    """Return a mean with its interval."""
    low, high = number(value.low, digits), number(value.high, digits)
    return f"{number(value.mean, digits)} ({low} to {high})"


def signed(change: Estimate, digits: int = 3) -> str:
    """Return a change with its interval, all with their signs."""
    mean, low, high = (f"{value:+.{digits}f}" for value in change)
    return f"{mean} ({low} to {high})"


def p_value(p: float) -> str:
    """Return a p-value to three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equation(p: float) -> str:
    """Return a p-value as an equation, with a third decimal only where it may matter."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1
) -> str:
    """Return a table in Markdown: the first columns are text, the others numbers, to the right."""
    sides = ["---"] * text_columns + ["---:"] * (len(head) - text_columns)
    return "\n".join([_row(head), f"|{'|'.join(sides)}|", *(_row(cells) for cells in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def file_name(title: str) -> str:
    """Return a name without an ending for the file of something that has a title."""
    plain = unicodedata.normalize("NFKD", title.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
