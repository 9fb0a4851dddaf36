"""The theorem: coverage on any sequence, no crossing, at any time."""

import numpy as np
import pytest
from scipy import stats
from tests.streams import STREAMS, always_above, worst_surplus

from calibrant import (
    ChainRecalibrator,
    GaussianRecalibrator,
    LeaderRecalibrator,
    Normal,
    OnlineRecalibrator,
    Quantiles,
    ScipyForecast,
)


def test_one_step_is_gradient_descent_with_the_right_sign():
    r = OnlineRecalibrator([0.2, 0.5, 0.8], rate=0.01).update(0.6)
    np.testing.assert_allclose(r.played, [0.202, 0.505, 0.798])


def test_crossing_levels_are_averaged():
    r = OnlineRecalibrator([0.49, 0.51], rate=0.2).update(0.5)
    np.testing.assert_allclose(r.played, [0.5, 0.5])  # raw: 0.588 and 0.412


@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("rate", [0.5, 0.5 - 5e-10])  # θ = 1 or 0, exactly or but for rounding
def test_what_is_at_the_end_is_played_beyond_it(outcome, rate):
    r = OnlineRecalibrator([0.5], rate).update_many([outcome, outcome])
    assert r.played[0] == (np.inf if outcome == 1.0 else -np.inf)


@pytest.mark.parametrize(("levels", "u"), [([0.5, 0.6], 0.55), ([0.4, 0.5], 0.45)])
def test_a_level_that_may_be_missed_once_more_is_left_to_its_block(levels, u):
    """The promise is kept with equality: no more help is given than is needed."""
    r = OnlineRecalibrator(levels, rate=1.0).update(u)
    surplus = r.hits - r.count * r.levels
    assert max((r.levels - surplus).max(), (surplus + 1.0 - r.levels).max()) == 1.0
    np.testing.assert_allclose(r.played, np.mean(r.levels - surplus))


def test_an_outcome_at_a_quantile_counts_as_covered_wherever_it_stands():
    r = OnlineRecalibrator([0.5])
    np.testing.assert_array_equal(r.update_many([0.5, 0.9]).hits, [1])
    np.testing.assert_array_equal(r.update_many([0.9, r.update(0.9).played[0]]).hits, [1])


def test_without_settings_there_is_a_level_for_each_per_cent():
    r = OnlineRecalibrator()
    np.testing.assert_allclose(r.levels, np.arange(1, 100) / 100)
    assert r.rate == 0.01
    assert r.guarantee == 100.0  # outcomes too many or too few, at any level and time


def test_the_state_cannot_be_written_to():
    fresh = OnlineRecalibrator(3)
    for r in (fresh, fresh.update(0.3), fresh.observe(Normal(0.0, 1.0), 0.3)):
        for array in (r.hits, r.levels, r.played):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


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


def test_where_a_block_begins_with_a_level_to_be_missed_and_has_one_to_be_hit():
    """A state as a file might hold it: the mean of the block is below 0, so is all of it."""
    levels = [0.01, 0.52, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99]
    r = OnlineRecalibrator(levels, 5.0, count=90, hits=[1, 46, 84, 85, 86, 87, 88, 89, 90])
    surplus = r.hits - r.count * r.levels
    np.testing.assert_array_equal(np.flatnonzero(surplus > r.levels), [0])
    np.testing.assert_array_equal(np.flatnonzero(surplus < r.levels - 1.0), [1])
    np.testing.assert_array_equal(r.played, -np.inf)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.19])
def test_the_bound_of_a_single_level_holds_for_all_99(stream, rate):
    steps = 1200 if rate > 0.01 else 2500
    assert worst_surplus(OnlineRecalibrator(99, rate), stream, steps) <= 1 / rate + 1e-9


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


@pytest.mark.parametrize("far", [-1e3, pytest.param(1e3, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize(
    "first",
    [GaussianRecalibrator(), pytest.param(LeaderRecalibrator(), marks=pytest.mark.slow)],
    ids=repr,
)
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


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_promise_does_not_wear_off(count):
    """Rounding errors do not add up: the state is a count of hits."""
    r = OnlineRecalibrator(3, rate=0.05)
    us = np.random.default_rng(0).uniform(size=count // 2)
    r = r.update_many(us).update_many(np.ones(count // 4)).update_many(np.zeros(count // 4))
    assert r.count == count
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
