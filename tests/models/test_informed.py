"""Processes that know other functions."""

import numpy as np
import pytest

from calibrant.models import BaggedProcesses, GaussianProcess, Rotation
from calibrant.models.informed import informed, uninformed
from calibrant.models.kernels import Additive, Informed, Matern52

DIM = 2


def wave(X):
    """A known function of two coordinates, with its gradient."""
    by_x = np.stack([3.0 * np.cos(3.0 * X[:, 0]), 2.0 * X[:, 1]], axis=1)
    return np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2, by_x


def plane(X):
    return X[:, 0] - X[:, 1], np.tile([1.0, -1.0], (len(X), 1))


KERNEL = Informed(kernel=Additive(), features=(wave, plane))
THETA = np.log([0.5, 0.4, 1.3, 0.7, 2.0])


def differences(function, x, step=1e-6):
    slopes = []
    for i in range(x.size):
        move = np.zeros(x.size)
        move[i] = step
        slopes.append((function(x + move) - function(x - move)) / (2.0 * step))
    return np.array(slopes)


def test_gradients_by_parameters_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    X, M = rng.random((7, DIM)), rng.normal(size=(7, 7))
    M = M + M.T
    on_itself = KERNEL.on_itself(X)
    expected = differences(lambda theta: (on_itself(theta)[0] * M).sum(), THETA)
    np.testing.assert_allclose(on_itself(THETA)[1](M), expected, rtol=1e-5, atol=1e-7)


def test_gradients_by_points_are_those_of_finite_differences():
    rng = np.random.default_rng(1)
    X, x, W = rng.random((7, DIM)), rng.random(DIM), rng.normal(size=(1, 7))
    with_inputs = KERNEL.with_inputs(THETA, X)
    expected = differences(lambda x: float((with_inputs(x[None])[0] * W).sum()), x)
    np.testing.assert_allclose(with_inputs(x[None])[1](W)[0], expected, rtol=1e-5, atol=1e-7)
    own = differences(lambda x: float(KERNEL.diagonal(THETA, x[None])[0][0]), x)
    np.testing.assert_allclose(KERNEL.diagonal(THETA, x[None])[1][0], own, rtol=1e-5, atol=1e-7)


def test_the_three_ways_to_correlations_agree():
    X = np.random.default_rng(2).random((6, DIM))
    C, _ = KERNEL.on_itself(X)(THETA)
    np.testing.assert_allclose(KERNEL.with_inputs(THETA, X)(X)[0], C, rtol=1e-7)
    np.testing.assert_allclose(KERNEL.diagonal(THETA, X)[0], C.diagonal(), rtol=1e-12)


def trust(y, X, feature):
    fitted = informed(GaussianProcess(Additive()), (feature,)).fit(X, y)
    return float(fitted.model.kernel.trusts(fitted.parameters.kernel)[0])


def test_most_is_trusted_to_the_same_function_and_little_to_another():
    rng = np.random.default_rng(3)
    X = rng.random((30, DIM))

    def same(X):  # of mean 0 and variance 1, as known functions are to be
        f, by_x = wave(X)
        return (f - 1.0) / 0.4, by_x / 0.4

    def unrelated(X):
        return np.cos(9.0 * X[:, 0] + 7.0 * X[:, 1]), np.zeros_like(X)

    assert (
        trust(3.0 + 2.0 * wave(X)[0], X, same) > 0.5
    )  # the kernel of the rest can explain a part of it, too
    y = 3.0 + 2.0 * wave(X)[0]
    # The kernel of the rest can explain a part of it, too, and the prior keeps trust from 0.
    assert trust(y, X, same) > max(0.5, 3.0 * trust(y, X, unrelated))


def test_without_what_is_known_it_is_the_same_model_again():
    model = Rotation((GaussianProcess(Additive()), GaussianProcess(Matern52())))
    assert uninformed(informed(model, (wave,))) == model
    assert uninformed(model) == model


def test_other_models_cannot_be_told():
    with pytest.raises(ValueError, match="BaggedProcesses: leave out `earlier`"):
        informed(BaggedProcesses(), (wave,))


def test_the_inner_kernel_is_given_by_name():
    with pytest.raises(TypeError, match="Informed\\(kernel="):
        Informed(Matern52())
