"""Why? What the model has learned, and what went wrong."""

from __future__ import annotations

from collections import Counter

from calibrant.core.words import count, number, percent, shortened
from calibrant.decisions.importance import importance_of
from calibrant.decisions.slices import contour_of, slices_of
from calibrant.reporting.findings import Findings
from calibrant.reporting.html import Html, join, table, tag
from calibrant.reporting.page import Section, paragraphs, scrolling
from calibrant.reporting.slices import contour_figure, importance_figure, slices_figure
from calibrant.studies.shown import COVERAGE

_ENOUGH = 4  # outcomes before a model says anything
_REASONS = 12  # different reasons of failures that are listed


def section(found: Findings) -> Section:
    """Return the answer."""
    body = join([_model(found), _constraints(found), _failures(found)])
    return Section("why", "Why?", body or paragraphs("There are too few outcomes for a model."))


def _model(found: Findings) -> Html:
    belief = found.belief
    if belief is None or not found.best or len(found.finished) < _ENOUGH:
        return Html("")
    advice = found.recommendation
    setting = found.best[0].params if advice is None else advice.params
    quantity, x = belief.objectives[0], found.point(setting)
    shares = importance_of(belief, quantity)
    names = list(shares)
    of = "" if found.single else " of the first objective"
    base = "the setting above" if found.single else f"trial {found.best[0].number}"
    parts = [
        tag("h3", "Which parameters matter?"),
        paragraphs(
            f"By the model: the share of the variation{of} over the whole space that is due to "
            "each parameter, alone or together with others. The shares can add up to over 100 %."
        ),
        importance_figure(shares),
        tag("h3", "What if I change one?"),
        paragraphs(
            f"The forecast{of} if one parameter of {base} is changed. The line is the median, the "
            f"band the calibrated {percent(COVERAGE)} interval of a new evaluation, and the ring "
            "marks that setting."
        ),
        slices_figure(slices_of(belief, quantity, x, names)),
    ]
    exist = [name for name in names if name in belief.space.internal(x)]
    if len(exist) > 1:
        parts += [
            tag("h3", "What if I change two?"),
            contour_figure(contour_of(belief, quantity, x, *exist[:2]), base),
        ]
    return join(parts)


def _constraints(found: Findings) -> Html:
    names = sorted({name for row in found.finished for name in row.constraints})
    if not names:
        return Html("")
    rows = []
    for name in names:
        limits = [row.constraints[name] for row in found.finished if name in row.constraints]
        met = sum(limit <= 0.0 for limit in limits)
        met_words = f"{met} of {len(limits)}, {percent(met / len(limits))}"
        rows.append((shortened(name), met_words, number(min(limits)), number(max(limits))))
    head = ["constraint (met at 0 or below)", "met", "lowest", "highest"]
    listed = scrolling(table(head, rows, class_="nowrap"), "Constraints")
    return join([tag("h3", "Constraints"), listed])


def _failures(found: Findings) -> Html:
    failed = found.in_state("failed")
    if not failed:
        return Html("")
    reasons = Counter(shortened(row.reason, 160) for row in failed)
    first = {shortened(row.reason, 160): row.number for row in reversed(failed)}
    rows = [
        (reason, str(times), str(first[reason])) for reason, times in reasons.most_common(_REASONS)
    ]
    more = len(reasons) - len(rows)
    listed = scrolling(table(["reason", "trials", "first in trial"], rows), "Failures")
    finished = len(found.finished) + len(failed)
    return join(
        [
            tag("h3", "Failures"),
            paragraphs(
                f"{count(len(failed), 'trial')} of {finished} failed."
                + (" The search avoids places where most evaluations fail." * bool(found.finished))
            ),
            listed,
            paragraphs(f"{more} other reasons are in the list of trials." if more > 0 else ""),
        ]
    )
