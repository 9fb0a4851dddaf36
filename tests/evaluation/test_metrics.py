"""Scores, against other libraries and by hand."""

import numpy as np
import pytest
import scoringrules
import uncertainty_toolbox as uct
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Normal
from calibrant.evaluation import metrics

rng = np.random.default_rng(0)
MEAN, STD = rng.standard_normal(200), rng.uniform(0.5, 2.0, 200)
Y = MEAN + 1.5 * STD * rng.standard_normal(200)
FORECAST = Normal(MEAN, STD)


def test_calibration_score_by_hand():
    # levels 1/3 and 2/3; shares of PITs at or below: 1/4 and 3/4
    pits = [0.2, 0.5, 0.6, 0.9]
    expected = (1 / 3 - 1 / 4) ** 2 + (2 / 3 - 3 / 4) ** 2
    assert metrics.calibration_score(pits, 2) == pytest.approx(expected)


def test_calibration_score_of_even_pits_is_nothing():
    assert metrics.calibration_score((np.arange(2000) + 0.5) / 2000) < 1e-6


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_miscalibration_area_against_a_fine_sum(pits):
    p = (np.arange(20000) + 0.5) / 20000
    share = np.searchsorted(np.sort(pits), p, side="right") / len(pits)
    assert metrics.miscalibration_area(pits) == pytest.approx(np.abs(share - p).mean(), abs=1e-4)


def test_miscalibration_area_of_a_forecast_that_is_always_too_low():
    assert metrics.miscalibration_area([1.0] * 5) == pytest.approx(0.5)


def test_coverage_from_forecasts_and_from_pits_agree():
    for level in (0.5, 0.8, 0.95):
        by_interval = metrics.coverage(FORECAST, Y, level)
        assert by_interval == pytest.approx(metrics.pit_coverage(FORECAST.cdf(Y), level))
        assert by_interval < level  # the std is too small by half


def test_crps_agrees_with_scoringrules():
    expected = scoringrules.crps_normal(Y, MEAN, STD).mean()
    assert metrics.crps(FORECAST, Y) == pytest.approx(expected)


def test_pinball_and_sharpness_agree_with_uncertainty_toolbox():
    expected = uct.check_score(MEAN, STD, Y, start_q=0.01, end_q=0.99, resolution=99)
    assert metrics.pinball(FORECAST, Y) == pytest.approx(expected)
    assert metrics.sharpness(FORECAST) == pytest.approx(uct.sharpness(STD))


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_misclassification_over_all_thresholds_is_the_pinball_loss(level):
    few, y = Normal(MEAN[:20], STD[:20]), Y[:20]
    thresholds = np.linspace(-12.0, 12.0, 24001)
    losses = [metrics.misclassification_loss(few, y, t, level) for t in thresholds]
    expected = metrics.pinball(few, y, [level])
    assert np.sum(losses) * 1e-3 == pytest.approx(expected, abs=1e-3)


def test_misclassification_over_all_levels_is_half_the_brier_score():
    levels = (np.arange(4000) + 0.5) / 4000
    losses = [metrics.misclassification_loss(FORECAST, Y, 0.2, p) for p in levels]
    brier = np.mean((FORECAST.cdf(0.2) - (Y <= 0.2)) ** 2)
    assert np.mean(losses) == pytest.approx(0.5 * brier, abs=1e-4)


def test_misclassification_by_hand():
    two = Normal([0.0, 0.0, 3.0], [1.0, 1.0, 1.0])  # "at or below 0" has 0.5, 0.5 and 0.001
    assert metrics.misclassification_loss(two, [-1.0, 1.0, -1.0], 0.0, 0.4) == pytest.approx(
        (0.0 + 0.4 + 0.6) / 3
    )
    each = metrics.misclassification_loss(two, [-1.0, 1.0, -1.0], [0.0, -9.0, -9.0], 0.4)
    assert each == 0.0
    with pytest.raises(ValueError, match="1"):
        metrics.misclassification_loss(two, [0.0, 0.0, 0.0], 0.0, 1.0)


def test_interval_score_agrees_with_uncertainty_toolbox():
    expected = uct.interval_score(MEAN, STD, Y, start_p=0.8, end_p=0.8, resolution=1)
    assert metrics.interval_score(FORECAST, Y, 0.8) == pytest.approx(expected)


def test_twice_the_pinball_loss_tends_to_the_crps():
    fine = 2 * metrics.pinball(FORECAST, Y, 4999)
    assert fine == pytest.approx(metrics.crps(FORECAST, Y), rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.calibration_score([]), "At least one outcome"),
        (lambda: metrics.calibration_score([1.5]), "`0 <= pits <= 1`"),
        (lambda: metrics.miscalibration_area([np.nan]), "`0 <= pits <= 1`"),
        (lambda: metrics.crps(FORECAST, Y[:3]), "One outcome per forecast point"),
        (lambda: metrics.coverage(FORECAST, Y, 1.0), "`0 < coverage < 1`"),
        (lambda: metrics.pit_coverage([0.5], 0.0), "`0 < coverage < 1`"),
        (lambda: metrics.pinball(FORECAST, Y, [0.5, 2.0]), "level=2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_masked_is_missing():
    y = np.ma.masked_equal([0.1, -0.3, -9999.0], -9999.0)
    with pytest.raises(ValueError, match=r"`y` must be finite, but got y=nan at position 2"):
        metrics.crps(Normal(np.zeros(3), np.ones(3)), y)
    assert np.isfinite(metrics.crps(Normal(np.zeros(2), np.ones(2)), y[:2]))
