"""How often statements with a probability came true, and how often they would by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.core.words import count, percent

_CHANCE = 0.95  # of what chance brings lies in the range given


@dataclass(frozen=True)
class Statements:
    """Statements of one kind, each made before its outcome.

    Args:
        kind: the noun of one of them, such as "interval".
        verb: what they did, such as "held".
        stated: the probability of each.
        came_true: whether each came true.
    """

    kind: str
    verb: str
    stated: FloatArray
    came_true: np.ndarray

    def __post_init__(self) -> None:
        validate.probabilities("stated", self.stated)

    @property
    def by_chance(self) -> tuple[int, int]:
        """The numbers that come true in 95 of 100 cases if all probabilities are right."""
        chances = np.ones(1)  # of 0, 1, … that come true, one statement after the other
        for p in self.stated:
            chances = np.append(chances * (1.0 - p), 0.0) + np.append(0.0, chances * p)
        cdf = np.cumsum(chances)
        tail = 0.5 - 0.5 * _CHANCE
        return int(np.searchsorted(cdf, tail)), int(np.searchsorted(cdf, 1.0 - tail))

    @property
    def believable(self) -> bool:
        """Whether what happened lies in the range of chance."""
        low, high = self.by_chance
        return bool(low <= self.came_true.sum() <= high)

    def __str__(self) -> str:
        how_many, true = count(self.stated.size, self.kind), int(self.came_true.sum())
        if not self.stated.size:
            return f"{how_many} so far."
        low, high = self.by_chance
        said = percent(float(self.stated.mean()))
        judged = "as stated" if self.believable else "not as stated"
        return (
            f"Of {how_many}, promised with {said} on average, {true} {self.verb}: {judged} "
            f"({low} to {high} are expected)."
        )
