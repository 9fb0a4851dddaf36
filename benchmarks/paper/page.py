"""The page: Markdown beside its pictures, and one HTML file that holds all it needs."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence, Set
from pathlib import Path

from benchmarks.kit.words import markdown_table
from benchmarks.paper.section import COSTS, Section, Table

TITLE = "The paper, run again"
NOTE = (
    "*Online Calibrated and Conformal Prediction Improves Bayesian Optimization* (AISTATS 2024): "
    "its tables and figures beside our measurements. All methods of a repetition start from the "
    "same points. Intervals are 95 % bootstrap intervals of means over repetitions, p-values of "
    "Wilcoxon's signed-rank test on paired areas. A verdict is about one claim: that calibration "
    "lowers the area under the curve. It is *reproduced* where the interval excludes zero and the "
    "test is significant at 5 % after Holm's correction for all comparisons of its section. "
    "*Algorithms 3 + 4* is the paper's method to the letter; no other row is, and one with more "
    "words after that name is a variant of it. Verdicts on the "
    "calibration error compare raw and calibrated forecasts of the same points of the same "
    "searches, in pairs. The paper has 5 repetitions, which cannot show much: 4 wins of 5 come by "
    "chance with probability 0.19."
)

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222;
  max-width: 84rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin: 2.6rem 0 .3rem }
p { max-width: 60rem } p.verdict { border-left: 4px solid #0072B2; padding-left: .8rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block;
  overflow-x: auto }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
td, th { padding: .25rem .8rem .25rem 0; text-align: right; white-space: nowrap }
th { white-space: normal; vertical-align: bottom } tr { border-bottom: 1px solid #ddd }
th:first-child, td:first-child, td.word, td.sentence { text-align: left }
td.sentence { white-space: normal }
"""


def write_page(sections: Sequence[Section], folder: Path) -> Path:
    """Write README.md and index.html, and return where the second one is.

    The Markdown shows the pictures that are there: see :func:`draw_pictures`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {path.name for path in folder.glob("*.png")}
    (folder / "README.md").write_text(markdown(sections, drawn), encoding="utf-8")
    page = folder / "index.html"
    page.write_text(_html(sections, drawn), encoding="utf-8")
    return page


def draw_pictures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Draw the figures as PNG files that README.md shows.

    Raises:
        ImportError: if kaleido is missing.
        RuntimeError: if it finds no browser to draw with.
    """
    try:
        import kaleido  # noqa: F401  # plotly's own message is about a version
    except ImportError as error:
        raise ImportError(
            "Pictures for README.md need kaleido and a Chrome or Chromium: "
            "pip install 'calibrant[figures]'. index.html shows the figures without."
        ) from error
    drawn = []
    for section in sections:
        if section.figure is not None:
            path = folder / _picture(section)
            section.figure.write_image(path, scale=1.5)
            drawn.append(path)
    return drawn


def _picture(section: Section) -> str:
    return f"{section.name}.png"


def markdown(sections: Sequence[Section], drawn: Set[str] = frozenset()) -> str:
    """Return the page as Markdown, with those pictures that have been ``drawn``."""
    parts = [f"# {TITLE}", NOTE, _contents(sections)]
    for section in sections:
        parts += [f"## {section.name}: {section.title}", section.text]
        if _picture(section) in drawn:
            parts.append(f"![{section.title}]({_picture(section)})")
        parts += [_markdown_table(table) for table in section.tables]
        if section.verdict:
            parts.append(f"> {section.verdict}")
    return "\n\n".join(parts) + "\n"


def _contents(sections: Sequence[Section]) -> str:
    return _markdown_table(_overview(sections))


def _overview(sections: Sequence[Section]) -> Table:
    said = [(f"{s.name}: {s.title}", s.verdict) for s in sections if s.name != COSTS and s.verdict]
    return Table(("", "verdict"), said)


def _markdown_table(table: Table) -> str:
    caption = f"**{table.caption}**\n\n" if table.caption else ""
    texts = 2 if len(table.head) == 2 else 1  # a title and a sentence, or a title and numbers
    return caption + markdown_table(table.head, table.rows, texts)


def _html(sections: Sequence[Section], drawn: Set[str] = frozenset()) -> str:
    body = [f"<h1>{TITLE}</h1><p>{_inline(NOTE)}</p>{_html_table(_overview(sections))}"]
    scripts = True  # plotly itself goes in once, with the first figure
    for section in sections:
        heading = html.escape(f"{section.name}: {section.title}")
        body.append(f"<h2 id={section.name}>{heading}</h2>{_html_text(section.text)}")
        if section.figure is not None:
            body.append(section.figure.to_html(full_html=False, include_plotlyjs=scripts))
            scripts = False
        elif _picture(section) in drawn:  # of searches that go other ways now
            title = html.escape(section.title)
            body.append(f"<img src='{_picture(section)}' alt='{title}' width=1000>")
        body += [_html_table(table) for table in section.tables]
        if section.verdict:
            body.append(f"<p class=verdict>{_inline(section.verdict)}</p>")
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>{TITLE}</title><style>{_STYLE}</style>{''.join(body)}</html>"
    )


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td{_kind(cell)}>{_inline(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{html.escape(table.caption)}</caption>" if table.caption else ""
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>"


def _kind(cell: str) -> str:
    """Return how a cell is set: numbers to the right, words to the left, sentences wrapped."""
    if not cell or re.match(r"[−<\d]", cell):
        return ""
    return " class=sentence" if len(cell) > 80 else " class=word"


def _html_text(text: str) -> str:
    """Return paragraphs and lists."""
    parts = []
    for paragraph in re.split(r"\n\n|\n(?=- )", text):
        line = _inline(" ".join(paragraph.split()))
        parts.append(f"<li>{line[2:]}</li>" if line.startswith("- ") else f"<p>{line}</p>")
    return re.sub(r"(?:<li>.*?</li>)+", r"<ul>\g<0></ul>", "".join(parts))


def _inline(text: str) -> str:
    """Return Markdown's bold and italics as HTML."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"\*(.+?)\*", r"<i>\1</i>", text)
