"""HTML in which text cannot become markup: what is not :class:`Html` is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_VOID = frozenset(
    {"br", "wbr", "meta", "line", "rect", "circle", "path"}
)  # elements without an end tag
_SVG = frozenset({"line", "rect", "circle", "path"})  # of these, those that SVG closes by a slash

_NUMBER = re.compile(r"-?[\d.,]+(e[-+]?\d+)?")


class Html(str):
    """Text that is markup already."""


def text(value: str) -> Html:
    """Return text as markup, with every special character escaped."""
    return value if isinstance(value, Html) else Html(html.escape(value, quote=True))


def join(parts: Iterable[str]) -> Html:
    """Return parts one after the other, each escaped unless it is markup."""
    return Html("".join(text(part) for part in parts))


def tag(name: str, /, *children: str, **attributes: str | float | bool | None) -> Html:
    """Return an element.

    >>> from calibrant.reporting.html import tag
    >>> tag("p", "a < b ", tag("b", "x"), class_="note")
    '<p class="note">a &lt; b <b>x</b></p>'

    Args:
        name: of the element.
        children: text, which is escaped, or elements.
        attributes: ``class_`` for ``class``, ``aria_label`` for ``aria-label``; True: no value;
            False and None: left out.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.removesuffix("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{text(str(value))}"')
    opening = " ".join(words)
    if name in _VOID:
        return Html(f"<{opening}{'/' if name in _SVG else ''}>")
    return Html(f"<{opening}>{join(children)}</{name}>")


def breakable(name: str) -> Html:
    """Return a name that may go on in the next line after an underscore, a dot or a hyphen."""
    return Html(re.sub(r"(?<=[_.-])(?=[^_.-])", "<wbr>", text(name)))


def table(head: Iterable[str], rows: Iterable[Iterable[str]], **attributes: str | bool) -> Html:
    """Return a table with one head row; the first cell of each row is its heading."""
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    body = []
    for row in rows:
        first, *others = row
        body.append(tag("tr", tag("th", first, scope="row"), *map(_cell, others)))
    return tag("table", top, tag("tbody", *body), **attributes)


def _cell(words: str) -> Html:
    """Return a cell; a number is not broken at the sign of its exponent."""
    return tag("td", words, class_="whole" if _NUMBER.fullmatch(words) else None)
