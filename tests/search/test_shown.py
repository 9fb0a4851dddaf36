"""What is known of forecasts of chosen points before a search starts."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Cube, Normal
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.output_maps import fit_map
from calibrant.search.defaults import MODEL
from calibrant.search.history import History
from calibrant.search.shown import Circumstances, informed, prior_residual
from calibrant.search.step import Policy


@given(
    st.builds(
        Circumstances,
        outcomes=st.integers(1, 5000),
        dim=st.integers(1, 200),
        running=st.integers(0, 500),
        share=st.floats(0.0, 1.0),
        noise=st.floats(0.0, 1.0),
        blind=st.booleans(),
    )
)
def test_the_prior_is_a_distribution_everywhere(known):
    residual = prior_residual(known)
    low, high = residual.interval(0.8)
    assert np.isfinite([low, high]).all()
    assert high - low >= 0.19
    assert residual.std() > 0.05


def test_it_widens_and_moves_up():
    """At chosen points the model is over-confident, and outcomes are worse than forecast."""
    for outcomes in (5, 8, 11):  # the kernel with one lengthscale per dimension is the worst
        low, high = informed(Normal(0.0, 1.0), Circumstances(outcomes, 4)).interval(0.8)
        assert high - low > 1.5 * 2 * 1.2816
        assert low + high > 0.0


def test_it_gets_smaller_with_outcomes():
    widths = [
        np.ptp(prior_residual(Circumstances(outcomes, 3)).interval(0.8)) for outcomes in (5, 14, 26)
    ]
    assert widths == sorted(widths, reverse=True)


def test_a_forecast_that_is_nearly_certain_is_too_wide():
    sure, usual = (
        np.ptp(prior_residual(Circumstances(20, 3, share=share)).interval(0.8))
        for share in (0.002, 0.15)
    )
    assert sure < 2 * 1.2816 < usual


def test_the_first_choices_come_out_worse_than_any_later_ones():
    first, later = (prior_residual(Circumstances(5, 6, blind=blind)) for blind in (True, False))
    assert first.quantile(0.5) > later.quantile(0.5)


def test_beyond_what_was_seen_the_last_value_holds():
    seen, beyond = Circumstances(30, 20, 15, 0.001), Circumstances(600, 50, 200, 1e-9)
    np.testing.assert_array_equal(
        prior_residual(seen).quantile([0.1, 0.9]), prior_residual(beyond).quantile([0.1, 0.9])
    )


def test_another_model_has_no_prior():
    forecast = Normal(1.0, 2.0)
    assert informed(forecast, None) is forecast


def test_it_is_applied_in_the_models_units():
    """Quantiles pass through the output map unchanged: the score of an outcome is the same."""
    outputs = fit_map("yeo-johnson", np.array([0.1, 0.5, 3.0, 20.0]))
    mapped = informed(Mapped(Normal(0.2, 0.7), outputs), Circumstances(9, 3))
    plain = informed(Normal(0.2, 0.7), Circumstances(9, 3))
    np.testing.assert_allclose(mapped.score(outputs.inverse(1.3)), plain.score(1.3))


def history_of(points, forecast=0, running=0):
    rng = np.random.default_rng(0)
    X = rng.random((points, 2))
    return replace(
        History.empty(2),
        X=X,
        Y=X.sum(axis=1, keepdims=True),
        constraints=np.empty((points, 0)),
        was_forecast=np.arange(points) >= points - forecast,
        pending=rng.random((running, 2)),
    )


def test_a_suggestion_says_in_which_circumstances_it_was_forecast():
    rng, cube = np.random.default_rng(0), Cube.continuous(2)
    known = Policy().suggest(history_of(7), cube, rng).known
    assert (known.outcomes, known.dim, known.running, known.blind) == (7, 2, 0, True)
    known = Policy().suggest(history_of(8, forecast=2, running=3), cube, rng).known
    assert (known.outcomes, known.dim, known.running, known.blind) == (8, 2, 3, False)
    assert 0.0 < known.share < 1.0
    assert 0.0 < known.noise <= 1.0
    other = Policy(model=MODEL.processes[0]).suggest(history_of(7), cube, rng)
    assert other.known is None
