"""What is promised beyond a single level: bounds, and the rate up to which they cost nothing."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.streams import STREAMS, greedy, inverter, teaser, worst_surplus

from calibrant import OnlineRecalibrator
from calibrant.recalibration.guarantee import exact_rate, largest_surplus, overhang


def overhang_by_hand(p):
    """Return e and e′ of the proof, as dicts by their ends, each from its own recursion."""
    above = {(a, a): 0.0 for a in range(len(p))}
    below = dict(above)
    for length in range(2, len(p) + 1):
        for a in range(len(p) - length + 1):
            b = a + length - 1
            mean = sum(p[a : b + 1]) / length
            up = max(above[a, c] + (b - c) / length for c in range(a, b))
            down = max(below[c + 1, b] + (c + 1 - a) / length for c in range(a, b))
            above[a, b] = max(0.0, up - (mean - p[a]))
            below[a, b] = max(0.0, down - (p[b] - mean))
    return above, below


def exact_rate_by_hand(p):
    """Return the largest rate at which no pair of levels can be at odds, case by case."""
    (above, below), last, rate = overhang_by_hand(p), len(p) - 1, 1.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i < j:
                one_block = [
                    above[i, c] + below[c + 1, j] + 1.0 - (p[j] - p[i]) for c in range(i, j)
                ]
                two_blocks = [
                    above[i, c] + below[after, j]
                    for c in range(i, j)
                    for after in range(c + 1, j + 1)
                ]
                apart = max(one_block + two_blocks)
            elif j < i:
                apart = max(
                    above[i, t] + below[s, j] for t in range(i, last + 1) for s in range(j + 1)
                )
            else:
                continue
            room = p[i] + 1.0 - p[j]
            rate = min(rate, (1.0 + room) / (apart + room))
    return rate


level_lists = st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True)


@given(levels=level_lists, rate=st.floats(0.05, 4.0))
@example(levels=[25, 75], rate=1.0)
@example(levels=[1, 2, 98, 99], rate=0.5)
def test_the_bounds_are_those_of_the_proof(levels, rate):
    p = tuple(level / 100 for level in sorted(levels))
    above, below = overhang_by_hand(p)
    np.testing.assert_allclose(
        overhang(p), [[above.get((a, b), 0.0) for b in range(len(p))] for a in range(len(p))],
        rtol=0.0, atol=1e-12,
    )  # fmt: skip
    assert exact_rate(p) == pytest.approx(exact_rate_by_hand(p), rel=1e-12)
    beyond = max(*above.values(), *below.values()) if rate > exact_rate(p) else 0.0
    assert largest_surplus(p, rate) == pytest.approx(max(1.0, 1.0 / rate) + beyond, rel=1e-12)
    assert largest_surplus(p, exact_rate(p)) == 1.0 / exact_rate(p)  # at that rate, too


def test_the_bounds_of_two_levels():
    assert overhang((0.25, 0.75))[0, 1] == 0.25  # half a hit, less the drift 0.5 − 0.25
    # One block: θ₁ − θ₂ ≤ η·(1 − 0.5), and there is room for 1 + (1 − η)·0.5.
    assert exact_rate((0.25, 0.75)) == 1.0
    assert exact_rate((0.49, 0.51)) == 1.0
    assert exact_rate((0.45, 0.48, 0.5, 0.52, 0.55)) < 1.0  # a level between two may be too many


def test_the_guarantee_of_single_levels_and_small_rates_is_exact():
    even = tuple((np.arange(1, 100) / 100).tolist())
    assert exact_rate(even) == pytest.approx(0.199, abs=1e-3)
    assert largest_surplus((0.3,), 7.0) == 1.0
    assert OnlineRecalibrator(99, 0.1).guarantee == 10.0
    assert OnlineRecalibrator(99, 1.0).guarantee == pytest.approx(1 + overhang(even).max())


def test_overhang_stays_below_the_logarithm_of_the_number_of_levels():
    for count in (2, 5, 30, 99):
        levels = tuple((np.arange(1, count + 1) / (count + 1)).tolist())
        assert 0 < overhang(levels).max() < np.log(count)


def test_exact_rate_of_uneven_levels_is_kept():
    rng = np.random.default_rng(3)
    for _ in range(5):
        levels = np.sort(rng.choice(np.arange(1, 100), 6, replace=False)) / 100
        rate = exact_rate(tuple(levels.tolist()))
        r = OnlineRecalibrator(levels, rate)
        for stream in (greedy, inverter, teaser):
            assert worst_surplus(r, stream, 150) <= max(1, 1 / rate) + 1e-9


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rate", [1.0, 5.0])
def test_beyond_the_exact_rate_the_stated_guarantee_holds(stream, rate):
    r = OnlineRecalibrator(99, rate)
    assert worst_surplus(r, stream, 600) <= r.guarantee + 1e-9


@settings(max_examples=150)
@given(
    us=st.lists(st.one_of(st.floats(0, 1), st.integers(0, 12)), max_size=80),
    levels=st.lists(st.integers(1, 99), min_size=1, max_size=12, unique=True),
    rate=st.floats(0.02, 4.0),
)
def test_guarantee_on_sequences_of_hypothesis(us, levels, rate):
    """Integers stand for "just at the k-th played level": the nastiest places."""
    r = OnlineRecalibrator(np.array(sorted(levels)) / 100, rate)
    guarantee = r.guarantee
    for u in us:
        if isinstance(u, int):
            u = float(np.clip(r.played[u % len(levels)], 0, 1))
        r = r.update(u)
        assert np.abs(r.hits - r.count * r.levels).max() <= guarantee + 1e-9


def test_a_greedy_player_who_chooses_the_outcomes_does_not_stay_within_one():
    """Why the guarantee at rate 1 grows with the number of levels: it is a discrepancy."""
    levels = np.arange(1, 100) / 100
    choices = (np.arange(99) >= np.arange(100)[:, None]) - levels  # what each gap would add
    surplus, worst = np.zeros(99), 0.0
    for _ in range(2000):
        after = surplus + choices
        surplus = after[np.argmin((after**4).sum(axis=1))]
        worst = max(worst, np.abs(surplus).max())
    assert 1.3 < worst < 1.7
