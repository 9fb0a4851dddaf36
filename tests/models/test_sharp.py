"""Constrained online learning of hyper-parameters: as sharp as coverage allows."""

import numpy as np
import pytest
from scipy.special import ndtri

from calibrant import Optimizer
from calibrant.models import GaussianProcess, Rotation, SharpCalibrated
from calibrant.models.sharp import _multiplied, sharpest

RNG = np.random.default_rng(4)
X = RNG.random((15, 2))
y = np.sin(6.0 * X[:, 0]) + X[:, 1]
POINTS = RNG.random((5, 2))
WIDTHS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])


@pytest.mark.parametrize("truth", [0.5, 1.0, 4.0])
def test_the_sharpest_that_covers_is_found(truth):
    scores = truth * RNG.normal(size=400) / WIDTHS[:, None]
    chosen = WIDTHS[sharpest(scores, np.log(WIDTHS), 0.8, np.zeros(WIDTHS.size))]
    assert chosen in (truth, 2.0 * truth)  # what covers, or the first that covers enough
    covered = np.mean(np.abs(truth * RNG.normal(size=4000) / chosen) < ndtri(0.9))
    assert covered > 0.75


def test_without_outcomes_the_first_choice_stays():
    handicap = np.log2(WIDTHS) ** 2
    assert WIDTHS[sharpest(np.empty((7, 0)), np.log(WIDTHS), 0.8, handicap)] == 1.0


def test_a_factor_on_the_std_is_one_and_leaves_the_mean_alone():
    process = GaussianProcess()
    fitted = process.fit(X, y)
    wide = process.at(_multiplied(fitted, 1.0, 3.0), X, y)
    np.testing.assert_allclose(wide.posterior(POINTS).mean, fitted.posterior(POINTS).mean)
    np.testing.assert_allclose(wide.posterior(POINTS).std, 3.0 * fitted.posterior(POINTS).std)


def test_a_factor_on_the_lengthscale_is_one():
    fitted = GaussianProcess().fit(X, y)
    changed = np.exp(_multiplied(fitted, 2.0, 1.0) - fitted.theta)
    np.testing.assert_allclose(changed, [2.0, 1.0, 1.0])


@pytest.mark.parametrize("outcomes", [np.zeros(6), [1.0, 2.0], [3.0]])
def test_hard_outcomes(outcomes):
    fitted = SharpCalibrated().fit(RNG.random((len(outcomes), 2)), outcomes)
    mean, std, _ = fitted.posterior(POINTS)
    assert np.isfinite(mean).all()
    assert np.all(std > 0.0)


@pytest.mark.parametrize("model", [GaussianProcess(outputs="tanh"), Rotation((GaussianProcess(),))])
def test_a_search(model):
    optimizer = Optimizer(2, model=SharpCalibrated(model), recalibrator=None, seed=0)
    for _ in range(9):
        x = optimizer.ask()
        optimizer.tell(x, float(((x - 0.3) ** 2).sum()))
    assert optimizer.best[1] < 0.05


def test_a_bad_level_is_refused():
    with pytest.raises(ValueError, match=r"level|coverage"):
        SharpCalibrated(level=1.0)
