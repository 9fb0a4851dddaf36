"""The same checks for every kind of forecast, each against quadrature or another library."""

from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtri

from calibrant import LeaderRecalibrator, Mixture, Normal, OnlineRecalibrator, Quantiles
from calibrant import ScipyForecast as Scipy
from calibrant.forecasts.generalised_normal import GeneralisedNormal
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.output_maps.power import PowerMap
from calibrant.forecasts.output_maps.tanh import TanhMap
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.forecasts.residual import Calibrated, LocationScale

LEADER = LeaderRecalibrator(3.0).update_scores([-3.0, -1.0, 0.5, 2.0, 2.5, 6.0]).residual
TABLE = WarpedNormal([0.1, 0.3, 0.5, 0.9], [0.02, 0.2, 0.6, 0.95])
HEAVY = GeneralisedNormal(1.3, 1.5)
ONLINE = OnlineRecalibrator(19, rate=0.03).update_many(np.linspace(0.01, 0.99, 7) ** 2).residual

FORECASTS = {
    "normal": Normal([0.0, 2.0, -1.0], [1.0, 0.5, 3.0]),
    "mixture": Mixture([[1, 3]], [[-2, 1], [0, 0.1], [5, 50]], [[1, 0.5], [2, 1], [1, 3]]),
    "quantiles": Quantiles(
        [0.05, 0.25, 0.5, 0.8], [[-2, -1, 0, 3], [0, 1, 1.5, 2], [5, 5.5, 9, 9.5]]
    ),
    "scipy": Scipy(stats.gumbel_r(loc=[0.0, 1.0, -4.0], scale=[1.0, 2.0, 0.5])),
    "normal leader": LocationScale([0.0, 2.0, -1.0], [1.0, 0.5, 3.0], LEADER),
    "normal table": LocationScale([0.0, 2.0, -1.0], [1.0, 0.5, 3.0], TABLE),
    "normal online": LocationScale([0.0, 2.0, -1.0], [1.0, 0.5, 3.0], ONLINE),
    "normal generalised": LocationScale([0.0, 2.0, -1.0], [1.0, 0.5, 3.0], HEAVY),
    "quantiles leader": Calibrated(Quantiles([0.1, 0.5, 0.9], [[-1, 0, 3.0]] * 3), LEADER),
    "scipy table": Calibrated(Scipy(stats.logistic([0.0, 1.0, -4.0])), TABLE),
}
# Expectations that are integrals by definition are as good as their quadrature.
TOLERANCE = {"quantiles leader": 1e-5, "scipy table": 1e-5, "scipy": 1e-8}
OUTCOMES = np.array([0.3, 1.1, -2.0])
LEVELS = np.arange(1, 20) / 20  # all tables above have their kinks at some of these
KINKS = [-1.0, 0.0, 3.0]  # those of the table that is recalibrated
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


@pytest.fixture(params=FORECASTS, ids=str)
def name(request):
    return request.param


@pytest.fixture
def forecast(name):
    return FORECASTS[name]


def edges_of(forecast):
    """Places where a tabulated CDF has a kink: quadrature must not step over them."""
    z = np.concatenate([np.linspace(-9, 9, 181), ndtri(LEVELS)])
    return np.unique(forecast.at_score(z[:, None]))


def integrate(function, low, high, knots, steps=200):
    """Integrate by the rule of Gauss on every piece between knots, all points in one call."""
    knots = np.concatenate([knots, KINKS, np.linspace(low, high, steps + 1)])
    points = np.unique(np.concatenate([[low, high], knots[(knots > low) & (knots < high)]]))
    half = np.diff(points)[:, None] / 2
    return float((half * WEIGHTS * function(points[:-1, None] + half * (1 + NODES))).sum())


def test_scores_and_outcomes_are_inverse(forecast):
    z = np.array([[-9.0], [-3.0], [-0.7], [0.0], [0.4], [2.0], [8.9]])
    np.testing.assert_allclose(forecast.score(forecast.at_score(z)), z + np.zeros(3), atol=1e-7)


def test_cdf_increases_from_zero_to_one(forecast):
    y = np.sort(np.concatenate([np.linspace(-60, 60, 400), edges_of(forecast)]))[:, None]
    cdf = forecast.cdf(y)
    assert np.all(np.diff(cdf, axis=0) >= -3e-16)  # ndtr itself is monotone up to rounding
    assert np.all((cdf >= 0) & (cdf <= 1))


def test_quantile_is_the_inverse_of_the_cdf(forecast):
    p = np.array([0.01, 0.2, 0.5, 0.77, 0.999])[:, None]
    np.testing.assert_allclose(forecast.cdf(forecast.quantile(p)), p + np.zeros(3), atol=1e-9)


def test_pdf_is_the_slope_of_the_cdf(forecast):
    y = OUTCOMES + np.array([0.013])
    slope = (forecast.cdf(y + 1e-6) - forecast.cdf(y - 1e-6)) / 2e-6
    np.testing.assert_allclose(forecast.pdf(y), slope, rtol=2e-4, atol=1e-9)


@pytest.mark.parametrize("point", [0, 1, 2])
def test_expectations_agree_with_quadrature(name, forecast, point):
    one, y = forecast[point], OUTCOMES[point]
    tolerance = TOLERANCE.get(name, 1e-9)
    knots = edges_of(forecast[[point]])
    low, high = np.ravel(one.quantile([1e-15, 1 - 1e-15]))
    low, high = min(low, y, 0.0), max(high, y, 0.0)

    cdf = one.cdf
    mean = integrate(lambda x: 1 - cdf(x), 0, high, knots) - integrate(cdf, low, 0, knots)
    np.testing.assert_allclose(one.mean(), mean, atol=tolerance, rtol=tolerance)
    square = 2 * integrate(lambda x: x * (1 - cdf(x)), 0, high, knots)
    square -= 2 * integrate(lambda x: x * cdf(x), low, 0, knots)
    np.testing.assert_allclose(
        one.std() ** 2, square - mean**2, rtol=10 * tolerance, atol=tolerance
    )
    shortfall = integrate(cdf, low, y, knots)
    np.testing.assert_allclose(one.shortfall(y), shortfall, atol=tolerance, rtol=tolerance)
    if shortfall > 1e-6:  # below, quadrature is not a reference any more
        np.testing.assert_allclose(one.log_shortfall(y), np.log(shortfall), atol=100 * tolerance)
    crps = integrate(lambda x: cdf(x) ** 2, low, y, knots)
    crps += integrate(lambda x: (1 - cdf(x)) ** 2, y, high, knots)
    np.testing.assert_allclose(one.crps(y), crps, atol=tolerance, rtol=tolerance)


@pytest.mark.slow
def test_the_quadrature_agrees_with_an_adaptive_one(forecast):
    """What expectations are held against, held against scipy's quad on the same pieces."""
    one = forecast[0]
    knots = edges_of(forecast[[0]])
    low, high = np.ravel(one.quantile([1e-15, 1 - 1e-15]))
    points = [low, *knots[(knots > low) & (knots < high)], high]
    for function in (lambda x: one.cdf(x) ** 2, lambda x: x * (1 - one.cdf(x))):
        pieces = [quad(function, *ends, epsabs=1e-13, epsrel=1e-11)[0] for ends in pairwise(points)]
        np.testing.assert_allclose(integrate(function, low, high, knots), sum(pieces), rtol=1e-11)


def test_samples_follow_the_forecast(forecast):
    draws = forecast.sample(4000, np.random.default_rng(0))
    assert draws.shape == (4000, 3)
    for point in range(3):
        u = forecast[point].cdf(draws[:, point])
        assert stats.kstest(u, "uniform").pvalue > 1e-3


def test_one_point_is_a_scalar_forecast(forecast):
    one = forecast[1]
    assert one.batch == ()
    assert np.shape(one.cdf(0.3)) == ()
    np.testing.assert_allclose(one.crps(0.3), forecast.crps(np.full(3, 0.3))[1])
    assert forecast[:2].batch == (2,)


def test_an_outcome_forty_std_away_differs_from_one_nine_std_away(forecast):
    mean, std = forecast.mean(), forecast.std()
    for sign in (-1, 1):
        near, far = forecast.score(mean + sign * 9 * std), forecast.score(mean + sign * 40 * std)
        assert np.all(np.isfinite(near) & np.isfinite(far))
        assert np.all(sign * (far - near) > 0.5)


def test_interval_holds_its_share(forecast):
    low, high = forecast.interval(0.8)
    np.testing.assert_allclose(forecast.cdf(high) - forecast.cdf(low), 0.8, atol=1e-9)


def test_normal_crps_agrees_with_scoringrules():
    y, mean, std = np.array([0.1, 5.0, -3.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.2, 4.0])
    np.testing.assert_allclose(Normal(mean, std).crps(y), scoringrules.crps_normal(y, mean, std))


def test_mixture_crps_agrees_with_scoringrules():
    weights, means, stds = [[0.2, 0.8]], [[-1.0, 2.0]], [[0.5, 1.5]]
    expected = scoringrules.crps_mixnorm(np.array([0.4]), means, stds, weights)
    np.testing.assert_allclose(Mixture(weights, means, stds).crps([0.4]), expected)


def test_a_large_ensemble_has_the_crps_of_its_members():
    draws = np.random.default_rng(1).gamma(2.0, size=(2, 4000))
    expected = scoringrules.crps_ensemble(np.array([0.5, 3.0]), draws)
    np.testing.assert_allclose(Quantiles.from_samples(draws).crps([0.5, 3.0]), expected, rtol=1e-3)


def test_a_table_of_normal_quantiles_is_that_normal():
    levels = np.arange(1, 20) / 20
    normal = Normal([1.0, -2.0], [0.5, 3.0])
    table = Quantiles(levels, normal.quantile(levels[:, None]).T)
    y = np.array([[-30.0, 40.0], [0.7, -2.2]])
    np.testing.assert_allclose(table.score(y), normal.score(y), rtol=1e-10)
    np.testing.assert_allclose(table.mean(), normal.mean(), atol=1e-12)
    np.testing.assert_allclose(table.std(), normal.std(), rtol=1e-12)
    np.testing.assert_allclose(table.crps(y), normal.crps(y), rtol=1e-10)
    np.testing.assert_allclose(table.log_shortfall(y), normal.log_shortfall(y), rtol=1e-9)


def test_quantiles_that_cross_by_rounding_only_are_equal():
    below = np.nextafter(1.0, 0.0)
    table = Quantiles([0.1, 0.4, 0.7, 0.9], [0.0, 1.0, below, 3.0])
    np.testing.assert_array_equal(table.quantile([0.4, 0.7]), [1.0, 1.0])
    with pytest.raises(ValueError, match="they cross"):
        Quantiles([0.1, 0.4, 0.7, 0.9], [0.0, 1.0, 1.0 - 1e-12, 3.0])


def test_equal_quantiles_are_a_point_mass():
    table = Quantiles([0.1, 0.4, 0.7, 0.9], [0.0, 1.0, 1.0, 3.0])
    np.testing.assert_allclose(table.cdf([1.0 - 1e-9, 1.0]), [0.4, 0.7], atol=1e-8)
    np.testing.assert_allclose(table.quantile([0.45, 0.65]), [1.0, 1.0])


def test_point_masses_at_the_ends_keep_finite_tails():
    table = Quantiles([0.1, 0.4, 0.7, 0.9], [0.0, 0.0, 3.0, 3.0])
    assert np.isfinite(table.score([-5.0, 8.0])).all()
    assert np.isfinite([table.mean(), table.std(), table.crps(0.0)]).all()


def test_mixture_with_a_weightless_component_ignores_it():
    mixture = Mixture([0.0, 1.0], [100.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(mixture.quantile(0.9), Normal(1.0, 2.0).quantile(0.9))


@given(
    st.lists(
        st.tuples(st.floats(0.01, 1), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)),
        min_size=1,
        max_size=6,
    ),
    st.floats(-30, 30),
)
def test_mixture_quantiles_invert_scores(components, z):
    weights, means, stds = np.array(components).T
    mixture = Mixture(weights, means, stds)
    y = mixture.at_score(z)
    # Across a gap between components the score jumps within one rounding of y.
    spacing = 4 * np.spacing(np.abs(y)) + 1e-15
    assert mixture.score(y - spacing) - 1e-7 <= z <= mixture.score(y + spacing) + 1e-7


NARROW = Mixture([0.5, 0.5], [-1.0, 5.0], [1e-6, 2.0])  # brackets of its quantiles shrink unevenly
ONE_POINT = {
    **{name: forecast[1] for name, forecast in FORECASTS.items()},
    "narrow mixture": NARROW,
    "narrow mixture online": Calibrated(NARROW, ONLINE),
    "power map": Mapped(Normal(0.3, 1.2), PowerMap(power=0.4, low=-1.0, high=2.0)),
    "tanh map": Mapped(Normal(0.3, 1.2), TanhMap((0.5, 2.0), (1.0, 8.0), (0.0, -1.0))),
    "table": TABLE,
    "leader": LEADER,
}


@pytest.mark.parametrize("one", ONE_POINT.values(), ids=ONE_POINT)
@settings(max_examples=15)
@given(st.lists(st.floats(1e-9, 1.0, exclude_max=True), min_size=2, max_size=12))
def test_a_quantile_does_not_depend_on_what_is_read_with_it(one, levels):
    """To the last bit: where outcomes tie with quantiles, hits are counted on equality."""
    together = one.quantile([*levels, *LEVELS])
    np.testing.assert_array_equal(together[: len(levels)], [one.quantile(p) for p in levels])
    np.testing.assert_array_equal(together[len(levels) :], one.quantile(LEVELS))


def test_ties_with_quantiles_read_one_by_one_keep_the_guarantee():
    recalibrator, level, hits, surplus = OnlineRecalibrator(99, rate=0.19), 0.88, 0, []
    for t in range(1, 61):
        shown = recalibrator.calibrate(NARROW).quantile(level)
        outcome = np.clip(shown, -1e6, 1e6)  # it may be infinite
        hits += outcome <= recalibrator.calibrate(NARROW).quantile(level)
        surplus.append(abs(hits - level * t))
        recalibrator = recalibrator.observe(NARROW, outcome)
    assert max(surplus) <= recalibrator.guarantee + 1e-9


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(-40, 40))
def test_normal_round_trip_at_all_scales(mean, std, z):
    forecast = Normal(mean, std)
    scale = abs(mean) / std + 1
    np.testing.assert_allclose(forecast.score(forecast.at_score(z)), z, atol=1e-14 * scale + 1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0.0, -1.0), "`std > 0` must hold, but got std=-1"),
        (lambda: Normal(0.0, 0.0), "`std > 0`"),
        (lambda: Normal(np.nan, 1.0), "`mean` must be finite, but got mean=nan"),
        (lambda: Normal([0.0, 1.0], [1.0, 1.0, 1.0]), "Shapes must agree"),
        (lambda: Normal("a", 1.0), "`mean` must be numeric"),
        (lambda: Mixture([1.0, -1.0], [0.0, 1.0], [1.0, 1.0]), "`weights` must be non-negative"),
        (lambda: Mixture(1.0, 0.0, 1.0), "last axis of components"),
        (lambda: Quantiles([0.1, 0.9], [1.0, 0.0]), "np.sort"),
        (lambda: Quantiles([0.1, 0.9], [[0.0, 1.0], [1.0, 0.0]]), "at point 1"),
        (lambda: Quantiles([0.9, 0.1], [0.0, 1.0]), "strictly increasing"),
        (lambda: Quantiles([0.0, 0.5], [0.0, 1.0]), "`0 < level < 1` must hold, but got level=0"),
        (lambda: Quantiles([0.1, 1.2], [0.0, 1.0]), "level=1.2"),
        (lambda: Quantiles([0.5], [0.0]), "At least 2 levels"),
        (lambda: Quantiles([0.1, 0.9], [0.0, 1.0, 2.0]), "one quantile per level"),
        (lambda: Quantiles([0.1, 0.9], [2.0, 2.0]), "no spread"),
        (lambda: Quantiles.from_samples([1.0]), "At least 2 draws"),
        (lambda: Scipy(stats.norm), "frozen"),
        (lambda: Scipy(stats.poisson(3)), "continuous"),
        (lambda: Scipy(stats.norm(0, -1)), "invalid parameters"),
        (lambda: Normal(0.0, 1.0).quantile(1.5), "`0 <= p <= 1` must hold, but got p=1.5"),
        (lambda: Normal(0.0, 1.0).interval(1.0), "`0 < coverage < 1`"),
        (lambda: Normal(0.0, 1.0).crps(np.inf), "`y` must be finite"),
    ],
)
def test_bad_input_says_what_is_wrong(make, message):
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        make()


def test_a_forecast_owns_its_numbers():
    mean, levels = np.zeros(2), np.array([0.2, 0.8])
    forecast, table = Normal(mean, 1.0), Quantiles(levels, [0.0, 1.0])
    mean[0], levels[0] = 99.0, 0.7
    assert forecast.mean()[0] == 0.0
    assert table.quantile(0.2) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        forecast.mean()[0] = 5.0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_tiny_and_huge_scales(scale):
    for forecast in (
        Normal([0.0], [scale]),
        Mixture([1.0, 1.0], [[0.0, scale]], [[scale, scale]]),
        Quantiles([0.1, 0.5, 0.9], [[-scale, 0.0, 2 * scale]]),
    ):
        assert 0.5 * scale < forecast.std()[0] < 3 * scale
        assert 0.0 < forecast.crps([0.3 * scale])[0] < scale
        assert np.isfinite(forecast.crps([1.0])[0])
        assert np.isfinite(forecast.score([0.3 * scale])[0])


def test_scipy_scores_are_monotone_out_to_the_ends_of_the_support():
    for distribution in (
        stats.genextreme(-0.1),
        stats.uniform(),
        stats.rice(0.78),
        stats.gamma(2.0),
    ):
        y = np.concatenate([[-1e9, -10.0, -9.99], np.linspace(-3, 60, 300), [1e9]])
        score = Scipy(distribution).score(y)
        assert np.isfinite(score).all()
        assert np.all(np.diff(score) >= 0)


def test_scipy_shortfall_far_below():
    v = np.array([-8.0, -10.0, -20.0])
    expected = Normal(0.0, 1.0).log_shortfall(v)
    np.testing.assert_allclose(Scipy(stats.norm(0, 1)).log_shortfall(v), expected, rtol=1e-6)


def test_intervals_of_nearly_all_outcomes_are_finite():
    low, high = Normal(0.0, 1.0).interval(1.0 - 1e-13)
    assert float(low) == pytest.approx(ndtri(5e-14), rel=1e-3)
    assert float(high) == pytest.approx(-ndtri(5e-14), rel=1e-3)
    assert float(Normal(0.0, 1.0).interval(0.8)[0]) == ndtri(0.1)
