"""Verdicts on intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.evaluation.verdict import Tone, verdict


@pytest.mark.parametrize(
    ("held", "total", "tone", "words"),
    [
        (0, 0, Tone.UNKNOWN, "too few to judge"),
        (4, 9, Tone.UNKNOWN, "too few to judge"),
        (28, 35, Tone.GOOD, "in line with 80 %"),
        (24, 35, Tone.CAUTION, "somewhat over-confident"),
        (13, 35, Tone.BAD, "over-confident"),
        (33, 35, Tone.CAUTION, "somewhat wider than needed"),
        (300, 300, Tone.CAUTION, "wider than needed"),
    ],
)
def test_counts_are_judged(held, total, tone, words):
    said = verdict(held, total)
    assert (said.tone, said.words) == (tone, words)


@given(st.integers(10, 2000), st.floats(0.5, 0.99))
def test_true_intervals_are_rarely_blamed(total, coverage):
    """By the exact distribution of the count, not by the normal one that the verdict uses."""
    counts = range(total + 1)
    chance = stats.binom.pmf(counts, total, coverage)
    blamed = [verdict(held, total, coverage).tone is not Tone.GOOD for held in counts]
    assert chance[blamed].sum() < 0.2
    bad = [verdict(held, total, coverage).tone is Tone.BAD for held in counts]
    assert chance[bad].sum() < 0.05


def test_what_is_no_count_is_refused():
    for held, total, coverage in ((5, 4, 0.8), (-1, 4, 0.8), (1, 4, 1.0)):
        with pytest.raises(ValueError, match="must hold"):
            verdict(held, total, coverage)
