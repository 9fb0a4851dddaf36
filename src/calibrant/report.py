"""Self-contained HTML pages: about a replayed stream, about a study."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant import figures
from calibrant.stream import Replay
from calibrant.study_review import COVERAGE, Review

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0 } h2 { font-size: 1.15rem; margin: 2.2rem 0 0 }
p.note { color: #555; margin: .2rem 0 .6rem }
table { border-collapse: collapse; margin: 1.2rem 0 }
td, th { padding: .35rem 1.1rem .35rem 0; text-align: right }
th:first-child, td:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
"""


def write_stream_report(
    replay: Replay, path: str | Path, title: str, times: ArrayLike | None = None
) -> Path:
    """Write what recalibration did to a stream: a table of scores and four figures.

    Args:
        replay: what :func:`calibrant.replay` returned, with the levels 0.1 and 0.9 among its own.
        path: the HTML file; it holds all it needs and opens without a network.
        title: the heading.
        times: x-axis of the stream; by default 1, 2, …
    """
    pits = {"raw": replay.raw_pits, "calibrated": replay.pits}
    raw, calibrated = replay.raw_interval(0.8), replay.interval(0.8)
    inside = {
        name: (low <= replay.y) & (replay.y <= high)
        for name, (low, high) in (("raw", raw), ("calibrated", calibrated))
    }
    recent = slice(-min(300, replay.y.size), None)  # more points than this are a blur
    parts: list[Part] = [
        ("Reliability", "On the diagonal, error bars are true.", figures.reliability(pits)),
        ("PIT histogram", "Flat is calibrated.", figures.pit_histogram(pits)),
        (
            "Coverage of 80 % intervals over time",
            "Share of all outcomes so far that lay inside.",
            figures.coverage_over_time(inside, 0.8),
        ),
        (
            "The stream",
            f"The last {replay.y[recent].size} outcomes over their 80 % intervals.",
            figures.ribbon(
                replay.y[recent],
                {
                    "raw": (raw[0][recent], raw[1][recent]),
                    "calibrated": (calibrated[0][recent], calibrated[1][recent]),
                },
                None if times is None else np.asarray(times)[recent],
            ),
        ),
    ]
    note = (
        f"{replay.y.size:,} outcomes; every forecast was made before its outcome. "
        f"Recalibrator: {replay.recalibrator!r}"
    )
    return _write(path, title, note, _scores_table(replay), parts)


def write_study_report(review: Review, path: str | Path, title: str) -> Path:
    """Write what a study found, and how true its forecasts were.

    Args:
        review: what :func:`calibrant.review` returned.
        path: the HTML file; it holds all it needs and opens without a network.
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
                "On the diagonal, error bars are true. The grey band is what chance does to "
                f"{review.held.size} outcomes.",
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
    return _write(path, title, note, _best_table(review), parts)


Part = tuple[str, str, Any]  # heading, what it shows, figure


def _write(path: str | Path, title: str, note: str, table: str, parts: Sequence[Part]) -> Path:
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


def _best_table(review: Review) -> str:
    rows = [(f"best value (trial {review.best_number})", f"{review.best_value:.6g}")]
    rows += [
        (name, repr(value) if isinstance(value, float) else str(value))  # all digits: to be used
        for name, value in review.best_params.items()
    ]
    if review.best_interval is not None:
        low, high = review.best_interval
        kind = "calibrated" if review.calibrated else "not yet calibrated"
        again = f"{COVERAGE:.0%} interval of another evaluation there, {kind}"
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


def _scores_table(replay: Replay) -> str:
    summary = replay.summary()
    rows = [
        f"<tr><td>{html.escape(name)}</td><td>{summary['raw'][name]:.4g}</td>"
        f"<td>{summary['calibrated'][name]:.4g}</td></tr>"
        for name in summary["raw"]
    ]
    head = (
        "<tr><th>score (calibration score: m = 20 levels)</th><th>raw</th><th>calibrated</th></tr>"
    )
    return f"<table>{head}{''.join(rows)}</table>"
