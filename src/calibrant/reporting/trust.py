"""Can I trust it? How many intervals held, the picture of them, and reliability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.core.words import percent
from calibrant.evaluation.metrics import reliability
from calibrant.evaluation.verdict import Verdict
from calibrant.reporting import over_trials
from calibrant.reporting.findings import Findings
from calibrant.reporting.html import Html, join, tag
from calibrant.reporting.page import Section, folded, paragraphs
from calibrant.reporting.svg import SQUARE_NARROW, SQUARE_WIDE, Axis, Plot, Size, figure
from calibrant.studies.front_review import FrontReview
from calibrant.studies.shown import COVERAGE
from calibrant.studies.statements import Statements

_CHANCE = 1.96  # std: chance deviations at each level stay within, 95 % of the time


def section(found: Findings) -> Section:
    """Return the answer."""
    return Section("trust", "Can I trust it?", _body(found))


def _body(found: Findings) -> Html:
    if found.front is not None:
        return _each(found.front)
    review = found.review
    if review is None:
        return paragraphs(_none(found))
    others = _others(review.statements[1:])
    if not review.held.size:
        return join([paragraphs(_none(found)), *others])
    sentence = verdict_html(found.verdict)
    raw = (
        f"Each {percent(COVERAGE)} interval was stored before the trial was evaluated. Before "
        f"calibration, the model's own held {percent(float(review.raw_held.mean()))} of the time."
    )
    unbounded = int((np.isinf(review.low) | np.isinf(review.high)).sum())
    if unbounded:
        raw += f" {unbounded} of the calibrated ones were unbounded on one side."
    curve = reliability_figure({"model": review.raw_pits, "calibrated": review.pits})
    more = folded("Reliability at every level", curve)
    return join([sentence, paragraphs(raw), over_trials.forecasts(found), more, *others])


def _others(statements: Sequence[Statements]) -> list[Html]:
    """Return how often what was said beside intervals came true, where anything was."""
    if not statements:
        return []
    said = paragraphs(*map(str, statements))
    return [folded("Did its other predictions come true?", said)]


def _each(front: FrontReview) -> Html:
    """Return the verdict on the intervals of each of several objectives."""
    others = _others(front.statements)
    if not front.objectives[0].held.size:
        return join([paragraphs("No trial has a forecast from before its evaluation."), *others])
    said = [
        join([paragraphs(f"{one.name[:1].upper()}{one.name[1:]}"), verdict_html(one.verdict)])
        for one in front.objectives
    ]
    text = (
        f"The {percent(COVERAGE)} intervals of each objective: the model's forecasts, stored "
        "before each evaluation and recalibrated by the outcomes known then."
    )
    return join([paragraphs(text), *said, *others])


def _none(found: Findings) -> str:
    if not found.finished:
        return "There is no outcome yet to compare a forecast with."
    return (
        "No trial has a forecast from before its evaluation: the first trials of a study have "
        "none, nor do those of another sampler."
    )


def verdict_html(said: Verdict) -> Html:
    """Return a verdict in its colour."""
    share, _, judged = said.sentence.replace(" %", "\N{NO-BREAK SPACE}%").rpartition(": ")
    return tag("p", f"{share}: ", tag("b", judged), class_=f"verdict {said.tone.value}")


def reliability_figure(pits: dict[str, np.ndarray]) -> Html:
    """Draw how often outcomes fell below each quantile; the last curve is the one that counts."""
    grid = np.linspace(0.0, 1.0, 51)
    smallest = min(values.size for values in pits.values())
    half = _CHANCE * np.sqrt(grid * (1.0 - grid) / smallest)
    axis = Axis(0.0, 1.0, "level of the quantile", share=True)
    curves = {
        label: np.concatenate([[0.0], reliability(values, grid[1:-1])[1], [1.0]])
        for label, values in pits.items()
    }

    def draw(size: Size) -> Plot:
        plot = Plot(size, axis, Axis(0.0, 1.0, "share of outcomes below it", share=True))
        plot.band(grid, np.maximum(grid - half, 0.0), np.minimum(grid + half, 1.0), "quiet")
        plot.line([0.0, 1.0], [0.0, 1.0], "dashed")
        last = list(curves)[-1]
        for position, (label, share) in enumerate(curves.items()):
            plot.line(grid, share, "accent" if label == last else "")
            place = 14 + 18 * position  # of 51 levels: where curves are apart
            kind = "accent" if label == last else ""
            plot.label(grid[place], share[place], label, kind, "end", 8)
        return plot

    described = "Reliability: how often outcomes fell below each forecast quantile."
    caption = (
        "On the diagonal, the forecasts are calibrated. With calibrated forecasts of "
        f"{smallest} outcomes, the curve is in the grey band 95 % of the time at each level."
    )
    return figure(draw, described, caption, (SQUARE_WIDE, SQUARE_NARROW))
