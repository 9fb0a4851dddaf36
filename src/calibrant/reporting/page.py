"""The frame of a page: one HTML file that needs no network and runs no script but its own.

The style sheet and the script are files beside this one. Both are put into the page, and the page's
content security policy names them by their hashes: nothing else can run or be loaded, even if a
name in the study were written to do so.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from calibrant.reporting.html import Html, join, tag


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Args:
        name: of its anchor.
        heading: the question that it answers.
        body: the answer.
    """

    name: str
    heading: str
    body: Html


def page(title: str, summary: str, sections: Sequence[Section], colophon: str = "") -> str:
    """Return a page as the text of an HTML file.

    Args:
        title: the heading.
        summary: one line below it.
        sections: what follows, in this order.
        colophon: the last line.
    """
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    links = [tag("a", part.heading, href=f"#{part.name}") for part in sections]
    parts = [
        tag(
            "section",
            tag("h2", part.heading, id=f"{part.name}-heading"),
            part.body,
            id=part.name,
            aria_labelledby=f"{part.name}-heading",
        )
        for part in sections
    ]
    head = [
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    ]
    body = [
        tag("a", "Skip to the result", href="#main", class_="skip"),
        tag(
            "header",
            tag("h1", title),
            tag("p", summary, class_="muted"),
            tag("nav", *links, aria_label="Questions"),
        ),
        tag("main", *parts, id="main"),
        tag("footer", tag("p", colophon)) if colophon else "",
        Html(f"<script>{script}</script>"),
    ]
    return f'<!doctype html>\n<html lang="en">{tag("head", *head)}{tag("body", *body)}</html>\n'


def write(path: str | Path, text: str) -> Path:
    """Write a page and return its path."""
    path = Path(path)
    path.write_text(text, encoding="utf-8")
    return path


def copyable(name: str, text: str, button: str = "Copy") -> Html:
    """Return a text to be copied, with a button that does it."""
    return tag(
        "div",
        tag("pre", text, id=name, tabindex="0"),
        tag("button", button, type="button", data_copy=name, class_="js-only"),
        class_="copy",
    )


def folded(summary: str, *body: str) -> Html:
    """Return what is shown only when asked for."""
    return tag("details", tag("summary", summary), *body)


def scrolling(body: str, label: str, tall: bool = False) -> Html:
    """Return what may be wider than the screen, in a region that scrolls, also by keyboard."""
    kind = "scroll tall" if tall else "scroll"
    return tag("div", body, class_=kind, role="region", aria_label=label, tabindex="0")


def lead(*facts: tuple[str, str, str]) -> Html:
    """Return the figures that matter: of each its name, its value, and a note below it."""
    parts = []
    for position, (name, value, note) in enumerate(facts):
        under = tag("span", note, class_="under") if note else ""
        shown = tag("dd", value, under, class_=None if position else "first")
        parts.append(tag("div", tag("dt", name), shown))
    return tag("dl", *parts, class_="lead")


def paragraphs(*texts: str, small: bool = False) -> Html:
    """Return paragraphs, leaving out the empty ones."""
    kind = "muted small" if small else None
    return join(tag("p", words, class_=kind) for words in texts if words)


@cache
def _resource(name: str) -> str:
    return files("calibrant.reporting").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
