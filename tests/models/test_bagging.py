"""Ensembles of Gaussian processes, against mixtures put together by hand."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import Optimizer
from calibrant.core import Axis, Cube
from calibrant.forecasts.output_maps import PowerMap
from calibrant.models import RBF, BaggedProcesses, GaussianProcess, Matern52
from calibrant.models.protocol import GaussianBelief
from calibrant.search.history import History
from calibrant.search.step import Policy

DIM = 2
rng = np.random.default_rng(0)
X = rng.random((12, DIM))
Y = 30.0 + 8.0 * (np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(12))
NEW = rng.random((6, DIM))
PLAIN = GaussianProcess(RBF(), "standardise")


@pytest.fixture(scope="module")
def bag():
    return BaggedProcesses(PLAIN).fit(X, Y)


def moments(bag, points):
    """Mean and std of a mixture in equal parts, by the law of total variance."""
    beliefs = [member.posterior(points) for member in bag.members]
    mean = sum(b.mean for b in beliefs) / len(beliefs)
    second = sum(b.std**2 + b.mean**2 for b in beliefs) / len(beliefs)
    return mean, np.sqrt(second - mean**2)


def test_posterior_has_the_moments_of_the_mixture(bag):
    belief = bag.posterior(NEW)
    mean, std = moments(bag, NEW)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(belief.std, std, rtol=1e-8)
    assert len(bag.members) == 5


def test_mean_and_std_are_those_of_draws_from_the_members(bag):
    rng = np.random.default_rng(1)
    draws = np.concatenate(
        [rng.normal(*member.posterior(NEW)[:2], size=(20_000, 6)) for member in bag.members]
    )
    belief = bag.posterior(NEW)
    np.testing.assert_allclose(belief.mean, draws.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(belief.std, draws.std(axis=0), rtol=0.03)


def test_forecasts_add_the_members_noise_in_the_units_of_y(bag):
    mean, std = moments(bag, NEW)
    noise = np.mean([member.noise_variance[0] for member in bag.members])
    forecast = bag.predict(NEW)
    np.testing.assert_allclose(forecast.mean(), Y.mean() + Y.std() * mean, rtol=1e-9)
    np.testing.assert_allclose(forecast.std(), Y.std() * np.sqrt(std**2 + noise), rtol=1e-8)


def test_noise_that_was_given_is_as_wide_wherever_the_map_puts_it():
    x = np.linspace(0.0, 1.0, 40)[:, None]
    y = np.exp(4.0 * x[:, 0])
    process = GaussianProcess(RBF(), "log", noise=1.0)
    low, high = BaggedProcesses(process, members=20).fit(x, y).predict([[0.3], [0.9]]).interval(0.8)
    np.testing.assert_allclose(high - low, 2 * 1.2816, rtol=0.25)  # as of a normal of std 1


def test_members_are_processes_fitted_to_resamples_in_the_same_units(bag):
    rows = {tuple(row) for row in X}
    assert any(len({tuple(row) for row in member.X}) < len(X) for member in bag.members)
    for member in bag.members:
        assert {tuple(row) for row in member.X} <= rows
        assert member.v.size == Y.size
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in member.X]
        np.testing.assert_allclose(member.v, (Y[where] - Y.mean()) / Y.std(), rtol=1e-9)
    assert len({member.X.tobytes() for member in bag.members}) == 5
    np.testing.assert_allclose(bag.in_model_units(Y), (Y - Y.mean()) / Y.std(), rtol=1e-9)


def test_the_pullback_is_the_derivative(bag):
    a, b = np.random.default_rng(2).standard_normal((2, len(NEW)))

    def value(points):
        mean, std = moments(bag, points)
        return a * mean + b * std

    found = bag.posterior(NEW).pullback(a, b)
    for c, e in enumerate(1e-6 * np.eye(DIM)):
        difference = (value(NEW + e) - value(NEW - e)) / 2e-6
        np.testing.assert_allclose(found[:, c], difference, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_joint_draws_have_the_covariance_of_the_mixture(bag):
    """That of draws of functions from members in turn, by Monte Carlo; and exactly by hand."""
    points = NEW[:3]
    mean = bag.sample(points, np.zeros(3))
    # A draw is linear in its seeds: unit vectors read off the factor.
    factor = np.stack([bag.sample(points, e) - mean for e in np.eye(3)], axis=1)
    np.testing.assert_allclose(mean, bag.posterior(points).mean, rtol=1e-9)
    np.testing.assert_allclose(
        np.sqrt(np.diag(factor @ factor.T)), bag.posterior(points).std, rtol=1e-6
    )
    rng = np.random.default_rng(3)
    draws = np.array(
        [member.sample(points, rng.standard_normal(3)) for member in bag.members * 3000]
    )
    expected = np.cov(draws.T)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=0.05 * np.diag(expected).max())


def test_means_are_the_posterior_at_all_inputs(bag):
    np.testing.assert_allclose(bag.means(), moments(bag, X)[0], rtol=1e-9)


def test_conditioning_conditions_every_member(bag):
    values = np.array([0.5, -1.0])
    later = bag.condition(NEW[:2], values)
    for before, after in zip(bag.members, later.members, strict=True):
        by_hand = before.condition(NEW[:2], values)
        np.testing.assert_allclose(after.posterior(NEW).mean, by_hand.posterior(NEW).mean)
    np.testing.assert_array_equal(later.X, np.vstack([X, NEW[:2]]))
    assert later.means().shape == (14,)
    far, near = np.abs(bag.posterior(NEW[:2]).mean - values), np.abs(later.means()[-2:] - values)
    assert np.all(near < 0.5 * far)


def test_conditioning_on_its_own_means_narrows(bag):
    later = bag.condition(NEW[:2])
    assert np.all(later.posterior(NEW[:2]).std < 0.99 * bag.posterior(NEW[:2]).std)
    np.testing.assert_allclose(later.means()[-2:], bag.posterior(NEW[:2]).mean, atol=0.1)
    assert bag.condition(NEW[:0]) is bag


def test_the_same_outcomes_and_seed_give_the_same_ensemble(bag):
    again = BaggedProcesses(PLAIN).fit(X, Y)
    other = BaggedProcesses(PLAIN, seed=1).fit(X, Y)
    np.testing.assert_array_equal(again.posterior(NEW).mean, bag.posterior(NEW).mean)
    np.testing.assert_array_equal(again.posterior(NEW).std, bag.posterior(NEW).std)
    assert np.all(other.posterior(NEW).mean != bag.posterior(NEW).mean)


def test_members_disagree_where_there_are_no_outcomes():
    """The ensemble is less sure there than its members are on average."""
    X = np.linspace(0.0, 0.5, 12)[:, None]
    y = np.sin(12 * X[:, 0]) + 0.2 * np.random.default_rng(4).standard_normal(12)
    bag = BaggedProcesses(PLAIN, members=8).fit(X, y)
    far = np.array([[0.6], [0.7]])
    own = np.sqrt(np.mean([m.posterior(far).std ** 2 for m in bag.members], axis=0))
    assert np.all(bag.posterior(far).std > 1.05 * own)


def test_outputs_are_fitted_once_or_used_as_given():
    skewed = np.exp(Y / 8.0)
    bag = BaggedProcesses(GaussianProcess(RBF(), "log")).fit(X, skewed)
    assert all(member.outputs is bag.outputs for member in bag.members)
    expected = (np.log(skewed) - np.log(skewed).mean()) / np.log(skewed).std()
    np.testing.assert_allclose(bag.in_model_units(skewed), expected, rtol=1e-9)
    given = PowerMap(centre=3.0, unit=2.0)
    assert BaggedProcesses(GaussianProcess(RBF(), given)).fit(X, Y).outputs is given


@pytest.mark.parametrize("y", [[3.0], [3.0, 3.0], [1.0, -2.0], [3.0] * 8, [0.0] * 8], ids=str)
@pytest.mark.parametrize("noise", [None, 0.0], ids=["learned", "none"])
def test_few_or_equal_outcomes_give_a_usable_fit(y, noise):
    X = np.linspace(0.1, 0.9, len(y))[:, None]
    bag = BaggedProcesses(GaussianProcess(Matern52(), noise=noise)).fit(X, y)
    x = np.array([[0.1], [0.1], [0.37], [1.0]])
    for belief in (bag, bag.condition(x)):
        mean, std, pullback = belief.posterior(x)
        quantiles = belief.predict(x).quantile(np.array([[0.05], [0.5], [0.95]]))
        assert np.all(np.diff(quantiles, axis=0) > 0.0)
        draw = belief.sample(x, np.array([1.0, -1.0, 0.5, 2.0]))
        for part in (mean, pullback(np.ones(4), np.ones(4)), belief.means(), draw, quantiles):
            assert np.isfinite(part).all()
        assert np.all(std > 0.0)
    assert np.all(np.ptp(y) > 0 or bag.predict(x).quantile(0.5) == pytest.approx(y[0], abs=1e-6))


@pytest.mark.slow
def test_an_ensemble_is_a_gaussian_belief_and_searches(bag):
    assert isinstance(bag, GaussianBelief)
    optimizer = Optimizer(1, model=BaggedProcesses(PLAIN, members=3), seed=0)
    for _ in range(16):
        x = optimizer.ask()
        optimizer.tell(x, (6 * x[0] - 2) ** 2 * np.sin(12 * x[0] - 4))
    x, y = optimizer.best
    assert y < -6.0
    assert x[0] == pytest.approx(0.757, abs=0.02)


@pytest.mark.parametrize("model", [PLAIN, BaggedProcesses(PLAIN)], ids=["one", "bag"])
def test_a_search_tells_the_model_which_coordinates_are_labels(model):
    """Forecasts are then the same whichever label has which coordinate."""
    labels = np.array([1 / 6, 1 / 2, 5 / 6])
    cube = Cube((Axis(), Axis(tuple(labels), categorical=True)))
    which = np.arange(12) % 3

    def forecast(order):
        points = np.stack([np.linspace(0, 1, 12), labels[order][which]], axis=1)
        y = np.sin(5 * points[:, 0]) + np.array([0.0, 3.0, 0.5])[which]
        told = replace(History.empty(2), X=points, Y=y[:, None])
        policy = Policy(model=model)
        (fitted,) = policy.fit(policy.prepare(told, cube), cube).objectives
        return fitted.predict(np.array([[0.33, labels[order][k]] for k in range(3)]))

    one, other = forecast([0, 1, 2]), forecast([0, 2, 1])
    np.testing.assert_allclose(one.mean(), other.mean(), rtol=1e-6)
    np.testing.assert_allclose(one.std(), other.std(), rtol=1e-6)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_wrong_number_of_columns_says_so(bag, columns):
    with pytest.raises(ValueError, match="`X` must have 2 columns"):
        bag.predict(np.full((2, columns), 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BaggedProcesses(members=1), "`members >= 2` must hold, but got members=1"),
        (lambda: BaggedProcesses(members=0), "`members >= 2`"),
        (lambda: BaggedProcesses(GaussianProcess(outputs="tanh")), 'outputs="tanh"'),
        (lambda: BaggedProcesses().fit(X, Y[:3]), "`X` must have shape"),
        (lambda: BaggedProcesses().fit(X[:0], Y[:0]), "At least 1 outcomes"),
        (lambda: BaggedProcesses().fit(X, Y).predict(X * np.nan), "`X` must be finite"),
    ],
)
def test_bad_input_says_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()
