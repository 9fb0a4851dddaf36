"""Figures as inline SVG: a few kilobytes each, and drawn in the page's own colours.

A figure is drawn twice, for a wide and for a narrow screen, and the style sheet shows one of them:
a single drawing that is scaled down would have labels too small to read on a telephone. Colours are
classes of the style sheet, so that the same drawing serves light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.core.words import number, percent, shortened
from calibrant.reporting.html import Html, join, tag

_CHARACTER = 6.6  # units that a character of a label takes, at the style sheet's 12
_MANY = 400  # marks, above which they become one path without a tooltip each
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)  # steps between ticks, times a power of ten


class Size(NamedTuple):
    """The size of a drawing, in units that are pixels at full width."""

    width: float
    height: float
    name: str


WIDE, NARROW = Size(720, 300, "wide"), Size(340, 250, "narrow")
SQUARE_WIDE, SQUARE_NARROW = Size(440, 400, "wide square"), Size(340, 320, "narrow")
SMALL = Size(340, 210, "both")  # side by side on a wide screen, one below the other on a narrow one


@dataclass(frozen=True)
class Axis:
    """An axis: its ends, and how its values are written.

    Args:
        low: the value at its start.
        high: the value at its end.
        label: what it shows.
        log: whether it is logarithmic.
        whole: whether ticks are at whole numbers only.
        share: whether values are shares of one, written as percentages.
        names: of the values 0, 1, …, where they are categories.
    """

    low: float
    high: float
    label: str = ""
    log: bool = False
    whole: bool = False
    share: bool = False
    names: tuple[str, ...] = ()

    def at(self, values: ArrayLike) -> FloatArray:
        """Return where values lie, 0 at the start and 1 at the end; what is beyond is put there."""
        places: FloatArray = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            places = np.log(np.maximum(places, np.finfo(float).tiny))
            low, high = math.log(low), math.log(high)
        # Halves: the difference of the largest two numbers is none.
        width = high / 2 - low / 2
        where = (places / 2 - low / 2) / width if width > 0 else np.full_like(places, 0.5)
        return np.clip(where, 0.0, 1.0)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most about ``most`` values, and how they are written."""
        if self.names:
            every = math.ceil(len(self.names) / most)
            return [
                (float(k), shortened(n, 14)) for k, n in enumerate(self.names) if k % every == 0
            ]
        values = (
            self._log_ticks(most) if self.log else _ticks(self.low, self.high, most, self.whole)
        )
        if self.share:
            return [(v, percent(v)) for v in values]
        for digits in (6, 9, 12):
            words = [number(v, digits) for v in values]
            if len(set(words)) == len(words):
                break
        return list(zip(values, words, strict=True))

    def _log_ticks(self, most: int) -> list[float]:
        first, last = math.log10(self.low), math.log10(self.high)
        if last - first < 0.7:  # a factor of five: nearly as a plain axis
            return [v for v in _ticks(self.low, self.high, most, self.whole) if v > 0]
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
        if len(powers) < 3:
            ends = range(math.floor(first), math.floor(last) + 1)
            values = [nice * 10.0**power for power in ends for nice in (1.0, 2.0, 5.0)]
            return [v for v in values if self.low <= v <= self.high]
        every = math.ceil(len(powers) / most)
        return [10.0**power for power in powers if power % every == 0]


class Plot:
    """A drawing to which marks are added; coordinates are the user's."""

    def __init__(self, size: Size, x: Axis, y: Axis) -> None:
        self.size, self.x, self.y = size, x, y
        self._y_ticks = y.ticks(max(3, int(size.height / 52)))
        widest = max((len(words) for _, words in self._y_ticks), default=1)
        self.left = 14 + _CHARACTER * widest
        self.right, self.top, self.bottom = 14.0, 26.0 if y.label else 10.0, 42.0
        self._marks: list[Html] = []

    def line(self, x: ArrayLike, y: ArrayLike, kind: str) -> None:
        """Draw a line, broken where y is NaN."""
        words, pen = [], "M"
        for across, up, known in zip(self._px(x), self._py(y), ~np.isnan(_row(y)), strict=True):
            words.append(f"{pen}{_short(across)},{_short(up)}" if known else "")
            pen = "L" if known else "M"
        self._marks.append(tag("path", d="".join(words), class_=f"line {kind}"))

    def steps(self, x: ArrayLike, y: ArrayLike, kind: str) -> None:
        """Draw a line that stays at each value until the next."""
        x, y = _row(x), _row(y)
        self.line(np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1], kind)

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, kind: str) -> None:
        """Fill what lies between two lines."""
        across = self._px(x)
        there = [f"{_short(a)},{_short(b)}" for a, b in zip(across, self._py(low), strict=True)]
        back = [f"{_short(a)},{_short(b)}" for a, b in zip(across, self._py(high), strict=True)]
        path = f"M{'L'.join(there)}L{'L'.join(reversed(back))}Z"
        self._marks.append(tag("path", d=path, class_=f"fill {kind}"))

    def bars(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, kind: str, width: float) -> None:
        """Draw an upright bar at each x."""
        ends = zip(self._px(x), self._py(low), self._py(high), strict=True)
        path = "".join(f"M{_short(a)},{_short(b)}V{_short(c)}" for a, b, c in ends)
        self._marks.append(tag("path", d=path, class_=f"bar {kind}", stroke_width=_short(width)))

    def dots(
        self, x: ArrayLike, y: ArrayLike, kind: str, tips: Sequence[str] = (), width: float = 6.0
    ) -> None:
        """Draw a dot at each point; a tip is shown when the pointer rests on its dot."""
        places = list(zip(self._px(x), self._py(y), strict=True))
        if tips and len(places) <= _MANY:
            for (across, up), tip in zip(places, tips, strict=True):
                self._marks.append(
                    tag(
                        "g",
                        tag("title", tip),
                        tag(
                            "circle", cx=_short(across), cy=_short(up), r=_short(width / 2),
                            class_=f"dot {kind}",
                        ),
                    )
                )  # fmt: skip
            return
        # A stroke of no length with round ends is a dot.
        path = "".join(f"M{_short(a)},{_short(b)}h0" for a, b in places)
        if path:
            self._marks.append(
                tag("path", d=path, class_=f"dots {kind}", stroke_width=_short(width))
            )

    def cells(self, x: ArrayLike, y: ArrayLike, kind: str) -> None:
        """Fill the cells whose lower and upper ends are the rows of x and y."""
        path = ""
        for (x0, x1), (y0, y1) in zip(np.asarray(x), np.asarray(y), strict=True):
            a, b = self._px([x0, x1])
            c, d = self._py([y0, y1])
            path += f"M{_short(a)},{_short(c)}H{_short(b)}V{_short(d)}H{_short(a)}Z"
        if path:
            self._marks.append(tag("path", d=path, class_=f"fill {kind}"))

    def columns(self, edges: ArrayLike, heights: ArrayLike, kind: str) -> None:
        """Fill the columns of a histogram."""
        edges, heights = _row(edges), _row(heights)
        tops = np.column_stack([np.full(heights.size, self.y.low), heights])
        self.cells(np.column_stack([edges[:-1], edges[1:]]), tops, kind)

    def level(self, y: float, kind: str) -> None:
        """Draw a rule across the drawing."""
        self.line([self.x.low, self.x.high], [y, y], kind)

    def upright(self, x: float, kind: str) -> None:
        """Draw a rule from the bottom to the top."""
        self.line([x, x], [self.y.low, self.y.high], kind)

    def label(
        self, x: float, y: float, words: str, kind: str = "", anchor: str = "start", rise: float = 0
    ) -> None:
        """Write words at a point, ``rise`` units above it."""
        (across,), (up,) = self._px([x]), self._py([y])
        self._marks.append(
            tag("text", words, x=_short(across), y=_short(up - rise), text_anchor=anchor,
                class_=f"label {kind}")
        )  # fmt: skip

    def svg(self, described: str) -> Html:
        """Return the drawing; ``described`` is what a screen reader says of it."""
        width, height = self.size.width, self.size.height
        return tag(
            "svg",
            self._axes(),
            *self._marks,
            viewBox=f"0 0 {_short(width)} {_short(height)}",
            role="img",
            aria_label=described,
            class_=self.size.name,
        )

    def _axes(self) -> Html:
        width, height = self.size.width, self.size.height
        floor, end = height - self.bottom, width - self.right
        marks = []
        for value, words in self._y_ticks:
            (up,) = self._py([value])
            marks.append(
                tag("line", x1=_short(self.left), x2=_short(end), y1=_short(up), y2=_short(up))
            )
            marks.append(
                tag("text", words, x=_short(self.left - 6), y=_short(up + 4), text_anchor="end")
            )
        room = end - self.left
        ticks = self.x.ticks(max(2, int(room / 60)))
        widest = max((len(words) for _, words in ticks), default=1) * _CHARACTER + 10
        if widest * len(ticks) > room:  # long names, or many digits
            ticks = ticks[:: math.ceil(widest * len(ticks) / room)]
        for value, words in ticks:
            (across,) = self._px([value])
            half = _CHARACTER * len(words) / 2
            anchor = "end" if across + half > width else "middle"
            marks.append(
                tag("text", words, x=_short(across), y=_short(floor + 17), text_anchor=anchor)
            )
        marks.append(
            tag("line", x1=_short(self.left), x2=_short(end), y1=_short(floor), y2=_short(floor),
                class_="floor")
        )  # fmt: skip
        fits = int(width / _CHARACTER) - 4
        if self.y.label:
            marks.append(tag("text", shortened(self.y.label, fits), x=0, y=12, class_="name"))
        if self.x.label:
            marks.append(
                tag("text", shortened(self.x.label, fits), x=_short(end), y=_short(height - 6),
                    text_anchor="end", class_="name")
            )  # fmt: skip
        return tag("g", *marks, class_="axes")

    def _px(self, x: ArrayLike) -> FloatArray:
        return self.left + self.x.at(_row(x)) * (self.size.width - self.right - self.left)

    def _py(self, y: ArrayLike) -> FloatArray:
        floor = self.size.height - self.bottom
        return floor - self.y.at(_row(y)) * (floor - self.top)


def figure(
    draw: Callable[[Size], Plot],
    described: str,
    caption: str = "",
    sizes: Sequence[Size] = (WIDE, NARROW),
) -> Html:
    """Return a figure with its caption, drawn for each size."""
    drawings = join(draw(size).svg(described) for size in sizes)
    below = tag("figcaption", caption) if caption else ""
    return tag("figure", drawings, below)


def within(values: ArrayLike, margin: float = 0.06) -> tuple[float, float]:
    """Return the ends of an axis for values, with outliers beyond it.

    An outlier is further from the middle half than three times its width, as in a box plot of far
    outliers. A constant gets an axis around it.
    """
    finite = _row(values)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return 0.0, 1.0
    lower, upper = np.quantile(finite, [0.25, 0.75])
    reach = 3.0 * (upper / 2 - lower / 2) * 2
    with np.errstate(over="ignore"):
        inside = finite[(finite >= lower - reach) & (finite <= upper + reach)]
    low, high = float(inside.min()), float(inside.max())
    if low == high:
        pad = abs(low) * 0.1 or 1.0
        return low - pad, high + pad
    pad = margin * (high / 2 - low / 2) * 2
    limit = np.finfo(float).max / 4
    return max(low - pad, -limit), min(high + pad, limit)


def _ticks(low: float, high: float, most: int, whole: bool) -> list[float]:
    """Return round values between two ends."""
    width = high / 2 - low / 2
    if not (width > 0 and math.isfinite(width)):
        return [low]
    rough = 2 * (width / max(most, 1))
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 1e-300 else 0.0
    if not power:
        return [low, high]
    step = next(nice * power for nice in _NICE if nice * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [0.0 if k == 0 else float(f"{k * step:.15g}") for k in range(first, last + 1)]


def _row(values: ArrayLike) -> FloatArray:
    return np.atleast_1d(np.asarray(values, dtype=float))


def _short(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
