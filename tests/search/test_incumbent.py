"""The value to beat: certain without noise, drawn with it."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant.acquisition import ExpectedImprovement, ProbabilityOfImprovement
from calibrant.acquisition.base import Belief, DrawnBest
from calibrant.core.cube import Cube
from calibrant.core.rule import Rule
from calibrant.forecasts.normal import STANDARD_NORMAL, Normal
from calibrant.models import BaggedProcesses, GaussianProcess, Matern52
from calibrant.models.draws import Draws
from calibrant.search.history import History
from calibrant.search.incumbent import Reached, drawn_best, to_beat
from calibrant.search.pending import Imagined

RNG = np.random.default_rng(8)
CUBE = Cube.continuous(2)
X = RNG.random((10, 2))
Y = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.4 * RNG.standard_normal(10)
NOISY = GaussianProcess(Matern52(), "standardise", noise=0.4).fit(X, Y)
EXACT = GaussianProcess(Matern52(), "standardise", noise=0.0).fit(X, Y)


def drawn(fitted, breadth=0.0):
    return drawn_best(fitted, Reached(X, np.empty((1, 0)), breadth), np.random.default_rng(1))


def over(fitted, draws, acquisition=None, residual=STANDARD_NORMAL):
    belief = Belief(fitted, residual, 0.0, drawn=draws)
    return (acquisition or ExpectedImprovement()).criterion(belief, RNG, CUBE)


def test_where_no_noise_is_seen_the_best_is_the_best_outcome():
    assert drawn(EXACT) is None


def test_other_models_have_no_draws():
    assert drawn(BaggedProcesses(GaussianProcess(noise=0.4)).fit(X, Y)) is None


def test_the_best_of_draws_without_uncertainty_is_the_best_outcome():
    draws = Draws.of(EXACT, X, np.random.default_rng(1).standard_normal((6, 10)))
    best = float(EXACT.in_model_units(Y).min())
    np.testing.assert_allclose(draws.values.min(axis=1), best, atol=1e-3)
    points = np.random.default_rng(2).random((20, 2))
    for acquisition in (ExpectedImprovement(), ProbabilityOfImprovement()):
        plain = acquisition.criterion(Belief(EXACT, STANDARD_NORMAL, best), RNG, CUBE)
        found = over(EXACT, DrawnBest(draws, draws.values.min(axis=1)), acquisition)
        np.testing.assert_allclose(found(points)[0], plain(points)[0], atol=0.02)


def test_it_is_the_expected_improvement_on_the_lowest_value_of_the_function():
    """Against a brute-force mean over joint draws of all points."""
    points = np.random.default_rng(3).random((4, 2))
    draws = Draws.of(NOISY, X, np.random.default_rng(4).standard_normal((4000, 10)))
    found = np.exp(over(NOISY, DrawnBest(draws, draws.values.min(axis=1)))(points)[0])
    mean, covariance = NOISY.joint(np.vstack([X, points]))
    values = np.random.default_rng(5).multivariate_normal(mean, covariance, 200_000)
    gains = np.maximum(values[:, :10].min(axis=1, keepdims=True) - values[:, 10:], 0.0)
    np.testing.assert_allclose(found, gains.mean(axis=0), rtol=0.06, atol=2e-4)


def test_the_best_outcome_is_luckier_than_the_best_of_draws():
    draws = drawn(NOISY)
    assert draws.best.mean() > NOISY.in_model_units(Y).min()
    np.testing.assert_allclose(drawn(NOISY, breadth=0.3).best, draws.best - 0.3)


@pytest.mark.parametrize("acquisition", [ExpectedImprovement(), ProbabilityOfImprovement()])
@pytest.mark.parametrize("residual", [STANDARD_NORMAL, Normal(0.2, 1.5)])
def test_its_gradient_is_the_derivative(acquisition, residual):
    criterion = over(NOISY, drawn(NOISY), acquisition, residual)
    points = np.random.default_rng(6).random((5, 2))
    gradient = criterion(points)[1]()
    for i, j in np.ndindex(points.shape):
        moved = np.zeros_like(points)
        moved[i, j] = 1e-6
        slope = (criterion(points + moved)[0][i] - criterion(points - moved)[0][i]) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("how", ["range", "rule"])
def test_what_may_not_be_tried_any_more_is_not_to_be_beaten(how):
    """Of points outside a range that was narrowed, or against a rule, which came later."""
    best = int(Y.argmin())
    points, cube = X.copy(), CUBE
    if how == "range":
        points[best, 0] = 1.5
    else:
        far = X[best, 0]
        cube = replace(CUBE, rule=Rule(lambda rows: rows[:, 0] != far))
    fitted = GaussianProcess(Matern52(), "standardise", noise=0.0).fit(points, Y)
    history = replace(
        History.empty(2), X=points, Y=Y[:, None], constraints=np.empty((10, 0)),
        was_forecast=np.ones(10, dtype=bool),
    )  # fmt: skip
    reached = to_beat([Imagined(fitted, fitted.means())], history, cube)
    others = np.delete(np.arange(10), best)
    np.testing.assert_array_equal(reached.points, points[others])
    none = replace(cube, rule=Rule(lambda rows: np.zeros(len(rows), dtype=bool)))
    moved = to_beat([Imagined(fitted, fitted.means())], history, none)  # as they would be here
    np.testing.assert_array_equal(moved.points, np.clip(points, 0.0, 1.0))
