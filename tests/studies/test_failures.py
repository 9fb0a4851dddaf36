"""The sampler where trials fail, are pruned, or end before they have parameters."""

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import calibrant
from calibrant import CalibratedSampler
from calibrant.studies.archive import Archive
from calibrant.studies.suggestions import stored

X = {"x": FloatDistribution(0.0, 1.0)}
XY = {**X, "y": FloatDistribution(0.0, 1.0)}


def a_study(sampler=None, **options):
    return optuna.create_study(sampler=sampler or CalibratedSampler(seed=0), **options)


@pytest.mark.parametrize("edge", [0.0, -1.0])
def test_failed_points_are_not_tried_again_and_their_neighbourhood_is_avoided(edge):
    tried = []

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        tried.append(x)
        if x > 0.5:
            raise RuntimeError("diverged")
        return edge * x + (x - 0.4) ** 2

    study = a_study()
    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    assert len(set(tried)) == 30
    if edge:  # the best is where failures begin: it is found, and some fail on the way
        assert min(abs(x - 0.5) for x in tried if x <= 0.5) < 0.005
    else:
        assert sum(x > 0.5 for x in tried[10:]) <= 3
        assert study.best_value < 1e-6


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_count_as_failures(value):
    study = a_study()

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return value if x > 0.6 else (x - 0.4) ** 2

    study.optimize(objective, n_trials=20)
    archive = Archive()
    archive.update(study)
    history = archive.history(archive.space(X), 1, [])
    assert np.isfinite(history.Y).all()
    assert history.failed.shape[0] + history.X.shape[0] == 20
    assert history.failed.shape[0] > 0
    finite = [t.value for t in study.trials if t.value is not None and np.isfinite(t.value)]
    assert min(finite) < 1e-3


@pytest.mark.parametrize(("noise", "close"), [(0.0, 1e-3), (0.3, 0.05)])
def test_a_search_with_a_pruner_asks_the_model_early_and_finds_the_minimum(noise, close):
    rng = np.random.default_rng(3)
    pruner = optuna.pruners.SuccessiveHalvingPruner()
    study = optuna.create_study(sampler=CalibratedSampler(seed=0), pruner=pruner)

    def objective(trial):
        value = sum((trial.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(3))
        for step in range(16):
            trial.report(value + (1.0 + noise * rng.standard_normal()) / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=40)
    asked = [t.number for t in study.trials if (known := stored(t)) and known.forecasts]
    assert asked[0] < 15
    assert study.best_value < close


def test_what_fails_before_it_has_parameters_says_nothing_about_any():
    def objective(trial):
        if trial.number > 4 and trial.number % 4 == 1:
            raise RuntimeError("data server")
        x = np.array([trial.suggest_float(name, 0, 1) for name in "abc"])
        return float(((x - 0.5) ** 2).sum())

    study = a_study()
    study.optimize(objective, n_trials=32, catch=(RuntimeError,))
    assert study.best_value < 1e-4


def test_what_fails_half_way_is_not_tried_again():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x < 0.4:
            raise RuntimeError("before the second parameter")
        return x + (trial.suggest_float("y", 0, 1) - 0.5) ** 2

    study = a_study()
    study.optimize(objective, n_trials=25, catch=(RuntimeError,))
    suggested = [tuple(stored(trial).params.values()) for trial in study.trials[8:]]
    assert len(set(suggested)) == len(suggested)
    assert sum(trial.params["x"] < 0.4 for trial in study.trials[8:]) <= 12
    assert study.best_value < 0.45


def test_what_fails_half_way_does_not_hide_what_depends_on_what():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        if trial.number in (7, 8):
            raise RuntimeError("before the second parameter")
        return trial.suggest_float("x", 0, 1) if kind == "a" else 2.0

    study = a_study()
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    archive = Archive()
    archive.update(study)
    space = archive.space(archive.search_space())
    assert space.conditions["x"].parent == "kind"
    assert archive.history(space, 1, []).failed.shape == (2, 2)  # as they were suggested


def test_hyperband_shows_the_sampler_all_trials():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in range(9):
            trial.report((x - 0.3) ** 2 + 1.0 / (1 + step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
    study = a_study(pruner=pruner)
    study.optimize(objective, n_trials=25)
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    fifth = complete[4].number  # from then on there is a model
    later = study.trials[fifth + 1 :]
    assert later
    assert all(stored(trial).forecasts for trial in later)


def test_the_constraint_of_a_failed_trial_changes_nothing():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 7:
            trial.set_constraint("odd", 1.0)
            raise RuntimeError
        return (x - 0.3) ** 2

    study = a_study()
    study.optimize(objective, n_trials=20, catch=(RuntimeError,))
    assert len(study.sampler.outcomes(study)[0]) == 14


def test_a_search_for_something_feasible_minds_failures():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if x > 0.6:
            raise RuntimeError
        trial.set_constraint("beyond", 0.55 - x + (y - 0.5) ** 2)
        return x

    study = a_study()
    study.optimize(objective, n_trials=25, catch=(RuntimeError,))
    late = [t.state == TrialState.FAIL for t in study.trials[12:]]
    assert np.mean(late) < 0.5
    assert study.best_value == pytest.approx(0.55, abs=0.01)  # what is feasible is next to it


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_failures_that_are_nobodys_fault_do_not_stop_a_search(share):
    rng = np.random.default_rng(1)
    study = a_study()

    def objective(trial):
        value = sum((trial.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(3))
        return float("nan") if rng.random() < share else value

    study.optimize(objective, n_trials=40)
    assert study.best_value < 1e-3


def test_a_failure_beside_the_minimum_is_no_wall_around_it():
    optimizer = calibrant.Optimizer(3, seed=0)
    optimizer.tell([0.32, 0.28, 0.3], np.nan)
    for _ in range(25):
        x = optimizer.ask()
        optimizer.tell(x, ((x - 0.3) ** 2).sum())
    assert optimizer.best[1] < 5e-3  # with a wall it was 0.03


@pytest.mark.parametrize("state", [TrialState.COMPLETE, TrialState.PRUNED])
def test_trials_without_parameters_say_nothing(state):
    study = a_study()

    def objective(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("x", 0, 1)
        return trial.suggest_float("z", 0, 1) + 0.5

    study.optimize(objective, n_trials=10)
    for _ in range(6):
        study.add_trial(
            optuna.create_trial(value=None if state == TrialState.PRUNED else 1.0, state=state)
        )
    archive = Archive()
    archive.update(study)
    assert archive.search_space().keys() == {"kind", "x", "z"}
    space = archive.space(archive.search_space())
    assert space.conditions.keys() == {"x", "z"}
    history = archive.history(space, 1, [])
    assert history.X.shape[0] == 10
    assert not history.without_outcome.size


def test_a_space_that_has_been_gone_through_before_many_succeeded_repeats_no_failure():
    asked = []

    def objective(trial):
        kind, size = trial.suggest_categorical("kind", ["a", "b"]), trial.suggest_int("size", 0, 2)
        asked.append((kind, size))
        return float(size) if size == 1 else float("nan")

    study = a_study()
    study.optimize(objective, n_trials=14)
    first = {setting: asked.index(setting) for setting in asked}
    gone_through = max(first.values()) + 1
    assert len(first) == 6
    assert all(size == 1 for _, size in asked[gone_through:])
