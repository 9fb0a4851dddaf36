"""Forecasts of settings: the user's sign and units, one or many, with clear errors."""

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial
from scipy.special import ndtr
from tests.reporting.studies import STUDIES

import calibrant
from calibrant.core.words import interval
from calibrant.decisions.forecast import Outcomes
from calibrant.forecasts import Normal

FLOAT = optuna.distributions.FloatDistribution


def bowl(direction="minimize", noise=0.0, count=30, constraints=None):
    sign = 1.0 if direction == "minimize" else -1.0
    rng = np.random.default_rng(3)
    study = optuna.create_study(direction=direction)
    for x in rng.random(count):
        limits = {} if constraints is None else {name: f(x) for name, f in constraints.items()}
        value = sign * (10.0 * (x - 0.6) ** 2 + noise * rng.standard_normal())
        study.add_trial(
            create_trial(
                value=value,
                params={"x": x},
                distributions={"x": FLOAT(0.0, 1.0)},
                constraints=limits,
            )
        )
    return study


def test_one_setting_gives_numbers_and_several_give_arrays():
    study = bowl(noise=0.3)
    one = calibrant.forecast(study, {"x": 0.1})
    many = calibrant.forecast(study, [{"x": 0.1}, {"x": 0.6}])
    assert np.ndim(one.mean) == 0
    assert many.mean.shape == many.median.shape == many.probability_below(1.0).shape == (2,)
    assert many.quantile(0.3)[0] == pytest.approx(one.quantile(0.3))
    low, high = one.interval(0.8)
    assert low < 2.5 < high
    assert high - low > 0.5  # it is noisy
    expected_low, expected_high = one.expected[0].interval(0.8)
    assert low < expected_low < 2.5 < expected_high < high
    assert one.feasible == 1.0


def test_maximising_turns_everything_round():
    down = calibrant.forecast(bowl(noise=0.3), {"x": 0.1})
    up = calibrant.forecast(bowl("maximize", noise=0.3), {"x": 0.1})
    assert up.mean == pytest.approx(-down.mean)
    assert up.median == pytest.approx(-down.median)
    assert up.quantile(0.2) == pytest.approx(-down.quantile(0.8))
    assert up.interval(0.8) == pytest.approx((-down.interval(0.8)[1], -down.interval(0.8)[0]))
    assert up.probability_below(-3.0) == pytest.approx(1.0 - down.probability_below(3.0))
    assert up.probability_above(-3.0) == pytest.approx(down.probability_below(3.0))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_outcomes_agree_with_the_distribution_they_stand_for(sign):
    outcomes = Outcomes("value", Normal(sign * 2.0, 3.0), sign)
    user = Normal(2.0, 3.0)
    assert outcomes.mean == 2.0
    assert outcomes.std == 3.0
    assert outcomes.quantile(0.9) == pytest.approx(float(user.quantile(0.9)))
    assert outcomes.interval(0.5) == pytest.approx(tuple(map(float, user.interval(0.5))))
    assert outcomes.probability_below(4.0) == pytest.approx(float(user.cdf(4.0)))
    assert outcomes.probability_above(4.0) == pytest.approx(1.0 - float(user.cdf(4.0)))


def test_intervals_hold_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = []
    for seed in range(6):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))

        def value(x, y):
            return np.sin(6.0 * x) + 2.0 * y * y + 0.2 * rng.standard_normal()

        def objective(trial):
            x, y = (trial.suggest_float(name, 0.0, 1.0) for name in "xy")
            return value(x, y)

        study.optimize(objective, n_trials=40)
        asked = [{"x": x, "y": y} for x, y in rng.random((30, 2))]
        low, high = calibrant.forecast(study, asked).interval(0.8)
        new = np.array([value(**setting) for setting in asked])
        held.append((low <= new) & (new <= high))
    assert 0.7 <= np.mean(held) <= 0.92  # of 180


def test_constraints_have_forecasts_by_name():
    limits = {"memory": lambda x: x - 0.5, "latency": lambda x: 0.2 - x}
    found = calibrant.forecast(bowl(constraints=limits), [{"x": 0.3}, {"x": 0.9}])
    assert list(found.constraints) == ["latency", "memory"]
    assert found.constraint("memory").probability_below(0.0)[0] > 0.95
    assert found.constraint("memory").probability_below(0.0)[1] < 0.05
    np.testing.assert_allclose(
        found.feasible,
        found.constraint("memory").probability_below(0.0)
        * found.constraint("latency").probability_below(0.0),
    )
    with pytest.raises(ValueError, match="but got 'cost'; it has 'latency', 'memory'"):
        found.constraint("cost")
    with pytest.raises(ValueError, match="but got 'cost'; it has none at all"):
        calibrant.forecast(bowl(), {"x": 0.3}).constraint("cost")


def test_several_objectives_are_asked_for_by_number():
    study = optuna.create_study(directions=["minimize", "maximize"])
    for x in np.linspace(0.0, 1.0, 8):
        study.add_trial(
            create_trial(values=[x, 5.0 * x], params={"x": x}, distributions={"x": FLOAT(0.0, 1.0)})
        )
    found = calibrant.forecast(study, {"x": 0.5})
    assert found.objectives[0].median == pytest.approx(0.5, abs=0.05)
    assert found.objectives[1].median == pytest.approx(2.5, abs=0.25)
    with pytest.raises(ValueError, match="A single objective is needed, but the study has 2"):
        _ = found.mean


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="No trial of the study has finished"):
        calibrant.forecast(optuna.create_study(), {"x": 1.0})
    study = bowl()
    with pytest.raises(ValueError, match="At least one setting is needed"):
        calibrant.forecast(study, [])
    with pytest.raises(ValueError, match="but x is missing in"):
        calibrant.forecast(study, {})
    for mistaken in ("x", [0.5], 3):
        with pytest.raises(TypeError, match=r"`params` must be an object such as .*but got"):
            calibrant.forecast(study, mistaken)
    with pytest.raises(ValueError, match="no parameter 'z'"):
        calibrant.forecast(study, [{"x": 0.5}, {"x": 0.5, "z": 1.0}])
    with pytest.raises(ValueError, match="`x` must be a number from 0 to 1, but got 'a'"):
        calibrant.forecast(study, {"x": "a"})


def test_a_forecast_says_itself_in_words_and_as_a_table():
    study = calibrant.minimize(
        lambda p: p["x"] ** 2 + p["n"], {"x": (-1.0, 1.0), "n": (1, 3)}, n_trials=10, seed=0
    )
    one = calibrant.forecast(study, {"x": 0.25, "n": 2})
    low, high = one.interval(0.8)
    assert str(one) == f"x=0.25, n=2: value, 80 % interval {interval(float(low), float(high))}."
    several = calibrant.forecast(study, [{"x": 0.25, "n": 2}, {"x": 0.5, "n": 1}])
    assert len(several.sentences()) == 2
    page = several._repr_html_()
    assert page.count("<tr>") == 3
    assert "x=0.5, n=1" in page
    limited = STUDIES["constrained"]()
    (name,) = calibrant.forecast(limited, {"x": 0.5}).constraints
    assert f"{name} met" in str(calibrant.forecast(limited, {"x": 0.5}))
    assert "<script>" not in calibrant.forecast(limited, {"x": 0.5})._repr_html_()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("score", [7.0, 12.0, 30.0])
def test_small_probabilities_keep_their_digits_on_both_sides(sign, score):
    asked = Outcomes("value", Normal(3.0, 2.0), sign)
    centre, tail = sign * 3.0, pytest.approx(ndtr(-score), rel=1e-9)
    assert asked.probability_below(centre - 2.0 * score) == tail
    assert asked.probability_above(centre + 2.0 * score) == tail
    both = asked.probability_below(centre + 0.7) + asked.probability_above(centre + 0.7)
    assert both == pytest.approx(1.0)
