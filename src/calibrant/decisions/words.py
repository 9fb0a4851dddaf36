"""Settings and tables as statements about a study show them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant.core.words import number


def setting_text(params: Mapping[str, Any]) -> str:
    """Return a setting as ``lr=0.01, layers=3``."""
    return ", ".join(f"{name}={_short(value)}" for name, value in params.items())


def in_order(params: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a setting with its parameters in an order; those not named come last."""
    first = [name for name in names if name in params]
    return {name: params[name] for name in dict.fromkeys([*first, *params])}


def _short(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def paragraphs(sentences: Iterable[str]) -> str:
    """Return sentences for a notebook, each a paragraph; all text is escaped."""
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def html_table(sentences: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return sentences and a table for a notebook; all text is escaped."""
    said = paragraphs(sentences)
    cells = [_row(head, "th"), *(_row(row, "td") for row in rows)]
    return f"{said}<table>{''.join(cells)}</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
