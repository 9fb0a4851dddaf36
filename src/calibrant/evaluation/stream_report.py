"""The HTML report of a replayed stream, before and after recalibration."""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from calibrant.evaluation import figures
from calibrant.evaluation.page import Part, write_page
from calibrant.evaluation.replay import Replay


def write_stream_report(
    replay: Replay, path: str | Path, title: str, times: ArrayLike | None = None
) -> Path:
    """Write the effect of recalibration on a stream: a table of metrics and four figures.

    Args:
        replay: the result of :func:`calibrant.replay`, with 0.1 and 0.9 among its levels.
        path: the HTML file; it is self-contained and opens without a network.
        title: the heading.
        times: x-axis of the stream; by default 1, 2, …
    """
    pits = {"raw": replay.raw_pits, "calibrated": replay.pits}
    raw, calibrated = replay.raw_interval(0.8), replay.interval(0.8)
    inside = {
        name: (low <= replay.y) & (replay.y <= high)
        for name, (low, high) in (("raw", raw), ("calibrated", calibrated))
    }
    recent = slice(-min(300, replay.y.size), None)  # more points could not be told apart
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
    return write_page(path, title, note, _scores_table(replay), parts)


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
