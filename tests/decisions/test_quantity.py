"""What is believed about one objective: its function, its noise, its spread."""

import numpy as np
import pytest
from scipy.stats import kstest
from tests.decisions.studies import noisy_study, study_of

from calibrant.decisions.belief import believe


def test_it_knows_the_function_and_its_noise():
    quantity = believe(noisy_study(200)).objectives[0]
    X = np.linspace(0.05, 0.95, 19)[:, None]
    truth = 3.0 * np.cos(5.0 * X[:, 0])
    assert np.abs(quantity.expected(X).mean() - truth).max() < 0.3
    assert np.median(quantity.noise(X)) == pytest.approx(0.3, abs=0.05)
    # An outcome is as uncertain as the function and its noise.
    both = np.hypot(quantity.expected(X).std(), quantity.noise(X))
    np.testing.assert_allclose(quantity.outcome(X).std(), both, rtol=0.1)


def test_draws_agree_with_the_forecasts_of_single_points():
    belief = believe(noisy_study(25))
    quantity, X = belief.objectives[0], np.array([[0.1], [0.5], [0.52], [0.97]])
    draws = quantity.draws(X, 6000, np.random.default_rng(0))
    single = quantity.expected(X)
    for column, drawn in enumerate(draws.T):
        assert kstest(drawn, single[column].cdf).statistic < 0.03
    # Neighbours go together, and points far apart do not.
    correlations = np.corrcoef(draws.T)
    assert correlations[1, 2] > 0.9
    assert abs(correlations[0, 3]) < 0.5


def test_a_skewed_map_does_not_bias_the_mean_of_many_evaluations():
    rng = np.random.default_rng(1)
    points = rng.random(400)
    values = np.exp(0.8 * rng.standard_normal(400))  # its mean is 1.38, its median 1
    quantity = believe(study_of(values, points)).objectives[0]
    expected = float(quantity.expected(np.array([[0.5]])).mean()[0])
    assert expected == pytest.approx(values.mean(), abs=0.2)
    assert expected > 1.15


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize(
    "values", [[1.0], [1.0, 1.0, 1.0], [1.0, 2.0], [0.0, 0.0], [5.0, 5.0, 1e3]]
)
def test_few_constant_huge_and_tiny_outcomes_have_finite_forecasts(values, scale):
    points = np.linspace(0.1, 0.9, len(values))
    quantity = believe(study_of(np.array(values) * scale, points)).objectives[0]
    X = np.array([[0.0], [0.5]])
    draws = quantity.draws(X, 30, np.random.default_rng(0))
    for found in (*quantity.outcome(X).interval(0.8), *quantity.expected(X).interval(0.8), draws):
        assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(quantity.noise(X)))
