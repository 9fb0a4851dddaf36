"""The same checks for every recalibrator."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibrant import (
    ChainRecalibrator,
    GaussianRecalibrator,
    IdentityRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    Mixture,
    Normal,
    OnlineRecalibrator,
    Quantiles,
    RegressionRecalibrator,
    ScaleRecalibrator,
    recalibrator_from_dict,
    replay,
)
from calibrant.recalibration import GeneralisedNormalRecalibrator

EMPTY = {
    "identity": IdentityRecalibrator(),
    "online": OnlineRecalibrator(19, rate=0.01),
    "online fast": OnlineRecalibrator(99, rate=1.0),
    "leader": LeaderRecalibrator(5.0),
    "isotonic": IsotonicRecalibrator(),
    "isotonic, k/N": IsotonicRecalibrator(literal=True),
    "gaussian": GaussianRecalibrator(5.0),
    "gaussian, limited": GaussianRecalibrator(5.0, limit=4.0),
    "scale": ScaleRecalibrator(),
    "generalised normal": GeneralisedNormalRecalibrator(),
    "gp": RegressionRecalibrator("gp"),
    "mlp": RegressionRecalibrator("mlp"),
    "chain": ChainRecalibrator(GaussianRecalibrator(5.0), OnlineRecalibrator(19)),
    "leader chain": ChainRecalibrator(LeaderRecalibrator()),
}
# Rate 1 keeps its promise by jumping about, not by learning a width or a location.
LEARNING = [name for name in EMPTY if name not in ("identity", "online fast")]
# How many outcomes each sees; the chain takes 10 ms for one, and has learned as much from 300.
STREAMS = [
    *[(name, 1500) for name in LEARNING if name != "leader chain"],
    ("leader chain", 300),
    pytest.param("leader chain", 1500, marks=pytest.mark.slow),
]
UNSHIFTED = {"scale", "generalised normal"}  # they learn how wide forecasts are, and no location
# Strictly increasing: R has a true inverse.
STRICT = ["identity", "leader", "gaussian", "scale", "generalised normal"]
P = np.concatenate([[0.0, 1.0], np.linspace(0.001, 0.999, 97)])
P.sort()
pit_lists = st.lists(st.floats(0, 1), min_size=0, max_size=25)


@pytest.fixture(params=EMPTY, ids=str)
def empty(request):
    return EMPTY[request.param]


def test_without_data_it_is_the_identity(empty):
    np.testing.assert_allclose(empty(P), P, atol=1e-12)
    np.testing.assert_allclose(empty.inverse(P), P, atol=1e-12)
    forecast = Normal([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(empty.calibrate(forecast).quantile(0.9), forecast.quantile(0.9))


# Of the regression the fixed cases must do: it trains a network for each.
@pytest.mark.parametrize("name", [n for n in EMPTY if n not in ("mlp", "leader chain")])
@given(us=pit_lists)
def test_monotone_and_finite_for_any_pits(name, us):
    check_monotone_and_finite(EMPTY[name].update_many(us))


@pytest.mark.parametrize("name", ["chain", "leader chain"])
@settings(max_examples=20)
@given(
    z=st.lists(st.floats(-1e7, 1e7) | st.floats(-4, 4), max_size=25),
    before=st.lists(st.floats(-4, 4), max_size=5),
)
def test_a_log_of_scores_is_learned_as_one_score_after_the_other(name, z, before):
    start = EMPTY[name].update_scores(before)
    one_by_one = start
    for score in z:
        one_by_one = one_by_one.update_scores([score])
    assert start.update_scores(z).to_dict() == one_by_one.to_dict()  # to the last bit


def test_a_long_log_is_learned_as_one_score_after_the_other():
    z = np.random.default_rng(0).standard_t(2, size=800)
    start = ChainRecalibrator(GaussianRecalibrator(30.0, limit=4.0), OnlineRecalibrator(rate=0.02))
    one_by_one = start
    for score in z:
        one_by_one = one_by_one.update_scores([score])
    assert start.update_scores(z).to_dict() == one_by_one.to_dict()


@settings(max_examples=10)  # half a second each, for four integrals
@given(us=pit_lists)
def test_a_chain_is_monotone_and_finite_for_some_pits(us):
    check_monotone_and_finite(EMPTY["leader chain"].update_many(us))


@pytest.mark.slow
@given(us=pit_lists)
def test_a_chain_is_monotone_and_finite_for_any_pits(us):
    check_monotone_and_finite(EMPTY["leader chain"].update_many(us))


@pytest.mark.parametrize(
    "us",
    [[0.3], [0.5] * 40, [0.0] * 40, [1.0] * 40, [0.0, 1.0] * 20, np.linspace(0, 1, 50) ** 4],
    ids=["one", "equal", "zeros", "ones", "both ends", "skewed"],
)
def test_monotone_and_finite_in_hard_cases(empty, us):
    check_monotone_and_finite(empty.update_many(us))


def check_monotone_and_finite(r):
    levels, probabilities = r(P), r.inverse(P)
    for values in (levels, probabilities):
        assert np.all((values >= 0) & (values <= 1))
        assert np.all(np.diff(values) >= -1e-12)
    calibrated = r.calibrate(Normal(0.0, 1.0))
    expectations = [
        calibrated.mean(),
        calibrated.std(),
        calibrated.crps(0.3),
        calibrated.shortfall(0.1),
    ]
    assert np.isfinite(expectations).all()
    assert calibrated.std() > 0


@given(us=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=25, unique=True))
def test_isotonic_recalibration_counts_shares(us):
    """Algorithm 1 as printed, k/N, and with room for what has not been seen, k/(N + 1)."""
    shares = np.array([sum(other <= u for other in us) for u in us])
    literal = IsotonicRecalibrator(literal=True).update_many(us)
    np.testing.assert_allclose(literal.inverse(us), shares / len(us), atol=1e-9)
    assert literal.inverse(0.999) == pytest.approx(1.0)  # nothing is left beyond the largest
    ours = IsotonicRecalibrator().update_many(us)
    np.testing.assert_allclose(ours.inverse(us), shares / (len(us) + 1), atol=1e-9)
    assert ours.inverse(0.999) < 1.0


@pytest.mark.parametrize("name", STRICT)
@given(us=pit_lists, p=st.floats(0.001, 0.999))
def test_inverse_round_trip(name, us, p):
    r = EMPTY[name].update_many(us)
    z = ndtri(p)
    np.testing.assert_allclose(r.residual.score(r.residual.at_score(z)), z, atol=1e-8)
    if 1e-12 < r(p) < 1 - 1e-6:  # as a PIT; closer to 1 a double has lost the digits
        np.testing.assert_allclose(r.inverse(r(p)), p, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in EMPTY if n not in STRICT and n != "mlp"])
@given(us=pit_lists, p=st.floats(0.001, 0.999), u=st.floats(0.001, 0.999))
def test_inverse_is_the_generalised_inverse_where_r_has_flat_parts(name, us, p, u):
    r = EMPTY[name].update_many(us)
    # Elsewhere R(p) has underflowed to 0, or lost its digits close to 1.
    if 1e-300 < r(p) < 1 - 1e-6 or name.startswith("online"):
        assert r.inverse(r(p)) >= p - 1e-9
    if r.inverse(u) < 1.0:  # R(1) is 1, also where no outcome was as high (k/N)
        assert r(r.inverse(u)) <= u + 1e-9


def test_rounding_does_not_push_a_pit_off_a_point_mass():
    r = EMPTY["leader chain"].update_many([0.5, 0.5, 0.5, 0.0])
    assert r.inverse(r(0.5)) >= 0.5


@pytest.mark.parametrize(("name", "count"), STREAMS)
def test_direction_a_model_with_half_the_true_std_comes_out_wider(name, count):
    """The trap: R and its inverse confused would make over-confidence worse."""
    y = np.random.default_rng(0).standard_normal(count)
    overconfident = Normal(np.zeros(y.size), np.full(y.size, 0.5))
    r = EMPTY[name].observe(overconfident, y)
    low, high = r.calibrate(Normal(0.0, 0.5)).interval(0.5)
    width = (high - low) / (2 * 0.6745)  # of the true interval
    assert 0.85 < width < 1.2
    assert r(0.75) > 0.8 > 0.7 > r.inverse(0.75)


@pytest.mark.parametrize(("name", "count"), STREAMS)
def test_direction_a_timid_model_comes_out_narrower(name, count):
    y = np.random.default_rng(0).standard_normal(count)
    r = EMPTY[name].observe(Normal(np.zeros(y.size), np.full(y.size, 2.0)), y)
    low, high = r.calibrate(Normal(0.0, 2.0)).interval(0.5)
    assert 0.8 < (high - low) / (2 * 0.6745) < 1.3


@pytest.mark.parametrize(("name", "count"), [s for s in STREAMS if UNSHIFTED.isdisjoint(s[:1])])
def test_a_shifted_model_is_shifted_back(name, count):
    y = np.random.default_rng(1).standard_normal(count) + 1.0
    r = EMPTY[name].observe(Normal(np.zeros(y.size), np.ones(y.size)), y)
    assert abs(r.calibrate(Normal(0.0, 1.0)).quantile(0.5) - 1.0) < 0.25


def test_updates_leave_the_old_recalibrator_alone(empty):
    before = json.dumps(empty.to_dict())
    empty.update(0.2).update_many([0.1, 0.9])
    assert json.dumps(empty.to_dict()) == before


def test_one_by_one_is_the_same_as_many(empty):
    us = np.random.default_rng(3).uniform(size=30)
    one_by_one = empty
    for u in us:
        one_by_one = one_by_one.update(u)
    np.testing.assert_allclose(one_by_one(P), empty.update_many(us)(P), atol=1e-9)


def test_scores_and_pits_are_the_same_news(empty):
    z = np.random.default_rng(4).standard_normal(20)
    np.testing.assert_allclose(empty.update_scores(z)(P), empty.update_many(ndtr(z))(P), atol=1e-7)


def test_json_round_trip_is_exact(empty):
    r = empty.update_many(np.random.default_rng(5).uniform(size=40))
    text = json.dumps(r.to_dict())
    copy = recalibrator_from_dict(json.loads(text))
    assert type(copy) is type(r)
    assert json.dumps(copy.to_dict()) == text
    np.testing.assert_array_equal(copy(P), r(P))
    after, copy_after = r.update(0.77), copy.update(0.77)
    np.testing.assert_array_equal(copy_after(P), after(P))


def test_scalars_give_scalars_and_arrays_keep_their_shape(empty):
    r = empty.update_many([0.2, 0.7])
    assert np.shape(r(0.3)) == np.shape(r.inverse(0.3)) == ()
    assert r(np.full((2, 3), 0.3)).shape == (2, 3)


@pytest.mark.parametrize(
    "forecast",
    [
        Normal([0.0, 1.0], [1.0, 2.0]),
        Mixture([0.5, 0.5], [[0.0, 1.0], [2.0, 3.0]], 1.0),
        Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 4.0], [1.0, 2.0, 3.0]]),
    ],
    ids=["normal", "mixture", "quantiles"],
)
def test_the_calibrated_forecast_is_q_after_r(empty, forecast):
    r = empty.update_many([0.02, 0.05, 0.4, 0.97, 0.99, 0.999])
    calibrated = r.calibrate(forecast)
    p = np.array([0.07, 0.31, 0.5, 0.93])[:, None]
    np.testing.assert_allclose(
        calibrated.quantile(p), forecast.quantile(r(p)), rtol=1e-7, atol=1e-8
    )
    y = np.array([0.5, 2.2])
    np.testing.assert_allclose(calibrated.cdf(y), r.inverse(forecast.cdf(y)), atol=1e-9)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, np.inf, "x", None])
def test_bad_pits_are_refused(empty, bad):
    with pytest.raises((ValueError, TypeError), match=r"`0 <= u <= 1`|`u` must be numeric"):
        empty.update(bad)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_outcomes_are_refused(empty, bad):
    with pytest.raises(ValueError, match="`y` must be finite"):
        empty.observe(Normal(0.0, 1.0), bad)
    with pytest.raises(ValueError, match="`z` must be finite"):
        empty.update_scores([0.0, bad])


def test_other_bad_input(empty):
    with pytest.raises(ValueError, match="`update` takes one PIT"):
        empty.update([0.1, 0.2])
    with pytest.raises(ValueError, match="One outcome per forecast point"):
        empty.observe(Normal([0.0, 1.0], 1.0), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="must be 1-D"):
        empty.update_many([[0.1, 0.2]])
    with pytest.raises(ValueError, match="`0 <= p <= 1`"):
        empty(1.2)
    with pytest.raises(ValueError, match="`0 <= u <= 1`"):
        empty.inverse(-0.2)


def test_forecasts_with_tiny_std_do_not_overflow(empty):
    r = empty
    for y in (1.0, 1e10, -1e300):
        calibrated = r.calibrate(Normal(0.0, 1e-300))
        assert 0.0 <= calibrated.cdf(y) <= 1.0
        assert np.isfinite(calibrated.crps(y))
        r = r.observe(Normal(0.0, 1e-300), y)
    check_monotone_and_finite(r)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"kind": "magic"}, "`kind` must be one of"),
        ({}, "`kind` must be one of"),
        ({"kind": "online", "rat": 0.1}, "not the state of a recalibrator"),
        ({"kind": "chain", "first": 3}, "`first` must be an object such as"),
        ({"kind": "online", "levels": 3, "rate": -1.0}, "`rate > 0` must hold, but got rate=-1"),
        ({"kind": "online", "levels": 3, "count": 2, "hits": [3, 0, 0]}, "`0 <= hits <= count`"),
        ({"kind": "online", "levels": 3, "count": 2, "hits": [-1, 0, 0]}, "`0 <= hits <= count`"),
        ({"kind": "online", "levels": 3, "count": 2, "hits": [1]}, "one whole number per level"),
        ({"kind": "online", "levels": 2, "count": 9, "hits": [7, 2]}, "must not decrease"),
        ({"kind": "online", "levels": 2, "count": 9}, "`hits` must come with `count`"),
        ({"kind": "online", "levels": 2, "count": 3, "hits": [0.5, 1]}, "whole number"),
        ({"kind": "gaussian", "count": 2, "total": 9.0, "squares": 1.0}, "No scores have"),
        ({"kind": "gaussian", "total": float("nan")}, "`total` must be finite"),
        ({"kind": "scale", "level": 1.0}, "`0 < level < 1` must hold, but got level=1"),
        ({"kind": "scale", "tolerance": [1.1, 2.0]}, "`0 < low <= 1 <= high` must hold"),
        ({"kind": "scale", "scores": [float("nan")]}, "`z` must be finite"),
        ({"kind": []}, "`kind` must be one of"),
        ([], "`kind` must be one of"),
        ({"kind": "leader", "centres": [0.0], "weights": []}, "one non-negative number per centre"),
        ({"kind": "regression", "model": "tree"}, "`model` must be"),
    ],
)
def test_bad_states_are_refused(state, message):
    with pytest.raises(ValueError, match=message):
        recalibrator_from_dict(state)


def test_gp_counts_repeated_pits():
    r = RegressionRecalibrator("gp").update_many([0.5] * 1000)
    assert r.inverse(0.5) > 0.9  # one distinct PIT, but no doubt about its share


@pytest.mark.parametrize("make", [OnlineRecalibrator, LeaderRecalibrator, GaussianRecalibrator])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_bad_settings_are_refused(make, bad):
    setting = "rate" if make is OnlineRecalibrator else "strength"
    with pytest.raises(ValueError, match=f"`{setting}"):
        make(**{setting: bad})


def test_an_outlier_counts_up_to_the_limit():
    limited = GaussianRecalibrator(5.0, limit=2.5)
    assert limited.update_scores([0.3, 400.0]) == limited.update_scores([0.3, 2.5])
    free = GaussianRecalibrator(5.0)
    assert limited.update_scores([-2.4]).residual.std() == free.update_scores([-2.4]).residual.std()
    with pytest.raises(ValueError, match="limit > 0"):
        GaussianRecalibrator(limit=0.0)


@pytest.mark.parametrize("recalibrator", [GaussianRecalibrator(), ChainRecalibrator()])
def test_one_forecast_that_was_far_too_sure_does_not_spoil_the_others(recalibrator):
    rng = np.random.default_rng(0)
    std = np.where(np.arange(400) == 200, 1e-6, 1.0)
    found = replay(Normal(np.zeros(400), std), rng.standard_normal(400), recalibrator)
    assert found.crps[201:].mean() < 1.05 * found.raw_crps[201:].mean()


def test_a_limit_of_infinity_survives_json():
    recalibrator = GaussianRecalibrator(limit=np.inf).update_scores([30.0, 1.0])
    state = json.loads(json.dumps(recalibrator.to_dict(), allow_nan=False))
    again = recalibrator_from_dict(state).update_scores([50.0])
    assert again.squares == recalibrator.update_scores([50.0]).squares


STRONG = {
    "gaussian": GaussianRecalibrator(8.0),
    "leader": LeaderRecalibrator(8.0),
    "scale": ScaleRecalibrator(),
}


@pytest.mark.parametrize("name", STRONG)
def test_scores_without_their_signs_count_once(name):
    z = np.array([1.6, -8.0, 12.4, -0.8, 6.8])  # so large that any evidence suffices
    learned = STRONG[name].update_symmetric(z)
    np.testing.assert_allclose(learned(0.5), 0.5, atol=1e-9)  # no shift
    np.testing.assert_array_equal(learned(P), STRONG[name].update_symmetric(-z)(P))
    twice = STRONG[name].update_scores(np.concatenate([z, -z]))
    assert learned.residual.std() < twice.residual.std()


def test_strength_means_the_same_with_and_without_signs():
    balanced = np.array([0.4, -0.4, 2.0, -2.0])  # no shift to learn
    for recalibrator in (GaussianRecalibrator(8.0), LeaderRecalibrator(8.0, bandwidth=0.3)):
        signed, unsigned = (
            recalibrator.update_scores(balanced),
            recalibrator.update_symmetric(balanced),
        )
        np.testing.assert_allclose(signed(P), unsigned(P), atol=1e-12)
