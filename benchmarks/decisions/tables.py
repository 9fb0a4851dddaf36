"""The page of this benchmark, composed of the sections of its modules.

python -m benchmarks.decisions.tables
"""

from __future__ import annotations

import textwrap
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).parent / "README.md"
MODULES = (
    "forecast",
    "recommend_page",
    "suggestions",
    "proposals",
    "outlook",
    "stopping",
    "pruning",
    "pruning_live",
    "feasibility",
)
HEAD = """# Decisions: do stated probabilities come true?

How often do calibrant's answers to the person who runs a search come true? They were measured on
tasks that were not used to develop them. `python -m benchmarks.decisions.tables` writes this page from stored results.
"""


def write() -> None:
    """Write the page from the sections of whichever modules there are."""
    parts = [HEAD]
    for name in MODULES:
        if find_spec(f"benchmarks.decisions.{name}") is None:
            continue
        section = getattr(import_module(f"benchmarks.decisions.{name}"), "section", None)
        if section is not None:
            parts.append("\n".join(_wrapped(line) for line in section()))
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _wrapped(line: str) -> str:
    """Return prose wrapped at 100 columns; tables and headings stay."""
    return line if line.startswith(("|", "#")) else textwrap.fill(line, 100, break_on_hyphens=False)


if __name__ == "__main__":
    write()
