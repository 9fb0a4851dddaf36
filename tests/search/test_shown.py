"""What is known of forecasts of chosen points before a search starts."""

import numpy as np
import pytest

from calibrant import Normal
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.output_maps import fit_map
from calibrant.search.defaults import MODEL
from calibrant.search.history import History
from calibrant.search.shown import informed, prior_residual
from calibrant.search.step import Policy


@pytest.mark.parametrize("outcomes", [1, 5, 6, 7, 12, 30, 100, 5000])
@pytest.mark.parametrize("dim", [1, 2, 5, 20, 200])
def test_the_prior_is_a_distribution_everywhere(outcomes, dim):
    residual = prior_residual(outcomes, dim)
    low, high = residual.interval(0.8)
    assert np.isfinite([low, high]).all()
    assert low < high
    assert residual.std() > 0.3


def test_it_widens_and_moves_up():
    """At chosen points the model is over-confident, and outcomes are worse than forecast."""
    for outcomes in (5, 8, 11):  # the kernel with one lengthscale per dimension is the worst
        low, high = informed(Normal(0.0, 1.0), outcomes, 4).interval(0.8)
        assert high - low > 1.5 * 2 * 1.2816
        assert low + high > 0.0


def test_it_gets_smaller_with_outcomes():
    widths = [np.ptp(prior_residual(outcomes, 3).interval(0.8)) for outcomes in (5, 8, 14, 26)]
    assert widths == sorted(widths, reverse=True)


def test_beyond_what_was_seen_the_last_value_holds():
    np.testing.assert_array_equal(
        prior_residual(30, 20).quantile([0.1, 0.9]), prior_residual(600, 50).quantile([0.1, 0.9])
    )


def test_another_model_has_no_prior():
    forecast = Normal(1.0, 2.0)
    assert informed(forecast, 0, 3) is forecast


def test_it_is_applied_in_the_models_units():
    """Quantiles pass through the output map unchanged: the score of an outcome is the same."""
    outputs = fit_map("yeo-johnson", np.array([0.1, 0.5, 3.0, 20.0]))
    mapped = informed(Mapped(Normal(0.2, 0.7), outputs), 9, 3)
    plain = informed(Normal(0.2, 0.7), 9, 3)
    np.testing.assert_allclose(mapped.score(outputs.inverse(1.3)), plain.score(1.3))


@pytest.mark.parametrize(("model", "known"), [(MODEL, 7), (MODEL.processes[0], 0)])
def test_a_suggestion_says_how_much_the_default_model_knew(model, known):
    from dataclasses import replace

    from calibrant import Cube

    rng = np.random.default_rng(0)
    X = rng.random((7, 2))
    history = replace(
        History.empty(2),
        X=X,
        Y=X.sum(axis=1, keepdims=True),
        constraints=np.empty((7, 0)),
        was_forecast=np.zeros(7, dtype=bool),
    )
    assert Policy(model=model).suggest(history, Cube.continuous(2), rng).outcomes == known
