"""Kernels, against scikit-learn's, and their derivatives against finite differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as reference

from calibrant.models import RBF, Linear, Matern32, Matern52, Periodic

KERNELS = {
    "rbf": RBF,
    "matern32": Matern32,
    "matern52": Matern52,
    "periodic": Periodic,
    "linear": Linear,
}
CATEGORIES = {"numbers": (), "one label": (1,), "labels only": (0, 1, 2)}
DIM = 3
PERIOD = 0.7


@pytest.fixture(params=KERNELS, ids=str)
def kind(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["isotropic", "per dimension"])
def per_dimension(request):
    return request.param


@pytest.fixture(params=CATEGORIES, ids=str)
def categorical(request):
    return CATEGORIES[request.param]


@pytest.fixture
def kernel(kind, per_dimension, categorical):
    return KERNELS[kind](per_dimension, categorical)


@pytest.fixture
def theta(kernel):
    lengths = [0.4, 0.9, 1.7] if kernel.per_dimension else [0.6]
    return np.log([*lengths, PERIOD] if isinstance(kernel, Periodic) else lengths)


def points(count, categorical, seed):
    X = np.random.default_rng(seed).random((count, DIM))
    for c in categorical:
        X[:, c] = np.floor(3 * X[:, c])
    return X


def lengthscales(kernel, theta):
    return np.exp(theta[:DIM]) if kernel.per_dimension else np.full(DIM, np.exp(theta[0]))


def one_hot(labels):
    return (labels[:, None] == np.arange(3)).astype(float)


def by_scikit_learn(kernel, theta, A, B):
    """The same correlations from scikit-learn, which knows no labels: these are given one-hot."""
    lengths = lengthscales(kernel, theta)
    numbers = [c for c in range(DIM) if c not in kernel.categorical]
    features_a, features_b = [A[:, numbers]], [B[:, numbers]]
    scales = [lengths[numbers]]
    for c in kernel.categorical:
        features_a.append(one_hot(A[:, c]))
        features_b.append(one_hot(B[:, c]))
        # Two different one-hot vectors are √2 apart.
        stretch = 1.0 if isinstance(kernel, Linear) else np.sqrt(2.0)
        scales.append(np.full(3, stretch * lengths[c]))
    a, b, scale = np.hstack(features_a), np.hstack(features_b), np.concatenate(scales)
    n = len(numbers)
    if isinstance(kernel, Linear):
        a[:, :n] -= 0.5
        b[:, :n] -= 0.5
        return reference.DotProduct(sigma_0=1.0)(a / scale, b / scale)
    if isinstance(kernel, Periodic):
        C = reference.RBF(scale[n:])(a[:, n:], b[:, n:]) if kernel.categorical else 1.0
        for i in range(n):
            circle = reference.ExpSineSquared(length_scale=scale[i], periodicity=PERIOD)
            C = C * circle(a[:, [i]], b[:, [i]])
        return C
    smoothness = {Matern32: 1.5, Matern52: 2.5}.get(type(kernel))
    if smoothness is None:
        return reference.RBF(scale)(a, b)
    return reference.Matern(scale, nu=smoothness)(a, b)


def test_values_are_those_of_scikit_learn(kernel, theta, categorical):
    A, B = points(7, categorical, 0), points(11, categorical, 1)
    C, _ = kernel.with_inputs(theta, B)(A)
    np.testing.assert_allclose(C, by_scikit_learn(kernel, theta, A, B), rtol=1e-10, atol=1e-10)


def test_on_itself_is_with_inputs(kernel, theta, categorical):
    X = points(9, categorical, 2)
    C, _ = kernel.on_itself(X)(theta)
    np.testing.assert_allclose(C, kernel.with_inputs(theta, X)(X)[0], rtol=1e-12, atol=1e-12)


def test_diagonal_is_each_point_with_itself(kernel, theta, categorical):
    X = points(9, categorical, 3)
    own, _ = kernel.diagonal(theta, X)
    C, _ = kernel.with_inputs(theta, X)(X)
    np.testing.assert_allclose(own, np.diag(C), rtol=1e-12)


def test_gradient_of_the_diagonal(kernel, theta, categorical):
    X = points(6, categorical, 3)
    _, gradient = kernel.diagonal(theta, X)
    numbers = [c for c in range(DIM) if c not in categorical]
    for c in numbers:
        step = 1e-6 * np.eye(DIM)[c]
        up, down = kernel.diagonal(theta, X + step)[0], kernel.diagonal(theta, X - step)[0]
        np.testing.assert_allclose(gradient[:, c], (up - down) / 2e-6, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(gradient[:, list(categorical)], 0.0)


def test_pullback_to_parameters(kernel, theta, categorical):
    X = points(8, categorical, 4)
    forward = kernel.on_itself(X)
    M = np.random.default_rng(5).standard_normal((8, 8))
    M += M.T  # as the derivative by a symmetric matrix is
    gradient = forward(theta)[1](M)
    assert gradient.shape == theta.shape == (len(kernel.parameter_names(DIM)),)
    for i, step in enumerate(1e-6 * np.eye(theta.size)):
        difference = (M * (forward(theta + step)[0] - forward(theta - step)[0])).sum() / 2e-6
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-6, atol=1e-7)


def test_pullback_to_inputs(kernel, theta, categorical):
    x, X = points(5, categorical, 6), points(8, categorical, 7)
    forward = kernel.with_inputs(theta, X)
    W = np.random.default_rng(8).standard_normal((5, 8))
    gradient = forward(x)[1](W)
    assert gradient.shape == x.shape
    np.testing.assert_array_equal(gradient[:, list(categorical)], 0.0)
    for c in range(DIM):
        if c not in categorical:
            step = 1e-6 * np.eye(DIM)[c]
            difference = (W * (forward(x + step)[0] - forward(x - step)[0])).sum(axis=1) / 2e-6
            np.testing.assert_allclose(gradient[:, c], difference, rtol=1e-6, atol=1e-7)


def test_labels_are_equal_or_different_and_nothing_in_between(kind, per_dimension):
    kernel = KERNELS[kind](per_dimension, (1,))
    theta = np.log([0.4, 0.9, 1.7] if per_dimension else [0.6])
    theta = np.append(theta, np.log(PERIOD)) if kind == "periodic" else theta
    x = np.array([[0.3, 0.0, 0.6], [0.3, 1.0, 0.6], [0.3, 7.0, 0.6]])
    C, _ = kernel.on_itself(x)(theta)
    assert C[0, 1] == C[0, 2] == C[1, 2]
    assert C[0, 1] < C[0, 0]


@pytest.mark.parametrize("kind", [name for name in KERNELS if name != "linear"])
def test_the_gradient_vanishes_at_distance_zero(kind):
    kernel = KERNELS[kind]()
    x = np.full((1, 2), 0.3)
    theta = np.log([0.5, PERIOD] if kind == "periodic" else [0.5])
    C, pullback = kernel.with_inputs(theta, x)(x)
    np.testing.assert_allclose(C, 1.0, rtol=1e-15)
    np.testing.assert_allclose(pullback(np.ones((1, 1))), 0.0, atol=1e-14)


@pytest.mark.parametrize("length", [5e-3, 1e2])
def test_correlations_at_the_ends_of_the_lengthscales(kind, length):
    kernel = KERNELS[kind]()
    theta = np.log([length, PERIOD] if kind == "periodic" else [length])
    X = points(9, (), 9)
    X[1] = X[0] + 1e-9
    C, pullback = kernel.on_itself(X)(theta)
    np.testing.assert_allclose(C, by_scikit_learn(kernel, theta, X, X), rtol=1e-9, atol=1e-9)
    assert np.isfinite(pullback(np.ones((9, 9)))).all()


def test_parameters_have_names():
    assert RBF().parameter_names(2) == ["lengthscale"]
    assert RBF(per_dimension=True).parameter_names(2) == ["lengthscale0", "lengthscale1"]
    assert Periodic().parameter_names(2) == ["lengthscale", "period"]
