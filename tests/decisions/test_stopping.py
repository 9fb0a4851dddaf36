import numpy as np
import optuna
import pytest
from tests.decisions.test_outlook import VALUES, study_of

import calibrant
from calibrant.decisions.gains import STOP_BELOW, stop_risk
from calibrant.decisions.stopping import STOPPED


def bowl(params):
    return (params["x"] - 0.3) ** 2


def test_a_search_that_has_arrived_is_stopped_and_says_why():
    stop = calibrant.StopWhen(probability=0.1, delta=0.05, trials=10)
    study = calibrant.minimize(bowl, {"x": (-5.0, 5.0)}, n_trials=60, seed=0, stop=stop)
    assert 10 <= len(study.trials) < 60
    assert stop.reason is not None
    assert stop.reason == study.user_attrs[STOPPED]
    assert f"after {len(study.trials)} trials" in stop.reason


def test_it_is_an_optuna_callback_for_any_sampler():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    stop = calibrant.StopWhen(probability=0.3, delta=0.5)
    study.optimize(
        lambda trial: -bowl({"x": trial.suggest_float("x", -1.0, 1.0)}),
        n_trials=80,
        callbacks=[stop],
    )
    assert len(study.trials) < 80


def test_a_likely_improvement_goes_on():
    ahead = calibrant.outlook(study_of([10.0 - i for i in range(12)]))
    assert calibrant.StopWhen().why(ahead) is None
    assert calibrant.StopWhen(probability=0.999).why(ahead) is not None


def test_costs_are_weighed_against_gains():
    ahead = calibrant.outlook(study_of(VALUES))
    worth = float((ahead.gains / range(1, 21)).max())  # per trial, at the best number of them
    assert calibrant.StopWhen(value=1.0, price=1.01 * worth).why(ahead) is not None
    assert calibrant.StopWhen(value=1.0, price=0.99 * worth).why(ahead) is None
    assert "cost" in str(calibrant.StopWhen(value=1.0, price=2.0 * worth).why(ahead))


def test_nothing_is_stopped_before_there_is_something_to_go_by():
    study = study_of([None] * 30)
    calibrant.StopWhen(probability=0.99)(study, study.trials[-1])
    short = study_of(VALUES[:6])
    calibrant.StopWhen(probability=0.99)(short, short.trials[-1])
    assert STOPPED not in study.user_attrs
    assert STOPPED not in short.user_attrs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probability": 0.0}, "0 < probability < 1"),
        ({"probability": 5.0}, "0 < probability < 1"),
        ({"delta": -1.0}, "delta"),
        ({"trials": 0}, "1 <= trials <= 100"),
        ({"value": 3.0}, "belong together"),
        ({"value": 3.0, "price": 0.0}, "price > 0"),
        ({"earliest": 2}, "earliest >= 5"),
    ],
)
def test_errors_say_the_rule(arguments, message):
    with pytest.raises(ValueError, match=message):
        calibrant.StopWhen(**arguments)


@pytest.mark.parametrize("chosen", [True, False])
def test_the_risk_grows_with_the_mean_and_is_what_was_counted(chosen):
    for rate, level in STOP_BELOW[chosen].items():
        assert stop_risk(level, chosen) == pytest.approx(rate)
    risks = [stop_risk(mean, chosen) for mean in np.linspace(0.0, 1.0, 101)]
    assert risks[0] == 0.0
    assert risks[-1] == 1.0
    assert (np.diff(risks) > 0.0).all()


def test_it_stops_by_the_risk():
    ahead = calibrant.outlook(study_of(VALUES))
    assert ahead.risk == stop_risk(ahead.lately, chosen=False)
    assert calibrant.StopWhen(probability=0.99 * ahead.risk).why(ahead) is None
    said = calibrant.StopWhen(probability=min(1.01 * ahead.risk, 0.999)).why(ahead)
    assert said is not None
    assert f"is {100.0 * ahead.risk:.1f} %" in said
