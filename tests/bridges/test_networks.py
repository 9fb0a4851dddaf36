"""Neural models, against functions' Gaussian processes, torch's own optimiser and mixtures."""

import importlib
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm
from tests.differences import check_gradient

torch = pytest.importorskip("torch", reason="needs torch: make test-torch")

from calibrant import Optimizer  # noqa: E402
from calibrant.acquisition import Thompson  # noqa: E402
from calibrant.bridges import training  # noqa: E402
from calibrant.bridges.networks import BayesianLastLayer, DeepEnsemble  # noqa: E402
from calibrant.forecasts import Mixture  # noqa: E402
from calibrant.forecasts.output_maps import PowerMap  # noqa: E402
from calibrant.models.protocol import GaussianBelief, KnowsLeaveOneOut  # noqa: E402
from calibrant.recalibration import leave_one_out  # noqa: E402

DIM = 2
rng = np.random.default_rng(0)
X = rng.random((20, DIM))
Y = 30.0 + 8.0 * (np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(20))
NEW = rng.random((6, DIM))

SMALL = {"hidden": (12, 10), "steps": 40}
LAYER = BayesianLastLayer(**SMALL, outputs="standardise")
ENSEMBLE = DeepEnsemble(members=3, **SMALL, outputs="standardise")
BOTH = pytest.mark.parametrize("model", [LAYER, ENSEMBLE], ids=["last layer", "ensemble"])


@pytest.fixture(scope="module")
def layer():
    return LAYER.fit(X, Y)


@pytest.fixture(scope="module")
def ensemble():
    return ENSEMBLE.fit(X, Y)


def forward(matrices, points):
    """A network written out: sines of weighted sums, the last hidden layer and its outputs."""
    h = 2.0 * points - 1.0
    for matrix in matrices[:-1]:
        h = np.sin(matrix[0] + h @ matrix[1:])
    return h, matrices[-1][0] + h @ matrices[-1][1:]


def features(layers, points, k=0):
    h, _ = forward([matrix[k].numpy() for matrix in layers], points)
    return np.hstack([np.ones((len(points), 1)), h])


def process(fitted, phi, Phi=None, v=None):
    """Mean and covariance at φ, by the Gaussian process whose kernel the features make."""
    Phi, v = fitted.Phi if Phi is None else Phi, fitted.v if v is None else v
    K = fitted.signal * Phi @ Phi.T + fitted.noise * np.eye(len(v))
    k = fitted.signal * phi @ Phi.T
    return k @ np.linalg.solve(K, v), fitted.signal * phi @ phi.T - k @ np.linalg.solve(K, k.T)


def test_the_last_layer_is_the_gaussian_process_of_its_features(layer):
    np.testing.assert_allclose(layer.Phi, features(layer.layers, X), rtol=1e-12)
    np.testing.assert_allclose(layer.v, (Y - Y.mean()) / Y.std(), rtol=1e-9)
    mean, covariance = process(layer, features(layer.layers, NEW))
    belief = layer.posterior(NEW)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(belief.std, np.sqrt(np.diag(covariance)), rtol=1e-6)
    np.testing.assert_allclose(layer.means(), process(layer, layer.Phi)[0], rtol=1e-6, atol=1e-8)
    forecast = layer.predict(NEW)
    std = np.sqrt(np.diag(covariance) + layer.noise)
    np.testing.assert_allclose(forecast.mean(), Y.mean() + Y.std() * mean, rtol=1e-6)
    np.testing.assert_allclose(forecast.std(), Y.std() * std, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 60], ids="n={}".format)  # 11 features
def test_signal_and_noise_are_the_most_probable(n):
    rng = np.random.default_rng(n)
    inputs = rng.random((n, 2))
    fitted = LAYER.fit(inputs, np.sin(6 * inputs[:, 0]) + 0.5 * rng.standard_normal(n))
    size = (fitted.Phi**2).sum(axis=1).mean()

    def loss(log):
        signal, noise = np.exp(log)
        K = signal * fitted.Phi @ fitted.Phi.T + noise * np.eye(n)
        evidence = multivariate_normal.logpdf(fitted.v, cov=K)
        beliefs = norm.logpdf(1.0, scale=np.sqrt(size * signal))
        beliefs += norm.logpdf(np.log(noise / (size * signal)), np.log(1e-4), 2.0)
        return -evidence - beliefs

    found = np.log([fitted.signal, fitted.noise])
    assert 2e-6 < fitted.noise / (fitted.signal * size) < 9.0  # at no end of what is tried
    for start in (found, np.log([0.1, 1e-3]), np.log([0.1, 1.0])):
        best = minimize(loss, start, method="Nelder-Mead")
        assert loss(found) < best.fun + 1e-3


@pytest.mark.parametrize("i", [0, 7, 19])
def test_leave_one_out_is_the_regression_without_the_row(layer, i):
    """On the features of a network that has not seen the row, nor every fifth before and after."""
    scores, stds = layer.leave_one_out()
    seen = np.arange(20) % 5 != np.arange(5)[:, None]
    Phi = features(LAYER._network(X, layer.v, seen), X, i % 5)
    others = np.arange(20) != i
    mean, covariance = process(layer, Phi[i : i + 1], Phi[others], layer.v[others])
    std = np.sqrt(covariance[0, 0] + layer.noise)
    assert stds[i] == pytest.approx(std, rel=1e-6)
    assert scores[i] == pytest.approx((layer.v[i] - mean[0]) / std, rel=1e-6)


@pytest.mark.parametrize("kind", ["layer", "ensemble"])
def test_the_forecast_of_an_outcome_left_out_does_not_depend_on_it(kind, request):
    known = request.getfixturevalue(kind)
    changed = known.v.copy()
    changed[7] += 3.0
    (one, one_stds), (other, other_stds) = (
        fitted.leave_one_out() for fitted in (known, replace(known, v=changed))
    )
    assert one_stds[7] == pytest.approx(other_stds[7], rel=1e-12)
    before, after = known.v - one * one_stds, changed - other * other_stds
    assert before[7] == pytest.approx(after[7], rel=1e-9)
    assert np.abs(before - after)[[6, 8]].min() > 1e-3


def test_leave_one_out_scores_are_as_large_as_those_of_new_outcomes():
    """Scores given features that have seen an outcome are less than half as large."""

    def size(scores):
        return np.sqrt(np.mean(scores**2))

    rng = np.random.default_rng(0)
    inputs = rng.random((325, 4))
    y = np.sin(5 * inputs[:, 0]) * inputs[:, 1] + (inputs**2).sum(axis=1)
    fitted = BayesianLastLayer().fit(inputs[:25], y[:25])
    new = size(fitted.predict(inputs[25:]).score(y[25:]))
    assert 0.7 * new < size(fitted.leave_one_out()[0]) < 1.4 * new
    K = fitted.signal * fitted.Phi @ fitted.Phi.T + fitted.noise * np.eye(25)
    inverse = np.linalg.inv(K)
    assert size(inverse @ fitted.v / np.sqrt(np.diag(inverse))) < 0.5 * new


def test_ensembles_for_leave_one_out_are_those_of_the_other_outcomes(ensemble):
    scores, stds = ensemble.leave_one_out()
    seen = np.arange(20) % 5 != 3
    layers = ensemble.model._ensemble(
        X, ensemble.v, np.repeat(np.arange(20) % 5 != np.arange(5)[:, None], 3, axis=0)
    )
    others = replace(ensemble, layers=tuple(matrix[9:12] for matrix in layers))
    means, variances = others.members(X[~seen])
    std = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
    np.testing.assert_allclose(stds[~seen], std)
    np.testing.assert_allclose(scores[~seen], (ensemble.v[~seen] - means.mean(axis=0)) / std)
    assert isinstance(ensemble, KnowsLeaveOneOut)


def test_leave_one_out_with_the_least_noise(layer):
    """There 1 − Hᵢᵢ is a small difference; it must not be lost to rounding."""
    sharp = replace(layer, signal=1.0, noise=1e-6)
    scores, stds = sharp.leave_one_out()
    seen = np.arange(20) % 5 != np.arange(5)[:, None]
    for i in (0, 7):
        Phi = features(LAYER._network(X, layer.v, seen), X, i % 5)
        inverse = np.linalg.inv(Phi @ Phi.T + 1e-6 * np.eye(20))
        assert stds[i] == pytest.approx(inverse[i, i] ** -0.5, rel=1e-5)
        assert scores[i] == pytest.approx((inverse @ sharp.v)[i] * inverse[i, i] ** -0.5, rel=1e-4)


def test_a_search_takes_these_scores(layer, monkeypatch):
    assert isinstance(layer, GaussianBelief)
    assert isinstance(layer, KnowsLeaveOneOut)
    fits = []
    fit = BayesianLastLayer.fit
    monkeypatch.setattr(BayesianLastLayer, "fit", lambda *a: fits.append(1) or fit(*a))
    np.testing.assert_array_equal(leave_one_out(LAYER, X, Y).scores, layer.leave_one_out()[0])
    assert len(fits) == 1


def test_the_pullback_is_the_derivative(layer):
    a, b = np.random.default_rng(2).standard_normal((2, len(NEW)))

    def value(flat):
        mean, covariance = process(layer, features(layer.layers, flat.reshape(NEW.shape)))
        return a @ mean + b @ np.sqrt(np.diag(covariance))

    points = NEW.copy()
    pullback = layer.posterior(points).pullback
    points[:] = 0.0  # a search writes its next points over the last ones
    for _ in range(2):
        check_gradient(value, NEW.ravel(), pullback(a, b).ravel(), rtol=1e-4, atol=1e-5)


def test_conditioning_is_the_regression_with_the_rows_added(layer):
    values = np.array([0.5, -1.0])
    later = layer.condition(NEW[:2], values)
    phi = features(layer.layers, NEW)
    Phi, v = np.vstack([layer.Phi, phi[:2]]), np.append(layer.v, values)
    mean, covariance = process(layer, phi, Phi, v)
    np.testing.assert_allclose(later.posterior(NEW).mean, mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(later.posterior(NEW).std, np.sqrt(np.diag(covariance)), rtol=1e-5)
    np.testing.assert_allclose(later.means(), process(layer, Phi, Phi, v)[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(later.X, np.vstack([X, NEW[:2]]))
    assert (later.signal, later.noise) == (layer.signal, layer.noise)
    assert layer.v.size == len(Y)


def test_conditioning_on_its_own_means_narrows_and_moves_nothing(layer):
    later, before = layer.condition(NEW[:2]).posterior(NEW), layer.posterior(NEW)
    np.testing.assert_allclose(later.mean, before.mean, rtol=1e-6, atol=1e-8)
    assert np.all(later.std[:2] < 0.99 * before.std[:2])
    assert layer.condition(NEW[:0]) is layer
    assert layer.condition(NEW[:0], np.empty(0)) is layer


def test_conditioning_on_values_of_the_function_goes_through_them(layer):
    draw = layer.sample(NEW, np.random.default_rng(0).standard_normal(6))
    exact = layer.condition(NEW, draw, std=0.0).posterior(NEW).mean
    np.testing.assert_allclose(exact, draw, atol=0.02 * np.abs(draw).max())


def test_conditioning_on_values_of_a_given_std(layer):
    before = layer.posterior(NEW).mean
    values = before + 1.0
    moved = [
        np.abs(layer.condition(NEW, values, std=std).posterior(NEW).mean - before).max()
        for std in (0.0, np.sqrt(layer.noise), 100.0 * np.sqrt(layer.noise))
    ]
    as_outcomes = np.abs(layer.condition(NEW, values).posterior(NEW).mean - before).max()
    np.testing.assert_allclose(moved[1], as_outcomes, rtol=1e-8)
    assert moved[0] > moved[1] > 10 * moved[2]


def test_joint_draws_have_the_covariance_of_the_process(layer):
    mean = layer.sample(NEW, np.zeros(6))
    # A draw is linear in its seeds: unit vectors read off the factor.
    factor = np.stack([layer.sample(NEW, e) - mean for e in np.eye(6)], axis=1)
    expected = process(layer, features(layer.layers, NEW))
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(factor @ factor.T, expected[1], rtol=1e-5, atol=1e-9)
    many = np.random.default_rng(3).random((100, DIM))  # more points than features
    assert np.isfinite(layer.sample(many, np.ones(100))).all()


def test_members_are_the_networks_written_out(ensemble):
    means, variances = ensemble.members(NEW)
    assert means.shape == variances.shape == (3, 6)
    for k in range(3):
        _, out = forward([matrix[k].numpy() for matrix in ensemble.layers], NEW)
        np.testing.assert_allclose(means[k], out[:, 0], rtol=1e-10)
        np.testing.assert_allclose(variances[k], np.log1p(np.exp(out[:, 1])) + 1e-3, rtol=1e-10)
    assert np.all(means.std(axis=0) > 0.0)


def test_the_ensemble_forecasts_the_moments_of_the_mixture(ensemble):
    means, variances = ensemble.members(NEW)
    mixture = Mixture(np.ones(3), means.T, np.sqrt(variances.T))
    forecast = ensemble.predict(NEW)
    np.testing.assert_allclose(forecast.mean(), Y.mean() + Y.std() * mixture.mean(), rtol=1e-9)
    rng = np.random.default_rng(1)
    draws = np.concatenate(
        [rng.normal(m, np.sqrt(s), (50_000, 6)) for m, s in zip(means, variances, strict=True)]
    )
    np.testing.assert_allclose(forecast.std(), Y.std() * draws.std(axis=0), rtol=0.02)
    second = (variances + means**2).mean(axis=0)
    std = np.sqrt(second - means.mean(axis=0) ** 2)
    np.testing.assert_allclose(forecast.std(), Y.std() * std, rtol=1e-8)


def textbook(model, k, heads, loss):
    """Train member k by itself with torch's AdamW, from the same start."""
    start = replace(model, rate=1e-300).fit(X, Y).layers  # no step leads anywhere
    matrices = [matrix[k].clone().requires_grad_() for matrix in start]
    optimizer = torch.optim.AdamW(matrices, lr=model.rate, weight_decay=model.decay)
    v = torch.tensor((Y - Y.mean()) / Y.std())
    for step in range(model.steps):
        h = 2.0 * torch.tensor(X) - 1.0
        for matrix in matrices[:-1]:
            h = torch.sin(matrix[0] + h @ matrix[1:])
        out = matrices[-1][0] + h @ matrices[-1][1:]
        assert out.shape == (len(Y), heads)
        optimizer.param_groups[0]["lr"] = model.rate * (1 - step / model.steps)
        optimizer.zero_grad()
        loss(out, v).backward()
        optimizer.step()
    return [matrix.detach() for matrix in matrices]


@pytest.mark.parametrize("k", [0, 2])
def test_each_member_is_trained_by_its_own_likelihood(ensemble, k):
    model = replace(ENSEMBLE, decay=0.5)
    expected = textbook(
        model,
        k,
        2,
        lambda out, v: torch.nn.functional.gaussian_nll_loss(
            out[:, 0], v, torch.nn.functional.softplus(out[:, 1]) + 1e-3
        ),
    )
    for found, matrix, start in zip(model.fit(X, Y).layers, expected, ensemble.layers, strict=True):
        torch.testing.assert_close(found[k], matrix, rtol=1e-6, atol=1e-8)
        assert not torch.allclose(found[k], start[k], rtol=1e-3)


def test_the_network_under_the_last_layer_is_trained_by_least_squares(layer):
    loss = torch.nn.functional.mse_loss
    expected = textbook(LAYER, 0, 1, lambda out, v: loss(out[:, 0], v))
    for found, matrix in zip(layer.layers, expected, strict=True):
        torch.testing.assert_close(found[0], matrix, rtol=1e-6, atol=1e-8)


@BOTH
def test_many_outcomes_are_seen_in_batches(model, monkeypatch):
    whole = model.fit(X, Y).predict(NEW).mean()
    monkeypatch.setattr(training, "_BATCH", 16)
    one, other = (model.fit(X, Y).predict(NEW).mean() for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.all(one != whole)
    np.testing.assert_allclose(one, whole, atol=0.7 * Y.std())
    np.testing.assert_array_equal(model.fit(X[:16], Y[:16]).predict(NEW).batch, (6,))


@BOTH
def test_noise_is_learned_and_intervals_hold(model):
    rng = np.random.default_rng(5)
    inputs = rng.random((400, 1))
    y = np.sin(5 * inputs[:, 0]) + 0.3 * rng.standard_normal(400)
    forecast = replace(model, steps=150).fit(inputs[:200], y[:200]).predict(inputs[200:])
    assert np.mean(np.abs(forecast.score(y[200:])) < 1.645) == pytest.approx(0.9, abs=0.07)
    assert np.median(forecast.std()) == pytest.approx(0.3, rel=0.1)
    assert np.corrcoef(forecast.mean(), np.sin(5 * inputs[200:, 0]))[0, 1] > 0.97


def test_both_doubt_what_they_have_not_seen():
    inputs = np.linspace(0.0, 0.5, 12)[:, None]
    y = np.sin(8 * inputs[:, 0])
    for model in (BayesianLastLayer(outputs="standardise"), DeepEnsemble(outputs="standardise")):
        fitted = model.fit(inputs, y)
        assert fitted.predict([[0.95]]).std() > 5 * fitted.predict([[0.27]]).std()


@BOTH
def test_a_seed_repeats_a_fit_and_nothing_of_the_callers_changes(model):
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    inputs, y = X.copy(), Y.copy()
    one = model.fit(inputs, y).predict(NEW)
    other = model.fit(X, Y).predict(NEW)
    np.testing.assert_array_equal(one.mean(), other.mean())
    np.testing.assert_array_equal(one.std(), other.std())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(inputs, X)
    np.testing.assert_array_equal(y, Y)
    assert np.all(replace(model, seed=1).fit(X, Y).predict(NEW).mean() != one.mean())


@pytest.mark.parametrize("batch", [1024, 16])
@BOTH
def test_the_callers_modes_of_torch_do_not_matter(model, batch, monkeypatch):
    monkeypatch.setattr(training, "_BATCH", batch)

    def results():
        fitted = model.fit(X, Y)
        forecast = fitted.predict(NEW)
        known = [forecast.mean(), forecast.std()]
        if isinstance(fitted, GaussianBelief):
            known.append(fitted.posterior(NEW).pullback(np.ones(6), np.ones(6)).sum(axis=1))
        return np.array(known)

    expected = results()
    torch.set_default_dtype(torch.float16)
    try:
        for mode in (torch.no_grad(), torch.inference_mode(), torch.device("meta")):
            with mode:
                np.testing.assert_array_equal(results(), expected)
    finally:
        torch.set_default_dtype(torch.float32)


@BOTH
def test_a_fit_is_a_value(model):
    fitted = model.fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(NEW).mean(), fitted.predict(NEW).mean())
    assert all(not matrix.requires_grad for matrix in fitted.layers)
    assert all(matrix.dtype == torch.float64 for matrix in fitted.layers)
    backwards, locked = X[::-1], Y[::-1].copy()
    locked.setflags(write=False)
    assert model.fit(backwards, locked).predict(NEW[::-1]).batch == (6,)
    assert model.fit(X.tolist(), Y.tolist()).predict(NEW[0]).batch == (1,)


@pytest.mark.parametrize("y", [[3.0], [3.0, 3.0], [1.0, -2.0], [3.0] * 8, [0.0] * 8], ids=str)
@BOTH
def test_few_or_equal_outcomes_give_a_usable_fit(model, y):
    inputs = np.linspace(0.1, 0.9, len(y))[:, None]
    fitted = replace(model, outputs="yeo-johnson").fit(inputs, y)
    x = np.array([[0.1], [0.1], [0.37], [1.0]])
    quantiles = fitted.predict(x).quantile(np.array([[0.05], [0.5], [0.95]]))
    assert np.isfinite(quantiles).all()
    assert np.all(np.diff(quantiles, axis=0) > 0.0)
    if np.ptp(y) == 0.0:
        assert np.all(np.abs(fitted.predict(x).score(y[0])) < 2.0)
    if isinstance(fitted, GaussianBelief):
        mean, std, pullback = fitted.condition(x).posterior(x)
        draw = fitted.sample(x, np.array([1.0, -1.0, 0.5, 2.0]))
        for part in (mean, pullback(np.ones(4), np.ones(4)), draw, *fitted.leave_one_out()):
            assert np.isfinite(part).all()
        assert np.all(std > 0.0)


@BOTH
def test_outcomes_at_the_same_point_are_noise(model):
    fitted = model.fit(np.repeat([[0.2], [0.8]], 10, axis=0), np.tile([0.0, 1.0], 10))
    forecast = fitted.predict([[0.2], [0.8]])
    np.testing.assert_allclose(forecast.mean(), 0.5, atol=0.1)
    np.testing.assert_allclose(forecast.std(), 0.5, rtol=0.3)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1e8, 1e300])
@BOTH
def test_the_unit_of_outcomes_does_not_matter(model, unit):
    y = Y / 60.0
    one, other = model.fit(X, y).predict(NEW), model.fit(X, unit * y).predict(NEW)
    for level in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(other.quantile(level) / unit, one.quantile(level), rtol=1e-5)


@pytest.mark.parametrize("outputs", ["standardise", "yeo-johnson", "box-cox", "log"])
@BOTH
def test_wild_outcomes(model, outputs):
    y = np.append(Y[:-3], [1e300, -1e300, 1e-300])
    fitted = replace(model, outputs=outputs).fit(X, y)
    quantiles = fitted.predict(NEW).quantile(np.array([[0.1], [0.5], [0.9]]))
    assert not np.isnan(quantiles).any()
    assert np.all(np.diff(quantiles, axis=0) >= 0.0)
    if isinstance(fitted, GaussianBelief):
        later = fitted.condition(NEW[:1], fitted.in_model_units([1e300])).posterior(NEW)
        assert np.isfinite(later.mean).all()


def test_outputs_are_fitted_or_used_as_given():
    given = PowerMap(centre=30.0, unit=8.0)
    for model in (LAYER, ENSEMBLE):
        assert replace(model, outputs=given).fit(X, Y).outputs is given
    logs = replace(LAYER, outputs="log").fit(X, np.exp(Y / 8.0))
    np.testing.assert_allclose(logs.in_model_units(np.exp(Y / 8.0)), (Y - Y.mean()) / Y.std())


@BOTH
def test_many_inputs(model):
    inputs = np.random.default_rng(6).random((30, 20))
    fitted = model.fit(inputs, inputs.sum(axis=1))
    assert np.isfinite(fitted.predict(inputs).std()).all()
    if isinstance(fitted, GaussianBelief):
        assert fitted.posterior(inputs[:3]).pullback(np.ones(3), np.ones(3)).shape == (3, 20)


SEARCHES = pytest.mark.parametrize(
    "settings",
    [
        {"model": BayesianLastLayer(hidden=(60, 60), steps=100)},
        {"model": DeepEnsemble(steps=60)},
    ],
    ids=["last layer", "ensemble"],
)


@SEARCHES
def test_a_search_beats_chance(settings):
    optimizer = Optimizer(3, seed=0, **settings)
    for _ in range(15):
        x = optimizer.ask()
        optimizer.tell(x, ((x - 0.3) ** 2).sum())
    by_chance = ((np.random.default_rng(0).random((500, 15, 3)) - 0.3) ** 2).sum(-1).min(axis=1)
    assert optimizer.best[1] < np.quantile(by_chance, 0.05)
    assert np.isfinite(optimizer.outcomes.scores).all()
    assert len(optimizer.outcomes) == 10
    assert np.all(optimizer.forecast(np.full((2, 3), 0.4)).std() > 0.0)


@SEARCHES
def test_a_search_with_failed_and_running_points(settings):
    optimizer = Optimizer(2, seed=0, n_startup_trials=4, **settings)
    for k in range(6):
        one, other = optimizer.ask(), optimizer.ask()
        assert np.linalg.norm(one - other) > 1e-3
        optimizer.tell(one, np.nan if k == 2 else np.sin(5 * one).sum())
    assert np.isfinite(optimizer.best[1])


def test_a_search_by_draws_of_functions():
    optimizer = Optimizer(1, model=BayesianLastLayer(steps=100), acquisition=Thompson(), seed=0)
    for _ in range(14):
        x = optimizer.ask()
        optimizer.tell(x, (6 * x[0] - 2) ** 2 * np.sin(12 * x[0] - 4))
    assert optimizer.best[1] < -5.5


@pytest.mark.parametrize("columns", [1, 3])
@BOTH
def test_a_wrong_number_of_columns_says_so(model, columns):
    with pytest.raises(ValueError, match="`X` must have 2 columns, but got shape"):
        model.fit(X, Y).predict(np.full((2, columns), 0.5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": ()}, r"`hidden` must be widths of 1 or more, but got \(\)"),
        ({"hidden": (5, 0)}, "`hidden` must be widths"),
        ({"steps": 0}, "`steps >= 1` must hold, but got steps=0"),
        ({"rate": 0.0}, "`rate > 0` must hold, but got rate=0.0"),
        ({"rate": np.nan}, "`rate` must be finite"),
        ({"decay": -0.1}, "`decay >= 0` must hold"),
        ({"frequency": -1.0}, "`frequency > 0` must hold"),
        ({"outputs": "sqrt"}, '`outputs` must be one of "standardise"'),
        ({"outputs": "tanh"}, 'outputs="tanh"'),
        ({"device": "toaster"}, "`device` must be one that torch can use here .* got 'toaster'"),
    ],
    ids=str,
)
@BOTH
def test_bad_settings_say_what_is_wrong(model, change, message):
    with pytest.raises(ValueError, match=message):
        replace(model, **change)


@BOTH
def test_bad_outcomes_say_what_is_wrong(model):
    for X_, y, message in [
        (X, np.append(Y[1:], np.nan), "`y` must be finite"),
        (X * np.nan, Y, "`X` must be finite"),
        (X, Y[:3], "`X` must have shape"),
        (X[:0], Y[:0], "At least 1 outcomes"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X_, y)
    with pytest.raises(ValueError, match="`X` must be finite"):
        model.fit(X, Y).predict(X * np.nan)
    with pytest.raises(ValueError, match=r"rate=1e\+300 diverged; lower `rate`"):
        replace(model, rate=1e300, steps=3, decay=1.0).fit(X, Y)


def test_an_ensemble_has_several_members():
    with pytest.raises(ValueError, match="`members >= 2` must hold, but got members=1"):
        DeepEnsemble(members=1)


def test_a_gpu_that_is_not_there():
    if torch.cuda.is_available():
        pytest.skip("it is there")
    with pytest.raises(ValueError, match="'cuda'; device=\"cpu\" always works"):
        DeepEnsemble(device="cuda")


@BOTH
def test_a_gpu_gives_what_a_cpu_gives(model):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    here, there = model.fit(X, Y), replace(model, device="cuda").fit(X, Y)
    assert there.layers[0].is_cuda
    np.testing.assert_allclose(there.predict(NEW).mean(), here.predict(NEW).mean(), rtol=1e-4)
    np.testing.assert_allclose(there.predict(NEW).std(), here.predict(NEW).std(), rtol=1e-3)
    if isinstance(here, GaussianBelief):
        one, two = (f.posterior(NEW).pullback(np.ones(6), np.ones(6)) for f in (here, there))
        np.testing.assert_allclose(one, two, rtol=1e-2, atol=1e-3)


def test_networks_need_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("networks", "training"):
        monkeypatch.delitem(sys.modules, f"calibrant.bridges.{name}")
    with pytest.raises(ImportError, match=r"need torch: pip install torch\."):
        importlib.import_module("calibrant.bridges.networks")
