"""Acquisitions, against exact forecasts, quadrature and finite differences."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr, ndtri

from calibrant import (
    GaussianRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    Mixture,
    Normal,
    OnlineRecalibrator,
    Quantiles,
)
from calibrant.acquisition import (
    AnnealedBound,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    QuantileBound,
    Thompson,
)
from calibrant.acquisition.base import Belief, total
from calibrant.acquisition.multiobjective import scalarised_improvement
from calibrant.core import Axis, Cube
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.forecasts.residual import LocationScale
from calibrant.models import GaussianProcess, Matern52, Periodic

SCORES = 2.0 * np.random.default_rng(0).standard_normal(40)
RESIDUALS = {
    "standard": Normal(0.0, 1.0),
    "stretched": Normal(0.3, 1.5),
    "mixture": Mixture([0.3, 0.7], [-1.0, 0.5], [0.6, 1.4]),
    "leader": LeaderRecalibrator().update_scores(SCORES).residual,
    "online": OnlineRecalibrator(19, rate=0.01).update_scores(SCORES[:10]).residual,
    "isotonic": IsotonicRecalibrator().update_scores(SCORES).residual,
    "mass at infinity": OnlineRecalibrator(rate=0.05).update_scores(SCORES).residual,
}
NORMAL = ("standard", "stretched")
ACQUISITIONS = {
    "improvement": ExpectedImprovement(),
    "improvement with margin": ExpectedImprovement(0.2),
    "probability": ProbabilityOfImprovement(),
    "bound": QuantileBound(0.1),
}
BEST = -0.4
MEAN = np.array([-1.3, -0.4, 0.2, 0.9, 1.5, 4.0])
STD = np.array([0.3, 1.0, 0.5, 2.0, 0.7, 1.1])


@pytest.fixture(params=RESIDUALS, ids=str)
def name(request):
    return request.param


@pytest.fixture
def residual(name):
    return RESIDUALS[name]


@pytest.fixture(params=ACQUISITIONS, ids=str)
def acquisition(request):
    return ACQUISITIONS[request.param]


def criterion_of(acquisition, belief, seed=0, cube=None):
    cube = cube or Cube.continuous(belief.fitted.X.shape[1])
    return acquisition.criterion(belief, np.random.default_rng(seed), cube)


def closeness(name):
    """Normal residuals are read in closed form, others from a table; a kink is blurred there."""
    if name in NORMAL:
        return 1e-9
    return 2e-3 if name in ("mixture", "leader") else 0.1


# The value of a forecast


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_expected_improvement_is_the_exact_shortfall(name, residual, margin):
    value, _, _ = ExpectedImprovement(margin).rule(residual, BEST)(MEAN, STD)
    exact = LocationScale(MEAN, STD, residual).log_shortfall(BEST - margin)
    np.testing.assert_allclose(value, exact, atol=closeness(name))


@pytest.mark.parametrize("name", ["standard", "stretched", "mixture"])
def test_expected_improvement_is_the_integral_of_improvements(name):
    residual = RESIDUALS[name]
    value, _, _ = ExpectedImprovement(0.1).rule(residual, BEST)(MEAN, STD)
    for i in range(5):
        one = LocationScale(MEAN[i], STD[i], residual)
        low = float(one.quantile(1e-15))
        expected = quad(lambda y, one=one: (BEST - 0.1 - y) * float(one.pdf(y)), low, BEST - 0.1)[0]
        np.testing.assert_allclose(value[i], np.log(expected), atol=max(1e-6, closeness(name)))


def test_probability_of_improvement_is_the_cdf(name, residual):
    value, _, _ = ProbabilityOfImprovement(0.05).rule(residual, BEST)(MEAN, STD)
    exact = log_ndtr(LocationScale(MEAN, STD, residual).score(BEST - 0.05))
    np.testing.assert_allclose(value, exact, atol=closeness(name))


def test_quantile_bound_is_the_quantile(residual):
    value, _, _ = QuantileBound(0.1).rule(residual, BEST)(MEAN, STD)
    np.testing.assert_allclose(value, -LocationScale(MEAN, STD, residual).quantile(0.1), rtol=1e-12)


def test_quantile_bound_by_default_is_two_std():
    value, _, _ = QuantileBound().rule(Normal(0.0, 1.0), BEST)(MEAN, STD)
    np.testing.assert_allclose(value, -(MEAN - 2.0 * STD), atol=2e-3)


def test_a_bound_at_infinity_is_as_far_as_a_pit_can_see():
    residual = WarpedNormal([0.1, 0.5], [0.0, 0.5])
    value, by_mean, by_std = QuantileBound(0.05).rule(residual, BEST)(MEAN, STD)
    np.testing.assert_allclose(value, -(MEAN - 8.2 * STD))
    np.testing.assert_array_equal(by_mean, -1.0)
    np.testing.assert_array_equal(by_std, 8.2)


def test_an_annealed_bound_goes_from_exploring_to_exploiting():
    annealed = AnnealedBound(first=float(ndtr(-3.0)), last=float(ndtr(-0.5)), half_life=8.0)
    counts = np.arange(0, 400)
    scores = ndtri([annealed.level(int(n)) for n in counts])
    np.testing.assert_allclose(scores, -0.5 - 2.5 * 0.5 ** (counts / 8.0), atol=1e-9)
    assert AnnealedBound().level(0) == pytest.approx(0.00135)
    assert ndtri(AnnealedBound().level(10)) == pytest.approx(-1.75, abs=0.01)


def test_an_annealed_bound_is_the_quantile_at_the_level_of_its_outcomes(residual):
    for count in (0, 7, 60):
        belief = Belief(FITTED, residual, BEST, count)
        value, gradient = criterion_of(AnnealedBound(), belief)(POINTS)
        fixed = criterion_of(QuantileBound(AnnealedBound().level(count)), belief)(POINTS)
        np.testing.assert_array_equal(value, fixed[0])
        np.testing.assert_array_equal(gradient(), fixed[1]())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"first": 0.0}, "0"), ({"last": 1.0}, "1"), ({"half_life": 0.0}, "half_life > 0")],
)
def test_what_an_annealed_bound_cannot_be(wrong, message):
    with pytest.raises(ValueError, match=message):
        AnnealedBound(**wrong)


def test_derivatives_by_mean_and_std(acquisition, residual):
    rule, step = acquisition.rule(residual, BEST), 1e-6
    _, by_mean, by_std = rule(MEAN, STD)
    expected = (rule(MEAN + step, STD)[0] - rule(MEAN - step, STD)[0]) / (2 * step)
    np.testing.assert_allclose(by_mean, expected, rtol=1e-5, atol=1e-6)
    expected = (rule(MEAN, STD + step)[0] - rule(MEAN, STD - step)[0]) / (2 * step)
    np.testing.assert_allclose(by_std, expected, rtol=1e-5, atol=1e-6)


def test_a_higher_mean_is_never_worth_more(acquisition, residual):
    mean = np.linspace(-5.0, 45.0, 2001)
    value, by_mean, _ = acquisition.rule(residual, BEST)(mean, np.ones_like(mean))
    assert np.all(np.diff(value) <= 1e-12)
    assert np.all(by_mean <= 1e-12)


@pytest.mark.parametrize(
    ("acquisition", "name"),
    [
        *[("improvement", name) for name in RESIDUALS],
        # Mass at infinity improves whatever the mean.
        *[("probability", name) for name in RESIDUALS if name != "mass at infinity"],
    ],
)
def test_far_from_any_improvement_there_is_still_a_slope(acquisition, name):
    rule = ACQUISITIONS[acquisition].rule(RESIDUALS[name], 0.0)
    value, by_mean, by_std = rule(np.array([40.0, 400.0]), np.ones(2))
    assert np.isfinite([value, by_mean, by_std]).all()
    assert value[1] < value[0] < -20.0
    assert np.all(by_mean < -1e-3)
    assert np.all(by_std > 1e-3)


# Through a model

rng = np.random.default_rng(1)
X = rng.random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
POINTS = rng.random((7, 2))
THETA = np.log([0.4, 1.0, 1e-3])
GP = GaussianProcess(outputs="standardise")
FITTED = GP.at(THETA, X, Y)


def check_gradient(criterion, points=POINTS, rtol=1e-4):
    value, gradient = criterion(points)
    assert value.shape == (len(points),)
    for column, step in enumerate(1e-6 * np.eye(points.shape[1])):
        expected = (criterion(points + step)[0] - criterion(points - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient()[:, column], expected, rtol=rtol, atol=1e-4)


def test_criterion_is_the_rule_at_the_posterior(acquisition, residual):
    belief = Belief(FITTED, residual, float(FITTED.means().min()))
    value, _ = criterion_of(acquisition, belief)(POINTS)
    mean, std, _ = FITTED.posterior(POINTS)
    np.testing.assert_array_equal(value, acquisition.rule(residual, belief.best)(mean, std)[0])


@pytest.mark.parametrize(
    "kernel", [Matern52(), Matern52(True), Periodic()], ids=["iso", "ard", "p"]
)
def test_gradients_of_criteria(acquisition, kernel):
    lengths = [0.4] * (2 if kernel.per_dimension else 1)
    theta = np.log([*lengths, *([1.5] if isinstance(kernel, Periodic) else []), 1.0, 1e-3])
    fitted = GaussianProcess(kernel, outputs="standardise").at(theta, X, Y)
    for name in ("stretched", "mixture", "online"):
        belief = Belief(fitted, RESIDUALS[name], float(fitted.means().min()))
        check_gradient(criterion_of(acquisition, belief))


def test_gradients_of_criteria_do_not_move_labels(acquisition):
    labels = np.column_stack([np.round(X[:, 0] * 2), X[:, 1]])
    fitted = GaussianProcess(Matern52(categorical=(0,))).fit(labels, Y)
    criterion = criterion_of(acquisition, Belief(fitted, Normal(0.0, 1.0), 0.0))
    _, gradient = criterion(labels[:4] + np.array([0.0, 0.01]))
    np.testing.assert_array_equal(gradient()[:, 0], 0.0)
    assert np.all(gradient()[:, 1] != 0.0)


def test_the_sum_of_criteria():
    first = criterion_of(ExpectedImprovement(), Belief(FITTED, RESIDUALS["mixture"], BEST))
    second = criterion_of(ProbabilityOfImprovement(), Belief(FITTED, RESIDUALS["stretched"], 0.5))
    both = total([first, second])
    np.testing.assert_allclose(both(POINTS)[0], first(POINTS)[0] + second(POINTS)[0])
    check_gradient(both)
    assert total([first]) is first


def test_the_sum_has_a_gradient_only_if_all_have():
    def without(points):
        return points.sum(axis=1), None

    criterion = criterion_of(ExpectedImprovement(), Belief(FITTED, RESIDUALS["standard"], BEST))
    value, gradient = total([criterion, without])(POINTS)
    assert gradient is None
    np.testing.assert_allclose(value, criterion(POINTS)[0] + POINTS.sum(axis=1))


OTHERS = [
    GP.at(THETA, X, (X[:, 0] - 0.4) ** 2 + X[:, 1] ** 2),
    GP.at(THETA, X, np.cos(3 * X[:, 1]) + X[:, 0]),
]
SCALARISED = {
    "two": ([FITTED, OTHERS[0]], [0.3, 0.0], [0.4, 0.6]),
    "three": ([FITTED, *OTHERS], [0.4, 0.2, 0.5], [0.2, 0.3, 0.5]),
}


@pytest.mark.parametrize("objectives", SCALARISED, ids=str)
@pytest.mark.parametrize("name", ["standard", "stretched", "mixture"])
def test_scalarised_improvement_is_that_of_the_largest_outcome(objectives, name):
    fits, goals, weights = SCALARISED[objectives]
    residual = RESIDUALS[name]
    beliefs = [Belief(fitted, residual, goal) for fitted, goal in zip(fits, goals, strict=True)]
    value, _ = scalarised_improvement(beliefs, np.array(weights))(POINTS)
    expected = []
    for i in range(len(POINTS)):
        forecasts = [
            LocationScale(*(part[i] for part in f.posterior(POINTS)[:2]), residual) for f in fits
        ]

        def below(s, forecasts=forecasts):
            parts = zip(forecasts, goals, weights, strict=True)
            return np.prod([float(f.cdf(goal - s / weight)) for f, goal, weight in parts])

        pieces = ((0.0, 0.01), (0.01, 0.1), (0.1, 1.0), (1.0, 10.0))
        expected.append(np.log(sum(quad(below, *ends, epsabs=1e-12)[0] for ends in pieces)))
    check_up_to_a_constant(value, np.array(expected))


def check_up_to_a_constant(value, expected):
    """A criterion is as good with any constant added; where nothing improves it may be coarse."""
    likely = expected > -15.0
    assert likely.sum() >= 4
    assert np.ptp(expected[likely]) > 2.0
    assert np.ptp((value - expected)[likely]) < 0.1


@pytest.mark.parametrize("objectives", SCALARISED, ids=str)
@pytest.mark.parametrize("name", ["standard", "mixture", "online"])
def test_gradient_of_scalarised_improvement(objectives, name):
    fits, goals, weights = SCALARISED[objectives]
    beliefs = [Belief(f, RESIDUALS[name], goal) for f, goal in zip(fits, goals, strict=True)]
    criterion = scalarised_improvement(beliefs, np.array(weights))
    check_gradient(criterion)
    check_gradient(total([criterion, criterion_of(QuantileBound(), beliefs[0])]))


def test_scalarised_improvement_of_one_outcome_is_its_expected_improvement():
    belief = Belief(FITTED, RESIDUALS["stretched"], 0.3)
    one, _ = scalarised_improvement([belief], np.ones(1))(POINTS)
    expected, _ = criterion_of(ExpectedImprovement(), belief)(POINTS)
    check_up_to_a_constant(one, expected)


def test_scalarised_improvement_is_finite_far_from_any():
    beliefs = [
        Belief(FITTED, RESIDUALS["leader"], -60.0),
        Belief(OTHERS[0], RESIDUALS["online"], -60.0),
    ]
    value, gradient = scalarised_improvement(beliefs, np.array([0.5, 0.5]))(POINTS)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient()).all()
    assert np.all(np.abs(gradient()).max(axis=1) > 0)


# Models that are not Gaussian


@dataclass(frozen=True)
class ByQuantiles:
    """The same beliefs, known by a table of quantiles only."""

    fitted: object
    X = X

    def predict(self, points):
        mean, std, _ = self.fitted.posterior(points)
        levels = np.arange(1, 100) / 100
        return Quantiles(levels, mean[:, None] + std[:, None] * ndtri(levels))


@pytest.mark.parametrize("name", ["standard", "stretched", "mixture"])
def test_a_table_of_gaussian_quantiles_is_valued_like_the_gaussian(acquisition, name):
    residual = RESIDUALS[name]
    for best in (0.4, -1.0):
        table, gradient = criterion_of(acquisition, Belief(ByQuantiles(FITTED), residual, best))(
            POINTS
        )
        value, _ = criterion_of(acquisition, Belief(FITTED, residual, best))(POINTS)
        assert gradient is None
        likely = value > -9.0  # beyond, expectations are sums of too few cells
        assert likely.sum() >= 2
        tolerance = 1e-8 if name == "standard" else 0.02
        np.testing.assert_allclose(table[likely], value[likely], atol=tolerance)


def test_draws_from_a_table_of_quantiles_follow_it():
    belief = Belief(ByQuantiles(FITTED), RESIDUALS["stretched"], 0.0)
    draws = np.array([criterion_of(Thompson(), belief, seed)(POINTS)[0] for seed in range(1500)])
    mean, std, _ = FITTED.posterior(POINTS)
    np.testing.assert_allclose(-draws.mean(axis=0), mean + 0.3 * std, atol=0.2 * std.max())
    np.testing.assert_allclose(draws.std(axis=0), 1.5 * std, rtol=0.1)


# Thompson sampling

LINE_X = np.array([[0.1], [0.3], [0.55], [0.8]])
LINE = GP.at(np.log([0.15, 1.0, 1e-6]), LINE_X, np.array([0.0, 1.0, -1.0, 0.5]))
BETWEEN = np.array([[0.2], [0.42], [0.95]])


def draws_of(fitted, residual, points, count=300, candidates=64, cube=None):
    belief = Belief(fitted, residual, 0.0)
    criteria = (criterion_of(Thompson(candidates), belief, seed, cube) for seed in range(count))
    return -np.array([criterion(points)[0] for criterion in criteria])


def test_a_draw_is_repeated_by_its_seed_and_by_no_other():
    belief = Belief(LINE, Normal(0.0, 1.0), 0.0)
    first, again, other = (criterion_of(Thompson(), belief, seed)(BETWEEN)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.05


def test_draws_have_the_mean_and_std_of_the_belief():
    draws = draws_of(LINE, Normal(0.0, 1.0), BETWEEN)
    belief = LINE.posterior(BETWEEN)
    np.testing.assert_allclose(draws.mean(axis=0), belief.mean, atol=0.05)
    np.testing.assert_allclose(draws.std(axis=0), belief.std, rtol=0.12)


def test_draws_have_the_std_of_the_recalibrated_belief():
    draws = draws_of(LINE, Normal(0.0, 2.0), BETWEEN)
    np.testing.assert_allclose(draws.std(axis=0), 2.0 * LINE.posterior(BETWEEN).std, rtol=0.12)


def test_draws_go_through_the_data():
    draws = draws_of(LINE, Normal(0.0, 1.0), LINE_X, count=30)
    np.testing.assert_allclose(draws, np.tile(LINE.v, (30, 1)), atol=0.02)


def test_a_draw_is_a_function_with_a_gradient():
    criterion = criterion_of(Thompson(32), Belief(FITTED, RESIDUALS["mixture"], 0.0))
    check_gradient(criterion)
    np.testing.assert_array_equal(criterion(POINTS)[0], criterion(POINTS)[0])


def test_draws_of_labels_have_the_std_of_the_belief():
    """Random coordinates are no labels: a draw must be made at points that exist."""
    kernel = Matern52(categorical=(0,))
    seen = np.array([[0.25, 0.2], [0.25, 0.5], [0.25, 0.8]])
    theta = np.log([0.7, 1.0, 1e-4])
    fitted = GaussianProcess(kernel, outputs="standardise").at(theta, seen, [0.0, 0.3, 1.0])
    unseen = np.array([[0.75, 0.3], [0.75, 0.8]])
    cube = Cube((Axis((0.25, 0.75), categorical=True), Axis()))
    draws = draws_of(fitted, Normal(0.0, 1.0), unseen, count=200, cube=cube)
    np.testing.assert_allclose(draws.std(axis=0), fitted.posterior(unseen).std, rtol=0.2)


# The direction of recalibration

RECALIBRATORS = {
    "gaussian": GaussianRecalibrator(),
    "leader": LeaderRecalibrator(),
    "isotonic": IsotonicRecalibrator(),
    "online": OnlineRecalibrator(rate=0.01),
}


@pytest.mark.parametrize("name", RECALIBRATORS, ids=str)
@pytest.mark.parametrize("factor", [2.0, 0.5], ids=["too sure", "too timid"])
def test_direction_a_model_too_sure_is_believed_to_reach_further(name, factor):
    """The trap: R and its inverse confused would make over-confidence worse."""
    scores = factor * np.random.default_rng(2).standard_normal(1000)
    residual = RECALIBRATORS[name].update_scores(scores).residual
    plain, mean, std = Normal(0.0, 1.0), np.array([1.5]), np.array([0.8])
    for acquisition in (ExpectedImprovement(), ProbabilityOfImprovement(), QuantileBound(0.05)):
        before = acquisition.rule(plain, 0.0)(mean, std)[0]
        after = acquisition.rule(residual, 0.0)(mean, std)[0]
        assert (after > before + 0.1) == (factor > 1)
        assert (after < before - 0.1) == (factor < 1)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1])
def test_bad_levels(level):
    with pytest.raises(ValueError, match="`0 < level < 1` must hold"):
        QuantileBound(level)


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_a_draw_is_as_wide_as_the_belief_however_noisy_outcomes_are(noise):
    fitted = GP.at(np.log([0.15, 1.0, noise]), LINE_X, np.array([0.0, 1.0, -1.0, 0.5]))
    _, std, _ = fitted.posterior(BETWEEN)
    draws = draws_of(fitted, Normal(0.0, 1.0), BETWEEN)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.12)
