"""Noise of single outcomes, against dense formulas that know nothing of the code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from calibrant.forecasts.output_maps.power import fit_map
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import RBF, Matern52
from calibrant.models.likelihood import Priors, negative_log_posterior
from calibrant.models.noise import checked_stds, filled, in_model_units, nearby
from calibrant.models.rotation import Rotation

RNG = np.random.default_rng(3)
X = RNG.random((25, 2))
STDS = np.where(X[:, 0] < 0.5, 0.02, 0.6)
Y = np.sin(5 * X[:, 0]) + X[:, 1] + STDS * RNG.standard_normal(25)
NEW = RNG.random((6, 2))
THETA = np.log([0.4, 1.3, 0.05])  # lengthscale, signal, learned noise


def rbf(A, B, length):
    return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2) / length**2)


def test_posterior_and_likelihood_are_those_of_the_dense_formula():
    gp = GaussianProcess(RBF(), "standardise", priors=None)
    fitted = gp.at(THETA, X, Y, noise=STDS)
    v = (Y - Y.mean()) / Y.std()
    length, signal, learned = np.exp(THETA)
    K = signal * rbf(X, X, length) + np.diag(learned + (STDS / Y.std()) ** 2)
    k = signal * rbf(NEW, X, length)
    mean = k @ np.linalg.solve(K, v)
    std = np.sqrt(signal - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)))
    np.testing.assert_allclose(fitted.posterior(NEW).mean, mean, atol=1e-7)
    np.testing.assert_allclose(fitted.posterior(NEW).std, std, atol=1e-7)
    # Each outcome is forecast from the others with its own noise.
    own = 1.0 / np.diag(np.linalg.inv(K))
    np.testing.assert_allclose(fitted.leave_one_out()[1] ** 2, own, rtol=1e-6)
    loss = negative_log_posterior(RBF(), X, v, (STDS / Y.std()) ** 2, None, learns=True)
    dense = 0.5 * v @ np.linalg.solve(K, v) + 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    assert loss(THETA)[0] == pytest.approx(dense, rel=1e-7)
    slope = approx_fprime(THETA, lambda theta: loss(theta)[0], 1e-6)
    np.testing.assert_allclose(loss(THETA)[1], slope, rtol=1e-3, atol=1e-3)


def test_learned_noise_is_what_the_stds_do_not_tell():
    # Replicates that differ can only be noise: with the right stds nothing is left to learn.
    places, y = np.repeat(X[:8], 4, axis=0), np.repeat(X[:8, 0], 4) + 0.3 * RNG.standard_normal(32)
    gp = GaussianProcess(Matern52(), "standardise", Priors())
    told = gp.fit(places, y, noise=np.full(32, 0.3)).parameters.noise
    understated = gp.fit(places, y, noise=np.full(32, 0.01)).parameters.noise
    assert told < 0.1 < understated
    assert understated == pytest.approx(gp.fit(places, y).parameters.noise, rel=0.1)


def test_new_outcomes_are_as_noisy_as_their_neighbours():
    fitted = GaussianProcess(RBF(), "standardise").at(THETA, X, Y, noise=STDS)
    quiet, loud = fitted.own_noise(np.array([[0.1, 0.5], [0.9, 0.5]]))
    assert 0.02 <= quiet < 0.2 < 0.4 < loud <= 0.6
    spread = fitted.predict(np.array([[0.1, 0.5], [0.9, 0.5]])).std()
    assert spread[1] > 2.0 * spread[0]
    assert spread[1] >= loud


def test_an_outcome_without_a_std_is_taken_to_have_the_middle_one():
    some = STDS.copy()
    some[::3] = np.nan
    gp = GaussianProcess(RBF(), "standardise")
    whole = np.where(np.isnan(some), np.nanmedian(some), some)
    one, other = gp.at(THETA, X, Y, noise=some), gp.at(THETA, X, Y, noise=whole)
    np.testing.assert_allclose(one.noise_variance, other.noise_variance)
    nothing = gp.at(THETA, X, Y, noise=np.full(25, np.nan))
    np.testing.assert_allclose(nothing.posterior(NEW).mean, gp.at(THETA, X, Y).posterior(NEW).mean)
    np.testing.assert_allclose(nothing.predict(NEW).std(), gp.at(THETA, X, Y).predict(NEW).std())


def test_a_process_goes_on_with_noise_as_if_it_had_known_all_from_the_start():
    gp = GaussianProcess(RBF(), "standardise", noise=0.0)
    early = gp.fit(X[:21], Y[:21], noise=STDS[:21])
    later = early.refit(X[:22], Y[:22], noise=STDS[:22])  # a row is appended
    assert later.fitted_at == 21
    K = later.signal_variance * RBF().on_itself(X[:22])(later.parameters.kernel)[0]
    K += np.diag((STDS[:22] * later.outputs.slope(Y[:22])) ** 2)
    np.testing.assert_allclose(later.W.T @ later.W, np.linalg.inv(K), rtol=1e-6, atol=1e-6)
    changed = early.refit(X[:21], Y[:21], noise=2 * STDS[:21])  # another noise: all anew
    assert changed.noise_variance[0] == pytest.approx(4 * early.noise_variance[0], rel=1e-6)


def test_replicates_of_a_setting_are_pooled():
    # Three measurements of a point are worth one of a third of the variance.
    point, place = np.array([[0.3, 0.4]]), np.log([0.4, 1.0])
    gp = GaussianProcess(RBF(), "standardise", noise=0.0)
    known = replicated(gp, np.vstack([X[:9], *[point] * 3]), [*Y[:9], 0.5, 0.8, 1.1], place, 0.3)
    pooled = replicated(gp, np.vstack([X[:9], point]), [*Y[:9], 0.8], place, 0.3 / np.sqrt(3))
    np.testing.assert_allclose(known.mean, pooled.mean, atol=1e-8)
    np.testing.assert_allclose(known.std, pooled.std, atol=1e-8)


def replicated(gp, X, y, theta, std):
    # In fixed units: those of fewer outcomes would be others.
    from dataclasses import replace

    from calibrant.forecasts.output_maps.power import PowerMap

    noise = np.where(np.arange(len(y)) < 9, 0.1, std)
    return replace(gp, outputs=PowerMap()).at(theta, X, np.array(y), noise=noise).posterior(NEW)


def test_a_rotation_passes_noise_on():
    rotation = Rotation((GaussianProcess(RBF()), GaussianProcess(Matern52())))
    fitted = rotation.fit(X[:20], Y[:20], STDS[:20])
    again = fitted.refit(X[:21], Y[:21], STDS[:21]).refit(X[:22], Y[:22], STDS[:22])
    np.testing.assert_array_equal(again.current.stds, STDS[:22])
    assert rotation.takes_noise
    assert not Rotation((GaussianProcess(RBF(), "tanh"),)).takes_noise


@pytest.mark.parametrize("noise", [-0.1, np.inf, np.full(25, -1.0), np.ones(3), np.ones((25, 1))])
def test_bad_noise_is_refused(noise):
    with pytest.raises(ValueError, match="noise"):
        GaussianProcess().fit(X, Y, noise=noise)


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e200)), min_size=2, max_size=8).filter(
        lambda some: any(one is not None for one in some)
    ),
    st.integers(0, 1000),
)
def test_expected_noise_lies_between_those_known(stds, seed):
    stds = np.array([np.nan if one is None else one for one in stds])
    correlations = np.random.default_rng(seed).uniform(-1, 1, (4, stds.size))
    found = nearby(stds, correlations)
    low, high = np.nanmin(stds), np.nanmax(stds)
    assert np.all((found >= low * (1 - 1e-9)) & (found <= high * (1 + 1e-9) + 1e-300))
    whole = filled(stds)
    assert low <= whole.min() <= whole.max() <= high


def test_one_std_stands_for_all():
    np.testing.assert_array_equal(checked_stds(0.5, np.zeros(3)), [0.5, 0.5, 0.5])


def test_noise_through_a_bent_map_is_about_the_spread_of_mapped_outcomes():
    rng = np.random.default_rng(8)
    outputs = fit_map("yeo-johnson", rng.gamma(0.7, 50.0, 200))
    assert not outputs.is_affine
    values = np.array([5.0, 30.0, 80.0, 150.0])
    noisy = values[:, None] + 12.0 * rng.standard_normal((4, 20_000))
    assumed = np.sqrt(in_model_units(12.0, outputs, values))
    np.testing.assert_allclose(assumed, outputs(noisy).std(axis=1), rtol=0.1)


def test_luck_decides_little_about_how_much_a_noisy_outcome_counts():
    rng = np.random.default_rng(9)
    outputs = fit_map("yeo-johnson", rng.gamma(0.7, 50.0, 200))
    lucky, unlucky = np.array([30.0 - 12.0]), np.array([30.0 + 12.0])
    by_slope = outputs.slope(lucky) / outputs.slope(unlucky)
    wide, narrow = (in_model_units(12.0, outputs, y) for y in (lucky, unlucky))
    assert 1.0 < np.sqrt(wide / narrow)[0] < by_slope[0]


@pytest.mark.parametrize("std", [0.0, 1e-12, 1e-3, 1.0, 1e300])
def test_any_noise_has_a_finite_variance_in_model_units(std):
    outputs = fit_map("yeo-johnson", np.array([1.0, 2.0, 4.0, 80.0]))
    variances = in_model_units(std, outputs, np.array([1.0, 80.0, 1e308]))
    assert np.all(np.isfinite(variances))
    assert np.all(variances > 0.0)
    tangent = std * outputs.slope(np.array([4.0]))
    if std <= 1e-3:
        np.testing.assert_allclose(
            in_model_units(std, outputs, np.array([4.0])), np.maximum(tangent**2, 1e-10), rtol=1e-3
        )
