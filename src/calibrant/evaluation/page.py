"""A self-contained HTML page with a table and figures, which opens without a network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0 } h2 { font-size: 1.15rem; margin: 2.2rem 0 0 }
p.note { color: #555; margin: .2rem 0 .6rem }
table { border-collapse: collapse; margin: 1.2rem 0 }
td, th { padding: .35rem 1.1rem .35rem 0; text-align: right }
th:first-child, td:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
"""

Part = tuple[str, str, Any]  # heading, caption, plotly figure


def write_page(path: str | Path, title: str, note: str, table: str, parts: Sequence[Part]) -> Path:
    """Write the page and return its path."""
    body = [f"<h1>{html.escape(title)}</h1><p class=note>{html.escape(note)}</p>{table}"]
    for number, (heading, caption, figure) in enumerate(parts):
        figure.update_layout(height=460)
        body.append(f"<h2>{html.escape(heading)}</h2><p class=note>{html.escape(caption)}</p>")
        body.append(figure.to_html(full_html=False, include_plotlyjs=number == 0))
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>{''.join(body)}</html>"
    )
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path
