"""The HTML report of a study: the best result, and how well the forecasts held."""

from __future__ import annotations

import html
from pathlib import Path

from calibrant.evaluation import figures
from calibrant.evaluation.page import Part, write_page
from calibrant.studies.review import Review
from calibrant.studies.shown import COVERAGE


def write_study_report(review: Review, path: str | Path, title: str) -> Path:
    """Write the report of a study and return its path.

    Args:
        review: the result of :func:`calibrant.review`.
        path: the HTML file; it is self-contained and opens without a network.
        title: the heading.
    """
    parts: list[Part] = [
        (
            "Best so far",
            "Each evaluation, in the order in which they finished.",
            figures.convergence(review.values, review.best_so_far),
        )
    ]
    if review.held.size:
        held = {"raw": review.raw_held, "calibrated": review.held}
        parts += [
            (
                "Forecasts and outcomes",
                f"{COVERAGE:.0%} intervals, each given before its evaluation; "
                "the first evaluations, before there was a model, have none.",
                figures.intervals(
                    review.outcomes,
                    {
                        "raw": (review.raw_low, review.raw_high),
                        "calibrated": (review.low, review.high),
                    },
                    review.forecast_numbers,
                ),
            ),
            (
                "Reliability",
                "On the diagonal, error bars are true. The grey band shows deviations by chance "
                f"of {review.held.size} outcomes.",
                figures.reliability({"raw": review.raw_pits, "calibrated": review.pits}),
            ),
            (
                f"Coverage of {COVERAGE:.0%} intervals over time",
                "Share of all outcomes so far that lay inside.",
                figures.coverage_over_time(held, COVERAGE),
            ),
        ]
    failures = f"; {review.failed} failed" if review.failed else ""
    note = f"{review.values.size} evaluations with a finite value{failures}."
    return write_page(path, title, note, _best_table(review), parts)


def _best_table(review: Review) -> str:
    rows = [(f"best value (trial {review.best_number})", f"{review.best_value:.6g}")]
    rows += [
        (name, repr(value) if isinstance(value, float) else str(value))  # all digits, to be copied
        for name, value in review.best_params.items()
    ]
    if review.best_interval is not None:
        low, high = review.best_interval
        kind = "calibrated" if review.calibrated else "not yet calibrated"
        again = f"{COVERAGE:.0%} interval for another evaluation there, {kind}"
        rows.append((again, f"{low:.6g} to {high:.6g}"))
    if review.held.size:
        rows.append(
            (
                f"{COVERAGE:.0%} intervals given before each evaluation held "
                f"({review.held.size} forecasts)",
                f"{review.held.mean():.0%} (the model's own: {review.raw_held.mean():.0%})",
            )
        )
    cells = [
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
        for name, value in rows
    ]
    return f"<table>{''.join(cells)}</table>"
