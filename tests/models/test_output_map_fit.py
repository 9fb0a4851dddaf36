"""Gaussian processes that learn the units of their outcomes."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from tests.differences import check_gradient

from calibrant.forecasts.json import forecast_from_dict, forecast_to_dict
from calibrant.forecasts.output_maps import PowerMap, TanhMap
from calibrant.models import (
    RBF,
    GaussianProcess,
    Kumaraswamy,
    Priors,
    fitted_gp,
)
from calibrant.models import (
    output_map_fit as output_warping,
)
from calibrant.models.likelihood import negative_log_joint

PSI = np.concatenate([np.log([0.8, 0.2, 2.0]), np.log([2.0, 0.7, 5.0]), [0.5, -1.0, 0.1]])


def squeezed(n, seed=6):
    """A sine seen through a map with a steep middle: most outcomes are small or large."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    v = 1.5 * np.sin(9 * X[:, 0]) + 0.03 * rng.standard_normal(n)
    return X, 100.0 + 7.0 * v**3


def test_values_and_jacobian_of_a_warp_are_the_maps():
    t = np.random.default_rng(7).standard_normal(12)
    v, log_jacobian, _ = output_warping._warped(t, PSI)
    rough = TanhMap.of(np.exp(PSI[:3]), np.exp(PSI[3:6]), PSI[6:], centre=0.0, unit=1.0)
    m = replace(rough, mean=rough(t).mean(), std=rough(t).std())
    np.testing.assert_allclose(v, m(t), rtol=1e-10)
    np.testing.assert_allclose([v.mean(), v.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(log_jacobian, np.log(m.slope(t)).sum(), rtol=1e-10)


def test_gradient_of_a_warp():
    rng = np.random.default_rng(8)
    t, weights = rng.standard_normal(12), rng.standard_normal(12)

    def value(psi):
        v, log_jacobian, _ = output_warping._warped(t, psi)
        return weights @ v**2 - 0.7 * log_jacobian

    v, _, pullback = output_warping._warped(t, PSI)
    check_gradient(value, PSI, pullback(2 * weights * v, -0.7))


def test_the_joint_loss_has_its_gradient_by_outcomes():
    rng = np.random.default_rng(9)
    kernel, X, v = RBF(), rng.uniform(0.02, 0.98, (10, 3)), rng.standard_normal(10)
    theta = np.log([0.4, 1.2, 0.02])
    joint = negative_log_joint(kernel, X, None, Priors())
    _, by_theta, by_v = joint(theta, v)
    check_gradient(lambda t: joint(t, v)[0], theta, by_theta)
    check_gradient(lambda u: joint(theta, u)[0], v, by_v)


@pytest.fixture
def descents(monkeypatch):
    """The losses that are descended, and where from."""
    seen = []
    real = output_warping.descend

    def watched(loss, start, *bounds, **settings):
        seen.append((loss, start))
        return real(loss, start, *bounds, **settings)

    monkeypatch.setattr(output_warping, "descend", watched)
    return seen


@pytest.mark.parametrize("priors", [None, Priors()], ids=["likelihood", "posterior"])
def test_gradient_of_what_most_probable_warps_are_found_by(descents, priors):
    X, y = squeezed(12)
    GaussianProcess(RBF(), "tanh", priors).fit(X, y)
    loss = descents[0][0]
    point = np.concatenate([np.log([0.2, 1.3, 0.01]), PSI])
    check_gradient(lambda p: loss(p)[0], point, loss(point)[1])


def test_the_loss_is_the_density_of_outcomes_and_of_the_steps(descents):
    """Up to a constant, by scipy: the Jacobian is there."""
    X, y = squeezed(12)
    fitted = GaussianProcess(RBF(), "tanh", None).fit(X, y)
    loss = descents[0][0]

    def by_hand(theta, psi):
        rough = TanhMap.of(
            np.exp(psi[:3]),
            np.exp(psi[3:6]),
            psi[6:],
            centre=fitted.outputs.centre,
            unit=fitted.outputs.unit,
        )
        m = replace(rough, mean=rough(y).mean(), std=rough(y).std())
        length, signal, noise = np.exp(theta)
        K = signal * np.exp(-0.5 * (X - X.T) ** 2 / length**2) + noise * np.eye(y.size)
        beliefs = stats.norm.logpdf(
            psi, np.repeat([np.log(0.3), 0.0, 0.0], 3), np.repeat([1.5, 1.0, 1.5], 3)
        )
        density = stats.multivariate_normal(np.zeros(y.size), K).logpdf(m(y))
        return -density - np.log(m.slope(y)).sum() - beliefs.sum()

    pairs = [
        (np.log([0.2, 1.3, 0.01]), PSI),
        (np.log([0.5, 0.6, 0.2]), PSI[::-1] / 2),
        (fitted.theta, 0.1 * PSI),
    ]
    found = [loss(np.concatenate(pair))[0] for pair in pairs]
    expected = [by_hand(*pair) for pair in pairs]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-7)


@pytest.mark.parametrize("where", [0.05, 0.4, 0.9])
def test_the_density_of_an_outcome_integrates_to_one(where):
    fitted = GaussianProcess(RBF(), "tanh").fit(*squeezed(15))
    assert isinstance(fitted.outputs, TanhMap)
    assert max(np.multiply(fitted.outputs.heights, fitted.outputs.slopes)) > 0.3  # not a line
    forecast = fitted.predict([[where]])[0]
    edges = forecast.at_score(np.linspace(-8, 8, 33))
    mass = sum(quad(forecast.pdf, a, b)[0] for a, b in pairwise(edges))
    np.testing.assert_allclose(mass, 1.0, atol=1e-6)
    half = sum(quad(forecast.pdf, a, b)[0] for a, b in pairwise(edges[:17]))
    np.testing.assert_allclose(half, forecast.cdf(edges[16]), atol=1e-6)


@pytest.mark.slow
def test_learned_units_of_outcomes_forecast_better_than_the_given_ones():
    """Outcomes that are a sine seen backwards through a steep map of the same kind."""

    def behind_a_step(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.random((n, 1))
        v = 6.0 * np.sin(9 * X[:, 0]) + 0.01 * rng.standard_normal(n)
        return X, TanhMap((4.0,), (2.0,), (0.0,)).inverse(v)

    errors = []
    for seed in range(3):
        X, y = behind_a_step(16, seed)
        new, truth = behind_a_step(100, 10 + seed)
        for outputs in ("standardise", "tanh"):
            fitted = GaussianProcess(RBF(), outputs).fit(X, y)
            errors.append(fitted.predict(new).crps(truth).mean())
    given, learned = np.reshape(errors, (3, 2)).T
    assert np.all(learned < 0.6 * given)


def test_learned_units_undo_the_map_that_made_the_outcomes():
    """The sine itself, up to an affine map."""
    X, y = squeezed(60)
    v = np.cbrt((y - 100.0) / 7.0)
    learned = GaussianProcess(RBF(), "tanh").fit(X, y).outputs(y)
    assert np.corrcoef(learned, v)[0, 1] > 0.99
    assert np.corrcoef(y, v)[0, 1] < 0.96


def test_refitting_many_goes_on_from_the_earlier_map(descents, monkeypatch):
    monkeypatch.setattr(fitted_gp, "_FORGETFUL", 0)
    X, y = squeezed(30)
    early = GaussianProcess(RBF(), "tanh").fit(X[:20], y[:20])
    assert len(descents) == 2
    later = early.refit(X, y)
    assert len(descents) == 3
    m = early.outputs
    steps = [np.log(m.heights), np.log(m.slopes), m.shifts]
    np.testing.assert_allclose(descents[-1][1], np.concatenate([early.theta, *steps]), rtol=1e-9)
    assert later.outputs != early.outputs
    np.testing.assert_allclose([later.v.mean(), later.v.std()], [0.0, 1.0], atol=1e-9)


def test_one_outcome_of_many_changes_no_map():
    X, y = squeezed(41)
    early = GaussianProcess(RBF(), "tanh").fit(X[:40], y[:40])
    later = early.refit(X, y)
    assert later.outputs == early.outputs
    np.testing.assert_allclose(later.v, early.outputs(y))


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: GaussianProcess(outputs="tanh", noise=0.1).fit(X, y),
        lambda X, y: GaussianProcess(outputs="tanh").fit(X, y, noise=np.full(y.size, 0.1)),
    ],
    ids=["one", "each"],
)
def test_noise_cannot_be_given_where_units_are_learned(fit):
    with pytest.raises(ValueError, match='`outputs="tanh"` learns the noise'):
        fit(*squeezed(5))


HARD = {
    "one": [3.0],
    "two": [3.0, -3.0],
    "two alike": [3.0, 3.0],
    "constant": [3.0] * 8,
    "zero": [0.0] * 8,
    "outlier": [0.0, 1.0, 0.5, -0.3, 0.2, 1e12],
    "huge": [1e300, -1e300, 5e299, 0.0, 2e299],
    "tiny": [1e-300, -1e-300, 5e-301, 0.0, 2e-301],
    "many orders": [1e-90, 1e-40, 1.0, 1e40, 1e90],
}


@pytest.mark.parametrize("data", HARD, ids=str)
@pytest.mark.parametrize("kind", ["inputs", "outcomes"])
def test_hard_outcomes_give_a_usable_fit(kind, data):
    kernel, outputs = {
        "inputs": (Kumaraswamy(kernel=RBF()), "standardise"),
        "outcomes": (RBF(), "tanh"),
    }[kind]
    y = np.array(HARD[data])
    X = np.linspace(0, 1, y.size)[:, None]
    x = np.array([[0.0], [0.31], [1.0]])
    fitted = GaussianProcess(kernel, outputs).fit(X, y)
    for belief in (fitted, fitted.refit(np.vstack([X, [[0.2]]]), np.append(y, y[0]))):
        forecast = belief.predict(x)
        quantiles = forecast.quantile(np.array([[0.05], [0.5], [0.95]]))
        assert np.isfinite(quantiles).all()
        assert np.all(np.diff(quantiles, axis=0) > 0.0)
        for part in (forecast.crps(quantiles[1]), *belief.gradients(x), belief.leave_one_out()[0]):
            assert np.isfinite(part).all()


def test_the_largest_outcomes_there_are_have_quantiles():
    """Tails reach beyond the largest number: that is infinity, not a warning."""
    y = 1.7e308 * np.array([-1.0, 0.4, 1.0, -0.2, 0.8])
    forecast = GaussianProcess(RBF(), "tanh").fit(np.linspace(0, 1, 5)[:, None], y).predict([[0.3]])
    assert not np.isnan(forecast.quantile(np.array([[0.001], [0.999]]))).any()


def test_a_warped_forecast_is_stored_and_comes_back():
    forecast = GaussianProcess(RBF(), "tanh").fit(*squeezed(15)).predict([[0.3]])[0]
    back = forecast_from_dict(json.loads(json.dumps(forecast_to_dict(forecast))))
    assert back.outputs == forecast.outputs
    z = np.linspace(-3, 3, 9)
    np.testing.assert_allclose(back.at_score(z), forecast.at_score(z), rtol=1e-12)
    np.testing.assert_allclose(back.pdf(105.0), forecast.pdf(105.0), rtol=1e-12)
    np.testing.assert_allclose(back.crps(105.0), forecast.crps(105.0), rtol=1e-12)


@pytest.mark.parametrize(
    "outputs",
    [
        PowerMap(centre=90.0, unit=20.0, std=1.5),
        PowerMap(False, 0.0, unit=50.0, low=0.1),
        TanhMap((1.5, 0.4), (3.0, 20.0), (0.5, -1.0), centre=100.0, unit=20.0, mean=0.3, std=0.7),
    ],
    ids=["line", "log", "tanh"],
)
def test_a_map_that_is_given_is_used_as_it_is(outputs):
    X, y = squeezed(14)
    gp = GaussianProcess(RBF(), outputs)
    early = gp.fit(X[:10], y[:10])
    later = early.refit(X, y)
    assert early.outputs is outputs
    assert later.outputs is outputs
    np.testing.assert_allclose(later.v, outputs(y), rtol=1e-12)
    forecast = early.predict(X[:3])
    inner = early.posterior(X[:3])
    std = np.sqrt(inner.std**2 + early.noise_variance[0])
    np.testing.assert_allclose(forecast.quantile(0.5), outputs.inverse(inner.mean), rtol=1e-9)
    np.testing.assert_allclose(forecast.score(y[:3]), (outputs(y[:3]) - inner.mean) / std)


def test_many_outcomes_are_not_all_needed_to_learn_a_map(monkeypatch):
    given = []

    def joint(kernel, X, *rest):
        given.append(X.shape[0])
        return negative_log_joint(kernel, X, *rest)

    monkeypatch.setattr("calibrant.models.output_map_fit.negative_log_joint", joint)
    X = np.random.default_rng(0).random((400, 1))
    fitted = GaussianProcess(outputs="tanh").fit(X, np.exp(3.0 * X[:, 0]))
    assert given == [250]
    assert fitted.X.shape == (400, 1)
    np.testing.assert_allclose(
        fitted.predict(X[:5]).quantile(0.5), np.exp(3.0 * X[:5, 0]), rtol=0.05
    )
