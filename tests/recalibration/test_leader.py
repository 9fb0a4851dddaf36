"""The leader: its closed form, its smoothing, its bounded state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from calibrant import GaussianRecalibrator, LeaderRecalibrator, Mixture, Normal

POINTS = 1e-7  # a bandwidth that leaves point masses, for the formula without smoothing


def test_it_minimises_the_regularised_pinball_loss():
    """R(p) against a numerical minimiser of the paper's objective (eq. 9, not linearised)."""
    us, strength = np.array([0.03, 0.11, 0.4, 0.45, 0.92]), 4.0
    leader = LeaderRecalibrator(strength, bandwidth=POINTS).update_many(us)
    for p in (0.05, 0.3, 0.5, 0.83):

        def objective(q, p=p):
            return strength * (q - p) ** 2 / 2 + ((q - us) * ((us <= q) - p)).sum()

        best = minimize_scalar(objective, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
        np.testing.assert_allclose(leader(p), best.x, atol=1e-5)


def test_its_inverse_is_the_closed_form():
    us, weights, strength = np.array([0.1, 0.1, 0.5, 0.8]), np.array([1.0, 2.0, 0.5, 3.0]), 2.0
    leader = LeaderRecalibrator(strength, bandwidth=POINTS).update_many(us, weights)
    u = np.array([0.05, 0.3, 0.7, 0.9])
    counted = (weights * (us <= u[:, None])).sum(axis=1)
    expected = (strength * u + counted) / (strength + weights.sum())
    np.testing.assert_allclose(leader.inverse(u), expected, atol=1e-9)


@given(st.permutations(range(12)))
def test_it_does_not_depend_on_the_order(order):
    z = np.linspace(-3, 4, 12) ** 3 / 9
    p = np.linspace(0.01, 0.99, 9)
    forward = LeaderRecalibrator().update_scores(z)(p)
    backward = LeaderRecalibrator()
    for k in order:
        backward = backward.update_scores([z[k]])
    np.testing.assert_allclose(backward(p), forward, atol=1e-9)


def test_a_weight_of_two_is_two_outcomes():
    twice = LeaderRecalibrator(bandwidth=0.3).update_many([0.2, 0.2, 0.9])
    weighted = LeaderRecalibrator(bandwidth=0.3).update_many([0.2, 0.9], [2.0, 1.0])
    np.testing.assert_allclose(weighted(0.7), twice(0.7), atol=1e-12)


def test_an_outcome_without_weight_is_not_there():
    leader = LeaderRecalibrator().update_many([0.2])
    np.testing.assert_allclose(leader.update_many([0.99], [0.0])(0.9), leader(0.9))


def test_smoothing_keeps_a_calibrated_model_calibrated():
    n = 200
    z = ndtri((np.arange(n) + 0.5) / n)
    leader = LeaderRecalibrator().update_scores(z)
    p = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(leader(p), p, atol=0.01)
    np.testing.assert_allclose(leader.residual.std(), 1.0, atol=0.01)


def test_one_far_outlier_does_not_blur_everything():
    z = np.concatenate([ndtri((np.arange(100) + 0.5) / 100), [40.0]])
    leader = LeaderRecalibrator().update_scores(z)
    assert leader.smoothing < 0.5
    assert abs(leader(0.5) - 0.5) < 0.02
    assert leader.residual.quantile(0.999) > 10  # but it is not forgotten


def test_tails_have_full_support():
    leader = LeaderRecalibrator().update_scores([0.1, -0.2, 0.3])
    score = leader.residual.score([-40.0, -9.0, 9.0, 40.0])
    assert np.isfinite(score).all()
    assert np.all(np.diff(score) > 1)


def test_the_state_does_not_grow_with_the_number_of_outcomes():
    rng = np.random.default_rng(0)
    leader = LeaderRecalibrator().update_scores(rng.standard_normal(1_000_000))
    bins = len(leader.to_dict()["centres"])
    assert bins < 150
    assert len(leader.update_scores(rng.standard_normal(1000)).to_dict()["centres"]) < bins + 10
    np.testing.assert_allclose(leader([0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.005)


def test_binning_changes_next_to_nothing():
    z = np.random.default_rng(1).standard_t(4, size=800)
    leader = LeaderRecalibrator(10.0, bandwidth=0.25).update_scores(z)
    exact = Mixture([10.0] + [1.0] * 800, [0.0, *z], [1.0] + [0.25] * 800)
    p = np.linspace(0.01, 0.99, 33)
    np.testing.assert_allclose(leader(p), ndtr(exact.quantile(p)), atol=5e-4)


def test_the_gaussian_recalibrator_has_the_moments_of_the_leader():
    z = np.array([-1.0, 0.5, 3.0, 2.0])
    leader = LeaderRecalibrator(3.0, bandwidth=POINTS).update_scores(z).residual
    gaussian = GaussianRecalibrator(3.0).update_scores(z)
    np.testing.assert_allclose(gaussian.residual.mean(), leader.mean())
    np.testing.assert_allclose(gaussian.residual.std(), leader.std(), rtol=1e-9)
    assert isinstance(gaussian.calibrate(Normal(1.0, 2.0)), Normal)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1.0, "must be 0 or between"),
        (1e200, "must be 0 or between"),
        (np.nan, "`weights` must be finite"),
        ([1.0, 2.0], "one per score"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        LeaderRecalibrator().update_many([0.5], weights)
