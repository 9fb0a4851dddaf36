"""Warped inputs and warped outcomes, against finite differences, quadrature and known warps."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from calibrant import Optimizer
from calibrant.cube import Axis, Cube
from calibrant.forecast_dict import forecast_from_dict, forecast_to_dict
from calibrant.models import (
    RBF,
    GaussianProcess,
    Kumaraswamy,
    Linear,
    Matern52,
    Periodic,
    Priors,
    output_warping,
)
from calibrant.models.likelihood import negative_log_joint, negative_log_posterior
from calibrant.policy import History, Policy
from calibrant.tanh_map import TanhMap
from calibrant.transforms import PowerMap

DIM = 3
INNER = {  # a kernel and its parameters
    "rbf": (RBF(), [0.4]),
    "matern52": (Matern52(True), [0.3, 0.8, 1.5]),
    "linear": (Linear(), [0.7]),
    "periodic": (Periodic(), [0.9, 1.3]),
}
CATEGORIES = {"numbers": (), "one label": (1,), "labels only": (0, 1, 2)}
A, B = np.array([0.6, 2.5, 1.4]), np.array([1.8, 0.5, 3.0])


@pytest.fixture(params=INNER, ids=str)
def name(request):
    return request.param


@pytest.fixture(params=CATEGORIES, ids=str)
def categorical(request):
    return CATEGORIES[request.param]


def warped_kernel(name, categorical=()):
    """A kernel of warped inputs and its theta."""
    kernel, parameters = INNER[name]
    numeric = [c for c in range(DIM) if c not in categorical]
    theta = np.log([*parameters, *A[numeric], *B[numeric]])
    return Kumaraswamy(kernel=kernel, categorical=categorical), theta


def points(count, categorical=(), seed=0):
    X = np.random.default_rng(seed).uniform(0.02, 0.98, (count, DIM))
    for c in categorical:
        X[:, c] = np.floor(3 * X[:, c]) / 2
    return X


def fitted_at(name, categorical=(), **settings):
    kernel, theta = warped_kernel(name, categorical)
    X = points(14, categorical)
    y = np.sin(5 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2
    gp = GaussianProcess(kernel, outputs=PowerMap(), **settings)
    return gp, gp.at(np.append(theta, np.log([1.7, 0.03])), X, y)


def check_gradient(function, point, gradient, step=1e-6, **tolerance):
    """Compare with central differences of a function of one vector."""
    assert gradient.shape == point.shape
    found = [
        (function(point + e) - function(point - e)) / (2 * step) for e in step * np.eye(point.size)
    ]
    np.testing.assert_allclose(gradient, found, **({"rtol": 1e-5, "atol": 1e-6} | tolerance))


# Inputs


def test_a_warped_kernel_is_the_inner_one_of_warped_inputs(name, categorical):
    kernel, theta = warped_kernel(name, categorical)
    inner, parameters = INNER[name]
    inner = replace(inner, categorical=categorical)

    def by_hand(X):
        numeric = [c for c in range(DIM) if c not in categorical]
        warped = X.copy()
        warped[:, numeric] = 1 - (1 - X[:, numeric] ** A[numeric]) ** B[numeric]
        return warped

    x, X = points(6, categorical, 1), points(9, categorical, 2)
    expected, _ = inner.with_inputs(np.log(parameters), by_hand(X))(by_hand(x))
    np.testing.assert_allclose(kernel.with_inputs(theta, X)(x)[0], expected, rtol=1e-10)
    expected, _ = inner.on_itself(by_hand(X))(np.log(parameters))
    np.testing.assert_allclose(kernel.on_itself(X)(theta)[0], expected, rtol=1e-10, atol=1e-12)
    expected, _ = inner.diagonal(np.log(parameters), by_hand(X))
    np.testing.assert_allclose(kernel.diagonal(theta, X)[0], expected, rtol=1e-10)


def test_the_warp_is_the_integral_of_the_kumaraswamy_density():
    """Read off a linear kernel, 1 + (w(x) − ½)(w(1) − ½): w(1) is 1."""
    a, b = 2.5, 0.7
    read = Kumaraswamy(kernel=Linear()).with_inputs(np.log([1.0, a, b]), np.ones((1, 1)))
    end = 1 - (1 - (1 - 1e-9) ** a) ** b  # inputs stay off the ends by so much
    for x in (0.1, 0.45, 0.8):
        w = (read(np.array([[x]]))[0].item() - 1) / (end - 0.5) + 0.5
        density = quad(lambda t: a * b * t ** (a - 1) * (1 - t**a) ** (b - 1), 0, x)[0]
        np.testing.assert_allclose(w, density, rtol=1e-7)


def test_powers_of_one_leave_inputs_as_they_are(name, categorical):
    kernel, theta = warped_kernel(name, categorical)
    inner, parameters = INNER[name]
    inner = replace(inner, categorical=categorical)
    theta[len(parameters) :] = 0.0
    x, X = points(6, categorical, 1), points(9, categorical, 2)
    X[0], x[0] = 0.0, 1.0
    C, pullback = kernel.with_inputs(theta, X)(x)
    expected, inner_pullback = inner.with_inputs(theta[: len(parameters)], X)(x)
    np.testing.assert_allclose(C, expected, atol=1e-7)
    W = np.random.default_rng(3).standard_normal(C.shape)
    np.testing.assert_allclose(pullback(W), inner_pullback(W), rtol=1e-6, atol=1e-6)


def test_names_and_number_of_parameters():
    kernel = Kumaraswamy(kernel=Periodic(True), categorical=(1,))
    lengths = ["lengthscale0", "lengthscale1", "lengthscale2", "period"]
    assert kernel.parameter_names(3) == [*lengths, "warp_a0", "warp_a2", "warp_b0", "warp_b2"]


def test_likelihood_gradient_by_inner_parameters_and_by_powers(name, categorical):
    gp, fitted = fitted_at(name, categorical)
    theta = fitted.theta

    def value(t):
        return gp.log_likelihood(fitted.X, fitted.v, t)[0]

    _, gradient = gp.log_likelihood(fitted.X, fitted.v, theta)
    check_gradient(value, theta, gradient)
    warps = gradient[len(INNER[name][1]) : -2]
    assert np.all(np.abs(warps) > 1e-4)  # they do matter here


def test_posterior_gradients_by_inputs(name, categorical):
    _, fitted = fitted_at(name, categorical)
    x = points(5, categorical, 4)
    by_mean, by_std = fitted.gradients(x)
    numeric = [c for c in range(DIM) if c not in categorical]
    for part, gradient in (("mean", by_mean), ("std", by_std)):
        for c in numeric:
            e = 1e-6 * np.eye(DIM)[c]
            up, down = (getattr(fitted.posterior(x + s * e), part) for s in (1, -1))
            np.testing.assert_allclose(gradient[:, c], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(gradient[:, list(categorical)], 0.0)


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("b", [0.1, 1.0, 10.0])
def test_the_ends_of_the_range_have_finite_values_and_gradients(name, a, b):
    """Slopes of w are infinite there for powers below one, and 0·∞ for others."""
    inner, parameters = INNER[name]
    theta = np.log([*parameters, *[a] * DIM, *[b] * DIM, 1.0, 0.1])
    X = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0.5], [0.3, 0.6, 1], [1, 0.2, 0]], dtype=float)
    gp = GaussianProcess(Kumaraswamy(kernel=inner), outputs=PowerMap())
    y = np.array([0.3, -1.0, 0.5, 1.2, -0.4])
    value, gradient = gp.log_likelihood(X, y, theta)
    fitted = gp.at(theta, X, y)
    for part in (value, gradient, *fitted.posterior(X)[:2], *fitted.gradients(X)):
        assert np.isfinite(part).all()


def test_leave_one_out_in_closed_form_is_that_of_new_factors(name):
    gp, fitted = fitted_at(name)
    scores, stds = fitted.leave_one_out()
    for i in range(fitted.v.size):
        others = np.arange(fitted.v.size) != i
        rest = gp.at(fitted.theta, fitted.X[others], fitted.v[others]).predict(fitted.X[[i]])
        np.testing.assert_allclose(scores[i], (fitted.v[i] - rest.mean()) / rest.std(), rtol=1e-6)
        np.testing.assert_allclose(stds[i], rest.std(), rtol=1e-6)


def bent(x):
    """Flat at one end and busy at the other; a sine of x³."""
    return np.sin(9 * x[:, 0] ** 3)


def test_a_warped_process_recovers_a_warp_and_forecasts_better():
    rng = np.random.default_rng(0)
    X, new = rng.random((26, 1)), rng.random((200, 1))
    y = bent(X) + 0.02 * rng.standard_normal(26)
    truth = bent(new) + 0.02 * rng.standard_normal(200)
    plain = GaussianProcess(RBF(), outputs="standardise").fit(X, y)
    warped = GaussianProcess(Kumaraswamy(kernel=RBF()), outputs="standardise").fit(X, y)
    densities = [np.log(fitted.predict(new).pdf(truth)).mean() for fitted in (plain, warped)]
    assert densities[1] > densities[0] + 0.3
    # The lengthscale takes up a scale, and a shift does not matter.
    grid = np.linspace(0, 1, 101)
    a, b = np.exp(warped.theta[1:3])
    learned = 1 - (1 - grid**a) ** b
    straight = np.polynomial.Polynomial.fit(learned, grid**3, 1)(learned)
    assert np.abs(straight - grid**3).max() < 0.1
    assert np.abs(np.polynomial.Polynomial.fit(grid, grid**3, 1)(grid) - grid**3).max() > 0.2


def test_a_stationary_function_is_left_almost_unwarped():
    X = np.linspace(0, 1, 30)[:, None]
    fitted = GaussianProcess(Kumaraswamy(kernel=RBF())).fit(X, np.sin(9 * X[:, 0]))
    np.testing.assert_allclose(np.exp(fitted.theta[1:3]), 1.0, atol=0.15)


def test_searches_with_warped_inputs_and_a_label():
    cube = Cube((Axis(), Axis((0.25, 0.75), categorical=True)))
    model = GaussianProcess(Kumaraswamy(kernel=RBF()))
    optimizer = Optimizer(cube, model=model, seed=0)
    for _ in range(16):
        x = optimizer.ask()
        optimizer.tell(x, (x[0] ** 3 - 0.4) ** 2 + (x[1] > 0.5))
    x, y = optimizer.best
    assert x[1] == 0.25
    assert y < 1e-3
    told = replace(
        History.empty(2), X=np.array([[0.1, 0.25], [0.6, 0.75]]), Y=np.array([[1.0], [2.0]])
    )
    (fitted,) = Policy(model=model).fit(told, cube)
    assert fitted.model.kernel.parameter_names(2) == ["lengthscale", "warp_a0", "warp_b0"]


def test_an_inner_kernel_cannot_be_taken_for_another_argument():
    """The inherited fields come first: what is meant as the kernel must not become a flag."""
    try:
        kernel = Kumaraswamy(RBF())
    except TypeError:
        return
    assert kernel.kernel == RBF()


# Beliefs


@pytest.mark.parametrize("name", ["rbf", "periodic"])
def test_flat_priors_are_none_at_all(name):
    kernel, parameters = INNER[name]
    X, v = points(10), np.random.default_rng(5).standard_normal(10)
    theta = np.log([*parameters, 2.3, 0.01])
    flat = negative_log_posterior(kernel, X, v, None, Priors.flat())(theta)
    none = negative_log_posterior(kernel, X, v, None, None)(theta)
    np.testing.assert_array_equal(flat[0], none[0])
    np.testing.assert_array_equal(flat[1], none[1])
    gp = GaussianProcess(kernel, "standardise", None)
    most_likely = gp.fit(X, v)
    np.testing.assert_array_equal(
        replace(gp, priors=Priors.flat()).fit(X, v).theta, most_likely.theta
    )


def test_flat_priors_have_a_belief_about_warps_alone():
    kernel, theta = warped_kernel("periodic")
    X, v = points(10), np.random.default_rng(5).standard_normal(10)
    theta = np.append(theta, np.log([2.3, 0.01]))
    flat = negative_log_posterior(kernel, X, v, None, Priors.flat())(theta)
    none = negative_log_posterior(kernel, X, v, None, None)(theta)
    powers = np.log([*A, *B])  # log-normal around 1 with variance 0.75
    np.testing.assert_allclose(flat[0] - none[0], 0.5 * powers @ powers / 0.75, rtol=1e-9)
    expected = np.concatenate([np.zeros(2), powers / 0.75, np.zeros(2)])
    np.testing.assert_allclose(flat[1] - none[1], expected, atol=1e-9)


# The map of outcomes


def maps(steepest=1e4):
    step = st.tuples(st.floats(0, 50), st.floats(1e-2, steepest), st.floats(-4, 4))
    return st.builds(
        lambda steps, *scales: TanhMap(*(tuple(zip(*steps, strict=True)) or ((), (), ())), *scales),
        st.lists(step, max_size=3),
        st.floats(-100, 100),
        st.floats(1e-3, 1e3),
        st.floats(-10, 10),
        st.floats(1e-2, 1e2),
    )


@given(maps(), st.lists(st.floats(-100, 100), min_size=1, max_size=6), st.floats(-3, 3))
def test_inverse_round_trip(m, t, away):
    """Anywhere, and on the bends, which may be steep."""
    bends = [away / s - d for s, d in zip(m.slopes, m.shifts, strict=True)]
    y = m.centre + m.unit * np.array([*t, *bends])
    tolerance = 1e-10 * m.unit + 1e-13 * abs(m.centre)
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-12, atol=tolerance)


def test_the_inverse_does_not_run_in_circles():
    """Newton's steps alone do so here: from one side of the bend to the other and back."""
    m = TanhMap((22.801595612054502,), (0.24146696826520464,), (0.10882557275624372,))
    np.testing.assert_allclose(m.inverse(m(2.7119507550358453)), 2.7119507550358453, rtol=1e-12)


@given(maps(30.0), st.floats(-50, 50))
def test_the_inverse_is_the_root_that_brent_finds(m, v):
    far = m.unit * (m.std * 50 + 400)
    root = brentq(lambda y: float(m(y)) - v, m.centre - far, m.centre + far, xtol=1e-12 * far)
    np.testing.assert_allclose(m.inverse(v), root, atol=1e-11 * far)


@given(maps(1e3), st.floats(-20, 20), st.floats(-3, 3))
def test_slope_is_the_derivative(m, t, away):
    bends = [away / s - d for s, d in zip(m.slopes, m.shifts, strict=True)]
    y = m.centre + m.unit * np.array([t, *bends])
    step = 1e-5 * m.unit / max(1.0, *m.slopes, 1.0)
    # Rounding of the centre's size is felt by so small a step.
    noise = 1e-15 * (200 + abs(m.centre) / m.unit * max(m.slope(y)) * m.unit * m.std) / m.std
    difference = (m(y + step) - m(y - step)) / (2 * step)
    np.testing.assert_allclose(m.slope(y), difference, rtol=1e-3, atol=noise / step)


@given(maps(), st.lists(st.floats(-50, 50), min_size=2, max_size=10, unique=True))
def test_the_map_increases(m, t):
    t = np.sort(t)
    v = m(m.centre + m.unit * t)
    assert np.all(np.diff(v) >= 0.0)
    apart = np.diff(t) > 1e-6
    # At least as fast as its line, up to rounding.
    assert np.all(np.diff(v)[apart] * m.std > 0.5 * np.diff(t)[apart])


MAP = TanhMap((1.5, 0.4), (3.0, 20.0), (0.5, -1.0), centre=2.0, unit=4.0, mean=0.3, std=0.7)


def test_the_map_is_a_line_and_its_steps():
    y = np.array([-7.0, 0.0, 2.0, 6.1])
    t = (y - 2.0) / 4.0
    risen = t + 1.5 * np.tanh(3.0 * (t + 0.5)) + 0.4 * np.tanh(20.0 * (t - 1.0))
    np.testing.assert_allclose(MAP(y), (risen - 0.3) / 0.7, rtol=1e-12)
    np.testing.assert_allclose(TanhMap((), (), (), 2.0, 4.0)(y), t, rtol=1e-12)


def test_infinite_values_come_from_infinite_outcomes():
    np.testing.assert_array_equal(MAP.inverse([-np.inf, np.inf]), [-np.inf, np.inf])
    assert np.isfinite(MAP.inverse(0.3))
    assert MAP.inverse(0.3).shape == MAP(1.0).shape == MAP.slope(1.0).shape == ()


def test_huge_outcomes_are_simply_far_away():
    v = MAP(np.array([-1e300, -1e3, 1e3, 1e300]))
    assert np.isfinite(v).all()
    assert np.all(np.diff(v) > 0.0)
    assert np.isfinite(MAP.slope([-1e300, 1e300])).all()


@pytest.mark.parametrize("unit", [1e300, 1e308])
def test_huge_units_come_back(unit):
    m = replace(MAP, centre=0.5 * unit, unit=unit)
    y = unit * np.array([-0.4, 0.1, 0.5, 1.6])
    np.testing.assert_allclose(m.inverse(m(y)), y, rtol=1e-12)


def test_values_beyond_the_largest_number_are_infinite_without_a_warning():
    m = replace(MAP, centre=0.0, unit=1e300)
    np.testing.assert_array_equal(m.inverse([-1e10, 1e10]), [-np.inf, np.inf])


def test_slopes_of_tiny_units_are_finite():
    assert np.isfinite(replace(MAP, unit=1e-308, std=0.01).slope([0.0, 1e-308])).all()


def test_a_map_comes_back_from_json():
    back = TanhMap(**json.loads(json.dumps(MAP.to_dict())))
    assert back == MAP
    assert hash(back) == hash(MAP)
    arrays = TanhMap.of(*map(np.array, (MAP.heights, MAP.slopes, MAP.shifts)), centre=2.0, unit=4.0)
    assert replace(arrays, mean=0.3, std=0.7) == MAP
    assert TanhMap([1.5, 0.4], [3, 20], [0.5, -1], 2.0, 4.0, 0.3, 0.7) == MAP


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (((1.0, 2.0), (1.0,), (0.0,)), "must be as many"),
        (((1.0,), (1.0,), ()), "must be as many"),
        (((1.0,), (0.0,), (0.0,)), "`slopes > 0` must hold, but got slopes=0"),
        (((1.0,), (-2.0,), (0.0,)), "`slopes > 0`"),
        (((-1.0,), (1.0,), (0.0,)), "`heights >= 0` must hold, but got heights=-1"),
        (((np.inf,), (1.0,), (0.0,)), "`heights` must be finite"),
        (((1.0,), (np.nan,), (0.0,)), "`slopes` must be finite"),
    ],
)
def test_steps_that_would_not_increase_say_so(steps, message):
    with pytest.raises(ValueError, match=message):
        TanhMap(*steps)


# Outcomes


PSI = np.concatenate([np.log([0.8, 0.2, 2.0]), np.log([2.0, 0.7, 5.0]), [0.5, -1.0, 0.1]])


def squeezed(n, seed=6):
    """A sine seen through a map with a steep middle: most outcomes are small or large."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    v = 1.5 * np.sin(9 * X[:, 0]) + 0.03 * rng.standard_normal(n)
    return X, 100.0 + 7.0 * v**3


def test_values_and_jacobian_of_a_warp_are_the_maps():
    t = np.random.default_rng(7).standard_normal(12)
    v, log_jacobian, _ = output_warping._warped(t, PSI)
    rough = TanhMap.of(np.exp(PSI[:3]), np.exp(PSI[3:6]), PSI[6:], centre=0.0, unit=1.0)
    m = replace(rough, mean=rough(t).mean(), std=rough(t).std())
    np.testing.assert_allclose(v, m(t), rtol=1e-10)
    np.testing.assert_allclose([v.mean(), v.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(log_jacobian, np.log(m.slope(t)).sum(), rtol=1e-10)


def test_gradient_of_a_warp():
    rng = np.random.default_rng(8)
    t, weights = rng.standard_normal(12), rng.standard_normal(12)

    def value(psi):
        v, log_jacobian, _ = output_warping._warped(t, psi)
        return weights @ v**2 - 0.7 * log_jacobian

    v, _, pullback = output_warping._warped(t, PSI)
    check_gradient(value, PSI, pullback(2 * weights * v, -0.7))


def test_the_joint_loss_has_its_gradient_by_outcomes():
    kernel, parameters = INNER["rbf"]
    X, v = points(10), np.random.default_rng(9).standard_normal(10)
    theta = np.log([*parameters, 1.2, 0.02])
    joint = negative_log_joint(kernel, X, None, Priors())
    _, by_theta, by_v = joint(theta, v)
    check_gradient(lambda t: joint(t, v)[0], theta, by_theta)
    check_gradient(lambda u: joint(theta, u)[0], v, by_v)


@pytest.fixture
def descents(monkeypatch):
    """The losses that are descended, and where from."""
    seen = []
    real = output_warping.minimize

    def watched(loss, start, **settings):
        seen.append((loss, start))
        return real(loss, start, **settings)

    monkeypatch.setattr(output_warping, "minimize", watched)
    return seen


@pytest.mark.parametrize("priors", [None, Priors()], ids=["likelihood", "posterior"])
def test_gradient_of_what_most_probable_warps_are_found_by(descents, priors):
    X, y = squeezed(12)
    GaussianProcess(RBF(), "tanh", priors).fit(X, y)
    loss = descents[0][0]
    point = np.concatenate([np.log([0.2, 1.3, 0.01]), PSI])
    check_gradient(lambda p: loss(p)[0], point, loss(point)[1])


def test_the_loss_is_the_density_of_outcomes_and_of_the_steps(descents):
    """Up to a constant, by scipy: the Jacobian is there."""
    X, y = squeezed(12)
    fitted = GaussianProcess(RBF(), "tanh", None).fit(X, y)
    loss = descents[0][0]

    def by_hand(theta, psi):
        rough = TanhMap.of(
            np.exp(psi[:3]),
            np.exp(psi[3:6]),
            psi[6:],
            centre=fitted.outputs.centre,
            unit=fitted.outputs.unit,
        )
        m = replace(rough, mean=rough(y).mean(), std=rough(y).std())
        length, signal, noise = np.exp(theta)
        K = signal * np.exp(-0.5 * (X - X.T) ** 2 / length**2) + noise * np.eye(y.size)
        beliefs = stats.norm.logpdf(
            psi, np.repeat([np.log(0.3), 0.0, 0.0], 3), np.repeat([1.5, 1.0, 1.5], 3)
        )
        density = stats.multivariate_normal(np.zeros(y.size), K).logpdf(m(y))
        return -density - np.log(m.slope(y)).sum() - beliefs.sum()

    pairs = [
        (np.log([0.2, 1.3, 0.01]), PSI),
        (np.log([0.5, 0.6, 0.2]), PSI[::-1] / 2),
        (fitted.theta, 0.1 * PSI),
    ]
    found = [loss(np.concatenate(pair))[0] for pair in pairs]
    expected = [by_hand(*pair) for pair in pairs]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-7)


@pytest.mark.parametrize("where", [0.05, 0.4, 0.9])
def test_the_density_of_an_outcome_integrates_to_one(where):
    fitted = GaussianProcess(RBF(), "tanh").fit(*squeezed(15))
    assert isinstance(fitted.outputs, TanhMap)
    assert max(np.multiply(fitted.outputs.heights, fitted.outputs.slopes)) > 0.3  # not a line
    forecast = fitted.predict([[where]])[0]
    edges = forecast.at_score(np.linspace(-8, 8, 33))
    mass = sum(quad(forecast.pdf, a, b)[0] for a, b in pairwise(edges))
    np.testing.assert_allclose(mass, 1.0, atol=1e-6)
    half = sum(quad(forecast.pdf, a, b)[0] for a, b in pairwise(edges[:17]))
    np.testing.assert_allclose(half, forecast.cdf(edges[16]), atol=1e-6)


def test_learned_units_of_outcomes_forecast_better_than_the_given_ones():
    """Outcomes that are a sine seen backwards through a steep map of the same kind."""

    def behind_a_step(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.random((n, 1))
        v = 6.0 * np.sin(9 * X[:, 0]) + 0.01 * rng.standard_normal(n)
        return X, TanhMap((4.0,), (2.0,), (0.0,)).inverse(v)

    errors = []
    for seed in range(3):
        X, y = behind_a_step(16, seed)
        new, truth = behind_a_step(100, 10 + seed)
        for outputs in ("standardise", "tanh"):
            fitted = GaussianProcess(RBF(), outputs).fit(X, y)
            errors.append(fitted.predict(new).crps(truth).mean())
    given, learned = np.reshape(errors, (3, 2)).T
    assert np.all(learned < 0.6 * given)


def test_learned_units_undo_the_map_that_made_the_outcomes():
    """The sine itself, up to an affine map."""
    X, y = squeezed(60)
    v = np.cbrt((y - 100.0) / 7.0)
    learned = GaussianProcess(RBF(), "tanh").fit(X, y).outputs(y)
    assert np.corrcoef(learned, v)[0, 1] > 0.99
    assert np.corrcoef(y, v)[0, 1] < 0.96


def test_refitting_goes_on_from_the_earlier_map(descents):
    X, y = squeezed(30)
    early = GaussianProcess(RBF(), "tanh").fit(X[:20], y[:20])
    assert len(descents) == 2
    later = early.refit(X, y)
    assert len(descents) == 3
    m = early.outputs
    steps = [np.log(m.heights), np.log(m.slopes), m.shifts]
    np.testing.assert_allclose(descents[-1][1], np.concatenate([early.theta, *steps]), rtol=1e-9)
    assert later.outputs != early.outputs
    np.testing.assert_allclose([later.v.mean(), later.v.std()], [0.0, 1.0], atol=1e-9)


def test_one_outcome_of_many_changes_no_map():
    X, y = squeezed(41)
    early = GaussianProcess(RBF(), "tanh").fit(X[:40], y[:40])
    later = early.refit(X, y)
    assert later.outputs == early.outputs
    np.testing.assert_allclose(later.v, early.outputs(y))


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: GaussianProcess(outputs="tanh", noise=0.1).fit(X, y),
        lambda X, y: GaussianProcess(outputs="tanh").fit(X, y, noise=np.full(y.size, 0.1)),
    ],
    ids=["one", "each"],
)
def test_noise_cannot_be_given_where_units_are_learned(fit):
    with pytest.raises(ValueError, match='`outputs="tanh"` learns the noise'):
        fit(*squeezed(5))


HARD = {
    "one": [3.0],
    "two": [3.0, -3.0],
    "two alike": [3.0, 3.0],
    "constant": [3.0] * 8,
    "zero": [0.0] * 8,
    "outlier": [0.0, 1.0, 0.5, -0.3, 0.2, 1e12],
    "huge": [1e300, -1e300, 5e299, 0.0, 2e299],
    "tiny": [1e-300, -1e-300, 5e-301, 0.0, 2e-301],
    "many orders": [1e-90, 1e-40, 1.0, 1e40, 1e90],
}


@pytest.mark.parametrize("data", HARD, ids=str)
@pytest.mark.parametrize("kind", ["inputs", "outcomes"])
def test_hard_outcomes_give_a_usable_fit(kind, data):
    kernel, outputs = {
        "inputs": (Kumaraswamy(kernel=RBF()), "standardise"),
        "outcomes": (RBF(), "tanh"),
    }[kind]
    y = np.array(HARD[data])
    X = np.linspace(0, 1, y.size)[:, None]
    x = np.array([[0.0], [0.31], [1.0]])
    fitted = GaussianProcess(kernel, outputs).fit(X, y)
    for belief in (fitted, fitted.refit(np.vstack([X, [[0.2]]]), np.append(y, y[0]))):
        forecast = belief.predict(x)
        quantiles = forecast.quantile(np.array([[0.05], [0.5], [0.95]]))
        assert np.isfinite(quantiles).all()
        assert np.all(np.diff(quantiles, axis=0) > 0.0)
        for part in (forecast.crps(quantiles[1]), *belief.gradients(x), belief.leave_one_out()[0]):
            assert np.isfinite(part).all()


def test_the_largest_outcomes_there_are_have_quantiles():
    """Tails reach beyond the largest number: that is infinity, not a warning."""
    y = 1.7e308 * np.array([-1.0, 0.4, 1.0, -0.2, 0.8])
    forecast = GaussianProcess(RBF(), "tanh").fit(np.linspace(0, 1, 5)[:, None], y).predict([[0.3]])
    assert not np.isnan(forecast.quantile(np.array([[0.001], [0.999]]))).any()


def test_a_warped_forecast_is_stored_and_comes_back():
    forecast = GaussianProcess(RBF(), "tanh").fit(*squeezed(15)).predict([[0.3]])[0]
    back = forecast_from_dict(json.loads(json.dumps(forecast_to_dict(forecast))))
    assert back.outputs == forecast.outputs
    z = np.linspace(-3, 3, 9)
    np.testing.assert_allclose(back.at_score(z), forecast.at_score(z), rtol=1e-12)
    np.testing.assert_allclose(back.pdf(105.0), forecast.pdf(105.0), rtol=1e-12)
    np.testing.assert_allclose(back.crps(105.0), forecast.crps(105.0), rtol=1e-12)


@pytest.mark.parametrize(
    "outputs",
    [
        PowerMap(centre=90.0, unit=20.0, std=1.5),
        PowerMap(False, 0.0, unit=50.0, floor=0.1),
        replace(MAP, centre=100.0, unit=20.0),
    ],
    ids=["line", "log", "tanh"],
)
def test_a_map_that_is_given_is_used_as_it_is(outputs):
    X, y = squeezed(14)
    gp = GaussianProcess(RBF(), outputs)
    early = gp.fit(X[:10], y[:10])
    later = early.refit(X, y)
    assert early.outputs is outputs
    assert later.outputs is outputs
    np.testing.assert_allclose(later.v, outputs(y), rtol=1e-12)
    forecast = early.predict(X[:3])
    inner = early.posterior(X[:3])
    std = np.sqrt(inner.std**2 + early.noise_variance[0])
    np.testing.assert_allclose(forecast.quantile(0.5), outputs.inverse(inner.mean), rtol=1e-9)
    np.testing.assert_allclose(forecast.score(y[:3]), (outputs(y[:3]) - inner.mean) / std)
