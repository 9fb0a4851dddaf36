"""Inputs bent by a learned map, and beliefs about it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from tests.differences import check_gradient

from calibrant import Optimizer
from calibrant.core import Axis, Cube
from calibrant.forecasts.output_maps import PowerMap
from calibrant.models import RBF, GaussianProcess, Kumaraswamy, Linear, Matern52, Periodic, Priors
from calibrant.models.likelihood import negative_log_posterior
from calibrant.search.history import History
from calibrant.search.step import Policy

DIM = 3
INNER = {  # a kernel and its parameters
    "rbf": (RBF(), [0.4]),
    "matern52": (Matern52(True), [0.3, 0.8, 1.5]),
    "linear": (Linear(), [0.7]),
    "periodic": (Periodic(), [0.9, 1.3]),
}
CATEGORIES = {"numbers": (), "one label": (1,), "labels only": (0, 1, 2)}
A, B = np.array([0.6, 2.5, 1.4]), np.array([1.8, 0.5, 3.0])


@pytest.fixture(params=INNER, ids=str)
def name(request):
    return request.param


@pytest.fixture(params=CATEGORIES, ids=str)
def categorical(request):
    return CATEGORIES[request.param]


def warped_kernel(name, categorical=()):
    """A kernel of warped inputs and its theta."""
    kernel, parameters = INNER[name]
    numeric = [c for c in range(DIM) if c not in categorical]
    theta = np.log([*parameters, *A[numeric], *B[numeric]])
    return Kumaraswamy(kernel=kernel, categorical=categorical), theta


def points(count, categorical=(), seed=0):
    X = np.random.default_rng(seed).uniform(0.02, 0.98, (count, DIM))
    for c in categorical:
        X[:, c] = np.floor(3 * X[:, c]) / 2
    return X


def fitted_at(name, categorical=(), **settings):
    kernel, theta = warped_kernel(name, categorical)
    X = points(14, categorical)
    y = np.sin(5 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2
    gp = GaussianProcess(kernel, outputs=PowerMap(), **settings)
    return gp, gp.at(np.append(theta, np.log([1.7, 0.03])), X, y)


# Inputs


def test_a_warped_kernel_is_the_inner_one_of_warped_inputs(name, categorical):
    kernel, theta = warped_kernel(name, categorical)
    inner, parameters = INNER[name]
    inner = replace(inner, categorical=categorical)

    def by_hand(X):
        numeric = [c for c in range(DIM) if c not in categorical]
        warped = X.copy()
        warped[:, numeric] = 1 - (1 - X[:, numeric] ** A[numeric]) ** B[numeric]
        return warped

    x, X = points(6, categorical, 1), points(9, categorical, 2)
    expected, _ = inner.with_inputs(np.log(parameters), by_hand(X))(by_hand(x))
    np.testing.assert_allclose(kernel.with_inputs(theta, X)(x)[0], expected, rtol=1e-10)
    expected, _ = inner.on_itself(by_hand(X))(np.log(parameters))
    np.testing.assert_allclose(kernel.on_itself(X)(theta)[0], expected, rtol=1e-10, atol=1e-12)
    expected, _ = inner.diagonal(np.log(parameters), by_hand(X))
    np.testing.assert_allclose(kernel.diagonal(theta, X)[0], expected, rtol=1e-10)


def test_the_warp_is_the_integral_of_the_kumaraswamy_density():
    """Read off a linear kernel, 1 + (w(x) − ½)(w(1) − ½): w(1) is 1."""
    a, b = 2.5, 0.7
    read = Kumaraswamy(kernel=Linear()).with_inputs(np.log([1.0, a, b]), np.ones((1, 1)))
    end = 1 - (1 - (1 - 1e-9) ** a) ** b  # inputs stay off the ends by so much
    for x in (0.1, 0.45, 0.8):
        w = (read(np.array([[x]]))[0].item() - 1) / (end - 0.5) + 0.5
        density = quad(lambda t: a * b * t ** (a - 1) * (1 - t**a) ** (b - 1), 0, x)[0]
        np.testing.assert_allclose(w, density, rtol=1e-7)


def test_powers_of_one_leave_inputs_as_they_are(name, categorical):
    kernel, theta = warped_kernel(name, categorical)
    inner, parameters = INNER[name]
    inner = replace(inner, categorical=categorical)
    theta[len(parameters) :] = 0.0
    x, X = points(6, categorical, 1), points(9, categorical, 2)
    X[0], x[0] = 0.0, 1.0
    C, pullback = kernel.with_inputs(theta, X)(x)
    expected, inner_pullback = inner.with_inputs(theta[: len(parameters)], X)(x)
    np.testing.assert_allclose(C, expected, atol=1e-7)
    W = np.random.default_rng(3).standard_normal(C.shape)
    np.testing.assert_allclose(pullback(W), inner_pullback(W), rtol=1e-6, atol=1e-6)


def test_names_and_number_of_parameters():
    kernel = Kumaraswamy(kernel=Periodic(True), categorical=(1,))
    lengths = ["lengthscale0", "lengthscale1", "lengthscale2", "period"]
    assert kernel.parameter_names(3) == [*lengths, "warp_a0", "warp_a2", "warp_b0", "warp_b2"]


def test_likelihood_gradient_by_inner_parameters_and_by_powers(name, categorical):
    gp, fitted = fitted_at(name, categorical)
    theta = fitted.theta

    def value(t):
        return gp.log_likelihood(fitted.X, fitted.v, t)[0]

    _, gradient = gp.log_likelihood(fitted.X, fitted.v, theta)
    check_gradient(value, theta, gradient)
    warps = gradient[len(INNER[name][1]) : -2]
    assert np.all(np.abs(warps) > 1e-4)  # they do matter here


def test_posterior_gradients_by_inputs(name, categorical):
    _, fitted = fitted_at(name, categorical)
    x = points(5, categorical, 4)
    by_mean, by_std = fitted.gradients(x)
    numeric = [c for c in range(DIM) if c not in categorical]
    for part, gradient in (("mean", by_mean), ("std", by_std)):
        for c in numeric:
            e = 1e-6 * np.eye(DIM)[c]
            up, down = (getattr(fitted.posterior(x + s * e), part) for s in (1, -1))
            np.testing.assert_allclose(gradient[:, c], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(gradient[:, list(categorical)], 0.0)


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("b", [0.1, 1.0, 10.0])
def test_the_ends_of_the_range_have_finite_values_and_gradients(name, a, b):
    """Slopes of w are infinite there for powers below one, and 0·∞ for others."""
    inner, parameters = INNER[name]
    theta = np.log([*parameters, *[a] * DIM, *[b] * DIM, 1.0, 0.1])
    X = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0.5], [0.3, 0.6, 1], [1, 0.2, 0]], dtype=float)
    gp = GaussianProcess(Kumaraswamy(kernel=inner), outputs=PowerMap())
    y = np.array([0.3, -1.0, 0.5, 1.2, -0.4])
    value, gradient = gp.log_likelihood(X, y, theta)
    fitted = gp.at(theta, X, y)
    for part in (value, gradient, *fitted.posterior(X)[:2], *fitted.gradients(X)):
        assert np.isfinite(part).all()


def test_leave_one_out_in_closed_form_is_that_of_new_factors(name):
    gp, fitted = fitted_at(name)
    scores, stds = fitted.leave_one_out()
    for i in range(fitted.v.size):
        others = np.arange(fitted.v.size) != i
        rest = gp.at(fitted.theta, fitted.X[others], fitted.v[others]).predict(fitted.X[[i]])
        np.testing.assert_allclose(scores[i], (fitted.v[i] - rest.mean()) / rest.std(), rtol=1e-6)
        np.testing.assert_allclose(stds[i], rest.std(), rtol=1e-6)


def bent(x):
    """Flat at one end and busy at the other; a sine of x³."""
    return np.sin(9 * x[:, 0] ** 3)


def test_a_warped_process_recovers_a_warp_and_forecasts_better():
    rng = np.random.default_rng(0)
    X, new = rng.random((26, 1)), rng.random((200, 1))
    y = bent(X) + 0.02 * rng.standard_normal(26)
    truth = bent(new) + 0.02 * rng.standard_normal(200)
    plain = GaussianProcess(RBF(), outputs="standardise").fit(X, y)
    warped = GaussianProcess(Kumaraswamy(kernel=RBF()), outputs="standardise").fit(X, y)
    densities = [np.log(fitted.predict(new).pdf(truth)).mean() for fitted in (plain, warped)]
    assert densities[1] > densities[0] + 0.3
    # The lengthscale takes up a scale, and a shift does not matter.
    grid = np.linspace(0, 1, 101)
    a, b = np.exp(warped.theta[1:3])
    learned = 1 - (1 - grid**a) ** b
    straight = np.polynomial.Polynomial.fit(learned, grid**3, 1)(learned)
    assert np.abs(straight - grid**3).max() < 0.1
    assert np.abs(np.polynomial.Polynomial.fit(grid, grid**3, 1)(grid) - grid**3).max() > 0.2


def test_a_stationary_function_is_left_almost_unwarped():
    X = np.linspace(0, 1, 30)[:, None]
    fitted = GaussianProcess(Kumaraswamy(kernel=RBF())).fit(X, np.sin(9 * X[:, 0]))
    np.testing.assert_allclose(np.exp(fitted.theta[1:3]), 1.0, atol=0.15)


def test_searches_with_warped_inputs_and_a_label():
    cube = Cube((Axis(), Axis((0.25, 0.75), categorical=True)))
    model = GaussianProcess(Kumaraswamy(kernel=RBF()))
    optimizer = Optimizer(cube, model=model, seed=0)
    for _ in range(16):
        x = optimizer.ask()
        optimizer.tell(x, (x[0] ** 3 - 0.4) ** 2 + (x[1] > 0.5))
    x, y = optimizer.best
    assert x[1] == 0.25
    assert y < 1e-3
    told = replace(
        History.empty(2), X=np.array([[0.1, 0.25], [0.6, 0.75]]), Y=np.array([[1.0], [2.0]])
    )
    policy = Policy(model=model)
    (fitted,) = policy.fit(policy.prepare(told, cube), cube).objectives
    assert fitted.model.kernel.parameter_names(2) == ["lengthscale", "warp_a0", "warp_b0"]


def test_an_inner_kernel_cannot_be_taken_for_another_argument():
    """The inherited fields come first: what is meant as the kernel must not become a flag."""
    try:
        kernel = Kumaraswamy(RBF())
    except TypeError:
        return
    assert kernel.kernel == RBF()


# Beliefs


@pytest.mark.parametrize("name", ["rbf", "periodic"])
def test_flat_priors_are_none_at_all(name):
    kernel, parameters = INNER[name]
    X, v = points(10), np.random.default_rng(5).standard_normal(10)
    theta = np.log([*parameters, 2.3, 0.01])
    flat = negative_log_posterior(kernel, X, v, None, Priors.flat())(theta)
    none = negative_log_posterior(kernel, X, v, None, None)(theta)
    np.testing.assert_array_equal(flat[0], none[0])
    np.testing.assert_array_equal(flat[1], none[1])
    gp = GaussianProcess(kernel, "standardise", None)
    most_likely = gp.fit(X, v)
    np.testing.assert_array_equal(
        replace(gp, priors=Priors.flat()).fit(X, v).theta, most_likely.theta
    )


def test_flat_priors_have_a_belief_about_warps_alone():
    kernel, theta = warped_kernel("periodic")
    X, v = points(10), np.random.default_rng(5).standard_normal(10)
    theta = np.append(theta, np.log([2.3, 0.01]))
    flat = negative_log_posterior(kernel, X, v, None, Priors.flat())(theta)
    none = negative_log_posterior(kernel, X, v, None, None)(theta)
    powers = np.log([*A, *B])  # log-normal around 1 with variance 0.75
    np.testing.assert_allclose(flat[0] - none[0], 0.5 * powers @ powers / 0.75, rtol=1e-9)
    expected = np.concatenate([np.zeros(2), powers / 0.75, np.zeros(2)])
    np.testing.assert_allclose(flat[1] - none[1], expected, atol=1e-9)
