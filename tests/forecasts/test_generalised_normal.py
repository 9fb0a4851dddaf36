"""The generalised normal distribution, against scipy's, quadrature and the normal."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from calibrant import Normal
from calibrant.forecasts.generalised_normal import GeneralisedNormal, log_density, lower_tail
from calibrant.forecasts.residual import mirrored

SHAPES = [0.7, 1.0, 1.5, 2.0, 4.0]
Z = np.array([-30.0, -4.0, -1.0, -1e-3, 0.0, 0.5, 3.0, 12.0])


@pytest.fixture(params=SHAPES)
def residual(request):
    return GeneralisedNormal(request.param, 1.7)


def scipys(residual):
    return stats.gennorm(residual.shape, scale=residual.scale)


def test_density_and_probabilities_are_scipys(residual):
    other = scipys(residual)
    np.testing.assert_allclose(residual.pdf(Z), other.pdf(Z), rtol=1e-10)
    np.testing.assert_allclose(residual.cdf(Z), other.cdf(Z), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(lower_tail(residual.shape, 1.7, Z), other.cdf(Z), rtol=1e-9)
    np.testing.assert_allclose(log_density(residual.shape, 1.7, Z), other.logpdf(Z), rtol=1e-10)
    assert residual.std() == pytest.approx(other.std())


def test_quantiles_are_scipys_and_go_back(residual):
    p = np.array([1e-12, 0.01, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(residual.quantile(p), scipys(residual).ppf(p), atol=1e-10)
    scores = np.array([-1e3, -40.0, -33.1, -32.9, -5.0, 0.0, 2.0, 35.0])
    np.testing.assert_allclose(residual.score(residual.at_score(scores)), scores, rtol=1e-6)
    assert residual.at_score(np.inf) == np.inf
    assert residual.score(-np.inf) == -np.inf


def test_expectations_are_integrals(residual):
    other = scipys(residual)
    for v in (-6.0, -1.0, 0.0, 0.4, 5.0):
        expected, _ = quad(other.cdf, -np.inf, v, epsabs=1e-13)
        assert residual.shortfall(v) == pytest.approx(expected, rel=1e-6)
        assert residual.log_shortfall(v) == pytest.approx(np.log(expected), abs=1e-6)
        below, _ = quad(lambda u: other.cdf(u) ** 2, -np.inf, v)
        above, _ = quad(lambda u: other.sf(u) ** 2, v, np.inf)
        assert residual.crps(v) == pytest.approx(below + above, rel=1e-6)


def test_shape_two_is_the_normal_far_into_the_tails():
    mine, normal = GeneralisedNormal(2.0, 1.3), Normal(0.0, 1.3)
    v = -np.geomspace(0.1, 1e4, 60)
    np.testing.assert_allclose(mine.score(v), normal.score(v), rtol=1e-6)
    np.testing.assert_allclose(mine.log_shortfall(v), normal.log_shortfall(v), rtol=1e-7, atol=1e-6)


def test_its_mirror_image_is_itself(residual):
    assert mirrored(residual) is residual


@pytest.mark.parametrize("bad", [{"shape": 0.0}, {"std": -1.0}, {"shape": np.nan}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        GeneralisedNormal(**bad)
