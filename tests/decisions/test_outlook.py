import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import calibrant
from calibrant.decisions.gains import TABLES, exceedance, expected_gains, gain_quantiles
from calibrant.decisions.progress import FEATURES, progress

STATES = optuna.trial.TrialState


def study_of(values, direction="minimize", constraints=None):
    study = optuna.create_study(direction=direction)
    x = optuna.distributions.FloatDistribution(0.0, 1.0)
    for i, value in enumerate(values):
        failed = value is None
        study.add_trial(
            optuna.create_trial(
                params={"x": (i + 0.5) / len(values)},
                distributions={"x": x},
                value=None if failed else value,
                state=STATES.FAIL if failed else STATES.COMPLETE,
                constraints=None if constraints is None else {"limit": constraints[i]},
            )
        )
    return study


VALUES = [5.0, 3.0, 4.0, 2.5, 6.0, 2.4, 2.9, 2.2, 5.5, 2.15, 2.6, 2.1]

outcomes = st.lists(
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 3)), min_size=5, max_size=40
)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_table_has_a_row_for_each_feature(chosen):
    assert tuple(TABLES[chosen]) == ("(constant)", *FEATURES)


@given(outcomes, st.integers(1, 20), st.booleans())
@settings(max_examples=60, deadline=None)
def test_probabilities_are_monotone_in_trials_and_gain(values, dim, chosen):
    state = progress(np.array(values), dim, chosen)
    p = exceedance(state, np.arange(1, 60), np.geomspace(1e-4, 20.0, 30))
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert (np.diff(p, axis=0) >= 0.0).all()
    assert (np.diff(p, axis=1) <= 0.0).all()


@given(outcomes, st.booleans())
@settings(max_examples=60, deadline=None)
def test_gains_beyond_what_was_learned_from_are_not_promised(values, chosen):
    state = progress(np.array(values), 2, chosen)
    before, at, far, farther = exceedance(state, [20], [3.0 - 1e-6, 3.0 + 1e-6, 30.0, 300.0])[0]
    assert at == pytest.approx(before, rel=1e-4)  # no step where the tail begins
    assert far <= 1.0 / np.sqrt(10.0)
    assert farther <= far / np.sqrt(10.0) * (1.0 + 1e-12)


@given(outcomes, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
@settings(max_examples=60, deadline=None)
def test_features_have_no_units(values, scale, shift):
    y = np.array(values)
    one, other = progress(y, 3), progress(scale * y + shift, 3)
    if one.unit > 1e-2:  # rounding may else change which outcomes are equal
        np.testing.assert_allclose(one.features[4:11], other.features[4:11], atol=0.05)
        assert other.unit == pytest.approx(scale * one.unit, rel=1e-3)


def test_the_trend_is_spearmans_correlation():
    y = np.random.default_rng(0).normal(size=30)
    expected = spearmanr(np.arange(30), y).statistic
    assert progress(y, 2).features[FEATURES.index("trend of ranks")] == pytest.approx(expected)


def test_searches_of_calibrant_are_told_from_others():
    searched = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, 10, seed=0)
    values = [trial.value for trial in searched.trials]
    own, other = (calibrant.outlook(s).probability for s in (searched, study_of(values)))
    y = np.array(values)
    stated = [exceedance(progress(y, 1, chosen), [20], [0.1])[0, 0] for chosen in (True, False)]
    assert [own, other] == pytest.approx(stated)
    assert own != pytest.approx(other, rel=1e-3)


def test_quantiles_and_mean_agree_with_draws():
    state = progress(np.array(VALUES), 2)
    rng = np.random.default_rng(0)
    levels = rng.random(20_000)
    draws = gain_quantiles(state, [10], levels)[0]
    for gain in (0.0, 0.01, 0.1, 1.0):
        stated = exceedance(state, [10], [gain])[0, 0]
        assert np.mean(draws > gain) == pytest.approx(stated, abs=0.012)
    assert draws.mean() == pytest.approx(expected_gains(state, [10])[0], rel=0.1)


def test_the_fan_is_in_the_users_sign_and_units():
    small = calibrant.outlook(study_of(VALUES), trials=8)
    large = calibrant.outlook(study_of([-1000.0 * v for v in VALUES], "maximize"), trials=8)
    np.testing.assert_allclose(large.fan, -1000.0 * small.fan)
    np.testing.assert_allclose(large.gains, 1000.0 * small.gains)
    assert (small.best, large.best) == (2.1, -2100.0)
    assert large.probability == pytest.approx(small.probability)
    assert large.delta == pytest.approx(1000.0 * small.delta)
    assert (np.diff(small.fan, axis=1) >= 0.0).all()  # better first
    assert (np.diff(small.fan, axis=0) <= 1e-12).all()  # better with time
    assert (small.fan <= small.best).all()


def test_the_fan_and_the_chances_say_the_same():
    ahead = calibrant.outlook(study_of(VALUES), trials=10)
    for column, level in enumerate(ahead.levels.tolist()):
        gain = ahead.best - ahead.fan[-1, column]
        if gain > 0.0:
            assert ahead.chance(gain) == pytest.approx(level, abs=0.02)
    assert ahead.chance(0.0) >= ahead.probability == ahead.chance(ahead.delta)
    assert ahead.chance(0.0, trials=2) < ahead.chance(0.0)
    assert 1 <= ahead.trials_needed <= 10


def test_what_is_known_of_the_settings_counts():
    y = np.array(VALUES)
    free, some = (progress(y, 1, whole=share) for share in (0.0, 1.0))
    assert exceedance(free, [20], [0.0])[0, 0] != exceedance(some, [20], [0.0])[0, 0]
    study = study_of(VALUES)
    assert calibrant.outlook(study).chance(0.0) == pytest.approx(
        exceedance(free, [20], [0.0])[0, 0]
    )
    labels = optuna.create_study()
    for value in VALUES:
        labels.add_trial(
            optuna.create_trial(
                params={"x": 0.5},
                distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0, step=0.5)},
                value=value,
            )
        )
    assert calibrant.outlook(labels).chance(0.0) == pytest.approx(
        exceedance(some, [20], [0.0])[0, 0]
    )


def test_the_latest_outlooks_are_averaged():
    ahead = calibrant.outlook(study_of(VALUES), trials=10, delta=0.3)
    each = [
        calibrant.outlook(study_of(VALUES[:n]), trials=10, delta=0.3).probability
        for n in range(5, len(VALUES) + 1)  # the latest ten, but for those before the fifth
    ]
    assert ahead.lately == pytest.approx(np.mean(each))
    assert ahead.probability == pytest.approx(each[-1])


def test_a_search_that_found_nothing_for_long_expects_less():
    improving = [10.0 - i for i in range(10)]
    stuck = [0.0, *(5.0 + np.sin(i) for i in range(39))]
    soon, late = (calibrant.outlook(study_of(values)) for values in (improving, stuck))
    assert soon.chance(0.0) > 0.5 > late.chance(0.0)
    assert "probability" in str(late)
    assert "<table>" in late._repr_html_()


def test_failures_count_as_trials_without_a_gain():
    plain = calibrant.outlook(study_of(VALUES))
    failing = calibrant.outlook(study_of([*VALUES, None, None, None, None, None, None]))
    assert failing.finished == plain.finished + 6
    assert failing.best == plain.best
    assert failing.chance(0.0) < plain.chance(0.0)


def test_what_breaks_a_constraint_is_not_the_best():
    limits = [-1.0] * 11 + [1.0]
    assert calibrant.outlook(study_of(VALUES, constraints=limits)).best == 2.15


@pytest.mark.parametrize(
    "values", [[1.0] * 8, [1e308, -1e308] * 5, [1e-300 * i for i in range(9)], [0.0] * 7 + [1.0]]
)
def test_odd_outcomes_have_an_outlook(values):
    ahead = calibrant.outlook(study_of(values))
    assert np.isfinite(ahead.fan).all()
    assert 0.0 <= ahead.probability <= 1.0
    assert ahead.figure() is not None
    str(ahead)


def test_equal_outcomes_leave_the_size_of_gains_open():
    ahead = calibrant.outlook(study_of([1.0] * 8), delta=5.0)
    assert ahead.unit == 0.0
    assert ahead.probability == ahead.chance(0.0) > 0.0


@pytest.mark.parametrize(
    ("study", "arguments", "message"),
    [
        (lambda: study_of([]), {}, "none"),
        (lambda: study_of([None] * 9), {}, "none"),
        (lambda: study_of([1.0, 2.0]), {}, "5 finished trials, but the study has 2"),
        (lambda: study_of(VALUES, constraints=[1.0] * 12), {}, "meets all constraints"),
        (lambda: optuna.create_study(directions=["minimize"] * 2), {}, "single objective"),
        (lambda: study_of(VALUES), {"trials": 0}, "1 <= trials <= 100"),
        (lambda: study_of(VALUES), {"trials": 101}, "1 <= trials <= 100"),
        (lambda: study_of(VALUES), {"delta": -1.0}, "delta"),
    ],
)
def test_errors_say_the_rule(study, arguments, message):
    with pytest.raises(ValueError, match=message):
        calibrant.outlook(study(), **arguments)


def test_where_all_count_the_same_nothing_is_said_of_sizes():
    study = study_of([3.0] * 8)
    ahead = calibrant.outlook(study)
    assert 0.0 < ahead.probability < 1.0
    text = str(ahead)
    assert "the best value improves with a probability of" in text
    assert "By how much cannot be said" in text
    assert "by at least" not in text
    assert "median" not in text
    assert "<table>" not in ahead._repr_html_()
