"""Conformal bounds and intervals, against processes literally conditioned and by their coverage."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom, norm

from calibrant import Normal, Optimizer
from calibrant.acquisition import ConformalBound, conformal_interval
from calibrant.acquisition.base import Belief
from calibrant.acquisition.conformal import Margins, density_ratio, outcome_scores
from calibrant.core import Axis, Cube
from calibrant.models import GaussianProcess, Matern52, Periodic

rng = np.random.default_rng(1)
X = rng.random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(12)
POINTS = rng.random((9, 2))
THETA = np.log([0.4, 1.0, 0.05])
GP = GaussianProcess(outputs="standardise")
FITTED = GP.at(THETA, X, Y)
FITS = {
    "one lengthscale": FITTED,
    "one a dimension": GaussianProcess(Matern52(True)).at(np.log([0.3, 0.9, 2.0, 0.01]), X, Y),
    "periodic": GaussianProcess(Periodic()).at(np.log([0.5, 1.5, 1.0, 0.1]), X, Y),
    "hardly any noise": GP.at(np.log([0.4, 1.0, 1e-6]), X, Y),
    "noise of each": GaussianProcess(outputs="standardise", noise=0.0).at(
        THETA[:2], X, Y, np.linspace(0.1, 0.5, 12)
    ),
    "one outcome": GP.at(THETA, X[:1], Y[:1]),
}


@pytest.fixture(params=FITS, ids=str)
def fitted(request):
    return FITS[request.param]


def criterion_of(acquisition, fitted=FITTED, seed=0, residual=None, cube=None):
    belief = Belief(fitted, residual or Normal(0.0, 1.0), float(fitted.means().min()))
    cube = cube or Cube.continuous(fitted.X.shape[1])
    return acquisition.criterion(belief, np.random.default_rng(seed), cube)


def literal_margins(fitted, x, t):
    """Condition on the outcome, and look up all densities: the definition."""
    noise = fitted.noise_variance.mean()
    mean, std, _ = fitted.posterior(x[None])
    told = fitted.appended(x[None], mean + t * np.sqrt(std**2 + noise), np.array([noise]))
    mean, std, _ = told.posterior(told.X)
    scores = norm.logpdf(told.v, mean, np.sqrt(std**2 + told.noise_variance))
    return scores[-1] - scores[:-1]


def literally_accepted(fitted, x, t, alpha, weights, own):
    no_better = literal_margins(fitted, x, t) >= 0.0
    return (weights[no_better].sum() + own) / (weights.sum() + own) > alpha


# Closed forms


def test_margins_are_those_of_processes_conditioned_on_the_outcome(fitted):
    mean, std, coefficients = Margins.of(fitted).at(POINTS)
    expected_mean, expected_std, _ = fitted.posterior(POINTS)
    np.testing.assert_allclose(mean, expected_mean)
    np.testing.assert_allclose(std**2, expected_std**2 + fitted.noise_variance.mean())
    for t in (-3.0, -0.4, 0.0, 0.7, 2.0):
        margins = 0.5 * coefficients @ [1.0, t, t * t]
        expected = [literal_margins(fitted, x, t) for x in POINTS]
        np.testing.assert_allclose(margins, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("weighted", [True, False])
def test_the_value_is_the_bound_over_literally_accepted_outcomes(fitted, weighted):
    acquisition = ConformalBound(alpha=0.3, k=1.5, samples=16, weighted=weighted)
    value, gradient = criterion_of(acquisition, fitted)(POINTS)
    assert gradient is None
    ratio = _ratio(acquisition, fitted) if weighted else lambda points: np.ones(len(points))
    weights, own = ratio(fitted.X), ratio(POINTS)
    mean, std = Margins.of(fitted).predictive(POINTS)
    tried = outcome_scores(16)
    shares = []
    for i, x in enumerate(POINTS):
        kept = [literally_accepted(fitted, x, t, 0.3, weights, own[i]) for t in tried]
        t = tried[kept] if any(kept) else tried
        spread = np.sqrt(np.pi / 2) * np.abs(t - t.mean()).mean()
        np.testing.assert_allclose(-value[i], mean[i] + std[i] * (t.mean() - 1.5 * spread))
        shares.append(np.mean(kept))
    assert fitted is not FITTED or 0.2 < np.mean(shares) < 0.9


def _ratio(acquisition, fitted, seed=0):
    queries = Cube.continuous(fitted.X.shape[1]).spread(512, np.random.default_rng(seed))
    mean, std = Margins.of(fitted).predictive(queries)
    bound = acquisition.k * std - mean
    likely = np.exp((bound - bound.mean()) / bound.std())
    return density_ratio(fitted.X, queries, likely / likely.sum())


@pytest.mark.parametrize("k", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("samples", [2, 7, 64])
def test_where_all_is_accepted_the_bound_is_mean_minus_k_std(k, samples):
    # The new point itself is a share 1/13: below that, whatever its outcome, it is accepted.
    acquisition = ConformalBound(1 / 14, k, samples, weighted=False)
    value, _ = criterion_of(acquisition)(POINTS)
    mean, std = Margins.of(FITTED).predictive(POINTS)
    np.testing.assert_allclose(-value, mean - k * std, rtol=1e-12)


def test_where_nothing_is_accepted_the_bound_is_over_everything():
    # Four equal outcomes at one point are known closely there: far away, none is known as well.
    fitted = GP.at(np.log([0.05, 1.0, 0.5]), np.full((4, 2), 0.2), np.zeros(4))
    far = np.array([[0.999, 0.001], [0.5, 0.999]])
    acquisition = ConformalBound(0.5, weighted=False)
    for t in (0.0, *outcome_scores(64)):
        assert not literally_accepted(fitted, far[0], t, 0.5, np.ones(4), 1.0)
    mean, std = Margins.of(fitted).predictive(far)
    np.testing.assert_allclose(-criterion_of(acquisition, fitted)(far)[0], mean - 2.0 * std)
    low, high = conformal_interval(fitted, far, 0.5)
    np.testing.assert_allclose(fitted.outputs(low), mean + ndtri(0.25) * std)
    np.testing.assert_allclose(fitted.outputs(high), mean + ndtri(0.75) * std)


def test_outcomes_are_as_likely_below_as_above_and_have_the_spread_of_a_gaussian():
    z = outcome_scores(64)
    np.testing.assert_allclose(z, -z[::-1], atol=1e-12)
    np.testing.assert_allclose(np.abs(z).mean(), np.sqrt(2 / np.pi))
    np.testing.assert_allclose(z, ndtri((np.arange(64) + 0.5) / 64), rtol=0.01)


def test_acceptance_tempers_optimism():
    """Outcomes in the tails are ruled out first, and the bound comes closer to the mean."""
    mean, std = Margins.of(FITTED).predictive(POINTS)
    strict, _ = criterion_of(ConformalBound(0.5, weighted=False))(POINTS)
    lax, _ = criterion_of(ConformalBound(0.1, weighted=False))(POINTS)
    assert np.all(strict < lax + 0.2 * std)
    assert np.all(strict <= -(mean - 2.0 * std) + 0.2 * std)
    assert np.mean(lax - strict) > 0.3 * std.mean()


# A function of points


def test_the_criterion_is_a_function_of_each_point_alone():
    criterion = criterion_of(ConformalBound())
    points = np.random.default_rng(5).random((1500, 2))  # more than one part
    value, _ = criterion(points)
    np.testing.assert_array_equal(criterion(points)[0], value)
    some = np.r_[0:5, 700:705, 1495:1500]
    np.testing.assert_allclose(criterion(points[some])[0], value[some], rtol=1e-9)
    np.testing.assert_array_equal(criterion_of(ConformalBound(), seed=0)(points)[0], value)


def test_recalibration_is_ignored():
    plain, _ = criterion_of(ConformalBound())(POINTS)
    stretched, _ = criterion_of(ConformalBound(), residual=Normal(0.5, 3.0))(POINTS)
    np.testing.assert_array_equal(plain, stretched)


@pytest.mark.parametrize(("n", "alpha"), [(1, 0.5), (5, 0.5), (12, 12**-0.35)])
def test_alpha_falls_with_the_number_of_outcomes(n, alpha):
    fitted = GP.at(THETA, X[:n], Y[:n])
    by_default, _ = criterion_of(ConformalBound(), fitted)(POINTS)
    np.testing.assert_array_equal(
        by_default, criterion_of(ConformalBound(alpha), fitted)(POINTS)[0]
    )


def test_labels_have_no_order():
    cube = Cube((Axis((0.1, 0.5, 0.9), categorical=True), Axis()))
    labelled = np.column_stack([np.resize([0.1, 0.5, 0.9], 12), X[:, 1]])
    renamed = labelled.copy()
    renamed[:, 0] = np.resize([0.9, 0.1, 0.5], 12)
    gp = GaussianProcess(Matern52(categorical=(0,)), outputs="standardise")
    queries = cube.spread(50, np.random.default_rng(0))
    asked = queries.copy()
    asked[:, 0] = np.select([queries[:, 0] == v for v in (0.1, 0.5, 0.9)], [0.9, 0.1, 0.5])
    for one, other in ((None, None), (queries, asked)):
        first = conformal_interval(gp.at(THETA, labelled, Y), queries, 0.3, one)
        second = conformal_interval(gp.at(THETA, renamed, Y), asked, 0.3, other)
        np.testing.assert_allclose(first, second)
    values, _ = criterion_of(ConformalBound(), gp.at(THETA, labelled, Y), cube=cube)(queries)
    assert np.isfinite(values).all()
    only = density_ratio(labelled, labelled[::3], np.full(4, 0.25), (0,))  # the first label
    first, others = only(queries[queries[:, 0] == 0.1]), only(queries[queries[:, 0] != 0.1])
    assert first.min() > 1.0 > others.max()


# Intervals


def test_an_interval_ends_where_acceptance_does(fitted):
    low, high = conformal_interval(fitted, POINTS, 0.4)
    bounded = np.isfinite(low) & np.isfinite(high)
    mean, std = Margins.of(fitted).predictive(POINTS)
    low, high = (fitted.outputs(low) - mean) / std, (fitted.outputs(high) - mean) / std
    checked = 0
    for i, x in enumerate(POINTS):

        def accepted(t, x=x):
            return literally_accepted(fitted, x, t, 0.4, np.ones(fitted.v.size), 1.0)

        if not bounded[i]:
            assert accepted(1e3) or accepted(-1e3)
            continue
        beyond = np.linspace(1e-3, 10.0, 20)
        assert not any(accepted(t) for t in (*(low[i] - beyond), *(high[i] + beyond)))
        if any(accepted(t) for t in np.linspace(low[i] + 1e-3, high[i] - 1e-3, 41)):
            assert accepted(low[i] + 1e-3)
            assert accepted(high[i] - 1e-3)
            checked += 1
        else:  # the model's own
            np.testing.assert_allclose([low[i], high[i]], ndtri([0.2, 0.8]))
    assert fitted is not FITTED or checked >= 8


@pytest.mark.parametrize("outputs", ["yeo-johnson", "log", "standardise"])
def test_what_is_never_ruled_out_is_infinitely_far(outputs):
    fitted = GaussianProcess(outputs=outputs).at(THETA, X, np.exp(Y))
    low, high = conformal_interval(fitted, POINTS, 1 / 14)  # one of 13 is more
    assert np.all(low == -np.inf)
    assert np.all(high == np.inf)
    low, high = conformal_interval(fitted, POINTS, 0.3)
    assert np.all(low < high)
    assert np.isfinite([low, high]).mean() > 0.9


def test_intervals_are_in_units_of_outcomes():
    low, high = conformal_interval(FITTED, POINTS, 0.3)
    scaled = conformal_interval(GP.at(THETA, X, 1e3 * Y + 5.0), POINTS, 0.3)
    np.testing.assert_allclose(scaled, [1e3 * low + 5.0, 1e3 * high + 5.0], rtol=1e-6)


REPEATS, N, ALPHA = 400, 30, 0.1
OVERCONFIDENT = {
    "too smooth": np.log([2.0, 1.0, 1e-2]),
    "too sure": np.log([0.3, 1.0, 1e-3]),
    "right": np.log([0.3, 1.0, 0.3]),
}


def noisy(n, rng):
    inputs = rng.random((n, 1))
    return inputs, np.sin(6 * inputs[:, 0]) + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("name", OVERCONFIDENT)
def test_unweighted_intervals_cover_however_wrong_the_model(name):
    rng = np.random.default_rng(3)
    # The map must not know the outcomes either, or they would not be exchangeable.
    outputs = GP.at(THETA[[0, 1, 2]], *noisy(500, rng)).outputs
    covered, raw, widths = [], [], []
    for _ in range(REPEATS):
        inputs, y = noisy(N + 1, rng)
        fitted = GP.at(OVERCONFIDENT[name], inputs[:N], y[:N])
        fitted = replace(fitted, outputs=outputs, v=outputs(y[:N]))
        (low,), (high,) = conformal_interval(fitted, inputs[N:], ALPHA)
        covered.append(low <= y[N] <= high)
        widths.append(high - low)
        raw.append(abs(fitted.predict(inputs[N:]).score(y[N])[0]) < -ndtri(ALPHA / 2))
    # Full conformal sets cover with just this probability; the hull of one may be wider.
    exact = 1.0 - np.floor(ALPHA * (N + 1)) / (N + 1)
    assert binom.ppf(1e-3, REPEATS, exact) <= sum(covered) <= binom.ppf(0.999, REPEATS, 0.93)
    assert np.median(widths) < 4.0  # not by saying nothing: outcomes span about 4
    if name != "right":
        assert sum(raw) < binom.ppf(1e-6, REPEATS, 1.0 - ALPHA)
        assert np.mean(raw) < 0.5


# Weights


def test_queries_raise_the_weights_around_them():
    known = np.random.default_rng(0).random((40, 1))
    around = 0.8 + 0.05 * np.random.default_rng(1).standard_normal((200, 1))
    ratio = density_ratio(known, around, np.full(200, 1 / 200))
    there, elsewhere = ratio(np.array([[0.8], [0.2]]))
    assert there > 1.3
    assert elsewhere < 0.5
    # The same by weights on even points.
    even = np.linspace(0.0, 1.0, 200)[:, None]
    likely = np.exp(-0.5 * ((even[:, 0] - 0.8) / 0.05) ** 2)
    by_weight = density_ratio(known, even, likely / likely.sum())(np.array([[0.8], [0.2]]))
    assert by_weight[0] > 1.3
    assert by_weight[1] < 0.5


def test_weights_are_finite_and_equal_where_queries_are_as_known_points():
    points = np.random.default_rng(0).random((30, 3))
    np.testing.assert_allclose(density_ratio(points, points, np.full(30, 1 / 30))(points), 1.0)
    far = density_ratio(np.zeros((5, 3)), np.ones((5, 3)), np.full(5, 0.2))
    assert 10 < far(np.ones((1, 3)))[0] <= 101
    assert 0.0 < far(np.zeros((1, 3)))[0] < 0.2
    same = density_ratio(np.zeros((5, 3)), np.zeros((5, 3)), np.full(5, 0.2))
    np.testing.assert_allclose(same(np.zeros((2, 3))), 1.0)


def test_a_search_asks_where_its_bound_is_low():
    low = np.linspace(0.0, 1.0, 9)[:, None]
    fitted = GP.at(THETA, low, 3.0 * low[:, 0])
    acquisition = ConformalBound()
    ratio = acquisition._ratio(Margins.of(fitted), np.linspace(0, 1, 100)[:, None])
    assert ratio(np.array([[0.1]]))[0] > 1.5 * ratio(np.array([[0.9]]))[0]


def test_weights_help_where_queries_are_not_as_known_points_are():
    rng = np.random.default_rng(8)
    queries = 0.8 + 0.2 * rng.random((200, 1))
    covered = {"weighted": 0, "equal": 0}
    theta = np.log([0.5, 1.0, 0.1])
    for _ in range(200):
        inputs = rng.random((61, 1))
        inputs[60] = 0.8 + 0.2 * rng.random()
        noise = np.where(inputs[:, 0] > 0.7, 1.0, 0.2)
        y = np.sin(3 * inputs[:, 0]) + noise * rng.standard_normal(61)
        fitted = GP.at(theta, inputs[:60], y[:60])
        for name, asked in (("weighted", queries), ("equal", None)):
            (low,), (high,) = conformal_interval(fitted, inputs[60:], 0.2, asked)
            covered[name] += low <= y[60] <= high
    assert covered["weighted"] >= binom.ppf(1e-3, 200, 0.8) - 10  # densities are estimates
    assert covered["weighted"] > covered["equal"] + 20


# In a search


def test_a_search_finds_the_minimum():
    optimizer = Optimizer(dim=1, acquisition=ConformalBound(), seed=0)
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
        ConformalBound().criterion(belief, np.random.default_rng(0), Cube.continuous(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, "0 < alpha < 1"),
        ({"alpha": 1.0}, "0 < alpha < 1"),
        ({"alpha": float("nan")}, "0 < alpha < 1"),
        ({"k": -1.0}, "k >= 0"),
        ({"samples": 1}, "samples >= 2"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConformalBound(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((POINTS, 1.5), "0 < alpha < 1"),
        ((POINTS[:, :1], 0.1), r"`X` must have shape \(m, 2\)"),
        ((POINTS[0], 0.1), r"`X` must have shape \(m, 2\)"),
        ((POINTS, 0.1, POINTS[:, :1]), r"`queries` must have shape \(m, 2\)"),
        ((np.full((1, 2), np.nan), 0.1), "`X` must be finite"),
    ],
)
def test_bad_arguments_of_intervals_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        conformal_interval(FITTED, *arguments)
