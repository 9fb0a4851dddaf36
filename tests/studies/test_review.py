"""What a study found, and how true its forecasts were: also of studies in which much went wrong."""

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import calibrant
from calibrant import figures
from calibrant.studies import review
from calibrant.studies.evaluations import INTERRUPTED

X = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
SPACE = {"x": (-5.0, 5.0), "n": (1, 9), "kind": ["a", "b"]}


def bowl(params):
    return (params["x"] - 2) ** 2 + (params["n"] - 4) ** 2 + (params["kind"] == "b")


def test_a_review_of_a_study():
    study = calibrant.minimize(bowl, SPACE, n_trials=30, seed=1)
    found = review(study)
    assert found.best_so_far[-1] == study.best_value
    assert found.best_params == study.best_params
    assert np.all(np.diff(found.best_so_far) <= 0)
    assert found.outcomes.size == len(found.forecast_numbers) == found.pits.size
    assert found.outcomes.size >= 20
    np.testing.assert_array_equal(
        found.outcomes, [study.trials[n].value for n in found.forecast_numbers]
    )
    # a PIT inside [0.1, 0.9] and an outcome inside the 80 % interval are the same thing
    inside = (found.raw_pits > 0.1) & (found.raw_pits < 0.9)
    np.testing.assert_array_equal(inside, found.raw_held)


def test_a_review_is_of_what_meets_the_constraints():
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    for value, limit in ((0.1, 1.0), (3.0, -1.0), (0.2, np.inf), (2.0, 0.0)):
        trial = study.ask(X)
        trial.set_constraint("memory", limit)
        study.tell(trial, value)
    found = review(study)
    assert found.best_value == 2.0
    np.testing.assert_array_equal(found.best_so_far, [np.nan, 3.0, 3.0, 2.0])
    assert figures.convergence(found.values, found.best_so_far).data


def test_what_was_interrupted_has_not_failed():
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    for attribute in (INTERRUPTED, "other"):
        trial = study.ask(X)
        trial.set_user_attr(attribute, True)
        study.tell(trial, state=TrialState.FAIL)
    assert review(study).failed == 1


def test_a_review_of_a_maximisation_is_the_mirror_image():
    def make(sign):
        study = optuna.create_study(
            direction="minimize" if sign > 0 else "maximize",
            sampler=calibrant.CalibratedSampler(seed=0),
        )
        study.optimize(lambda t: sign * (t.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=15)
        return review(study)

    low, high = make(1.0), make(-1.0)
    np.testing.assert_allclose(high.best_so_far, -low.best_so_far)
    np.testing.assert_allclose(high.low, -low.high)
    np.testing.assert_allclose(high.pits, 1.0 - low.pits, atol=1e-12)
    np.testing.assert_array_equal(high.held, low.held)


def test_the_best_of_a_constrained_study_is_feasible():
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("c", 0.5 - x)
        return x

    study.optimize(objective, n_trials=15)
    found = review(study)
    assert found.best_number == study.best_trial.number
    assert found.best_value >= 0.5


def test_nothing_to_choose_is_no_error():
    study = calibrant.minimize(lambda p: 1.0, {"x": (3, 3), "act": ["relu"]}, n_trials=2)
    assert review(study).best_value == 1.0


def test_there_must_be_something_to_review():
    with pytest.raises(ValueError, match="finite value"):
        review(optuna.create_study())
    with pytest.raises(ValueError, match=r"a single objective.*review_front"):
        review(optuna.create_study(directions=["minimize", "minimize"]))


def test_a_study_by_another_sampler_can_be_reviewed():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=12)
    found = review(study)
    assert found.held.size == 0
    assert found.best_value == study.best_value
