"""scikit-learn regressors as models: against definitions written out, and inside a search."""

import numpy as np
import pytest
from scipy.special import ndtri

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'calibrant[sklearn]'")

from sklearn.base import clone
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calibrant import CalibratedSampler, GaussianRecalibrator, Normal, Optimizer, Quantiles
from calibrant.bridges.sklearn import (
    Forest,
    GaussianRegressor,
    QuantileRegressors,
    boosted_quantiles,
)
from calibrant.forecasts.output_maps import PowerMap
from calibrant.forecasts.residual import Calibrated, compose
from calibrant.models.protocol import KnowsLeaveOneOut

rng = np.random.default_rng(0)
X = rng.random((25, 2))
Y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(25)
PROCESS = GaussianProcessRegressor(RBF(0.3) + WhiteKernel(0.01), optimizer=None)
MODELS = {
    "process": GaussianRegressor(PROCESS),
    "ridge": GaussianRegressor(BayesianRidge()),
    "forest": Forest(RandomForestRegressor(30, random_state=0)),
    "trees": Forest(ExtraTreesRegressor(30, min_samples_leaf=3, random_state=0)),
    "boosting": boosted_quantiles(n_estimators=5, learning_rate=0.5),
}


def test_a_process_has_its_leave_one_out_scores_in_closed_form():
    fitted = GaussianRegressor(PROCESS).fit(X, Y)
    assert isinstance(fitted, KnowsLeaveOneOut)
    scores, stds = fitted.leave_one_out()
    v = fitted.outputs(Y)
    for i in range(25):
        others = np.arange(25) != i
        mean, std = PROCESS.fit(X[others], v[others]).predict(X[[i]], return_std=True)
        np.testing.assert_allclose([scores[i], stds[i]], [(v[i] - mean[0]) / std[0], std[0]])


@pytest.mark.parametrize("normalize", [False, True])
def test_noise_in_alpha_is_part_of_a_forecast(normalize):
    """As noise in a WhiteKernel is; scikit-learn leaves it out of the std."""
    alpha = GaussianProcessRegressor(RBF(0.3), alpha=0.5, optimizer=None, normalize_y=normalize)
    white = GaussianProcessRegressor(
        RBF(0.3) + WhiteKernel(0.5), optimizer=None, normalize_y=normalize
    )
    one, other = (GaussianRegressor(regressor).fit(X, Y) for regressor in (alpha, white))
    np.testing.assert_allclose(one.predict(X[:4]).std(), other.predict(X[:4]).std(), rtol=1e-6)
    np.testing.assert_allclose(one.leave_one_out(), other.leave_one_out(), rtol=1e-6)


def test_a_pipeline_passes_return_std_on():
    model = GaussianRegressor(make_pipeline(StandardScaler(), BayesianRidge()))
    assert model.fit(X, Y).predict(X[:3]).batch == (3,)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("name", MODELS)
def test_forecasts_do_not_depend_on_units(name, scale):
    one = MODELS[name].fit(X, Y).predict(X[:4])
    other = MODELS[name].fit(X, scale * (Y + 3.0)).predict(X[:4])
    # Among equally good splits of a tree, rounding decides.
    tolerance = 1e-3 if name in ("process", "ridge") else 0.03
    expected = scale * (one.quantile(0.9) + 3.0)
    np.testing.assert_allclose(other.quantile(0.9), expected, rtol=tolerance)


def test_a_regressor_that_came_fitted_forecasts_as_it_was_fitted():
    ridge = BayesianRidge().fit(X, 5.0 + 2.0 * Y)
    forecast = GaussianRegressor(ridge).predict(X[:3])
    mean, std = ridge.predict(X[:3], return_std=True)
    np.testing.assert_allclose(forecast.mean(), mean)
    np.testing.assert_allclose(forecast.std(), std)


def votes_by_hand(forest, x, outcomes, trees):
    """Average, over trees, the even vote for outcomes in the point's leaf."""
    votes = np.zeros(25)
    for tree in trees:
        leaf = forest.estimators_[tree].apply(x[None].astype(np.float32))[0]
        home = forest.estimators_[tree].apply(X.astype(np.float32)) == leaf
        home &= outcomes
        if home.any():
            votes[home] += 1.0 / home.sum()
    return votes / votes.sum()


def quantiles_by_hand(votes, spread, levels):
    order = [i for i in np.argsort(Y) if votes[i] > 0.0]
    before = np.concatenate([[0.0], np.cumsum(votes[order])[:-1]])
    middles = before + 0.5 * votes[order]
    return np.interp(levels, middles, Y[order]) + spread * ndtri(levels)


LEVELS = np.array([0.1, 0.5, 0.85])


@pytest.mark.parametrize("name", ["forest", "trees"])
def test_a_forest_forecasts_the_outcomes_in_its_leaves(name):
    fitted = MODELS[name].fit(X, Y)
    spread = 0.05 * Y.std()
    for x in rng.random((4, 2)):
        votes = votes_by_hand(fitted.regressor, x, np.ones(25, bool), range(30))
        forecast = fitted.predict(x[None])[0]
        expected = quantiles_by_hand(votes, spread, LEVELS)
        np.testing.assert_allclose(forecast.quantile(LEVELS), expected, atol=1e-12)


def test_a_bagged_forest_scores_outcomes_by_the_trees_that_have_not_seen_them():
    fitted = MODELS["forest"].fit(X, Y)
    scores, stds = fitted.leave_one_out()
    seen = [set(rows) for rows in fitted.regressor.estimators_samples_]
    scored = [i for i in range(25) if any(i not in rows for rows in seen)]
    assert scores.size == stds.size == len(scored) > 20
    grid = np.arange(1, 20) / 20
    for score, i in zip(scores, scored, strict=True):
        trees = [tree for tree in range(30) if i not in seen[tree]]
        votes = votes_by_hand(fitted.regressor, X[i], np.arange(25) != i, trees)
        inner = quantiles_by_hand(votes, 0.05 * Y.std(), grid)
        if inner[0] <= Y[i] <= inner[-1]:
            expected = Quantiles(grid, inner).score(Y[i])
        else:  # the tail goes on with the spread of the whole
            edge = 0 if Y[i] < inner[0] else -1
            slope = (inner[-1] - inner[0]) / (ndtri(0.95) - ndtri(0.05))
            expected = ndtri(grid[edge]) + (Y[i] - inner[edge]) / slope
        np.testing.assert_allclose(score, expected)
    assert not isinstance(MODELS["trees"].fit(X, Y), KnowsLeaveOneOut)  # they see all outcomes


def test_outcomes_that_all_trees_have_seen_are_not_scored():
    tiny = Forest(RandomForestRegressor(1, random_state=0)).fit(X[:2], Y[:2])
    scores, _ = tiny.leave_one_out()
    assert scores.size < 2
    assert np.isfinite(scores).all()


# Without a closed form, a calibrated model is fitted anew for every outcome, at every ask: some
# of these searches are short, and run in full with the slow tests.
SEARCHES = [
    *[(name, "raw", 22) for name in MODELS],
    *[(name, "calibrated", 22) for name in ("process", "ridge")],
    ("forest", "calibrated", 28),
    *[(name, "calibrated", 8) for name in ("trees", "boosting")],
    pytest.param("trees", "calibrated", 20, marks=pytest.mark.slow),
    pytest.param("boosting", "calibrated", 20, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "how", "count"), SEARCHES)
def test_models_search(name, how, count):
    recalibrator = GaussianRecalibrator() if how == "calibrated" else None
    optimizer = Optimizer(2, model=MODELS[name], recalibrator=recalibrator, seed=0)
    optimizer.tell([0.9, 0.9], np.nan)  # a failed point, and one that is running
    optimizer.ask()
    points, found = set(), []
    for _ in range(count):
        x = optimizer.ask()
        points.add(tuple(x))
        found.append(float(x.sum()))  # even a straight line can learn it
        optimizer.tell(x, found[-1])
    assert len(points) == count
    if name != "boosting":  # which needs more than 20 outcomes to learn from
        assert min(found) < 0.5


def test_a_sampler_takes_them():
    import optuna

    study = optuna.create_study(sampler=CalibratedSampler(model=MODELS["forest"], seed=0))
    study.optimize(
        lambda t: (
            (t.suggest_float("x", 0, 1) - 0.4) ** 2 + (t.suggest_categorical("c", "ab") > "a")
        ),
        n_trials=12,
    )
    assert study.best_value < 0.3


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "y", [np.full(6, 3.0), np.r_[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]], ids=["flat", "step"]
)
def test_constant_outcomes_and_duplicates(name, y):
    points = np.repeat(X[:3], 2, axis=0)
    forecast = MODELS[name].fit(points, y).predict(points)
    assert np.isfinite(forecast.quantile(0.9)).all()
    assert (forecast.std() > 0.0).all()


def test_quantiles_under_a_gaussian_shape_are_quantiles_at_other_levels():
    forecast = boosted_quantiles(n_estimators=10).fit(X, Y).predict(X[:5])
    for shape in (Normal(0.3, 1.7), Normal(-0.2, 0.6)):
        simple, general = compose(forecast, shape), Calibrated(forecast, shape)
        assert isinstance(simple, Quantiles)
        z = np.linspace(-4.0, 4.0, 17)[:, None]
        np.testing.assert_allclose(simple.at_score(z), general.at_score(z), rtol=1e-9)
        np.testing.assert_allclose(simple.shortfall(0.5), general.shortfall(0.5), rtol=1e-3)
    assert isinstance(compose(forecast, Normal(0.0, 0.1)), Calibrated)  # levels would lose digits


class Says:
    """A regressor that forecasts what it is told to."""

    def __init__(self, mean=0.0, std=1.0):
        self.mean, self.std = mean, std

    def fit(self, X, y):
        return self

    def predict(self, X, return_std=False):
        mean = np.broadcast_to(self.mean, (len(X), *np.shape(self.mean)))
        return (mean, np.full(len(X), self.std)) if return_std else mean


def test_a_process_that_came_fitted_counts_its_noise():
    rng = np.random.default_rng(0)
    inputs, y = rng.random((60, X.shape[1])), rng.normal(0.0, 0.5, 60)
    process = GaussianProcessRegressor(RBF(0.3), alpha=0.25, optimizer=None)
    came_fitted = GaussianRegressor(clone(process).fit(inputs, y)).predict(X)
    fitted_here = GaussianRegressor(process, outputs=PowerMap()).fit(inputs, y).predict(X)
    np.testing.assert_allclose(came_fitted.mean(), fitted_here.mean())
    np.testing.assert_allclose(came_fitted.std(), fitted_here.std())
    assert (came_fitted.std() > 0.5).all()


def test_a_regressor_that_came_fitted_may_speak_of_small_numbers():
    ridge = BayesianRidge(alpha_1=1e-30, alpha_2=1e-30).fit(X, 1e-9 * Y)
    assert (GaussianRegressor(ridge).predict(X).std() < 1e-7).all()


def test_a_regressor_without_doubt_has_a_little():
    forecast = GaussianRegressor(Says(1.0, 0.0)).predict(X)
    assert (forecast.std() > 0.0).all()
    together = QuantileRegressors({0.1: Says(2.0), 0.9: Says(2.0)}).predict(X)
    assert (together.std() > 0.0).all()
    crossing = QuantileRegressors({0.1: Says(2.0), 0.9: Says(1.0)}).predict(X)
    np.testing.assert_allclose(crossing.quantile(0.1), 1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: GaussianRegressor(LinearRegression()), TypeError, "no `return_std`"),
        (lambda: GaussianRegressor(BayesianRidge(), "tanh"), ValueError, "fitted together with"),
        (lambda: GaussianRegressor(BayesianRidge(), "cube"), ValueError, "must be one of"),
        (
            lambda: GaussianRegressor(Says(np.nan)).predict(X),
            ValueError,
            "finite mean, but point 0",
        ),
        (lambda: GaussianRegressor(Says(0.0, np.inf)).predict(X), ValueError, "finite std"),
        (lambda: GaussianRegressor(Says([1.0, 2.0])).predict(X), ValueError, "fit it to 1-D"),
        (
            lambda: QuantileRegressors({0.1: Says(np.nan), 0.9: Says()}).predict(X),
            ValueError,
            "finite 0.1-quantile",
        ),
        (lambda: QuantileRegressors({0.5: QuantileRegressor()}), ValueError, "At least 2 levels"),
        (lambda: Forest(BaggingRegressor()), TypeError, "RandomForestRegressor or an ExtraTrees"),
        (lambda: Forest(GradientBoostingRegressor()), TypeError, "but got GradientBoosting"),
        (lambda: Forest(least_spread=0.0), ValueError, "least_spread"),
        (lambda: Forest().fit(X, np.full(25, np.nan)), ValueError, "must be finite"),
        (lambda: Forest().fit(X[:3], Y), ValueError, "shape"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
