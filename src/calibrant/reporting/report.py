"""The report of a study: one page that answers a user's questions, from the top down."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from optuna.study import Study

from calibrant.core.words import count
from calibrant.reporting import ahead, everything, got, trust, why
from calibrant.reporting.findings import Findings, findings
from calibrant.reporting.page import page, write


def report(study: Study, path: str | Path = "report.html", title: str | None = None) -> Path:
    """Write the report of a study, and return the path of the file.

    >>> import calibrant, tempfile
    >>> study = calibrant.minimize(lambda p: (p["x"] - 2) ** 2, {"x": (-9.0, 9.0)}, 12, seed=0)
    >>> calibrant.report(study, f"{tempfile.mkdtemp()}/report.html").name
    'report.html'

    It is a single HTML file that opens without a network, on a telephone too: the best setting,
    whether the error bars held, what to do next, why, and all trials.

    Args:
        study: any Optuna study, also one that is still running or was made by another sampler.
        path: the file to write.
        title: the heading; by default the name of the study.
    """
    return write(path, report_html(study, title))


def report_html(study: Study, title: str | None = None) -> str:
    """Return the report of a study as the text of an HTML file."""
    found = findings(study, title)
    sections = [part.section(found) for part in (got, trust, ahead, why, everything)]
    written = f"Written {datetime.now().strftime('%Y-%m-%d %H:%M')} by calibrant."
    return page(found.title, _summary(found), sections, written)


def _summary(found: Findings) -> str:
    goal = "Maximise" if found.maximised[0] else "Minimise"
    if not found.single:
        goal = f"{len(found.maximised)} objectives"
    words = [goal, count(len(found.names), "parameter"), count(len(found.rows), "trial")]
    for state in ("failed", "pruned", "interrupted", "running"):
        if those := found.in_state(state):
            words.append(f"{len(those):,} {state}")
    return " · ".join(words)
