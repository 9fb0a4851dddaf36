"""Relaxed processes: nothing relaxed is the plain process, and what is relaxed is optimal."""

from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from scipy.integrate import quad
from scipy.stats import norm

from calibrant import Optimizer
from calibrant.models import (
    Additive,
    GaussianProcess,
    LocallyConformal,
    Matern52,
    Relaxed,
    Rotation,
    SharpCalibrated,
)
from calibrant.models.relaxed import relaxed, truncated_crps

RNG = np.random.default_rng(3)
X = RNG.random((20, 2))
y = ((X - 0.3) ** 2).sum(axis=1) + 40.0 * (X[:, 0] > 0.8)  # a cliff
POINTS = RNG.random((6, 2))
PROCESS = GaussianProcess(Matern52(), "standardise")


def test_with_an_infinite_threshold_it_is_the_plain_process():
    plain, all_kept = PROCESS.fit(X, y), Relaxed(PROCESS, threshold=np.inf).fit(X, y)
    for mine, theirs in zip(
        all_kept.posterior(POINTS)[:2], plain.posterior(POINTS)[:2], strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(all_kept.predict(POINTS).cdf(0.5), plain.predict(POINTS).cdf(0.5))
    np.testing.assert_array_equal(all_kept.means(), plain.means())


def test_good_outcomes_are_kept_and_bad_ones_stay_bad():
    plain = PROCESS.fit(X, y)
    threshold = float(np.quantile(plain.v, 0.5))
    found = relaxed(plain, threshold)
    good = plain.v <= threshold
    np.testing.assert_array_equal(found.v[good], plain.v[good])
    assert np.all(found.v[~good] >= threshold)
    assert not np.allclose(found.v[~good], plain.v[~good])


def test_relaxed_values_are_the_most_probable_ones():
    """The conditions of Karush, Kuhn and Tucker: −log p has the gradient α = K⁻¹v by v."""
    plain = PROCESS.fit(X, y)
    threshold = float(np.quantile(plain.v, 0.4))
    found = relaxed(plain, threshold)
    bad = plain.v > threshold
    at_bound = bad & (found.v <= threshold + 1e-9)
    assert np.all(np.abs(found.alpha[bad & ~at_bound]) < 0.05)
    assert np.all(found.alpha[at_bound] > -0.05)


def test_a_cliff_no_longer_bends_the_process_where_it_matters():
    near = np.array([[0.3, 0.3], [0.2, 0.4], [0.35, 0.25]])
    truth = ((near - 0.3) ** 2).sum(axis=1)
    errors = [
        np.abs(model.fit(X, y).predict(near).quantile(0.5) - truth).max()
        for model in (Relaxed(PROCESS), PROCESS)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_truncated_crps_is_its_integral():
    for mean, std, outcome, limit in ((0.3, 0.8, -0.5, 0.6), (0.3, 0.8, 2.0, 0.6), (1, 2, -9, 3)):

        def square(u, mean=mean, std=std, outcome=outcome):
            return (norm.cdf(u, mean, std) - (outcome <= u)) ** 2

        knots = sorted({-60.0, min(outcome, limit), limit})
        expected = sum(quad(square, a, b)[0] for a, b in pairwise(knots))
        found = truncated_crps(*(np.array([float(x)]) for x in (mean, std, outcome)), limit)
        assert found[0] == pytest.approx(expected, rel=1e-6)
    whole = truncated_crps(np.array([0.3]), np.array([0.8]), np.array([-0.5]), 1e3)
    assert whole[0] == pytest.approx(scoringrules.crps_normal(-0.5, 0.3, 0.8))


@pytest.mark.parametrize("outcomes", [np.zeros(8), [0.0] * 7 + [1e300], [1.0]])
def test_hard_outcomes(outcomes):
    points = RNG.random((len(outcomes), 2))
    mean, std, _ = Relaxed().fit(points, outcomes).posterior(POINTS)
    assert np.isfinite(mean).all()
    assert np.all(std > 0.0)


@pytest.mark.parametrize(
    "process",
    [
        GaussianProcess(noise=0.1),
        GaussianProcess(priors=None),
        GaussianProcess(outputs="tanh"),
        GaussianProcess(Additive(per_dimension=True)),
    ],
    ids=["noise given", "no priors", "learned map", "effects"],
)
@pytest.mark.parametrize("adjusts", [Relaxed, SharpCalibrated, LocallyConformal])
def test_any_process_can_be_adjusted(adjusts, process):
    mean, std, _ = adjusts(process).fit(X, y).posterior(POINTS)
    assert np.isfinite(mean).all()
    assert np.all(std > 0.0)


def test_a_search_with_relaxed_processes_in_turns():
    model = Relaxed(Rotation((PROCESS, GaussianProcess())))
    optimizer = Optimizer(2, model=model, recalibrator=None, seed=0)
    for _ in range(14):
        x = optimizer.ask()
        optimizer.tell(x, float(((x - 0.3) ** 2).sum()))
    assert optimizer.best[1] < 0.02


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="`0 < share < 1` must hold"):
        Relaxed(share=1.0)
    with pytest.raises(ValueError, match="candidates"):
        Relaxed(candidates=0)


def test_where_the_active_set_goes_in_circles_another_solver_finds_the_same(monkeypatch):
    def in_circles(columns, goal):
        raise RuntimeError("Maximum number of iterations reached.")

    expected = relaxed(PROCESS.fit(X, y), 0.0)
    monkeypatch.setattr("calibrant.models.relaxed.nnls", in_circles)
    found = relaxed(PROCESS.fit(X, y), 0.0)
    np.testing.assert_allclose(found.v, expected.v, atol=1e-3)
