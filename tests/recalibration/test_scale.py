"""The scale recalibrator: corrects what is wrong, leaves alone what is right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

from calibrant import GaussianRecalibrator, ScaleRecalibrator
from calibrant.recalibration.scale import _normal_as_student


def normal_scores(count, *, runs=40, seed=0):
    return np.random.default_rng(seed).standard_normal((runs, count))


@pytest.mark.parametrize("z", [[0.3], [2.0, -4.0, 0.1], [9.0, 30.0, -12.0, 25.0], [1e-3, -2e-3]])
def test_the_evidence_is_the_integral_that_it_should_be(z):
    """Against quadrature with SciPy's densities."""
    c = _normal_as_student()

    def integrand(log_s):
        s = np.exp(log_s)
        heavy = student.pdf(np.array(z), df=5.0, scale=c * s).prod()
        light = norm.pdf(np.array(z), scale=s).prod()
        return 0.5 * (heavy + light) * norm.pdf(log_s, scale=1.5)

    size = np.log(np.sqrt(np.mean(np.square(z))))
    evidence, _ = quad(integrand, -14, 14, points=[size], limit=400, epsabs=0.0)
    mean = (
        quad(lambda x: x * integrand(x), -14, 14, points=[size], limit=400, epsabs=0.0)[0]
        / evidence
    )
    found = ScaleRecalibrator(scores=z)
    np.testing.assert_allclose(found._alternative.log_evidence, np.log(evidence), atol=2e-3)
    np.testing.assert_allclose(found._alternative.log_scale, mean, atol=2e-3)
    s = np.clip(np.sqrt(np.mean(np.square(z))), 0.75, 1.25)
    right = norm.logpdf(z, scale=s).sum()
    np.testing.assert_allclose(found.log_evidence, np.log(evidence) - right, atol=2e-3)
    proved = found.log_evidence >= np.log(10.0)
    np.testing.assert_allclose(np.log(found.scale), mean if proved else 0.0, atol=5e-3)


def test_the_student_density_is_the_closest_to_a_normal():
    """Its scale is where the expected log-likelihood of normal scores is largest."""
    z = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    scales = _normal_as_student() * np.array([0.98, 1.0, 1.02])
    likelihoods = [student.logpdf(z, df=5.0, scale=s).mean() for s in scales]
    assert np.argmax(likelihoods) == 1


@pytest.mark.parametrize("wrong", [0.02, 0.1, 3.0, 10.0, 300.0])
def test_a_scale_that_is_far_off_is_corrected_within_tens_of_outcomes(wrong):
    found = [ScaleRecalibrator(scores=z).scale for z in wrong * normal_scores(30)]
    assert 0.85 * wrong < np.median(found) < 1.15 * wrong
    old = [
        GaussianRecalibrator(10.0, 2.5).update_scores(z).residual.std()
        for z in 10 * normal_scores(30)
    ]
    assert np.median(old) < 2.5  # what it replaced: a limit that was not corrected for


@pytest.mark.parametrize("nearly_right", [0.85, 1.0, 1.2])
@pytest.mark.parametrize("count", [1, 5, 30, 300])
def test_a_scale_that_is_about_right_is_left_alone(nearly_right, count):
    found = [ScaleRecalibrator(scores=z).scale for z in nearly_right * normal_scores(count)]
    assert np.mean(np.array(found) == 1.0) >= 0.9  # and not nearly 1: the search is the same


@pytest.mark.parametrize("wrong", [0.5, 1.1, 2.0])
def test_without_tolerance_any_error_is_corrected_in_the_end(wrong):
    z = wrong * normal_scores(5000, runs=1)[0]
    found = ScaleRecalibrator(tolerance=(1.0, 1.0), scores=z).scale
    np.testing.assert_allclose(found, wrong, rtol=0.05)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_one_outlier_of_any_size_hardly_matters(size):
    for z in normal_scores(20, runs=10):
        z = np.append(z, size)
        assert ScaleRecalibrator(scores=z).scale < 1.6


@pytest.mark.parametrize("scale", [0.75, 1.0, 1.25])
def test_the_evidence_rarely_ever_reaches_its_threshold_on_scales_within_tolerance(scale):
    """Ville: with probability 1/20 at most, whenever one looks; and until then nothing changes."""
    reached = 0
    for z in scale * normal_scores(60, runs=60, seed=3):
        found = [ScaleRecalibrator(0.05, scores=z[:n]) for n in (1, 2, 4, 8, 15, 30, 60)]
        reached += max(one.log_evidence for one in found) >= np.log(20.0)
        assert all(one.scale == 1.0 for one in found if one.log_evidence < np.log(20.0))
    assert reached <= 0.05 * 60


@settings(deadline=None)
@given(
    z=st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    factor=st.floats(1.0, 10.0),
)
def test_larger_scores_never_give_a_narrower_forecast(z, factor):
    widened = np.array(z) * factor
    if np.mean(np.square(z)) >= 1.25**2:  # below, a larger score may be closer to right
        before, after = (ScaleRecalibrator(scores=s).scale for s in (z, widened))
        assert after >= before - 1e-3


def test_order_and_signs_do_not_matter():
    z = np.array([3.0, -0.2, 1.0, -7.0])
    one, other = ScaleRecalibrator(scores=z), ScaleRecalibrator().update_scores(-z[::-1])
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-12)
