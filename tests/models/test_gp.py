"""The Gaussian process, against scikit-learn's, refits, and finite differences."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as reference

from calibrant import Normal
from calibrant.models import RBF, GaussianProcess, Linear, Matern32, Matern52, Periodic, Priors
from calibrant.models.likelihood import negative_log_posterior

N, DIM = 14, 2
rng = np.random.default_rng(0)
X = rng.random((N, DIM))
Y = 30.0 + 8.0 * (np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(N))
V = (Y - Y.mean()) / Y.std()  # in the model's units
NEW = rng.random((6, DIM))
SIGNAL, NOISE = 1.7, 0.03  # variances

# A kernel here, its parameters, and the same one there.
KERNELS = {
    "rbf": (RBF(), [0.4], reference.RBF(0.4)),
    "matern32": (Matern32(True), [0.3, 0.8], reference.Matern([0.3, 0.8], nu=1.5)),
    "matern52": (Matern52(True), [0.3, 0.8], reference.Matern([0.3, 0.8], nu=2.5)),
    "periodic": (Periodic(), [0.9, 1.3], None),
    "linear": (Linear(), [0.7], None),
}
WITH_REFERENCE = [name for name, (_, _, there) in KERNELS.items() if there is not None]
OUTPUTS = ["standardise", "log", "box-cox", "yeo-johnson"]


@pytest.fixture(params=KERNELS, ids=str)
def name(request):
    return request.param


def log_parameters(name, noise=True):
    return np.log([*KERNELS[name][1], SIGNAL, *([NOISE] if noise else [])])


def standardised_gp(name, **settings):
    return GaussianProcess(KERNELS[name][0], outputs="standardise", **settings)


def at(name, X=X, y=Y):
    return standardised_gp(name).at(log_parameters(name), X, y)


def by_scikit_learn(name, X, v, noise_in_forecast=False):
    """Fixed hyper-parameters, on outcomes in the model's units."""
    kernel = reference.ConstantKernel(SIGNAL) * KERNELS[name][2]
    if noise_in_forecast:
        kernel = kernel + reference.WhiteKernel(NOISE)
    alpha = 0.0 if noise_in_forecast else NOISE
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(X, v)


def covariance(name, A, B):
    kernel, parameters, _ = KERNELS[name]
    return SIGNAL * kernel.with_inputs(np.log(parameters), B)(A)[0]


def differences(function, x, step=1e-6):
    """Central differences of function (m, d) -> (m,) by each column of x."""
    columns = [(function(x + e) - function(x - e)) / (2 * step) for e in step * np.eye(x.shape[1])]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", WITH_REFERENCE, indirect=True)
def test_shares_of_the_prior_std(name):
    fitted = at(name)
    share, noise = fitted.shares(NEW)
    std = fitted.predict(NEW).std() / Y.std()  # in the model's units, noise included
    np.testing.assert_allclose(share, np.minimum(std / np.sqrt(SIGNAL), 1.0))
    np.testing.assert_allclose(noise, np.sqrt(NOISE) / std)
    far, _ = fitted.shares([[40.0, -40.0]])
    assert far[0] == 1.0


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_log_likelihood_is_that_of_scikit_learn(name):
    value, _ = standardised_gp(name).log_likelihood(X, V, log_parameters(name))
    expected = by_scikit_learn(name, X, V).log_marginal_likelihood()
    np.testing.assert_allclose(value, expected, rtol=1e-8)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_posterior_is_that_of_scikit_learn(name):
    belief = at(name).posterior(NEW)
    mean, std = by_scikit_learn(name, X, V).predict(NEW, return_std=True)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-8)
    np.testing.assert_allclose(belief.std, std, atol=1e-8)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_forecasts_are_those_of_scikit_learn_with_noise_and_in_the_units_of_y(name):
    forecast = at(name).predict(NEW)
    kernel = reference.ConstantKernel(SIGNAL) * KERNELS[name][2] + reference.WhiteKernel(NOISE)
    regressor = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None, normalize_y=True)
    mean, std = regressor.fit(X, Y).predict(NEW, return_std=True)
    assert isinstance(forecast, Normal)
    np.testing.assert_allclose(forecast.mean(), mean, rtol=1e-8)
    np.testing.assert_allclose(forecast.std(), std, rtol=1e-8)


def test_posterior_is_conditioning_by_hand(name):
    """For the kernels that scikit-learn has no multivariate form of, too."""
    K = covariance(name, X, X) + NOISE * np.eye(N)
    k = covariance(name, NEW, X)
    expected = covariance(name, NEW, NEW) - k @ np.linalg.solve(K, k.T)
    belief = at(name).posterior(NEW)
    np.testing.assert_allclose(belief.mean, k @ np.linalg.solve(K, V), atol=1e-8)
    np.testing.assert_allclose(belief.std, np.sqrt(np.diag(expected)), atol=1e-8)


@pytest.mark.parametrize("noise", [None, 0.2], ids=["learned", "fixed"])
def test_likelihood_gradient(name, noise):
    gp = standardised_gp(name, noise=noise)
    theta = log_parameters(name, noise is None)
    value, gradient = gp.log_likelihood(X, V, theta)
    assert gradient.shape == theta.shape
    for i, step in enumerate(1e-6 * np.eye(theta.size)):
        up = gp.log_likelihood(X, V, theta + step)[0]
        down = gp.log_likelihood(X, V, theta - step)[0]
        np.testing.assert_allclose(gradient[i], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)
    assert value < 0.0


def test_the_prior_adds_its_density_and_gradient(name):
    kernel, theta = KERNELS[name][0], log_parameters(name)
    alone = negative_log_posterior(kernel, X, V, None, None)
    both = negative_log_posterior(kernel, X, V, None, Priors())
    # Log-normal densities up to a constant: medians and widths as documented.
    names = [*kernel.parameter_names(DIM), "signal", "noise"]
    median = {"period": 1.0, "signal": 1.0, "noise": 1e-4}
    width = {"noise": 2.0}
    z = np.array(
        [
            (t - np.log(median.get(n, 0.5 * np.sqrt(DIM)))) / width.get(n, 1.0)
            for n, t in zip(names, theta, strict=True)
        ]
    )
    np.testing.assert_allclose(both(theta)[0] - alone(theta)[0], 0.5 * z @ z, rtol=1e-9)
    for i, step in enumerate(1e-6 * np.eye(theta.size)):
        difference = (both(theta + step)[0] - both(theta - step)[0]) / 2e-6
        np.testing.assert_allclose(both(theta)[1][i], difference, rtol=1e-5, atol=1e-6)


def test_posterior_gradients(name):
    fitted = at(name)
    by_mean, by_std = fitted.gradients(NEW)
    np.testing.assert_allclose(
        by_mean, differences(lambda x: fitted.posterior(x).mean, NEW), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        by_std, differences(lambda x: fitted.posterior(x).std, NEW), rtol=1e-5, atol=1e-6
    )


def test_pullback_adds_up_what_comes_through_mean_and_std(name):
    fitted = at(name)
    by_mean, by_std = fitted.gradients(NEW)
    a, b = np.random.default_rng(1).standard_normal((2, len(NEW)))
    expected = a[:, None] * by_mean + b[:, None] * by_std
    np.testing.assert_allclose(fitted.posterior(NEW).pullback(a, b), expected, rtol=1e-10)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_leave_one_out_scores_are_those_of_refits(name):
    scores, stds = at(name).leave_one_out()
    for i in range(N):
        others = np.arange(N) != i
        regressor = by_scikit_learn(name, X[others], V[others], noise_in_forecast=True)
        mean, std = regressor.predict(X[[i]], return_std=True)
        np.testing.assert_allclose(scores[i], (V[i] - mean[0]) / std[0], atol=1e-8)
        np.testing.assert_allclose(stds[i], std[0], atol=1e-8)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_one_step_ahead_scores_are_those_of_prefixes(name):
    scores = at(name).one_step_ahead_scores()
    np.testing.assert_allclose(scores[0], V[0] / np.sqrt(SIGNAL + NOISE), atol=1e-8)
    for i in range(1, N):
        regressor = by_scikit_learn(name, X[:i], V[:i], noise_in_forecast=True)
        mean, std = regressor.predict(X[[i]], return_std=True)
        np.testing.assert_allclose(scores[i], (V[i] - mean[0]) / std[0], atol=1e-8)


def test_means_are_the_posterior_at_the_inputs(name):
    fitted = at(name)
    np.testing.assert_allclose(fitted.means(), fitted.posterior(X).mean, atol=1e-9)


def test_conditioning_is_a_fit_from_scratch(name):
    """In the units of the first fit: appended values are given in these."""
    early = at(name, X[:9], Y[:9])
    grown = early.condition(X[9:12], early.in_model_units(Y[9:12]))
    grown = grown.condition(X[12:], early.in_model_units(Y[12:]))
    scratch = replace(at(name), v=early.in_model_units(Y))
    check_same_belief(grown, scratch)


@pytest.mark.parametrize("std", [0.01, 0.5, np.array([0.1, 2.0])], ids=["sure", "unsure", "each"])
def test_conditioning_on_values_of_a_given_std_is_conditioning_by_hand(name, std):
    values = np.array([0.7, -1.2])
    every, v = np.vstack([X, NEW[:2]]), np.append(V, values)
    K = covariance(name, every, every) + np.diag(np.append(np.full(N, NOISE), std**2 * np.ones(2)))
    k = covariance(name, NEW, every)
    belief = at(name).condition(NEW[:2], values, std=std).posterior(NEW)
    expected = covariance(name, NEW, NEW) - k @ np.linalg.solve(K, k.T)
    np.testing.assert_allclose(belief.mean, k @ np.linalg.solve(K, v), atol=1e-7)
    np.testing.assert_allclose(belief.std, np.sqrt(np.diag(expected)), atol=1e-7)


@pytest.mark.parametrize("noise", [None, 0.2], ids=["learned", "fixed"])
def test_unsure_values_do_not_make_outcomes_noisier(name, noise):
    fitted = standardised_gp(name, noise=noise).at(log_parameters(name, noise is None), X, Y)
    unsure = fitted.condition(np.tile(NEW, (5, 1)), np.zeros(5 * len(NEW)), std=2.0)
    v = fitted.v[:3]
    np.testing.assert_allclose(unsure.noise_around(v), fitted.noise_around(v), rtol=1e-12)
    # So that points imagined after them count as much as before.
    one, other = (f.condition(NEW[:1]).posterior(NEW[:1]).std for f in (fitted, unsure))
    np.testing.assert_allclose(one, other, rtol=0.1)


def check_same_belief(one, other):
    for a, b in zip(one.posterior(NEW)[:2], other.posterior(NEW)[:2], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(one.means(), other.means(), atol=1e-8)
    np.testing.assert_allclose(one.leave_one_out()[0], other.leave_one_out()[0], atol=1e-8)
    np.testing.assert_allclose(
        one.one_step_ahead_scores(), other.one_step_ahead_scores(), atol=1e-8
    )


def test_conditioning_on_its_own_means_changes_no_mean_and_narrows(name):
    fitted = at(name)
    imagined = fitted.condition(NEW[:2])
    np.testing.assert_allclose(imagined.posterior(NEW).mean, fitted.posterior(NEW).mean, atol=1e-8)
    assert np.all(imagined.posterior(NEW[:2]).std < 0.99 * fitted.posterior(NEW[:2]).std)
    assert fitted.condition(NEW[:0]) is fitted


def test_joint_draws_have_the_posterior_mean_and_covariance(name):
    fitted = at(name)
    k = covariance(name, NEW, X)
    K = covariance(name, X, X) + NOISE * np.eye(N)
    expected = covariance(name, NEW, NEW) - k @ np.linalg.solve(K, k.T)
    # A draw is linear in its seeds: unit vectors read off the factor.
    mean = fitted.sample(NEW, np.zeros(len(NEW)))
    factor = np.stack([fitted.sample(NEW, e) - mean for e in np.eye(len(NEW))], axis=1)
    np.testing.assert_allclose(mean, fitted.posterior(NEW).mean, atol=1e-9)
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-8)


def test_many_draws_have_the_posterior_mean_and_std():
    fitted = at("rbf")
    seeds = np.random.default_rng(2).standard_normal((4000, 3))
    draws = np.array([fitted.sample(NEW[:3], seed) for seed in seeds])
    belief = fitted.posterior(NEW[:3])
    np.testing.assert_allclose(draws.mean(axis=0), belief.mean, atol=4 * belief.std.max() / 63)
    np.testing.assert_allclose(draws.std(axis=0), belief.std, rtol=0.06)


def test_a_draw_at_repeated_points_is_one_function():
    """Its covariance is singular there; jitter may not tear the function apart."""
    points = np.repeat(NEW[:2], 3, axis=0)
    draw = at("rbf").sample(points, np.random.default_rng(3).standard_normal(6))
    np.testing.assert_allclose(draw.reshape(2, 3) - draw[::3, None], 0.0, atol=1e-4)


# Going on after more outcomes


def many(n, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, DIM))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(n)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_refitting_after_one_outcome_of_many_keeps_theta_and_agrees_with_scratch(outputs):
    X, y = many(41)
    gp = GaussianProcess(outputs=outputs)
    early = gp.fit(X[:40], y[:40])
    grown = early.refit(X, y)
    np.testing.assert_array_equal(grown.theta, early.theta)
    assert grown.outputs == early.outputs
    scratch = gp.at(early.theta, X, y)
    check_same_belief(grown, replace(scratch, outputs=early.outputs, v=early.in_model_units(y)))


@pytest.mark.parametrize(
    ("before", "after", "kept"), [(10, 11, False), (40, 42, True), (40, 43, False)]
)
def test_hyper_parameters_are_fitted_again_when_outcomes_are_a_twentieth_more(before, after, kept):
    X, y = many(after)
    early = GaussianProcess().fit(X[:before], y[:before])
    later = early.refit(X, y)
    assert np.array_equal(later.theta, early.theta) == kept
    assert later.v.size == after


def test_growth_is_counted_from_the_last_fit_of_hyper_parameters():
    X, y = many(43)
    first = GaussianProcess().fit(X[:40], y[:40])
    step = first.refit(X[:41], y[:41]).refit(X[:42], y[:42])
    assert np.array_equal(step.theta, first.theta)
    assert not np.array_equal(step.refit(X, y).theta, first.theta)


def test_a_warm_refit_is_as_probable_as_a_fit_from_scratch():
    X, y = many(30)
    gp = GaussianProcess(outputs="standardise")
    warm = gp.fit(X[:20], y[:20]).refit(X, y)
    cold = gp.fit(X, y)
    loss = negative_log_posterior(gp.kernel, X, cold.v, None, gp.priors)
    assert loss(warm.theta)[0] < loss(cold.theta)[0] + 0.01


def test_inputs_that_do_not_go_on_start_afresh():
    X, y = many(40)
    early = GaussianProcess(outputs="standardise").fit(X, y)
    shuffled = early.refit(X[::-1], y[::-1])
    np.testing.assert_array_equal(shuffled.X, X[::-1])
    np.testing.assert_allclose(shuffled.posterior(NEW).mean, early.posterior(NEW).mean, atol=1e-2)
    fewer = early.refit(X[:30], y[:30])
    assert fewer.v.size == 30


def test_an_outcome_that_was_corrected_is_taken_as_it_is_now():
    X, y = many(40)
    early = GaussianProcess(outputs="standardise").fit(X, y)
    corrected = y.copy()
    corrected[3] += 1.0
    later = early.refit(X, corrected)
    np.testing.assert_array_equal(later.theta, early.theta)
    np.testing.assert_allclose(later.v, early.in_model_units(corrected))
    assert later.posterior(X[[3]]).mean > early.posterior(X[[3]]).mean


# Noise


def test_learned_noise_is_about_that_of_the_data():
    rng = np.random.default_rng(5)
    X = rng.random((120, 1))
    y = 100.0 * (np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(120))
    fitted = GaussianProcess(outputs="standardise").fit(X, y)
    assert 24.0 < np.sqrt(fitted.noise_variance[0]) * y.std() < 36.0


def test_fixed_noise_is_in_the_units_of_y():
    gp = standardised_gp("rbf", noise=2.5)
    fitted = gp.at(log_parameters("rbf", noise=False), X, Y)
    np.testing.assert_allclose(fitted.noise_variance, (2.5 / Y.std()) ** 2, rtol=1e-6)
    far = fitted.predict(np.full((1, DIM), 40.0))
    np.testing.assert_allclose(far.mean(), Y.mean())
    np.testing.assert_allclose(far.std(), np.hypot(np.sqrt(SIGNAL) * Y.std(), 2.5), rtol=1e-8)
    # Whatever the signal, a repeated measurement is off by the noise.
    assert np.all(fitted.predict(X).std() > 2.5)


def test_noise_of_each_outcome():
    each = np.linspace(0.5, 4.0, N)
    gp = standardised_gp("rbf", noise=0.0)  # there is no other noise
    fitted = gp.at(log_parameters("rbf", noise=False), X, Y, noise=each)
    np.testing.assert_allclose(fitted.noise_variance, (each / Y.std()) ** 2, rtol=1e-6)
    kernel = reference.ConstantKernel(SIGNAL) * KERNELS["rbf"][2]
    regressor = GaussianProcessRegressor(
        kernel, alpha=(each / Y.std()) ** 2 + 1e-10, optimizer=None
    )
    mean, std = regressor.fit(X, V).predict(NEW, return_std=True)
    np.testing.assert_allclose(fitted.posterior(NEW).mean, mean, atol=1e-8)
    np.testing.assert_allclose(fitted.posterior(NEW).std, std, atol=1e-8)


def test_noise_of_each_outcome_adds_to_the_one_for_all():
    gp = standardised_gp("rbf", noise=3.0)
    theta = log_parameters("rbf", noise=False)
    one = gp.at(theta, X, Y, noise=np.full(N, 4.0))
    np.testing.assert_allclose(one.noise_variance, (5.0 / Y.std()) ** 2, rtol=1e-6)


def test_little_noise_passes_through_a_curved_output_map_by_its_slope():
    rng = np.random.default_rng(6)
    X, y = rng.random((30, 1)), np.exp(2 * rng.standard_normal(30)) + 0.5
    fitted = GaussianProcess(outputs="log", noise=0.01).fit(X, y)
    in_units = (fitted.in_model_units(y + 1e-4) - fitted.in_model_units(y - 1e-4)) / 2e-4
    np.testing.assert_allclose(fitted.noise_variance, (0.01 * in_units) ** 2, rtol=1e-3, atol=2e-10)


def test_outcomes_without_noise_are_interpolated():
    fitted = standardised_gp("matern52", noise=0.0).fit(X, Y)
    forecast = fitted.predict(X)
    np.testing.assert_allclose(forecast.mean(), Y, rtol=1e-6)
    assert np.all(forecast.std() < 1e-3 * Y.std())


@pytest.mark.parametrize("grown", [41, 60])
def test_noise_given_with_the_first_outcomes_must_be_given_with_the_later_ones(grown):
    X, y = many(60)
    early = GaussianProcess(outputs="standardise").fit(X[:40], y[:40], noise=np.full(40, 0.05))
    with pytest.raises(ValueError, match="give it again"):
        early.refit(X[:grown], y[:grown])
    later = early.refit(X[:grown], y[:grown], noise=np.full(grown, 0.05))
    assert later.v.size == grown
    assert np.all(later.noise_variance < 0.1)


# Hyper-parameters


def projected_gradient(gp, fitted):
    """The gradient of the loss, zero where a bound holds the parameter back."""
    loss = negative_log_posterior(gp.kernel, fitted.X, fitted.v, None, gp.priors)
    gradient = loss(fitted.theta)[1]
    bounds = {"signal": (1e-3, 1e3), "noise": (1e-8, 1e1)}
    names = [*gp.kernel.parameter_names(fitted.X.shape[1]), "signal", "noise"]
    low, high = np.log([bounds.get(n, (5e-3, 1e2)) for n in names]).T
    held = ((fitted.theta <= low + 1e-9) & (gradient > 0)) | (
        (fitted.theta >= high - 1e-9) & (gradient < 0)
    )
    return np.where(held, 0.0, gradient)


@pytest.mark.parametrize("priors", [None, Priors()], ids=["likelihood", "posterior"])
@pytest.mark.parametrize("kernel", [RBF(), Matern52(True), Linear()], ids=["rbf", "ard", "linear"])
def test_fitted_hyper_parameters_are_at_a_maximum(kernel, priors):
    X, y = many(40, seed=7)
    gp = GaussianProcess(kernel, outputs="standardise", priors=priors)
    fitted = gp.fit(X, y)
    assert np.abs(projected_gradient(gp, fitted)).max() < 0.05
    loss = negative_log_posterior(kernel, X, fitted.v, None, priors)
    found = loss(fitted.theta)[0]
    rng = np.random.default_rng(8)
    for _ in range(10):
        start = rng.uniform(np.log(0.05), np.log(2.0), fitted.theta.size)
        other = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(-5.0, 4.0)] * start.size
        )
        assert found < other.fun + 0.01


def test_priors_pull_towards_their_medians():
    X, y = many(6, seed=9)
    narrow = Priors(lengthscale=(0.2, 1e-3), signal=(2.0, 1e-3), noise=(1e-2, 1e-3))
    fitted = GaussianProcess(outputs="standardise", priors=narrow).fit(X, y)
    np.testing.assert_allclose(np.exp(fitted.theta), [0.2 * np.sqrt(2), 2.0, 1e-2], rtol=0.01)


def test_an_input_that_does_not_matter_gets_a_long_lengthscale():
    rng = np.random.default_rng(10)
    X = rng.random((60, 2))
    fitted = GaussianProcess(Matern52(True), priors=None).fit(X, np.sin(8 * X[:, 0]))
    assert fitted.theta[1] > fitted.theta[0] + np.log(5)


def test_a_fit_does_not_depend_on_the_units_of_outcomes():
    X, y = many(25)
    here = GaussianProcess(outputs="yeo-johnson").fit(X, y)
    there = GaussianProcess(outputs="yeo-johnson").fit(X, 1e5 * y - 3e4)
    np.testing.assert_allclose(here.theta, there.theta, rtol=1e-5)
    quantiles = 1e5 * here.predict(NEW).quantile(0.9) - 3e4
    np.testing.assert_allclose(there.predict(NEW).quantile(0.9), quantiles, rtol=1e-5)


# Hard data


def check_usable(fitted, points):
    quantiles = fitted.predict(points).quantile(np.array([[0.05], [0.5], [0.95]]))
    assert not np.isnan(quantiles).any()
    if 0.0 <= fitted.outputs.power <= 2.0:  # other maps are bounded, and infinite beyond
        assert np.isfinite(quantiles).all()
        assert np.all(np.diff(quantiles, axis=0) > 0)
    for part in (
        *fitted.posterior(points)[:2],
        *fitted.gradients(points),
        fitted.means(),
        fitted.leave_one_out()[0],
        fitted.one_step_ahead_scores(),
        fitted.sample(points, np.ones(len(points))),
    ):
        assert np.isfinite(part).all()


HARD = {
    "duplicates": (np.full((300, 2), 0.5), rng.standard_normal(300)),
    "pair": (np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.2]]), np.array([1.0, 2.0, 0.0])),
    "close": (0.5 + 1e-9 * rng.random((30, 2)), rng.standard_normal(30)),
    "constant": (rng.random((10, 2)), np.full(10, 3.0)),
    "zero": (rng.random((10, 2)), np.zeros(10)),
    "one": (np.array([[0.5, 0.5]]), np.array([3.0])),
    "two": (np.array([[0.5, 0.5], [0.2, 0.5]]), np.array([3.0, -3.0])),
    "outlier": (rng.random((20, 2)), np.append(rng.standard_normal(19), 1e12)),
    "huge": (rng.random((10, 2)), 1e300 * rng.standard_normal(10)),
    "tiny": (rng.random((10, 2)), 1e-300 * rng.standard_normal(10)),
    "many orders": (rng.random((10, 2)), 10.0 ** np.linspace(-90, 90, 10)),
}


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("noise", [None, 0.0], ids=["learned", "none"])
@pytest.mark.parametrize("data", HARD, ids=str)
def test_hard_data_gives_a_usable_fit(data, noise, outputs):
    X, y = HARD[data]
    fitted = GaussianProcess(outputs=outputs, noise=noise).fit(X, y)
    points = np.array([[0.5, 0.5], [0.1, 0.9], [0.5 + 1e-9, 0.5], [0.0, 1.0]])
    check_usable(fitted, points)
    check_usable(fitted.condition(points), points)
    check_usable(fitted.refit(np.vstack([X, X[:1]]), np.append(y, y[0])), points)


@pytest.mark.parametrize("kernel", [RBF(), Matern32(), Periodic(), Linear()])
def test_every_kernel_takes_duplicates(kernel):
    X, y = HARD["duplicates"]
    check_usable(GaussianProcess(kernel).fit(X, y), NEW)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-1e9, 1e9)),
        min_size=1,
        max_size=12,
    )
)
def test_any_data_gives_a_usable_fit(rows):
    table = np.array(rows)
    fitted = GaussianProcess().fit(table[:, :2], table[:, 2])
    check_usable(fitted, NEW)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GaussianProcess().fit(X[:, 0], Y), r"`X` must have shape \(n, d\)"),
        (lambda: GaussianProcess().fit(X, Y[:3]), r"but got \(14, 2\) and \(3,\)"),
        (lambda: GaussianProcess().fit(X[:0], Y[:0]), "At least 1 outcomes"),
        (lambda: GaussianProcess().fit(X * np.nan, Y), "`X` must be finite"),
        (lambda: GaussianProcess().fit(X, np.full(N, np.inf)), "`y` must be finite"),
        (lambda: GaussianProcess().fit(X, Y, noise=[0.1, 0.2]), "One `noise`, or one an outcome"),
        (lambda: GaussianProcess().fit(X, Y, noise=np.full(N, -1.0)), "`noise >= 0`"),
        (lambda: GaussianProcess(noise=-1.0), "`noise >= 0` must hold, but got noise=-1"),
        (lambda: GaussianProcess(outputs="cubic"), "`outputs` must be one of"),
        (lambda: at("rbf").predict(np.full((1, 2), np.nan)), "`X` must be finite"),
        (lambda: at("rbf").refit(X, Y[:-1]), "`X` must have shape"),
        (lambda: GaussianProcess().log_likelihood(X, Y[:3], np.zeros(3)), "`X` must have shape"),
    ],
)
def test_bad_input_says_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: at("rbf").predict(NEW[:, :1]), "X"),
        (lambda: at("rbf").gradients(NEW[:, :1]), "X"),
        (lambda: GaussianProcess().at(np.zeros(7), X, Y), "theta"),
    ],
    ids=["predict", "gradients", "at"],
)
def test_too_few_columns_or_too_many_parameters_say_so(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_fit_can_be_pickled_after_it_was_used():
    X = np.linspace(0.0, 1.0, 6)[:, None]
    fitted = GaussianProcess().fit(X, np.sin(5.0 * X[:, 0]))
    before = fitted.predict(X)
    again = pickle.loads(pickle.dumps(fitted)).predict(X)
    np.testing.assert_array_equal(again.quantile(0.3), before.quantile(0.3))


def test_noise_that_is_known_is_the_same_for_low_and_high_outcomes():
    X = np.random.default_rng(1).random((60, 1))
    truth, added = np.exp(7.0 * X[:, 0]), np.random.default_rng(2)
    fitted = GaussianProcess(noise=1.0).fit(X, truth + added.normal(size=60))
    at = np.array([[0.1], [0.5], [0.9]])
    low, high = fitted.predict(at).interval(0.8)
    half = (high - low) / 2.0
    assert np.all(half > 1.2)  # 1.28 of the noise alone
    assert np.all(half < 3.0)


def test_one_outcome_that_is_very_noisy_does_not_make_others_noisy():
    X, noise = np.linspace(0.0, 1.0, 30)[:, None], np.full(30, 0.01)
    noise[7] = 5.0
    fitted = GaussianProcess(outputs="standardise").fit(X, np.sin(6.0 * X[:, 0]), noise=noise)
    low, high = fitted.predict([[0.5]]).interval(0.8)
    assert high - low < 0.1


class Raised(RBF):
    """A power of another kernel: somebody's own, with a parameter that has a name of its own."""

    def parameter_names(self, dim):
        return [*super().parameter_names(dim), "power"]

    def on_itself(self, X):
        inner = super().on_itself(X)

        def forward(theta):
            C, pullback = inner(theta[:-1])
            power, log = np.exp(theta[-1]), np.log(np.maximum(C, 1e-300))
            raised = np.exp(power * log)

            def gradient(M):
                by_C = M * power * np.exp((power - 1.0) * log)
                return np.append(pullback(by_C), power * (M * raised * log).sum())

            return raised, gradient

        return forward


@pytest.mark.parametrize("priors", [None, Priors(), Priors.flat()])
def test_a_kernel_may_have_parameters_of_other_names(priors):
    X = rng.random((12, 1))
    model = GaussianProcess(Raised(), outputs="standardise", priors=priors)
    theta = model.fit(X, np.sin(5.0 * X[:, 0])).theta
    assert np.isfinite(theta).all()


def test_noise_that_is_known_to_be_none_is_none_wherever_the_map_is_steep():
    X = np.linspace(0.0, 1.0, 25)[:, None]
    fitted = GaussianProcess(noise=0.0).fit(X, np.exp(12.0 * X[:, 0]))
    np.testing.assert_array_equal(fitted.noise_around(fitted.v), 1e-10)
