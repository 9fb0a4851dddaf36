"""The verdict on a forecaster in one sentence: how many intervals held, and what that means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from calibrant.core import validate
from calibrant.core.words import percent

_FEW = 10  # outcomes: of fewer, even a forecaster that is far off may look right
_DOUBT, _SURE = 1.645, 2.576  # std off: one in ten, one in a hundred if the intervals are true


class Tone(StrEnum):
    """How a verdict should be read."""

    UNKNOWN = "unknown"
    GOOD = "good"
    CAUTION = "caution"
    BAD = "bad"


@dataclass(frozen=True)
class Verdict:
    """How many of some intervals held, and how that is to be read.

    Args:
        held: how many did.
        total: of how many.
        coverage: how often they should.
        tone: good, caution, bad, or unknown where there are too few.
        words: the judgement: "in line with 80 %", "somewhat over-confident", …
    """

    held: int
    total: int
    coverage: float
    tone: Tone
    words: str

    @property
    def expected(self) -> float:
        """How many would hold if the intervals were true."""
        return self.total * self.coverage

    @property
    def std(self) -> float:
        """The std of that number, for independent outcomes."""
        return math.sqrt(self.expected * (1.0 - self.coverage))

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        if not self.total:
            return "No interval has met its outcome yet."
        share = percent(self.held / self.total)
        held = f"{self.held:,} of {self.total:,} intervals held ({share})"
        expected = f"{self.expected:,.0f} ± {self.std:.1f} ({percent(self.coverage)})"
        return f"{held}, and {expected} are expected: {self.words}."

    def __str__(self) -> str:
        return self.sentence


def verdict(held: int, total: int, coverage: float = 0.8) -> Verdict:
    """Return what a count of intervals that held says about the forecaster.

    >>> from calibrant.evaluation.verdict import verdict
    >>> print(verdict(24, 35))
    24 of 35 intervals held (69 %), and 28 ± 2.4 (80 %) are expected: somewhat over-confident.

    The count is compared with that of true intervals in units of its std, as if outcomes were
    independent: up to 1.6 is in line, up to 2.6 somewhat off.

    Args:
        held: how many intervals held their outcome.
        total: how many intervals there were.
        coverage: how often they should hold.
    """
    validate.at_least("total", total, 0)
    if not 0 <= held <= total:
        raise ValueError(f"`0 <= held <= total` must hold, but got held={held}, total={total}.")
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"`0 < coverage < 1` must hold, but got coverage={coverage}.")
    if total < _FEW:
        return Verdict(held, total, coverage, Tone.UNKNOWN, "too few to judge")
    off = (held - total * coverage) / math.sqrt(total * coverage * (1.0 - coverage))
    if abs(off) <= _DOUBT:
        return Verdict(held, total, coverage, Tone.GOOD, f"in line with {percent(coverage)}")
    words = "over-confident" if off < 0 else "wider than needed"
    if abs(off) <= _SURE:
        return Verdict(held, total, coverage, Tone.CAUTION, f"somewhat {words}")
    return Verdict(held, total, coverage, Tone.BAD if off < 0 else Tone.CAUTION, words)
