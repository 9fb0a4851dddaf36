"""What a study makes one believe: from any sampler, in the user's units, with clear errors."""

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial
from tests.decisions.studies import noisy_study, study_of

import calibrant
from calibrant.decisions.belief import believe


def test_maximising_is_minimising_the_negative():
    down, up = believe(noisy_study(20)), believe(noisy_study(20, sign=-1.0))
    X = np.array([[0.3], [0.8]])
    assert (down.objectives[0].sign, up.objectives[0].sign) == (1.0, -1.0)
    np.testing.assert_allclose(
        down.objectives[0].outcome(X).quantile(0.3), up.objectives[0].outcome(X).quantile(0.3)
    )


def test_conditional_and_settled_parameters():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        trial.suggest_int("settled", 3, 3)
        width = trial.suggest_float("width", 1e-3, 1.0, log=True) if kind == "b" else 0.5
        return trial.suggest_float("x", 0.0, 1.0) + width

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=12)
    belief = believe(study)
    without, given = belief.points([{"kind": "a", "x": 0.5}, {"kind": "a", "x": 0.5, "width": 0.1}])
    np.testing.assert_array_equal(without, given)  # it does not exist there
    X = belief.points([trial.params for trial in study.trials])
    np.testing.assert_allclose(X, belief.history.X)
    assert list(belief.numbers) == list(range(12))
    for setting, trial in zip(belief.settings(X), study.trials, strict=True):
        assert setting == pytest.approx(trial.params)
    with pytest.raises(ValueError, match="but width is missing in"):
        belief.points([{"kind": "b", "x": 0.5}])
    with pytest.raises(
        ValueError, match=r"`width` must be a number from 0.001 to 1, on a log scale"
    ):
        belief.points([{"kind": "b", "x": 0.5, "width": 2.0}])
    with pytest.raises(ValueError, match="`kind` must be one of 'a', 'b', but got 'c'"):
        belief.points([{"kind": "c", "x": 0.5}])
    with pytest.raises(ValueError, match=r"no parameter 'y' to choose; its parameters are kind"):
        belief.points([{"y": 0.5}])


def test_several_objectives_and_constraints():
    study = study_of(
        [[1.0, 5.0], [2.0, 3.0], [4.0, 1.0]],
        [0.1, 0.5, 0.9],
        ["minimize", "maximize"],
        constraints={"memory": -1.0, "latency": 2.0},
    )
    belief = believe(study)
    assert [(q.name, q.sign) for q in belief.objectives] == [("value 0", 1.0), ("value 1", -1.0)]
    assert [q.name for q in belief.constraints] == ["latency", "memory"]
    np.testing.assert_array_equal(belief.objectives[1].y, [-5.0, -3.0, -1.0])
    np.testing.assert_array_equal(belief.constraints[0].y, [2.0, 2.0, 2.0])


def test_penalties_and_failures_are_left_out():
    values = [*np.linspace(0.0, 1.0, 10), 1e9]
    study = study_of(values, np.linspace(0.0, 1.0, 11))
    study.add_trial(create_trial(state=optuna.trial.TrialState.FAIL))
    belief = believe(study)
    assert belief.numbers == tuple(range(10))
    assert belief.objectives[0].y.max() == 1.0


def test_there_must_be_something_to_go_by():
    study = optuna.create_study()
    with pytest.raises(ValueError, match="No trial of the study has finished with a finite value"):
        believe(study)
    study.add_trial(create_trial(value=1.0))
    with pytest.raises(ValueError, match="nothing to choose"):
        believe(study)


def test_settings_have_their_parameters_in_the_order_of_the_trials():
    study = calibrant.minimize(
        lambda p: p["z"] + p["a"], {"z": (0.0, 1.0), "a": (0.0, 1.0)}, n_trials=6, seed=0
    )
    assert list(calibrant.recommend(study).params) == ["z", "a"]
    assert list(calibrant.suggest(study)[0].params) == ["z", "a"]
    empty = optuna.create_study()
    (first,) = calibrant.suggest(empty, space={"z": (0.0, 1.0), "a": (0.0, 1.0)}, seed=0)
    assert list(first.params) == ["z", "a"]
