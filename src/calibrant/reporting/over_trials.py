"""The figures over the trials of a study: best so far, volume of a front, forecasts and outcomes.

They share the x-axis, the number of the trial, and the y-axis, which leaves outliers outside.
"""

from __future__ import annotations

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.core.words import count, interval, number
from calibrant.reporting.findings import Findings, Row
from calibrant.reporting.html import Html, join, tag
from calibrant.reporting.svg import Axis, Plot, Size, figure, within

_MANY = 1000  # dots, above which they are drawn small


def progress(found: Findings) -> Html:
    """Draw each outcome, and the best so far."""
    review = found.review
    if review is None:
        return Html("")
    x, y = _axes(found)
    numbers, values = np.array(review.numbers, dtype=float), review.values
    order = np.argsort(numbers, kind="stable")
    tips = [_tip(found.rows[n]) for n in review.numbers]

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, y)
        plot.dots(
            numbers[order],
            values[order],
            "quiet",
            [tips[k] for k in order],
            _width(size, values.size),
        )
        ends = np.append(numbers, x.high), np.append(review.best_so_far, review.best_so_far[-1])
        plot.steps(*ends, "accent")
        best = float(review.best_so_far[-1])
        plot.dots([review.best_number], [review.best_value], "ring", [tips[_at(review.numbers)]], 9)
        rise = 8.0 if found.maximised[0] else -16.0
        plot.label(x.high, best, f"best so far {number(best)}", "accent", "end", rise)
        return plot

    def _at(numbers: list[int]) -> int:
        return numbers.index(review.best_number)

    described = (
        f"The outcomes of {count(values.size, 'trial')} and the best so far, which goes from "
        f"{number(float(values[0]))} to {number(review.best_value)}."
    )
    caption = f"Every outcome (dots), and the best so far (line).{_beyond(values, y)}"
    return figure(draw, described, caption)


def volume(found: Findings) -> Html:
    """Draw the volume that the front of several objectives dominates, after each trial."""
    front = found.front
    if front is None:
        return Html("")
    last = max(len(found.rows) - 1, 1)
    x = Axis(0.0, float(last), "trial", whole=True)
    most = float(front.hypervolume[-1])
    y = Axis(0.0, 1.1 * most or 1.0, "hypervolume")
    ends = np.append(front.numbers, x.high), np.append(front.hypervolume, most)

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, y)
        plot.steps(*ends, "accent")
        return plot

    goal = ", ".join(number(value) for value in front.reference_point)
    described = (
        f"The hypervolume goes from {number(float(front.hypervolume[0]))} to {number(most)}."
    )
    caption = f"The volume that the front dominates after each trial; reference point ({goal})."
    return figure(draw, described, caption)


def forecasts(found: Findings) -> Html:
    """Draw each outcome over the interval that was given for it beforehand."""
    review = found.review
    if review is None or not review.held.size:
        return Html("")
    x, y = _axes(found)
    numbers, held = np.array(review.forecast_numbers, dtype=float), review.held
    tips = np.array([_tip(found.rows[n]) for n in review.forecast_numbers], dtype=object)
    running = [row for row in found.rows if row.interval is not None and not row.values]

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, y)
        room = (size.width - 80) / max(1.0, x.high - x.low + 1)
        width = float(np.clip(0.62 * room, 0.8, 9))
        plot.bars(numbers, review.low, review.high, "", width)
        if running:
            ends = np.array([row.interval for row in running])
            plot.bars([row.number for row in running], ends[:, 0], ends[:, 1], "quiet", width)
        for inside, kind in ((True, ""), (False, "out")):
            those = held == inside
            dots = numbers[those], review.outcomes[those]
            plot.dots(*dots, kind, tips[those].tolist(), _width(size, held.size))
        return plot

    described = (
        f"{int(held.sum())} of {held.size} outcomes lie inside the interval that was given before "
        "the evaluation."
    )
    caption = join(
        [
            tag("span", class_="key bar"), " 80 % interval given before the evaluation, ",
            tag("span", class_="key"), " outcome inside, ",
            tag("span", class_="key out"), " outcome outside. The first trials, before there was "
            "a model, have no interval." + _beyond(review.outcomes, y)
            + (" Grey bars are of trials without an outcome yet." if running else ""),
        ]
    )  # fmt: skip
    return figure(draw, described, caption)


def _axes(found: Findings) -> tuple[Axis, Axis]:
    review = found.review
    assert review is not None
    low, high = within(review.values)
    best = review.best_value
    pad = 0.12 * (high - low)  # room for the label of the best
    low, high = min(low, best - pad), max(high, best + pad)
    last = max(len(found.rows) - 1, 1)
    return Axis(0.0, float(last), "trial", whole=True), Axis(low, high, "value")


def _tip(row: Row) -> str:
    words = f"trial {row.number}: {number(row.value, 6)}"
    if row.interval is None:
        return words
    return f"{words}; forecast {interval(*row.interval)}, {'held' if row.held else 'missed'}"


def _beyond(values: FloatArray, y: Axis) -> str:
    outside = int(((values < y.low) | (values > y.high)).sum())
    if not outside:
        return ""
    verb = "is" if outside == 1 else "are"
    return (
        f" {count(outside, 'outcome')} outside the range of the axis {verb} "
        f"drawn at its edge (all are from {number(float(values.min()))} to "
        f"{number(float(values.max()))})."
    )


def _width(size: Size, dots: int) -> float:
    """Return the width of a dot: thousands of wide ones would be one spot."""
    wide = 6.0 if size.width > 500 else 5.0
    return wide if dots <= _MANY else wide / 3
