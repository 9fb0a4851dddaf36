"""Output maps and what they make of forecasts, against scipy, quadrature and their own inverses."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from calibrant import LeaderRecalibrator, Mixture, Normal, OnlineRecalibrator, Quantiles
from calibrant.evaluation.metrics import crps
from calibrant.forecasts.json import forecast_from_dict, forecast_to_dict
from calibrant.forecasts.mapped import Mapped, mapped
from calibrant.forecasts.output_maps import Outputs, PowerMap, fit_map
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.forecasts.residual import LocationScale, compose

rng = np.random.default_rng(0)
DATA = {
    "normal": rng.standard_normal(60),
    "right": np.exp(1.2 * rng.standard_normal(60)),
    "left": -np.exp(1.2 * rng.standard_normal(60)),
    "mixed": np.concatenate([rng.standard_normal(40), 20 * rng.random(10)]),
    "three": np.array([1.0, 2.0, 7.0]),
}


@pytest.fixture(params=list(Outputs), ids=str)
def outputs(request):
    return request.param


@pytest.fixture(params=DATA, ids=str)
def y(request):
    return DATA[request.param]


outcomes = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1e12), st.floats(-1e12, -1e-12)),
    min_size=1,
    max_size=20,
)


def test_training_outcomes_have_mean_zero_and_std_one(outputs, y):
    v = fit_map(outputs, y)(y)
    np.testing.assert_allclose([v.mean(), v.std()], [0.0, 1.0], atol=1e-10)


@pytest.mark.parametrize("outputs", list(Outputs), ids=str)
@given(train=outcomes, at=st.lists(st.floats(-1e15, 1e15), min_size=2, max_size=10))
def test_maps_increase_and_are_finite(outputs, train, at):
    at = np.sort(np.concatenate([at, train]))
    v = fit_map(outputs, train)(at)
    assert np.isfinite(v).all()
    assert np.all(np.diff(v) >= 0.0)


def test_maps_increase_strictly_between_outcomes(outputs, y):
    span = np.ptp(y)
    v = fit_map(outputs, y)(np.linspace(y.min() - span, y.max() + span, 2000))
    assert np.all(np.diff(v) > 0.0)


@pytest.mark.parametrize("outputs", list(Outputs), ids=str)
@given(train=outcomes)
def test_inverse_round_trip_of_any_outcomes(outputs, train):
    m = fit_map(outputs, train)
    back = m.inverse(m(train))
    # A large outcome next to small ones hides their last digits.
    np.testing.assert_allclose(back, train, rtol=1e-6, atol=1e-15 + 1e-6 * np.abs(train).max())


def test_inverse_round_trip_inside_and_outside_the_outcomes(outputs, y):
    m = fit_map(outputs, y)
    span = np.ptp(y)
    at = np.linspace(y.min() - 2 * span, y.max() + 2 * span, 501)
    np.testing.assert_allclose(m.inverse(m(at)), at, rtol=1e-9, atol=1e-9 * span)


@pytest.mark.parametrize("outputs", ["log", "box-cox"])
@pytest.mark.parametrize("decades", [6, 12, 20, 100])
def test_positive_outcomes_of_many_orders_come_back_to_their_own_digits(outputs, decades):
    y = 10.0 ** np.linspace(-decades, decades, 9)
    m = fit_map(outputs, y)
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-9)


def test_slope_is_the_derivative(outputs, y):
    m = fit_map(outputs, y)
    span = np.ptp(y)
    at = np.concatenate([y, np.linspace(y.min() - span, y.max() + span, 97)])
    step = 1e-6 * (1e-3 * span + np.abs(at - m.centre))
    slope = (m(at + step) - m(at - step)) / (2 * step)
    np.testing.assert_allclose(m.slope(at), slope, rtol=1e-5)
    assert np.all(m.slope(at) > 0.0)


@pytest.mark.parametrize("power", [-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 3.0])
def test_powers_are_those_of_scipy(power):
    t = np.array([-3.0, -0.4, 0.0, 0.2, 5.0])
    yeo_johnson = PowerMap(True, power, centre=1.0, unit=2.0, mean=0.3, std=0.7)
    expected = (stats.yeojohnson(t, lmbda=power) - 0.3) / 0.7
    np.testing.assert_allclose(yeo_johnson(1.0 + 2.0 * t), expected, rtol=1e-12, atol=1e-12)
    t = np.array([0.02, 0.4, 1.0, 5.0])
    box_cox = PowerMap(False, power, centre=1.0, unit=2.0, mean=0.3, std=0.7, low=0.01)
    expected = (stats.boxcox(t, lmbda=power) - 0.3) / 0.7
    np.testing.assert_allclose(box_cox(1.0 + 2.0 * t), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("power", [-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 3.0])
@pytest.mark.parametrize("signed", [True, False], ids=["yeo-johnson", "box-cox"])
def test_inverse_and_slope_at_every_power(power, signed):
    m = PowerMap(signed, power, 1.0, 2.0, 0.3, 0.7, low=-np.inf if signed else 0.05)
    y = 1.0 + 2.0 * np.array([-3.0, -0.4, 0.04, 0.06, 0.2, 1.3, 5.0])
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-10)
    slope = (m(y + 1e-6) - m(y - 1e-6)) / 2e-6
    np.testing.assert_allclose(m.slope(y), slope, rtol=1e-6)
    assert m.is_affine == (power == 1.0)


def test_box_cox_goes_on_as_a_straight_line_below_its_floor():
    m = fit_map("log", [1.0, 2.0, 5.0, 9.0])
    line = m(np.array([0.4, 0.1, -0.2, -0.5]))
    np.testing.assert_allclose(np.diff(line, n=2), 0.0, atol=1e-12)
    np.testing.assert_allclose(m.slope(0.5 + 1e-9), m.slope(0.5 - 1e-9), rtol=1e-6)


def test_log_of_positive_outcomes_is_their_logarithm():
    y = DATA["right"]
    expected = (np.log(y) - np.log(y).mean()) / np.log(y).std()
    np.testing.assert_allclose(fit_map("log", y)(y), expected, rtol=1e-10)


def test_standardised_outcomes_are_just_that(y):
    np.testing.assert_allclose(fit_map("standardise", y)(y), (y - y.mean()) / y.std(), rtol=1e-10)
    assert fit_map("standardise", y).is_affine


def test_a_skewed_distribution_is_straightened():
    for kind in ("yeo-johnson", "box-cox"):
        right, left = fit_map(kind, DATA["right"]), fit_map(kind, DATA["left"])
        assert right.power < 0.5
        assert left.power > 1.5
        for m, y in ((right, DATA["right"]), (left, DATA["left"])):
            assert abs(stats.skew(m(y))) < 0.5 * abs(stats.skew(y))
    assert 0.7 < fit_map("yeo-johnson", np.random.default_rng(1).standard_normal(500)).power < 1.3


def test_the_power_of_many_outcomes_is_the_most_likely_one():
    """With many outcomes the prior on the power no longer matters."""
    y = np.exp(0.8 * np.random.default_rng(2).standard_normal(3000))
    _, power = stats.boxcox(y)
    np.testing.assert_allclose(fit_map("box-cox", y).power, power, atol=0.06)
    m = fit_map("yeo-johnson", y)
    _, power = stats.yeojohnson((y - m.centre) / m.unit)
    np.testing.assert_allclose(m.power, power, atol=0.06)


def test_a_handful_of_outcomes_says_little_about_the_power():
    for y in ([1.0, 2.0, 30.0], [-30.0, -2.0, -1.0]):
        few = fit_map("yeo-johnson", y).power
        many = fit_map("yeo-johnson", y * 20).power
        assert abs(few - 1.0) < abs(many - 1.0)
    assert fit_map("yeo-johnson", [1.0, 30.0]).power == 1.0


def test_a_map_does_not_depend_on_the_units_of_outcomes(outputs, y):
    there = 1e4 * y if outputs in ("log", "box-cox") else 1e4 * y + 7e5
    np.testing.assert_allclose(fit_map(outputs, there)(there), fit_map(outputs, y)(y), atol=1e-8)


HARD = {
    "one": [3.0],
    "equal": [3.0] * 5,
    "zeros": [0.0] * 5,
    "equal and negative": [-7.0] * 4,
    "equal but for rounding": [1.0, 1.0, 1.0 + 1e-15, 1.0],
    "huge": [1e300, 2e300, -3e300, 1.5e300],
    "tiny": [1e-300, 2e-300, 5e-300, 4e-300],
    "huge next to tiny": [1e300, 1e-300, 1.0],
    "one tiny among huge": [*[1e300] * 9, 1e-300],
    "huge and tiny of both signs": [1e300, -1e300, 1e-300, 2e300, 1.0, 2.0],
    "largest": [1.7e308, 1.7e308, 1.6e308],
    "largest twice": [1.7e308, 1.7e308],
    "largest of both signs": [1.7e308, -1.7e308, 0.0],
    "subnormal": [5e-324, 1e-323, 0.0],
    "negative": [-5.0, -3.0, -1.0],
    "zero and one": [0.0, 1.0, 0.0, 1.0],
    "mostly equal": [1.0, 1.0, 1.0, 1.0, 1e6],
}


@pytest.mark.parametrize("data", HARD, ids=str)
def test_any_finite_outcomes_have_a_map(outputs, data):
    y = np.sort(HARD[data])
    m = fit_map(outputs, y)
    v = m(y)
    assert np.isfinite(v).all()
    assert np.abs(v).max() <= np.sqrt(y.size) + 1e-9  # mean 0, std at most 1
    assert np.all(np.diff(v) >= 0.0)
    assert np.isfinite(m.slope(y)).all()
    assert np.all(m.slope(y) > 0.0)
    assert np.isfinite(m.inverse(v)).all()
    # In any order of magnitude, low outcomes stay below high ones.
    assert np.all(np.diff(m.inverse(v)) >= 0.0)


def test_outcomes_of_any_scale_have_std_one(outputs):
    for scale in (1e-300, 1e-100, 1e100, 1e300):
        v = fit_map(outputs, scale * DATA["normal"])(scale * DATA["normal"])
        np.testing.assert_allclose(v, fit_map(outputs, DATA["normal"])(DATA["normal"]), atol=1e-6)


def test_beyond_the_range_of_a_bounded_map_lies_infinity():
    bounded = PowerMap(True, -1.0)  # below 1, for positive outcomes
    assert bounded.inverse(1.5) == np.inf
    assert PowerMap(True, 3.0).inverse(-1.5) == -np.inf
    np.testing.assert_array_equal(bounded.inverse([-np.inf, np.inf]), [-np.inf, np.inf])
    assert PowerMap(False, -1.0, low=0.1).inverse(1.5) == np.inf


def test_a_fitted_map_goes_on_as_a_straight_line_beyond_all_outcomes(outputs):
    y = np.array([1.0, 1.1, 1.2, 1.5, 3.0, 40.0, 900.0])  # a tail that asks for a bounded power
    m = fit_map(outputs, y)
    high = 900.0 * np.arange(1.0, 5.0)
    np.testing.assert_allclose(np.diff(m(high)), np.full(3, m(high[1]) - m(high[0])), rtol=1e-9)
    v = np.array([-8.0, -1.0, 0.0, 1.0, 8.0])
    assert np.isfinite(m.inverse(v)).all()
    np.testing.assert_allclose(m(m.inverse(v)), v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(m.slope(high), m.slope(900.0), rtol=1e-12)


def test_a_forecast_through_a_fitted_map_has_a_finite_crps():
    y = np.array([1.0, 1.1, 1.2, 1.5, 3.0, 40.0, 900.0])
    m = fit_map("yeo-johnson", y)
    assert m.power < 0.0
    forecast = Mapped(Normal(0.5, 1.0), m)
    drawn = forecast.sample(200_000, np.random.default_rng(0))
    np.testing.assert_allclose(forecast.mean(), drawn.mean(), rtol=0.02)
    assert np.isfinite(crps(forecast, 2.0))


def test_maps_are_plain_values(outputs, y):
    m = fit_map(outputs, y)
    assert PowerMap(**m.to_dict()) == m
    assert PowerMap(**json.loads(json.dumps(m.to_dict()))) == m


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_map("cubic", [1.0]), "'cubic' is not a valid Outputs"),
        (lambda: fit_map("log", [1.0, np.nan]), "`y` must be finite"),
        (lambda: fit_map("standardise", [np.inf]), "`y` must be finite"),
        (lambda: fit_map("log", ["a"]), "`y` must be numeric"),
    ],
)
def test_bad_outcomes(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


# Forecasts through a map

RIGHT = fit_map("yeo-johnson", DATA["right"])
UNBOUNDED = {  # powers from 0 to 2 reach every outcome, so that expectations exist
    "fitted": fit_map("yeo-johnson", DATA["normal"]),
    "log": fit_map("log", DATA["right"]),
    "bent down": PowerMap(True, 0.4, 1.0, 2.0),
    "bent up": PowerMap(True, 1.7, 1.0, 2.0),
    "box-cox": PowerMap(False, 0.5, 0.0, 2.0, 0.3, 0.7, 0.05),
}
MAPS = {**UNBOUNDED, "right": RIGHT, "left": fit_map("yeo-johnson", DATA["left"])}
INNER = {
    "normal": Normal([0.0, 0.4, -1.0], [0.5, 0.2, 0.3]),
    "mixture": Mixture([[1, 3]], [[-0.5, 0.6], [0, 0.1], [0.5, 0.9]], [[0.4, 0.3]] * 3),
}


@pytest.fixture(params=MAPS, ids=str)
def m(request):
    return MAPS[request.param]


@pytest.fixture(params=INNER, ids=str)
def inner(request):
    return INNER[request.param]


def test_scores_and_quantiles_are_those_of_the_inner_forecast(m, inner):
    forecast = Mapped(inner, m)
    assert forecast.batch == (3,)
    p = np.array([[0.001], [0.1], [0.5], [0.9], [0.999]])
    quantiles = forecast.quantile(p)
    np.testing.assert_array_equal(quantiles, m.inverse(inner.quantile(p)))
    np.testing.assert_allclose(forecast.cdf(quantiles), p + np.zeros(3), atol=1e-10)
    y = np.array([0.7, 2.0, -1.0])
    np.testing.assert_array_equal(forecast.score(y), inner.score(m(y)))


def test_density_is_the_slope_of_the_cdf(m, inner):
    forecast = Mapped(inner, m)
    y = forecast.quantile(np.array([[0.03], [0.3], [0.6], [0.98]]))
    step = 1e-6 * (1.0 + np.abs(y))
    slope = (forecast.cdf(y + step) - forecast.cdf(y - step)) / (2 * step)
    np.testing.assert_allclose(forecast.pdf(y), slope, rtol=1e-5)


@pytest.mark.parametrize("m", UNBOUNDED.values(), ids=UNBOUNDED)
def test_expectations_agree_with_quadrature(m, inner):
    forecast = Mapped(inner, m)
    y = np.array([0.7, 2.0, -1.0])
    for point in range(3):
        one = inner[point]
        middle = [float(one.quantile(p)) for p in (0.01, 0.25, 0.5, 0.75, 0.99)]
        low, high = float(one.at_score(-8.0)), float(one.at_score(8.0))

        def expected(function, one=one, ends=(low, high), points=middle):
            def integrand(v):
                return function(m.inverse(v)) * one.pdf(v)

            return quad(integrand, *ends, points=points, limit=400)[0]

        mean = expected(lambda value: value)
        square = expected(lambda value, mean=mean: (value - mean) ** 2)
        np.testing.assert_allclose(forecast[point].mean(), mean, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(forecast[point].std(), np.sqrt(square), rtol=1e-3)

        def gap(x, point=point):
            return (float(forecast[point].cdf(x)) - (x >= y[point])) ** 2

        ends = np.sort([*m.inverse([low, *middle, high]), y[point]])
        crps = sum(quad(gap, a, b, limit=200)[0] for a, b in pairwise(ends))
        np.testing.assert_allclose(forecast.crps(y)[point], crps, rtol=1e-4, atol=1e-4)
        shortfall = expected(lambda value, point=point: np.maximum(y[point] - value, 0.0))
        np.testing.assert_allclose(forecast.shortfall(y)[point], shortfall, rtol=1e-3, atol=1e-4)


def test_a_transformed_forecast_of_one_point(m, inner):
    forecast = Mapped(inner, m)
    assert forecast[1].batch == ()
    assert forecast[:2].batch == (2,)
    np.testing.assert_allclose(forecast[1].crps(0.3), forecast.crps(np.full(3, 0.3))[1])


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_expectations_at_tiny_and_huge_scales(scale):
    unscaled = Mapped(INNER["normal"], fit_map("yeo-johnson", DATA["mixed"]))
    forecast = Mapped(INNER["normal"], fit_map("yeo-johnson", scale * DATA["mixed"]))
    np.testing.assert_allclose(forecast.mean() / scale, unscaled.mean(), rtol=1e-6)
    np.testing.assert_allclose(forecast.std() / scale, unscaled.std(), rtol=1e-6)
    np.testing.assert_allclose(
        forecast.crps(np.full(3, scale)) / scale, unscaled.crps(np.ones(3)), rtol=1e-6
    )


def test_expectations_are_finite_where_quantiles_are_not():
    """Above 1 this map has no outcome: a forecast that reaches there has infinite quantiles."""
    forecast = Mapped(Normal([0.9, 0.0], [0.5, 0.1]), PowerMap(True, -1.0))
    assert forecast.quantile(0.999)[0] == np.inf
    assert np.isfinite([forecast.mean(), forecast.std(), forecast.crps([0.5, 0.5])]).all()


def test_an_affine_map_of_a_normal_is_a_normal():
    normal = Normal([0.0, 1.0], [1.0, 0.5])
    for kind in ("standardise", "yeo-johnson"):
        m = fit_map(kind, [5.0, 9.0])
        forecast = mapped(normal, m)
        assert isinstance(forecast, Normal)
        np.testing.assert_allclose(forecast.mean(), [7.0, 9.0])
        np.testing.assert_allclose(forecast.std(), [2.0, 1.0])
    assert isinstance(mapped(normal, RIGHT), Mapped)
    assert isinstance(mapped(INNER["mixture"], m), Mapped)


def test_an_affine_map_agrees_with_the_general_form():
    normal, m = Normal([0.0, 1.0], [1.0, 0.5]), PowerMap(False, 1.0, 3.0, 2.0, 0.1, 0.4, 0.05)
    short, general = mapped(normal, m), Mapped(normal, m)
    y = np.array([2.0, 5.0])
    np.testing.assert_allclose(short.score(y), general.score(y), rtol=1e-12)
    np.testing.assert_allclose(short.pdf(y), general.pdf(y), rtol=1e-12)
    np.testing.assert_allclose(short.quantile(0.9), general.quantile(0.9), rtol=1e-12)
    np.testing.assert_allclose(short.mean(), general.mean(), rtol=1e-6)
    np.testing.assert_allclose(short.crps(y), general.crps(y), rtol=1e-4)


RESIDUALS = {
    "normal": Normal(0.3, 1.4),
    "leader": LeaderRecalibrator().update_scores([-2.0, 0.5, 3.0]).residual,
    "online": OnlineRecalibrator(19, rate=0.05).update_many([0.1, 0.9, 0.95]).residual,
}


@pytest.mark.parametrize("residual", RESIDUALS, ids=str)
def test_recalibration_is_the_same_in_both_units(m, residual):
    residual = RESIDUALS[residual]
    inner = INNER["normal"]
    both = compose(Mapped(inner, m), residual)
    assert isinstance(both, Mapped)  # in the model's units, where it is Gaussian
    p = np.array([[0.1], [0.5], [0.95]])
    expected = m.inverse(compose(inner, residual).quantile(p))
    np.testing.assert_allclose(both.quantile(p), expected, rtol=1e-12)
    np.testing.assert_allclose(both.cdf(expected), p + np.zeros(3), atol=1e-9)


# Forecasts as JSON

ONE = {
    "normal": Normal(1.0 / 3.0, 2.0 / 7.0),
    "mixture": Mixture([1.0, 3.0], [-1.0, 2.0], [0.5, 0.1]),
    "transformed": Mapped(Normal(0.2, 0.7), RIGHT),
    "transformed mixture": Mapped(Mixture([0.5, 0.5], [0.0, 1.0], [0.2, 0.3]), RIGHT),
}


@pytest.mark.parametrize("name", ONE, ids=str)
def test_forecasts_come_back_exactly_from_json(name):
    forecast = ONE[name]
    back = forecast_from_dict(json.loads(json.dumps(forecast_to_dict(forecast))))
    assert type(back) is type(forecast)
    y = np.array([-3.0, 0.4, 1.1, 8.0])
    np.testing.assert_allclose(back.score(y), forecast.score(y), rtol=1e-14)
    np.testing.assert_allclose(back.quantile(0.37), forecast.quantile(0.37), rtol=1e-14)


@pytest.mark.parametrize(
    "forecast",
    [
        Quantiles([0.1, 0.5, 0.9], [0.0, 1.0, 5.0]),
        LocationScale(1.0, 2.0, RESIDUALS["leader"]),
        LocationScale(1.0, 2.0, RESIDUALS["online"]),
        Mapped(LocationScale(0.1, 0.5, RESIDUALS["leader"]), RIGHT),
    ],
    ids=["quantiles", "leader", "online", "transformed"],
)
def test_other_forecasts_come_back_as_their_quantiles(forecast):
    back = forecast_from_dict(json.loads(json.dumps(forecast_to_dict(forecast))))
    p = np.arange(1, 100) / 100
    np.testing.assert_allclose(back.quantile(p), forecast.quantile(p), rtol=1e-12)
    np.testing.assert_allclose(back.cdf(1.3), forecast.cdf(1.3), atol=2e-3)


def test_a_forecast_that_plays_infinity_can_be_stored():
    residual = WarpedNormal([0.05, 0.5, 0.95], [0.0, 0.5, 1.0])
    text = json.dumps(forecast_to_dict(LocationScale(1.0, 2.0, residual)), allow_nan=False)
    back = forecast_from_dict(json.loads(text))
    np.testing.assert_allclose(back.quantile(0.5), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forecast_to_dict(Normal([0.0, 1.0], 1.0)), r"got a batch of \(2,\)"),
        (lambda: forecast_from_dict({}), "not a stored forecast"),
        (lambda: forecast_from_dict({"kind": "normal", "mean": 0.0}), "not a stored forecast"),
        (lambda: forecast_from_dict({"kind": "cauchy"}), "not a stored forecast"),
    ],
)
def test_bad_stored_forecasts(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("huge", [1e9, 1e12, 1e15, 1e300])
def test_one_outcome_far_away_does_not_hide_the_others(huge):
    y = np.append(np.linspace(0.0, 1.0, 19), huge)
    v = fit_map("yeo-johnson", y)(y)
    assert np.ptp(v[:19]) > 0.2 * np.ptp(v)


@pytest.mark.parametrize("count", [2, 5, 8])
@pytest.mark.parametrize("penalty", [1e3, 1e6, 1e12])
def test_a_penalty_that_many_outcomes_have_does_not_hide_the_others(count, penalty):
    y = np.append(np.linspace(0.0, 1.0, 20 - count), np.full(count, penalty))
    v = fit_map("yeo-johnson", y)(y)
    assert np.ptp(v[: 20 - count]) > 0.1 * np.ptp(v)


def test_outcomes_that_differ_in_their_last_digits_are_told_apart():
    f = np.linspace(0.0, 1.0, 30)
    v = fit_map("yeo-johnson", 1e9 + 1e-4 * f)(1e9 + 1e-4 * f)
    assert np.corrcoef(v, f)[0, 1] > 0.99
    assert np.ptp(v) > 2.0
