"""How much of a forecast depends on each parameter."""

import numpy as np
import optuna
import pytest

import calibrant
from calibrant.test_functions import PROBLEMS


def study_of(objective, space, count=60):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: objective({n: t.suggest_float(n, *r) for n, r in space.items()}), count
    )
    return study


def test_the_shares_of_a_sum_are_those_of_its_variance():
    space = {"a": (-1.0, 1.0), "b": (-1.0, 1.0), "c": (-1.0, 1.0)}
    shares = calibrant.importance(study_of(lambda p: 3 * p["a"] + p["b"], space))
    assert list(shares) == ["a", "b", "c"]
    assert shares["a"] == pytest.approx(0.9, abs=0.05)  # 9 of 10
    assert shares["b"] == pytest.approx(0.1, abs=0.05)
    assert shares["c"] < 0.02


def test_what_acts_together_counts_for_both():
    space = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    shares = calibrant.importance(study_of(lambda p: p["a"] * p["b"], space))
    assert min(shares.values()) > 0.8


def test_a_constant_depends_on_nothing():
    shares = calibrant.importance(study_of(lambda p: 2.0, {"a": (0.0, 1.0), "b": (0.0, 1.0)}, 12))
    assert shares == {"a": 0.0, "b": 0.0}


def test_categories_and_an_objective_of_several():
    study = optuna.create_study(directions=["minimize", "maximize"])

    def objective(trial):
        kind = trial.suggest_categorical("kind", ["p", "q", "r"])
        x = trial.suggest_float("x", 0, 1)
        return x, float(kind == "q")

    study.sampler = optuna.samplers.RandomSampler(seed=1)
    study.optimize(objective, n_trials=30)
    assert next(iter(calibrant.importance(study, 0))) == "x"
    assert next(iter(calibrant.importance(study, 1))) == "kind"
    with pytest.raises(ValueError, match="0 <= objective < 2"):
        calibrant.importance(study, 2)


def test_it_is_the_same_each_time():
    problem = next(iter(PROBLEMS.values()))
    study = calibrant.minimize(problem.objective, problem.space(), n_trials=12, seed=0)
    one, other = calibrant.importance(study), calibrant.importance(study)
    assert one == other
    assert np.isfinite(list(one.values())).all()
