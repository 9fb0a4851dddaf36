"""The theorem: coverage on any sequence, no crossing, at any time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr

from calibrant import (
    ChainRecalibrator,
    GaussianRecalibrator,
    LeaderRecalibrator,
    Normal,
    OnlineRecalibrator,
    Quantiles,
    ScipyForecast,
)
from calibrant.recalibration.guarantee import exact_rate, largest_surplus, overhang


def uniform(r, rng):
    return rng.uniform()


def always_above(r, rng):
    return 1.0


def always_below(r, rng):
    return 0.0


def overconfident(r, rng):
    return float(ndtr(2 * rng.standard_normal()))


def greedy(r, rng):
    """Answer so that the worst level ends up as far off as possible."""
    played = np.clip(r.played, 0, 1)
    candidates = np.concatenate([played, np.minimum(np.nextafter(played, 2), 1), [0.0, 1.0]])
    surplus = r.hits - r.count * r.levels
    after = np.abs(surplus + (candidates[:, None] <= r.played) - r.levels).max(axis=1)
    return float(rng.choice(candidates[after >= after.max() - 1e-12]))


def inverter(r, rng):
    """Answer so that the raw states get as much out of order as possible."""
    played = np.clip(r.played, 0, 1)
    candidates = np.concatenate([played, np.minimum(np.nextafter(played, 2), 1), [0.0, 1.0]])
    surplus = r.hits - r.count * r.levels
    theta = r.levels - r.rate * (surplus + (candidates[:, None] <= r.played) - r.levels)
    disorder = (np.maximum.accumulate(theta, axis=1) - theta).max(axis=1)
    return float(rng.choice(candidates[disorder >= disorder.max() - 1e-12]))


def teaser(r, rng):
    """Answer at, or just above, a random played level."""
    q = float(np.clip(rng.choice(r.played), 0, 1))
    return min(q + 1e-9, 1.0) if rng.uniform() < 0.5 else q


STREAMS = [uniform, always_above, always_below, overconfident, greedy, inverter, teaser]


def worst_surplus(r, stream, steps):
    """Play a stream; return the largest |hits − p·T| over all levels and times."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(steps):
        assert np.all(r.played[1:] >= r.played[:-1])
        u = stream(r, rng)
        covered = r.covers(u)
        before = r.hits
        r = r.update(u)
        np.testing.assert_array_equal(r.hits - before, covered)
        worst = max(worst, np.abs(r.hits - r.count * r.levels).max())
    return worst


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.19])
def test_the_bound_of_a_single_level_holds_for_all_99(stream, rate):
    steps = 1200 if rate > 0.01 else 2500
    assert worst_surplus(OnlineRecalibrator(99, rate), stream, steps) <= 1 / rate + 1e-9


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


def test_plain_lazy_projection_exceeds_the_single_level_bound():
    """Why the third rule exists: without it the first level goes over on a simple stream."""
    from scipy.optimize import isotonic_regression

    levels, rate = np.arange(1, 100) / 100, 0.2
    surplus, worst = np.zeros(99), 0.0
    for _ in range(3000):
        played = isotonic_regression(levels - rate * surplus).x
        surplus += (played >= 1.0) - levels  # every outcome is above the forecast: u = 1
        worst = max(worst, np.abs(surplus).max())
    assert worst > 1.05 / rate
    assert worst_surplus(OnlineRecalibrator(99, rate), always_above, 3000) <= 1 / rate + 1e-9


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


def test_calibrated_quantiles_keep_the_promise_however_wrong_the_model():
    """In outcomes, not PITs: a model whose std is a hundred times too small."""
    y = np.random.default_rng(2).standard_normal(1500)
    r, below = OnlineRecalibrator(9, rate=0.1), np.zeros(9)
    forecast = Normal(0.0, 0.01)
    for outcome in y:
        below += outcome <= r.calibrate(forecast).quantile(r.levels)
        r = r.observe(forecast, outcome)
    assert np.abs(below - y.size * r.levels).max() <= 1 / 0.1 + 1e-9


def outcome_surplus(r, forecast, choose, steps):
    """Play in outcomes; return the worst |hits − p·T| as a user would count them."""
    rng, hits, worst = np.random.default_rng(0), np.zeros(r.levels.size), 0.0
    for t in range(1, steps + 1):
        shown = r.calibrate(forecast).quantile(r.levels)
        y = choose(shown, rng)
        hits += y <= shown
        worst = max(worst, np.abs(hits - t * r.levels).max())
        r = r.observe(forecast, y)
    return worst


@pytest.mark.parametrize(
    "forecast",
    [
        Normal(0.3, 1.7),
        Quantiles([0.1, 0.3, 0.5, 0.7, 0.9], [0.0, 0.0, 0.0, 1.0, 3.0]),  # half the mass at 0
        ScipyForecast(stats.gamma(2.0)),
        LeaderRecalibrator().update_many([0.1, 0.9]).calibrate(Normal(-5.0, 0.1)),
    ],
    ids=["normal", "point mass", "gamma", "mixture"],
)
def test_outcomes_exactly_on_the_quantiles_shown(forecast):
    """Ties, rounding and point masses: what the user counts is what is counted."""

    def on_a_quantile(shown, rng):
        finite = shown[np.isfinite(shown)]
        return float(rng.choice(finite)) if finite.size else 0.0

    r = OnlineRecalibrator(9, rate=0.1)
    assert outcome_surplus(r, forecast, on_a_quantile, 400) <= r.guarantee + 1e-9
    assert outcome_surplus(r, forecast, lambda shown, rng: 0.0, 400) <= r.guarantee + 1e-9


@pytest.mark.parametrize("far", [-1e3, 1e3])
def test_intervals_and_levels_written_in_other_ways_keep_the_promise(far):
    """0.5 − 0.5·0.8 is not 0.1 in floating point, and arange(.01, 1, .01) is not k/100."""
    r, grid = OnlineRecalibrator(99, rate=0.1), np.arange(0.01, 1.0, 0.01)
    outside, below = np.zeros(99), np.zeros(99)
    coverages = np.round(np.arange(2, 100, 2) / 100, 2)
    for _ in range(300):
        calibrated = r.calibrate(Normal(0.0, 1.0))
        below += far <= calibrated.quantile(grid)
        for k, coverage in enumerate(coverages):
            low, high = calibrated.interval(coverage)
            outside[k] += not (low <= far <= high)
        r = r.observe(Normal(0.0, 1.0), far)
    assert np.abs(below - 300 * r.levels).max() <= 10 + 1e-9
    assert np.all(outside[:49] <= 300 * (1 - coverages) + 20 + 1e-9)  # two ends, 10 misses each


@pytest.mark.parametrize("first", [GaussianRecalibrator(), LeaderRecalibrator()], ids=repr)
def test_a_chain_keeps_the_promise_of_its_second_link(first):
    """Whatever the first makes of the forecasts, on outcomes that sit on the quantiles shown."""
    then = OnlineRecalibrator(9, rate=0.1)
    r, hits, rng = ChainRecalibrator(first, then), np.zeros(9), np.random.default_rng(0)
    for t in range(1, 301):
        forecast = Normal(np.sin(t), 0.2)
        shown = r.calibrate(forecast).quantile(then.levels)
        finite = shown[np.isfinite(shown)]
        y = float(rng.choice(finite)) if finite.size and t % 3 else 3.0 * rng.standard_normal()
        hits += y <= shown
        r = r.observe(forecast, y)
        assert np.abs(hits - t * then.levels).max() <= then.guarantee + 1e-9


def test_exact_rate_of_uneven_levels_is_kept():
    rng = np.random.default_rng(3)
    for _ in range(5):
        levels = np.sort(rng.choice(np.arange(1, 100), 6, replace=False)) / 100
        rate = exact_rate(tuple(levels.tolist()))
        r = OnlineRecalibrator(levels, rate)
        for stream in (greedy, inverter, teaser):
            assert worst_surplus(r, stream, 150) <= max(1, 1 / rate) + 1e-9


def test_one_step_is_gradient_descent_with_the_right_sign():
    r = OnlineRecalibrator([0.2, 0.5, 0.8], rate=0.01).update(0.6)
    np.testing.assert_allclose(r.played, [0.202, 0.505, 0.798])


def test_crossing_levels_are_averaged():
    r = OnlineRecalibrator([0.49, 0.51], rate=0.2).update(0.5)
    np.testing.assert_allclose(r.played, [0.5, 0.5])  # raw: 0.588 and 0.412


def test_where_one_level_must_be_hit_and_one_above_it_missed_their_mean_is_played():
    """Beyond the exact rate both may be in one block: no end of it keeps both promises."""
    r = OnlineRecalibrator([0.45, 0.48, 0.5, 0.52, 0.55], rate=1.0)
    for lowest_hit in (0, None, 1, 4):  # the outcome is at this level's quantile, or above all
        r = r.update(1.0 if lowest_hit is None else r.played[lowest_hit])
    np.testing.assert_array_equal(r.hits, [1, 2, 2, 2, 3])
    surplus, allowance = r.hits - r.count * r.levels, 1.0
    assert surplus[0] - r.levels[0] < -allowance  # one more miss would break the promise
    assert surplus[-1] - r.levels[-1] + 1.0 > allowance  # and so would one more hit here
    np.testing.assert_allclose(r.played, 0.5)


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


def test_a_million_updates():
    r = OnlineRecalibrator(3, rate=0.05)
    us = np.random.default_rng(0).uniform(size=500_000)
    r = r.update_many(us).update_many(np.ones(250_000)).update_many(np.zeros(250_000))
    assert r.count == 1_000_000
    assert np.abs(r.hits - r.count * r.levels).max() <= r.guarantee + 1e-6


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (0, "`levels >= 1`"),
        ([0.5, 1.2], "level=1.2"),
        ([0.5, 0.2], "strictly increasing"),
        ([], "non-empty"),
        ("many", "numeric"),
        ([[0.5]], "1-D"),
    ],
)
def test_bad_levels(levels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OnlineRecalibrator(levels)
