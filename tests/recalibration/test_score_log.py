"""Calibration sets, against refits by hand and closed forms."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge
from sklearn.linear_model import QuantileRegressor as SklearnQuantileRegressor

from calibrant import LeaderRecalibrator, Normal, ScoreLog, recalibration
from calibrant.bridges.sklearn import GaussianRegressor, QuantileRegressors

rng = np.random.default_rng(0)
X = rng.uniform(size=(14, 2))
y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(14)


@dataclass(frozen=True)
class KernelModel:
    """A GP with fixed hyper-parameters that counts its fits and knows its closed forms."""

    fits: list = field(default_factory=list)

    def fit(self, X, y):
        self.fits.append(len(y))
        return FittedKernelModel(X, y, self.covariance(X, X) + 0.01 * np.eye(len(y)))

    @staticmethod
    def covariance(A, B):
        return np.exp(-2 * ((A[:, None] - B) ** 2).sum(-1))


@dataclass(frozen=True)
class FittedKernelModel:
    X: np.ndarray
    y: np.ndarray
    K: np.ndarray

    def predict(self, X):
        k = KernelModel.covariance(X, self.X)
        mean = k @ np.linalg.solve(self.K, self.y)
        variance = 1.01 - (k * np.linalg.solve(self.K, k.T).T).sum(-1)
        return Normal(mean, np.sqrt(variance))

    def leave_one_out(self):
        inverse = np.linalg.inv(self.K)
        stds = 1.0 / np.sqrt(np.diag(inverse))
        return inverse @ self.y * stds, stds

    def one_step_ahead_scores(self):
        return np.linalg.solve(np.linalg.cholesky(self.K), self.y)


def test_leave_one_out_closed_form_equals_refits():
    model = KernelModel()
    closed = recalibration.leave_one_out(model, X, y)
    assert model.fits == [14]
    refitted = recalibration.leave_one_out(model, X, y, refit=True)
    assert model.fits == [14] + [13] * 14
    np.testing.assert_allclose(closed.scores, refitted.scores, rtol=1e-8)


@pytest.mark.parametrize("first", [1, 2, 5])
def test_time_series_closed_form_equals_refits(first):
    model = KernelModel()
    closed = recalibration.time_series(model, X, y, first=first)
    assert model.fits == [14]
    refitted = recalibration.time_series(model, X, y, first=first, refit=True)
    assert model.fits == [14, *range(first, 14)]
    assert len(refitted) == 14 - first
    np.testing.assert_allclose(closed.scores, refitted.scores, rtol=1e-8)


def test_k_fold_scores_every_outcome_once_by_the_other_folds():
    model = KernelModel()
    scored = recalibration.k_fold(model, X, y, 5, np.random.default_rng(1))
    assert len(scored) == 14
    assert sorted(model.fits) == [11, 11, 11, 11, 12]


def test_as_many_folds_as_outcomes_is_leave_one_out():
    folds = recalibration.k_fold(KernelModel(), X, y, 14, np.random.default_rng(1))
    np.testing.assert_allclose(
        folds.scores, recalibration.leave_one_out(KernelModel(), X, y).scores
    )


def test_online_log_records_forecasts_as_they_come():
    log = ScoreLog()
    log = log.record(Normal(0.0, 1.0), 1.0).record(Normal([1.0, 2.0], 2.0), [1.0, 4.0])
    np.testing.assert_allclose(log.scores, [1.0, 0.0, 1.0])
    np.testing.assert_allclose(log.pits[1], 0.5)
    by_hand = LeaderRecalibrator().update_scores([1.0, 0.0, 1.0])
    assert log.recalibrate(LeaderRecalibrator())(0.3) == by_hand(0.3)


def test_sklearn_regressor_with_std():
    model = GaussianRegressor(BayesianRidge())
    scored = recalibration.leave_one_out(model, X, y)
    assert len(scored) == 14
    assert not hasattr(model.regressor, "coef_")  # fit works on a copy
    reference = BayesianRidge().fit(X[1:], y[1:])
    mean, std = reference.predict(X[:1], return_std=True)
    np.testing.assert_allclose(scored.scores[0], (y[0] - mean[0]) / std[0], rtol=1e-5)


def test_quantile_regressors_give_a_table_and_never_cross():
    levels = (0.1, 0.5, 0.9)
    model = QuantileRegressors(
        {p: SklearnQuantileRegressor(quantile=p, alpha=0.0, solver="highs") for p in levels}
    )
    forecast = model.fit(X, y).predict(X)
    values = forecast.quantile(np.array(levels)[:, None])
    alone = [clone(regressor).fit(X, y).predict(X) for regressor in model.regressors.values()]
    assert np.any(np.diff(alone, axis=0) < 0)  # level by level they do cross here
    np.testing.assert_allclose(values, np.sort(alone, axis=0), atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: recalibration.leave_one_out(KernelModel(), X, y[:3]), "shape"),
        (lambda: recalibration.leave_one_out(KernelModel(), X[:1], y[:1]), "At least 2 outcomes"),
        (
            lambda: recalibration.leave_one_out(KernelModel(), X, np.full(14, np.nan)),
            "must be finite",
        ),
        (lambda: recalibration.k_fold(KernelModel(), X, y, 1, rng), "`2 <= k <= n`"),
        (lambda: recalibration.k_fold(KernelModel(), X, y, 15, rng), "`2 <= k <= n`"),
        (lambda: recalibration.time_series(KernelModel(), X, y, first=0), "`1 <= first < n`"),
        (lambda: recalibration.time_series(KernelModel(), X, y, first=14), "`1 <= first < n`"),
        (lambda: ScoreLog(np.array([np.inf])), "must be finite"),
        (lambda: ScoreLog(np.zeros((2, 2))), "1-D"),
        (lambda: ScoreLog().record(Normal(0.0, 1.0), np.nan), "`y` must be finite"),
        (lambda: ScoreLog().record(Normal([0.0, 1.0], 1.0), 1.0), "One outcome per forecast point"),
        (lambda: GaussianRegressor(SklearnQuantileRegressor()), "QuantileRegressors"),
        (lambda: QuantileRegressors({0.5: SklearnQuantileRegressor()}), "At least 2 levels"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
