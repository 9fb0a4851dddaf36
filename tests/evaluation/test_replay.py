"""Replays are prequential: nothing is learned before it is forecast."""

import numpy as np
import pytest

from calibrant import (
    IdentityRecalibrator,
    LeaderRecalibrator,
    Normal,
    OnlineRecalibrator,
    Quantiles,
    replay,
)
from calibrant.cli.demo import autoregression, co2_stream
from calibrant.evaluation import metrics

rng = np.random.default_rng(0)
Y = rng.standard_normal(300)
FORECAST = Normal(np.zeros(300), np.full(300, 0.5))


def test_each_forecast_is_calibrated_before_its_outcome_is_seen():
    forecast, y = FORECAST[:120], Y[:120]
    result = replay(forecast, y, OnlineRecalibrator(rate=0.02))
    r = OnlineRecalibrator(rate=0.02)
    for t in (0, 1, 60, 119):
        known = r.observe(FORECAST[:t], Y[:t])
        np.testing.assert_allclose(
            result.quantiles[t], known.calibrate(FORECAST[t]).quantile(result.levels)
        )
    # changing the last outcome changes no forecast
    other = replay(forecast, np.append(y[:-1], 99.0), OnlineRecalibrator(rate=0.02))
    np.testing.assert_array_equal(other.quantiles, result.quantiles)


@pytest.mark.slow
def test_recalibration_repairs_an_overconfident_stream():
    result = replay(FORECAST, Y, LeaderRecalibrator())
    summary = result.summary()
    raw, calibrated = summary["raw"], summary["calibrated"]
    assert calibrated["calibration score"] < raw["calibration score"] / 5
    assert abs(metrics.pit_coverage(result.pits[100:], 0.8) - 0.8) < 0.06
    assert raw["80% coverage"] < 0.55
    assert calibrated["CRPS"] < raw["CRPS"]


def test_hits_keep_the_guarantee():
    result = replay(FORECAST, Y, OnlineRecalibrator(rate=0.1))
    surplus = result.hits.sum(axis=0) - Y.size * result.levels
    assert np.abs(surplus).max() <= 10 + 1e-9


def test_the_identity_changes_nothing():
    result = replay(FORECAST, Y, IdentityRecalibrator())
    np.testing.assert_allclose(result.quantiles, result.raw_quantiles)
    np.testing.assert_allclose(result.crps, result.raw_crps)
    np.testing.assert_array_equal(result.hits, result.raw_hits)
    np.testing.assert_allclose(result.interval(0.8), result.raw_interval(0.8))


def test_progress_is_told():
    seen = []
    replay(FORECAST[:5], Y[:5], IdentityRecalibrator(), progress=seen.append)
    assert seen == [1, 2, 3, 4, 5]


def test_bad_input():
    with pytest.raises(ValueError, match="One outcome per forecast point"):
        replay(FORECAST, Y[:10], IdentityRecalibrator())
    with pytest.raises(ValueError, match="`y` must be finite"):
        replay(FORECAST, np.full(300, np.nan), IdentityRecalibrator())
    with pytest.raises(ValueError, match="80% interval are not among the replayed ones"):
        replay(FORECAST, Y, IdentityRecalibrator(), levels=[0.5]).interval(0.8)


def test_the_demo_stream_is_real_and_its_model_drifts():
    stream = co2_stream()
    assert stream.y.size == stream.times.size == 1764
    assert 315 < stream.y.min() < stream.y.max() < 380  # parts per million, 1968 to 2001
    summary = replay(stream.forecast, stream.y, OnlineRecalibrator(19), levels=19).summary()
    assert summary["raw"]["80% coverage"] < 0.75
    assert abs(summary["calibrated"]["80% coverage"] - 0.8) < 0.02
    assert summary["calibrated"]["CRPS"] < summary["raw"]["CRPS"]


def test_autoregression_learns_a_known_recursion():
    series = np.empty(600)
    series[:2] = 1.0, 0.5
    noise = np.random.default_rng(0).standard_normal(600)
    for t in range(2, 600):
        series[t] = 0.3 + 0.5 * series[t - 1] - 0.2 * series[t - 2] + 0.1 * noise[t]
    forecast, y = autoregression(series, (1, 2), 400)
    np.testing.assert_allclose(forecast.std(), 0.1, rtol=0.1)
    assert np.std(forecast.score(y)) == pytest.approx(1.0, abs=0.15)


def test_coverages_are_those_of_the_intervals_where_outcomes_tie():
    rng = np.random.default_rng(0)
    ensembles = rng.poisson(3.0, (300, 40)).astype(float)
    counts = rng.poisson(3.0, 300).astype(float)
    forecast = Quantiles.from_samples(ensembles)
    result = replay(forecast, counts, OnlineRecalibrator())
    for name, (low, high) in (
        ("raw", result.raw_interval(0.8)),
        ("calibrated", result.interval(0.8)),
    ):
        inside = np.mean((low <= counts) & (counts <= high))
        assert result.summary()[name]["80% coverage"] == pytest.approx(inside)
