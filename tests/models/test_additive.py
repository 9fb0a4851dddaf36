"""Effects of single inputs beside the whole, against scikit-learn's kernels and differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as reference

from calibrant.models import RBF, Additive, GaussianProcess, Linear, Matern52, Periodic
from calibrant.models.kernels import additive

DIM = 3
LENGTHS = {False: [0.6], True: [0.4, 0.9, 1.7]}
EFFECT, ODDS, LEVEL = 0.35, 2.5, 0.7
CATEGORIES = {"numbers": (), "one label": (1,), "labels only": (0, 1, 2)}


@pytest.fixture(params=[False, True], ids=["isotropic", "per dimension"])
def per_dimension(request):
    return request.param


@pytest.fixture(params=CATEGORIES, ids=str)
def categorical(request):
    return CATEGORIES[request.param]


@pytest.fixture(params=[RBF, Matern52], ids=["rbf", "matern52"])
def kernel(request, per_dimension, categorical):
    return Additive(per_dimension, categorical, request.param, LEVEL)


@pytest.fixture
def theta(per_dimension):
    return np.log([*LENGTHS[per_dimension], EFFECT, ODDS])


def points(count, categorical, seed):
    X = np.random.default_rng(seed).random((count, DIM))
    for c in categorical:
        X[:, c] = np.floor(3 * X[:, c])
    return X


def test_it_is_the_weighted_mean_of_scikit_learns(per_dimension):
    X, Y = points(6, (), 0), points(4, (), 1)
    there = {RBF: reference.RBF, Matern52: lambda length: reference.Matern(length, nu=2.5)}
    for whole, make in there.items():
        effects = np.mean([make(EFFECT)(X[:, [i]], Y[:, [i]]) for i in range(DIM)], axis=0)
        lengths = LENGTHS[per_dimension] * (1 if per_dimension else DIM)
        expected = LEVEL + (make(lengths)(X, Y) + ODDS * effects) / (1 + ODDS)
        kernel = Additive(per_dimension, whole=whole, level=LEVEL)
        theta = np.log([*LENGTHS[per_dimension], EFFECT, ODDS])
        C, _ = kernel.with_inputs(theta, Y)(X)
        np.testing.assert_allclose(C, expected, rtol=1e-12)


def test_both_ways_to_ask_for_correlations_agree(kernel, theta, categorical):
    X = points(7, categorical, 2)
    C, _ = kernel.on_itself(X)(theta)
    np.testing.assert_allclose(kernel.with_inputs(theta, X)(X)[0], C, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(theta, X)[0], np.diag(C), rtol=1e-12)
    np.testing.assert_array_equal(kernel.diagonal(theta, X)[1], 0.0)
    assert np.linalg.eigvalsh(C).min() > -1e-9


def test_the_gradient_by_parameters(kernel, theta, categorical):
    X, M = points(7, categorical, 3), np.random.default_rng(4).standard_normal((7, 7))
    M = M + M.T
    gradient = kernel.on_itself(X)(theta)[1](M)
    for i, step in enumerate(1e-6 * np.eye(theta.size)):
        ends = [(M * kernel.on_itself(X)(theta + s)[0]).sum() for s in (step, -step)]
        np.testing.assert_allclose(gradient[i], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_the_gradient_by_inputs(kernel, theta, categorical):
    X, x = points(7, categorical, 5), points(4, categorical, 6)
    W = np.random.default_rng(7).standard_normal((4, 7))
    forward = kernel.with_inputs(theta, X)
    gradient = forward(x)[1](W)
    for c in range(DIM):
        step = 1e-6 * np.eye(DIM)[c]
        difference = (W * (forward(x + step)[0] - forward(x - step)[0])).sum(axis=1) / 2e-6
        expected = 0.0 if c in categorical else difference
        np.testing.assert_allclose(gradient[:, c], expected, rtol=1e-5, atol=1e-7)


def test_with_one_input_there_are_no_effects_beside_the_whole():
    X, theta = np.random.default_rng(8).random((5, 1)), np.log([0.3])
    assert Additive().parameter_names(1) == ["lengthscale"]
    kernel, whole = Additive(level=LEVEL), Matern52()
    np.testing.assert_array_equal(
        kernel.on_itself(X)(theta)[0], LEVEL + whole.on_itself(X)(theta)[0]
    )
    np.testing.assert_array_equal(
        kernel.with_inputs(theta, X)(X)[0], LEVEL + whole.with_inputs(theta, X)(X)[0]
    )


def test_a_level_unlike_the_mean_of_outcomes_is_learned():
    # A valley at 0.1 that was looked at ten times, and two looks at the plain at 1.
    X = np.concatenate([0.1 + 0.002 * np.arange(10), [0.5, 0.7]])[:, None]
    y = np.where(X[:, 0] < 0.3, 0.0, 1.0)
    far = {
        level: GaussianProcess(Additive(level=level), "standardise").at(
            np.log([0.05, 1.0, 1e-4]), X, y
        )
        for level in (0.0, 100.0)
    }
    assert far[0.0].predict([[0.9]]).mean() == pytest.approx(y.mean(), abs=0.01)
    # What a flat prior would give is the mean that least squares finds, weighed by K⁻¹.
    C = Matern52().on_itself(X)(np.log([0.05]))[0] + 1e-4 * np.eye(12)
    weights = np.linalg.solve(C, np.ones(12))
    expected = weights @ y / weights.sum()
    assert expected > 0.6
    assert far[100.0].predict([[0.9]]).mean() == pytest.approx(expected, abs=0.02)


def test_a_sum_in_many_dimensions_is_learned_from_few_outcomes():
    rng = np.random.default_rng(9)
    X, new = rng.random((40, 8)), rng.random((200, 8))

    def total(x):
        return np.sin(6 * x).sum(axis=1)

    errors = {}
    for kernel in (Matern52(), Additive()):
        forecast = GaussianProcess(kernel, "standardise").fit(X, total(X)).predict(new)
        errors[type(kernel)] = np.sqrt(np.mean((forecast.mean() - total(new)) ** 2))
    assert errors[Additive] < 0.5 * errors[Matern52]
    assert errors[Additive] < 0.5 * total(new).std()


def test_parameters_have_names():
    assert Additive().parameter_names(2) == ["lengthscale", "effect", "odds"]
    assert Additive(True).parameter_names(2) == ["lengthscale0", "lengthscale1", "effect", "odds"]


def test_a_periodic_whole_is_refused():
    with pytest.raises(ValueError, match="but got Periodic"):
        Additive(whole=Periodic)


def test_a_level_with_a_negative_variance_is_refused():
    with pytest.raises(ValueError, match="level"):
        Additive(level=-1.0)


@pytest.mark.parametrize("kernel", [Periodic, Linear])
def test_the_whole_is_a_kernel_of_distances(kernel):
    with pytest.raises(ValueError, match=f"of distances alone.*but got {kernel.__name__}"):
        Additive(whole=kernel)


def test_effects_are_the_same_however_many_are_one_array(kernel, theta, categorical, monkeypatch):
    X, x = points(6, categorical, 3), points(9, categorical, 4)
    weights = np.random.default_rng(5).normal(size=(9, 6))
    C, pullback = kernel.with_inputs(theta, X)(x)
    K, pullback_theta = kernel.on_itself(X)(theta)
    monkeypatch.setattr(additive, "_IN_CACHE", 1)  # each input by itself
    again, pullback_again = kernel.with_inputs(theta, X)(x)
    K_again, pullback_theta_again = kernel.on_itself(X)(theta)
    np.testing.assert_allclose(again, C, rtol=1e-13)
    np.testing.assert_allclose(pullback_again(weights), pullback(weights), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(K_again, K, rtol=1e-13)
    M = K + 0.1
    np.testing.assert_allclose(pullback_theta_again(M), pullback_theta(M), rtol=1e-11, atol=1e-13)
