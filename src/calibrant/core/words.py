"""Numbers as a person reads them, on a page and on a terminal."""

from __future__ import annotations

import math

_SAME = 1e-9  # a relative width below which an interval is a number: the rest is rounding
_FULL = 15  # significant digits beyond which a float says nothing more


def number(value: float, digits: int = 4) -> str:
    """Return a number with a few significant digits: 0.0125, 12,500, 1.2e-05.

    >>> from calibrant.core.words import number
    >>> number(1234567.0), number(0.000012), number(-0.5), number(float("nan"))
    ('1,235,000', '1.2e-05', '-0.5', 'not a number')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    value += 0.0  # there is no -0
    rounded = float(f"{value:.{digits}g}")
    if math.isinf(rounded):  # rounded up beyond the largest float
        return repr(value)
    if rounded and not 1e-4 <= abs(rounded) < 1e7:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - _exponent(rounded))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def resolved(value: float, width: float) -> str:
    """Return a number with the digits that a difference of ``width`` leaves of use.

    >>> from calibrant.core.words import resolved
    >>> resolved(55.41234, 2.3), resolved(0.18249, 0.02), resolved(1234.5, 400.0)
    ('55.4', '0.182', '1,230')
    """
    if not (math.isfinite(value) and math.isfinite(width) and width > 0 and value):
        return number(value)
    # Two digits of the width; never fewer than two of the number, nor more than it has.
    digits = _exponent(value) - _exponent(width) + 2
    digits = min(max(digits, 2), _FULL)
    rounded = float(f"{value:.{digits}g}")
    if not 1e-4 <= abs(rounded) < 1e7:
        return f"{value:.{digits}g}"
    return f"{rounded:,.{max(0, digits - 1 - _exponent(rounded))}f}"


def interval(low: float, high: float) -> str:
    """Return an interval in words, also of one that has no end.

    >>> from calibrant.core.words import interval
    >>> interval(54.91, 57.24), interval(float("-inf"), 92.9), interval(0.482, 0.482 + 1e-12)
    ('54.9 to 57.2', 'below 92.9', '0.482')
    """
    if math.isinf(low) and math.isinf(high):
        return "anything"
    if math.isinf(low):
        return f"below {number(high)}"
    if math.isinf(high):
        return f"above {number(low)}"
    if high - low <= _SAME * max(abs(low), abs(high)):
        return number(low, 9)
    return f"{resolved(low, high - low)} to {resolved(high, high - low)}"


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units.

    >>> from calibrant.core.words import duration
    >>> duration(0.0123), duration(75), duration(7500), duration(200000)
    ('12 ms', '1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // smaller} {part}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def percent(share: float) -> str:
    """Return a share of one: 69 %; what is not quite none or all keeps a digit for it.

    >>> from calibrant.core.words import percent
    >>> percent(0.686), percent(0.9971), percent(1.0)
    ('69 %', '99.7 %', '100 %')
    """
    near_an_end = 0.0 < share < 0.01 or 0.99 < share < 1.0
    return f"{100 * share:.{1 if near_an_end else 0}f} %"


def count(how_many: int, noun: str) -> str:
    """Return a count with its noun: 1 trial, 1,200 trials."""
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"


def shortened(text: str, most: int = 60) -> str:
    """Return a text of at most ``most`` characters, the middle left out of a longer one."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[-tail:] if tail else ''}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0
