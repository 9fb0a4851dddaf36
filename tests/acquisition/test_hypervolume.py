"""Expected hypervolume improvement, against draws, quadrature and finite differences."""

import numpy as np
import pytest
from scipy.integrate import quad

from calibrant import LeaderRecalibrator, Mixture, Normal, OnlineRecalibrator
from calibrant.acquisition import ExpectedImprovement
from calibrant.acquisition.base import Belief
from calibrant.acquisition.hypervolume import (
    MOST_OBJECTIVES,
    _spread_out,
    beyond,
    expected_volume,
    hypervolume_improvement,
)
from calibrant.acquisition.residual_tables import curves
from calibrant.core import Cube
from calibrant.core.front import hypervolume, not_dominated_boxes
from calibrant.forecasts.residual import LocationScale
from calibrant.models import GaussianProcess

rng = np.random.default_rng(3)
X = rng.random((12, 2))
POINTS = rng.random((7, 2))
GP = GaussianProcess(outputs="standardise")
THETA = np.log([0.4, 1.0, 1e-3])
FITS = [
    GP.at(THETA, X, outcomes)
    for outcomes in (
        np.sin(5 * X[:, 0]) + X[:, 1] ** 2,
        (X[:, 0] - 0.4) ** 2 + X[:, 1],
        np.cos(3 * X[:, 1]) + X[:, 0],
        X[:, 0] * X[:, 1] - 0.3 * X[:, 0],
    )
]
MEANS = np.array([fitted.means() for fitted in FITS])
SCORES = 2.0 * rng.standard_normal(40)
RESIDUALS = {
    "standard": Normal(0.0, 1.0),
    "stretched": Normal(0.0, 1.5),
    "mixture": Mixture([0.3, 0.7], [-1.0, 0.5], [0.6, 1.4]),
    "leader": LeaderRecalibrator().update_scores(SCORES).residual,
    "online": OnlineRecalibrator(19, rate=0.01).update_scores(SCORES[:10]).residual,
}
COUNTS = (2, 3, 4)


def criterion_of(count, name="standard", reference=None):
    residuals = [RESIDUALS[name]] * count
    return hypervolume_improvement(FITS[:count], residuals, MEANS[:count], reference)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["standard", "stretched", "mixture"])
def test_it_is_the_mean_gain_of_many_outcomes(count, name):
    reference = beyond(MEANS[:count].T)
    random = np.random.default_rng(0)
    points = random.random((60, 2))
    value, _ = criterion_of(count, name, reference)(points)
    before = hypervolume(MEANS[:count].T, reference)
    z = RESIDUALS[name].quantile(random.random((200, count)))
    for i in np.argsort(value)[[-1, -15]]:  # an improvement is likely enough to be drawn
        beliefs = [fitted.posterior(points[i][None]) for fitted in FITS[:count]]
        drawn = np.stack([b.mean + b.std * z[:, k] for k, b in enumerate(beliefs)], axis=1)
        gains = [hypervolume(np.vstack([MEANS[:count].T, y]), reference) - before for y in drawn]
        error = np.std(gains) / np.sqrt(len(gains))
        assert np.exp(value[i]) == pytest.approx(np.mean(gains), abs=4.0 * error)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["standard", "mixture"])
def test_it_is_the_integral_over_boxes_of_products_of_cdfs(count, name):
    """E[volume] = ∫ P(Y ≤ y) dy over what is not dominated: products, as Y_k are independent."""
    reference = beyond(MEANS[:count].T)
    boxes = not_dominated_boxes(MEANS[:count].T, reference)
    criterion = expected_volume(FITS[:count], [RESIDUALS[name]] * count, boxes)
    value, _ = criterion(POINTS[:1])
    summed, known = 0.0, {}
    for low, high in zip(boxes.lower, boxes.upper, strict=True):
        product = 1.0
        for k, ends in enumerate(zip(low, high, strict=True)):
            if (k, *ends) not in known:
                mean, std, _ = FITS[k].posterior(POINTS[:1])
                one = LocationScale(mean[0], std[0], RESIDUALS[name])
                start = max(ends[0], float(one.quantile(1e-13)))
                cdf = lambda y, one=one: float(one.cdf(y))  # noqa: E731
                known[k, *ends] = quad(cdf, start, ends[1])[0] if start < ends[1] else 0.0
            product *= known[k, *ends]
        summed += product
    assert value[0] == pytest.approx(np.log(summed), abs=1e-6 if name == "standard" else 5e-3)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["standard", "mixture", "online"])
def test_its_gradient(count, name):
    criterion = criterion_of(count, name)
    value, gradient = criterion(POINTS)
    assert value.shape == (len(POINTS),)
    for column, step in enumerate(1e-6 * np.eye(2)):
        expected = (criterion(POINTS + step)[0] - criterion(POINTS - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient()[:, column], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", RESIDUALS)
def test_of_one_objective_it_is_expected_improvement(name):
    best = MEANS[:1].min()
    value, gradient = hypervolume_improvement(
        FITS[:1], [RESIDUALS[name]], MEANS[:1], np.array([best + 1.0])
    )(POINTS)
    belief = Belief(FITS[0], RESIDUALS[name], float(best))
    criterion = ExpectedImprovement().criterion(
        belief, np.random.default_rng(0), Cube.continuous(2)
    )
    expected, by_x = criterion(POINTS)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(gradient(), by_x())


def test_a_dominated_point_is_worth_less():
    points = np.random.default_rng(1).random((400, 2))
    value, _ = criterion_of(2)(points)
    means = np.stack([fitted.posterior(points).mean for fitted in FITS[:2]], axis=1)
    stds = np.stack([fitted.posterior(points).std for fitted in FITS[:2]], axis=1)
    # Wider beliefs with lower means may only gain: the improvement is convex and decreasing.
    better = np.all(means[:, None] <= means[None], axis=2)
    wider = np.all(stds[:, None] >= stds[None], axis=2)
    first, second = np.nonzero(better & wider)
    assert first.size > 1000
    assert np.all(value[first] >= value[second] - 1e-9)


@pytest.mark.parametrize("name", RESIDUALS)
@pytest.mark.parametrize("count", COUNTS)
def test_far_from_any_improvement_there_is_still_a_slope(count, name):
    value, gradient = criterion_of(count, name, np.full(count, -60.0))(POINTS)
    assert np.isfinite(value).all()
    assert np.all(value < -20.0)
    assert np.isfinite(gradient()).all()
    assert np.all(np.abs(gradient()).max(axis=1) > 0.0)


@pytest.mark.parametrize("name", RESIDUALS)
def test_where_outcomes_are_known_it_is_finite(name):
    """At evaluated points the std is tiny, and the front's edges millions of stds away."""
    process = GaussianProcess(outputs="standardise", noise=0.0)
    exact = [process.at(np.log([0.4, 1.0]), X, fitted.v) for fitted in FITS]
    means = np.array([fitted.means() for fitted in exact])
    criterion = hypervolume_improvement(exact[:3], [RESIDUALS[name]] * 3, means[:3])
    value, gradient = criterion(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient()).all()
    assert value.max() < criterion(POINTS)[0].max()


def test_a_front_far_from_a_reference_that_the_user_sets():
    """Where no point is within the reference, all that counts is to get there."""
    value, _ = criterion_of(2, reference=np.array([-3.0, -3.0]))(POINTS)
    criteria = [
        ExpectedImprovement().criterion(
            Belief(fitted, RESIDUALS["standard"], -3.0),
            np.random.default_rng(0),
            Cube.continuous(2),
        )
        for fitted in FITS[:2]
    ]
    np.testing.assert_allclose(value, sum(criterion(POINTS)[0] for criterion in criteria))


def test_the_inferred_reference_lies_beyond_the_front():
    front = np.array([[0.0, 5.0], [1.0, 2.0], [4.0, 0.0]])
    np.testing.assert_allclose(beyond(front), [6.0, 7.5])
    single = beyond(np.array([[1.0, 2.0]]))
    assert np.all(single > [1.0, 2.0])  # a front of one point leaves room to improve on


@pytest.mark.parametrize("count", COUNTS)
def test_a_long_front_is_thinned_without_gaps(count):
    directions = np.abs(rng.standard_normal((500, count)))
    front = 1.0 - directions / np.linalg.norm(directions, axis=1)[:, None]
    kept = _spread_out(front, 60)
    assert kept.shape == (60, count)
    assert {tuple(row) for row in kept} <= {tuple(row) for row in front}
    np.testing.assert_array_equal(kept.min(axis=0), front.min(axis=0))
    away = np.abs(front[:, None] - kept[None]).max(axis=2).min(axis=1).max()
    random = rng.choice(500, 60, replace=False)
    assert away < np.abs(front[:, None] - front[random][None]).max(axis=2).min(axis=1).max()
    assert _spread_out(front[:20], 60) is not None
    np.testing.assert_array_equal(_spread_out(front[:20], 60), front[:20])


def test_it_needs_gaussian_beliefs():
    with pytest.raises(ValueError, match="GaussianBelief"):
        hypervolume_improvement([object(), object()], [Normal(0.0, 1.0)] * 2, MEANS[:2])


def test_it_is_for_up_to_four_objectives():
    assert MOST_OBJECTIVES == 4


@pytest.mark.parametrize("name", ["mixture", "leader", "online"])
def test_tables_reach_as_far_as_a_reference_may_be(name):
    """Past the last knot of a table, at 600,000 stds, a shortfall grows as its threshold does."""
    mean = np.array([[0.0]])
    for far in (3e5, 7e5, 1e9):
        value, slope = curves(RESIDUALS[name]).log_shortfall(mean + far)
        np.testing.assert_allclose(value, np.log(far), rtol=1e-5)
        np.testing.assert_allclose(slope, 1.0 / far, rtol=1e-3)
