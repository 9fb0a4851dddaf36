"""Changes as the page shows them."""

from __future__ import annotations

from benchmarks.kit.statistics import Estimate


def signed(change: Estimate) -> str:
    """Return a change and its interval, as the page has them."""
    return f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
