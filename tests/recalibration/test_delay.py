"""Outcomes that arrive late and out of order: what is promised of the forecasts that were shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    ChainRecalibrator,
    GaussianRecalibrator,
    LeaderRecalibrator,
    Normal,
    OnlineRecalibrator,
    Quantiles,
)
from calibrant.recalibration.guarantee import exact_rate, largest_surplus, overhang
from calibrant.search.defaults import SHOWN

FORECAST = Normal(0.0, 1.0)
FAR = 60.0  # std: below or above every finite quantile


def greedy(shown, surplus, levels, t):
    """The outcome that makes the largest surplus of all."""
    finite = shown[np.isfinite(shown)]
    options = np.concatenate([[-FAR], np.nextafter(finite, np.inf), [FAR]])
    after = surplus + (options[:, None] <= shown) - levels
    return options[np.argmax(np.abs(after).max(axis=1))]


def against_the_median(shown, surplus, levels, t):
    """Just beside the median, on the side that its coverage is on already."""
    middle = levels.size // 2
    if not np.isfinite(shown[middle]):
        return -FAR
    return shown[middle] + (1e-9 if surplus[middle] < 0 else -1e-9)


def always_low(shown, surplus, levels, t):
    return -FAR


def in_waves(shown, surplus, levels, t):
    return FAR if (t // 40) % 2 else -FAR


ADVERSARIES = [greedy, against_the_median, always_low, in_waves]


def worst_surplus(r, delay, adversary, steps, seed=0):
    """Let ``delay`` forecasts wait; outcomes arrive in any order. Return the largest |N*|."""
    rng, waiting = np.random.default_rng(seed), []
    levels = r.levels
    surplus, worst = np.zeros(levels.size), 0.0
    for t in range(steps):
        issued = r.issue(FORECAST)
        shown = issued.calibrated.quantile(levels)
        assert np.all(shown[1:] >= shown[:-1])  # no crossing
        y = adversary(shown, surplus, levels, t)
        surplus += (y <= shown) - levels
        worst = max(worst, float(np.abs(surplus).max()))
        waiting.append((issued, y))
        while len(waiting) > delay:
            r = r.observe(*waiting.pop(int(rng.integers(len(waiting)))))
    return worst


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("delay", [0, 1, 3, 10, 30])
@pytest.mark.parametrize(
    ("levels", "rate"),
    [
        (1, 0.05),
        (9, 0.05),
        (99, 0.02),  # as the intervals of a search
        pytest.param(9, 0.3, marks=pytest.mark.slow),
        pytest.param(19, 1.0, marks=pytest.mark.slow),
    ],
)
def test_the_guarantee_with_delay(adversary, delay, levels, rate):
    r = OnlineRecalibrator(levels, rate)
    assert worst_surplus(r, delay, adversary, 250) <= r.guarantee_with_delay(delay) + 1e-9


@pytest.mark.parametrize("delay", [1, 3])
def test_the_guarantee_with_delay_is_nearly_reached(delay):
    """At an exact rate the bound is 1/rate and D·max(p, 1 − p) more: it could not be much less."""
    r = OnlineRecalibrator(9, 0.05)
    assert r.guarantee_with_delay(delay) == pytest.approx(20.0 + 0.9 * delay)
    assert worst_surplus(r, delay, greedy, 600) > 0.85 * r.guarantee_with_delay(delay)


@pytest.mark.parametrize(("delay", "bound"), [(0, 50.0), (3, 53.0), (15, 141.9)])
def test_the_bound_of_a_searchs_intervals_with_workers(delay, bound):
    """As the documents quote it: 1, 4 and 16 evaluations at a time."""
    assert SHOWN.then.to_dict() == OnlineRecalibrator(99, 0.02).to_dict()
    assert SHOWN.then.guarantee_with_delay(delay) == pytest.approx(bound, abs=0.05)


def test_counting_on_todays_quantiles_breaks_the_promise():
    """Why forecasts are issued: with a delay of one, the coverage of the shown median goes to 0."""
    r = OnlineRecalibrator(1, 0.05)
    waiting, hits, count = None, 0, 600
    for _ in range(count):
        shown = float(r.calibrate(FORECAST).quantile(0.5))
        y = shown + 1e-6 if np.isfinite(shown) else (FAR if shown < 0 else -FAR)
        hits += y <= shown
        if waiting is not None:
            r = r.observe(FORECAST, waiting)  # on the quantile of today, which has moved
        waiting = y
    assert hits / count < 0.2
    assert worst_surplus(OnlineRecalibrator(1, 0.05), 1, against_the_median, count) <= 20.5


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=40),
    st.integers(0, 6),
    st.sampled_from([0.02, 0.2, 2.0]),
    st.integers(0, 10**6),
)
def test_the_guarantee_with_delay_on_any_sequence(outcomes, delay, rate, seed):
    r = OnlineRecalibrator(7, rate)
    values = iter(outcomes * 3)
    worst = worst_surplus(r, delay, lambda *_: next(values), 3 * len(outcomes), seed)
    assert worst <= r.guarantee_with_delay(delay) + 1e-9


def test_without_delay_issued_is_observed():
    rng = np.random.default_rng(0)
    for r in (
        OnlineRecalibrator(19, 0.1),
        ChainRecalibrator(GaussianRecalibrator(), OnlineRecalibrator(19, 0.1)),
        LeaderRecalibrator(),
        GaussianRecalibrator(),
    ):
        issued = plain = r
        for y in rng.normal(0.5, 2.0, 30):
            issued = issued.observe(issued.issue(FORECAST), y)
            plain = plain.observe(FORECAST, y)
        assert issued.to_dict() == plain.to_dict()


def test_without_delay_the_bounds_are_the_known_ones():
    levels = tuple(np.arange(1, 20) / 20)
    assert exact_rate(levels, 0) == exact_rate(levels)
    np.testing.assert_array_equal(overhang(levels, 0), overhang(levels))
    assert (
        OnlineRecalibrator(19, 0.5).guarantee_with_delay(0) == OnlineRecalibrator(19, 0.5).guarantee
    )
    rates = [exact_rate(levels, delay) for delay in (0, 1, 3, 10)]
    assert rates == sorted(rates, reverse=True)
    bounds = [largest_surplus(levels, 0.5, delay) for delay in (0, 1, 3, 10)]
    assert bounds == sorted(bounds)


def test_a_chain_counts_on_what_it_showed():
    """The second learns from what the first made of the forecast when it was shown."""
    chain = ChainRecalibrator(GaussianRecalibrator(), OnlineRecalibrator(9, 0.05))
    issued = chain.issue(FORECAST)
    shown = issued.calibrated.quantile(chain.then.levels)
    for y in (4.0, 5.0, -6.0, 3.0):
        chain = chain.observe(FORECAST, y)
    y = 0.3
    after = chain.observe(issued, y)
    np.testing.assert_array_equal(after.then.hits - chain.then.hits, y <= shown)
    assert after.first.count == chain.first.count + 1


def test_several_points_at_once():
    r = OnlineRecalibrator(9, 0.1)
    batch = Normal(np.zeros(5), np.ones(5))
    y = np.array([-2.0, -0.1, 0.0, 0.4, 3.0])
    together = r.observe(r.issue(batch), y)
    hits = (y[:, None] <= r.calibrate(FORECAST).quantile(r.levels)).sum(axis=0)
    np.testing.assert_array_equal(together.hits, hits)
    assert together.count == 5


def test_point_masses_and_ties():
    """Of a forecast with a jump, outcomes on it count as shown."""
    table = Quantiles([0.1, 0.5, 0.9], [0.0, 0.0, 1.0])
    r = OnlineRecalibrator(9, 0.05)
    issued = r.issue(table)
    after = r.observe(issued, 0.0)
    np.testing.assert_array_equal(after.hits, issued.calibrated.quantile(r.levels) >= 0.0)


def test_mixed_up_recalibrators_are_refused():
    online, chain = OnlineRecalibrator(9, 0.1), ChainRecalibrator()
    with pytest.raises(ValueError, match="issued by another recalibrator"):
        online.observe(OnlineRecalibrator(19, 0.1).issue(FORECAST), 0.0)
    with pytest.raises(ValueError, match="issued by another recalibrator"):
        chain.observe(online.issue(FORECAST), 0.0)
    with pytest.raises(ValueError, match="delay >= 0"):
        online.guarantee_with_delay(-1)
    with pytest.raises(ValueError, match="One outcome per forecast point"):
        online.observe(online.issue(FORECAST), [0.0, 1.0])
