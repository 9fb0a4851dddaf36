"""The bound with shrinking lengthscales, against fresh processes and finite differences."""

from dataclasses import dataclass

import numpy as np
import pytest

from calibrant import Normal, Optimizer
from calibrant.acquisition import AdaptiveBound
from calibrant.acquisition.adaptive import information_gain, shrink
from calibrant.acquisition.base import Belief
from calibrant.core import Cube
from calibrant.models import RBF, GaussianProcess, Matern52, Periodic

rng = np.random.default_rng(1)
X = rng.random((16, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
POINTS = rng.random((7, 2))
KERNELS = {
    "one lengthscale": (Matern52(), [0.4], [0.2]),
    "one a dimension": (Matern52(True), [0.4, 0.9], [0.2, 0.45]),
    "periodic": (Periodic(), [0.5, 1.5], [0.25, 1.5]),  # the period stays
}
REST = [0.8, 0.05]  # signal and noise
GP = GaussianProcess(outputs="standardise")
FITTED = GP.at(np.log([0.4, *REST]), X, Y)


def criterion_of(acquisition, fitted=FITTED, residual=None):
    belief = Belief(fitted, residual or Normal(0.0, 1.0), 0.0)
    cube = Cube.continuous(fitted.X.shape[1])
    return acquisition.criterion(belief, np.random.default_rng(0), cube)


@pytest.mark.parametrize("name", KERNELS)
def test_a_shrunken_process_is_the_one_with_shorter_lengthscales(name):
    kernel, before, after = KERNELS[name]
    gp = GaussianProcess(kernel, outputs="standardise")
    shrunk = shrink(gp.at(np.log([*before, *REST]), X, Y), 2.0)
    expected = gp.at(np.log([*after, *REST]), X, Y)
    np.testing.assert_allclose(shrunk.theta, expected.theta)
    np.testing.assert_allclose(shrunk.W, expected.W, rtol=1e-8, atol=1e-10)
    for got, want in zip(shrunk.posterior(POINTS)[:2], expected.posterior(POINTS)[:2], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8)
    np.testing.assert_array_equal(shrunk.v, expected.v)


def test_nothing_is_made_anew_where_nothing_shrinks():
    assert shrink(FITTED, 1.0) is FITTED


def test_lengthscales_shrink_as_outcomes_are_added():
    acquisition = AdaptiveBound()
    lengths = []
    for n in (1, 4, 16):
        fitted = GP.at(np.log([0.4, *REST]), X[:n], Y[:n])
        lengths.append(np.exp(shrink(fitted, acquisition.shrinkage(fitted)).theta[0]))
    np.testing.assert_allclose(lengths, [0.4, 0.4 / np.sqrt(2.0), 0.2])
    value, _ = criterion_of(acquisition)(POINTS)
    shrunk = GP.at(np.log([0.2, *REST]), X, Y)
    mean, std, _ = shrunk.posterior(POINTS)
    np.testing.assert_allclose(-value, mean - acquisition.factor(shrunk) * std, rtol=1e-8)


def test_the_information_gain_is_that_of_its_definition():
    for fitted in (FITTED, shrink(FITTED, 2.0)):
        C, _ = fitted.model.kernel.on_itself(X)(fitted.theta[:1])
        _, log_det = np.linalg.slogdet(np.eye(16) + REST[0] * C / REST[1])
        np.testing.assert_allclose(information_gain(fitted), 0.5 * log_det, rtol=1e-10)
    assert information_gain(shrink(FITTED, 2.0)) > information_gain(FITTED)
    given = GaussianProcess(outputs="standardise", noise=0.0).at(
        np.log([0.4, 0.8]), X, Y, noise=np.linspace(0.1, 0.4, 16)
    )
    root = np.sqrt(given.noise_variance)
    C, _ = given.model.kernel.on_itself(X)(given.theta[:1])
    _, log_det = np.linalg.slogdet(np.eye(16) + 0.8 * C / np.outer(root, root))
    np.testing.assert_allclose(information_gain(given), 0.5 * log_det, rtol=1e-10)


def test_the_factor_is_that_of_the_theory():
    gain, sigma, g = information_gain(FITTED), np.sqrt(0.05), 2.0
    doubt = 4.0 * sigma * np.sqrt(gain + 1.0 + np.log(1 / 0.2))
    np.testing.assert_allclose(AdaptiveBound(norm=1.5, delta=0.2).factor(FITTED), 1.5 + doubt)
    grown = AdaptiveBound(norm=1.5, delta=0.2, grow_norm=True)
    np.testing.assert_allclose(grown.factor(FITTED), 1.5 * g ** (2 / 2) + doubt)
    ten = GP.at(np.log([0.4, *REST]), rng.random((16, 10)), Y)
    growth = AdaptiveBound(grow_norm=True).factor(ten) - AdaptiveBound().factor(ten)
    np.testing.assert_allclose(growth, 2.0 * (g**5 - 1.0))


def test_without_growth_it_is_the_plain_bound():
    acquisition = AdaptiveBound(growth=0.0)
    value, gradient = criterion_of(acquisition)(POINTS)
    mean, std, pullback = FITTED.posterior(POINTS)
    factor = acquisition.factor(FITTED)
    assert factor > 2.5
    np.testing.assert_array_equal(value, -(mean - factor * std))
    np.testing.assert_allclose(gradient(), pullback(-np.ones(7), np.full(7, factor)))


@pytest.mark.parametrize("growth", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("name", KERNELS)
def test_gradients(name, growth):
    kernel, before, _ = KERNELS[name]
    fitted = GaussianProcess(kernel).at(np.log([*before, *REST]), X, Y)
    criterion = criterion_of(AdaptiveBound(growth), fitted)
    _, gradient = criterion(POINTS)
    for column, step in enumerate(1e-6 * np.eye(2)):
        expected = (criterion(POINTS + step)[0] - criterion(POINTS - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient()[:, column], expected, rtol=1e-5, atol=1e-6)


def test_a_matrix_without_a_factor_gets_jitter():
    doubled = np.vstack([X, X, X + 1e-9])
    fitted = GaussianProcess(RBF(), outputs="standardise", noise=0.0).at(
        np.log([5.0, 1e8]), doubled, np.tile(Y, 3)
    )
    value, gradient = criterion_of(AdaptiveBound(), fitted)(POINTS)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient()).all()


def test_recalibration_is_ignored():
    plain, _ = criterion_of(AdaptiveBound())(POINTS)
    stretched, _ = criterion_of(AdaptiveBound(), residual=Normal(0.5, 3.0))(POINTS)
    np.testing.assert_array_equal(plain, stretched)


def test_a_search_finds_the_minimum():
    optimizer = Optimizer(dim=1, acquisition=AdaptiveBound(), seed=0)
    for _ in range(20):
        x = optimizer.ask()
        optimizer.tell(x, float((x[0] - 0.3) ** 2 - 0.1 * np.cos(12 * x[0] - 3.6)))
    (x,), _ = optimizer.best
    assert abs(x - 0.3) < 0.02


@dataclass(frozen=True)
class Unknown:
    def predict(self, points):
        return Normal(np.zeros(len(points)), 1.0)


def test_other_models_are_refused():
    belief = Belief(Unknown(), Normal(0.0, 1.0), 0.0)
    with pytest.raises(TypeError, match="needs a fitted GaussianProcess, but got Unknown"):
        AdaptiveBound().criterion(belief, np.random.default_rng(0), Cube.continuous(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"growth": -0.1}, "growth >= 0"),
        ({"norm": -1.0}, "norm >= 0"),
        ({"delta": 0.0}, "0 < delta < 1"),
        ({"delta": 1.0}, "0 < delta < 1"),
        ({"delta": float("nan")}, "0 < delta < 1"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveBound(**arguments)
