"""Numbers in words."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.kit.statistics import Estimate
from benchmarks.paper.search import Record

Runs = Mapping[str, Mapping[int, Record]]  # label -> seed -> record


def number(value: float, digits: int = 3) -> str:
    """Return a number as a person would write it: a proper minus, and no zero with a sign."""
    if abs(value) >= 1e6:
        text = f"{value:.3g}"
    elif abs(value) >= 1000.0:
        text = f"{value:,.1f}"
    else:
        text = f"{value:.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(value: Estimate, digits: int = 3) -> str:
    """Return a mean with its interval."""
    low, high = number(value.low, digits), number(value.high, digits)
    return f"{number(value.mean, digits)} ({low} to {high})"


def p_value(p: float) -> str:
    """Return a p-value to three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
