"""The report of a stream of forecasts, before and after recalibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.core.words import count, percent
from calibrant.evaluation.replay import Replay
from calibrant.evaluation.verdict import verdict
from calibrant.reporting.html import Html, join, table, tag
from calibrant.reporting.page import Section, page, paragraphs, scrolling, write
from calibrant.reporting.svg import Axis, Plot, Size, figure, within
from calibrant.reporting.trust import reliability_figure, verdict_html

_COVERAGE = 0.8
_RECENT = 300  # outcomes of the stream that are drawn: more could not be told apart
_DRAWN = 400  # points of a line over the whole stream
_BINS = 20


def write_stream_report(
    replay: Replay, path: str | Path, title: str, times: ArrayLike | None = None
) -> Path:
    """Write the effect of recalibration on a stream: verdict, metrics and figures.

    Args:
        replay: the result of :func:`calibrant.replay`, with 0.1 and 0.9 among its levels.
        path: the HTML file; it is self-contained and opens without a network.
        title: the heading.
        times: of the outcomes; by default 1, 2, …
    """
    low, high = replay.interval(_COVERAGE)
    raw_low, raw_high = replay.raw_interval(_COVERAGE)
    held = (low <= replay.y) & (replay.y <= high)
    raw_held = (raw_low <= replay.y) & (replay.y <= raw_high)
    summary = f"{count(replay.y.size, 'outcome')}; every forecast was made before its outcome"
    sections = [
        Section("trust", "Do the intervals hold?", _held(held, raw_held, replay)),
        Section("better", "Are the forecasts better?", _metrics(replay)),
        Section("stream", "The stream", _stream(replay, low, high, times)),
        Section("why", "At which levels?", _levels(replay)),
    ]
    colophon = f"Recalibrator: {replay.recalibrator!r}"
    return write(path, page(title, summary, sections, colophon))


def _held(held: np.ndarray, raw_held: np.ndarray, replay: Replay) -> Html:
    said = verdict(int(held.sum()), held.size, _COVERAGE)
    words = (
        f"These are the calibrated {percent(_COVERAGE)} intervals. The forecaster's own held "
        f"{percent(float(raw_held.mean()))} of the time."
    )
    shares = {"own": _running(raw_held), "calibrated": _running(held)}
    steps = np.unique(np.linspace(1, held.size, min(_DRAWN, held.size)).astype(int))
    seen = np.concatenate([s[s.size // 2 :] for s in shares.values()])  # the first few vary widely
    y = Axis(max(0.0, min(0.4, float(seen.min()) - 0.05)), 1.0, "share that held", share=True)
    x = Axis(1.0, float(max(2, held.size)), "outcomes seen", whole=True)

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, y)
        plot.level(_COVERAGE, "dashed")
        below = float(shares["own"][-1]) < float(shares["calibrated"][-1])
        rises = {"own": -16.0 if below else 8.0, "calibrated": 8.0 if below else -16.0}
        for label, share in shares.items():
            kind, last = "accent" if label == "calibrated" else "", float(share[-1])
            plot.line(steps, share[steps - 1], kind)
            plot.label(x.high, last, f"{label} {percent(last)}", kind, "end", rises[label])
        return plot

    picture = figure(
        draw,
        "The share of all outcomes so far that lay inside their intervals.",
        f"The share of all outcomes so far inside their {percent(_COVERAGE)} interval.",
    )
    return join([verdict_html(said), paragraphs(words), picture])


def _metrics(replay: Replay) -> Html:
    summary = replay.summary()
    rows = [
        (_name(name), f"{before:.4g}", f"{summary['calibrated'][name]:.4g}")
        for name, before in summary["raw"].items()
    ]
    head = ["", "own", "calibrated"]
    return scrolling(table(head, rows, class_="settings"), "Metrics before and after")


def _name(metric: str) -> str:
    return f"{metric} (20 levels)" if metric == "calibration score" else metric


def _stream(replay: Replay, low: FloatArray, high: FloatArray, times: ArrayLike | None) -> Html:
    size_shown = min(_RECENT, replay.y.size)
    last = slice(replay.y.size - size_shown, None)
    y, below, above = replay.y[last], low[last], high[last]
    x = np.arange(replay.y.size - size_shown + 1, replay.y.size + 1, dtype=float)
    finite = np.concatenate([y, *(end[np.isfinite(end)] for end in (below, above))])
    inside = (below <= y) & (y <= above)
    across = Axis(float(x[0]), float(max(x[-1], x[0] + 1)), "outcome", whole=True)
    upwards = Axis(*within(finite), "value")

    def draw(size: Size) -> Plot:
        plot = Plot(size, across, upwards)
        plot.band(x, below, above, "")
        for those, kind in ((inside, ""), (~inside, "out")):
            plot.dots(x[those], y[those], kind, width=3)
        return plot

    since = ""
    if times is not None:
        shown = np.asarray(times)[last]
        since = f", from {str(shown[0])[:10]} to {str(shown[-1])[:10]}"
    caption = join(
        [
            f"The last {count(size_shown, 'outcome')}{since}: ", tag("span", class_="key bar"),
            f" calibrated {percent(_COVERAGE)} interval, ", tag("span", class_="key"),
            " outcome inside, ", tag("span", class_="key out"), " outside.",
        ]
    )  # fmt: skip
    described = f"{int(inside.sum())} of the last {size_shown} outcomes lie inside their intervals."
    return figure(draw, described, caption)


def _levels(replay: Replay) -> Html:
    pits = {"own": replay.raw_pits, "calibrated": replay.pits}
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    heights = {
        name: np.histogram(values, edges)[0] * _BINS / values.size for name, values in pits.items()
    }
    top = max(2.0, 1.05 * max(float(height.max()) for height in heights.values()))
    x, y = Axis(0.0, 1.0, "level at which the outcome fell", share=True), Axis(0.0, top, "density")

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, y)
        plot.columns(edges, heights["calibrated"], "")
        plot.steps(edges, np.append(heights["own"], heights["own"][-1]), "")
        plot.level(1.0, "dashed")
        return plot

    flat = (
        "Filled: calibrated; line: the forecaster's own. Flat is calibrated, a U is "
        "over-confident, a hill is under-confident."
    )
    histogram = figure(draw, "Histogram of the levels at which outcomes fell.", flat)
    return join([reliability_figure(pits), histogram])


def _running(inside: np.ndarray) -> FloatArray:
    return np.asarray(np.cumsum(inside) / np.arange(1, inside.size + 1))
