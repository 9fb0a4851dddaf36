"""What next? Whether to stop or to go on, and with which settings."""

from __future__ import annotations

import shlex

from calibrant.core.words import count
from calibrant.reporting.findings import Findings
from calibrant.reporting.html import Html, join
from calibrant.reporting.page import Section, copyable, paragraphs


def section(found: Findings) -> Section:
    """Return the answer."""
    return Section("next", "What next?", _body(found))


def _body(found: Findings) -> Html:
    parts = []
    if running := found.in_state("running", "waiting"):
        parts.append(paragraphs(f"{count(len(running), 'trial')} still to come."))
    if found.review is not None and found.finished:
        since = _since_the_best(found)
        parts.append(paragraphs(f"{count(since, 'trial')} since the last improvement."))
    if found.job.command:
        parts.append(paragraphs("To go on, run the same command with more trials:"))
        parts.append(copyable("again", shlex.join(found.job.command)))
    if not parts:
        parts.append(paragraphs("Evaluate a few settings first."))
    return join(parts)


def _since_the_best(found: Findings) -> int:
    review = found.review
    assert review is not None
    return len(review.numbers) - 1 - review.numbers.index(review.best_number)
