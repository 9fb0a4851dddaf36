"""The sampler in studies: directions, spaces, workers, constraints, restarts."""

import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import calibrant
from calibrant import CalibratedSampler
from calibrant.models import GaussianProcess
from calibrant.studies import review
from calibrant.studies.archive import Archive
from calibrant.studies.suggestions import stored

X = {"x": FloatDistribution(0.0, 1.0)}
XY = {**X, "y": FloatDistribution(0.0, 1.0)}


def a_study(sampler=None, **options):
    return optuna.create_study(sampler=sampler or CalibratedSampler(seed=0), **options)


def bowl(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2


def test_finds_the_minimum_of_a_bowl():
    study = a_study()
    study.optimize(bowl, n_trials=25)
    assert study.best_value < 1e-3


def test_maximising_is_minimising_the_negative():
    low, high = a_study(), a_study(direction="maximize")
    low.optimize(bowl, n_trials=15)
    high.optimize(lambda trial: -bowl(trial), n_trials=15)
    assert [t.params for t in low.trials] == [t.params for t in high.trials]


def test_a_seed_repeats_a_study_and_no_seed_does_not():
    def points(seed):
        study = a_study(CalibratedSampler(seed=seed))
        study.optimize(bowl, n_trials=12)
        return [t.params for t in study.trials]

    assert points(3) == points(3)
    assert points(None) != points(None)


def test_mixed_and_conditional_parameters():
    def objective(trial):
        rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        base = (np.log10(rate) + 3.0) ** 2
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return base + abs(trial.suggest_int("depth", 1, 12) - 5) + 0.5
        width = trial.suggest_float("width", 0.0, 1.0, step=0.125)
        return base + (width - 0.5) ** 2

    study = a_study()
    study.optimize(objective, n_trials=40)
    assert study.best_value < 0.05
    assert study.best_params["kind"] == "net"
    # Forecasts are of the parameters that then existed, so they count.
    assert len(study.sampler.outcomes(study)[0]) >= 25


def test_a_parameter_that_does_not_exist_makes_no_new_point():
    def objective(trial):
        if trial.suggest_categorical("kind", ["plain", "fancy"]) == "fancy":
            return 1.0 + trial.suggest_float("frill", 0, 1) + trial.suggest_int("n", 1, 3)
        return float(trial.suggest_int("m", 0, 5))

    study = a_study()
    study.optimize(objective, n_trials=25)
    plain = [t.params["m"] for t in study.trials if t.params["kind"] == "plain"]
    assert len(plain) == len(set(plain))  # there are six, whatever the frill would have been


def test_forecasts_are_stored_before_the_objective_runs_and_rebuilt_from_storage():
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=3, search_space=XY))

    def objective(trial):
        value = bowl(trial)
        suggestion = stored(study.trials[trial.number])
        assert suggestion.params == trial.params
        assert len(suggestion.forecasts) == (1 if trial.number >= 3 else 0)
        return value

    study.optimize(objective, n_trials=10)
    assert len(study.sampler.outcomes(study)[0]) == 7
    fresh = CalibratedSampler().outcomes(study)[0]
    np.testing.assert_array_equal(fresh.scores, study.sampler.outcomes(study)[0].scores)


def test_enqueued_trials_are_evaluated_as_asked_and_forecast_there():
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=3))
    study.optimize(bowl, n_trials=5)
    study.enqueue_trial({"x": 0.25, "y": 0.75})
    study.enqueue_trial({"x": 0.5})
    study.optimize(bowl, n_trials=2)
    assert study.trials[5].params == {"x": 0.25, "y": 0.75}
    assert study.trials[6].params["x"] == 0.5
    for number in (5, 6):
        assert stored(study.trials[number]).params == study.trials[number].params
    assert len(study.sampler.outcomes(study)[0]) == 4


def test_a_forecast_of_another_point_is_not_counted():
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=2, search_space=XY))
    study.optimize(bowl, n_trials=5)
    archive = Archive()
    archive.update(study)
    assert len(archive.outcomes(1)[0]) == 3
    last = study.trials[-1]
    other = optuna.create_trial(
        params={"x": 0.123, "y": last.params["y"]},
        distributions=XY,
        value=1.0,
        system_attrs=last.system_attrs,
    )
    study.add_trial(other)
    archive.update(study)
    assert len(archive.outcomes(1)[0]) == 3


def test_a_parameter_more_or_less_does_not_undo_a_forecast():
    def objective(trial):  # which parameter exists depends on a float: nothing to read off
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if x > 0.5 else 0.2)

    study = a_study()
    study.optimize(objective, n_trials=20)
    assert len(study.sampler.outcomes(study)[0]) == 15


def test_a_parameter_that_is_gone_is_not_searched_any_more():
    study = a_study()
    study.optimize(bowl, n_trials=10)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=15)
    assert "y" not in study.sampler.infer_relative_search_space(study, study.trials[-1])
    late = [trial.params["x"] for trial in study.trials[16:]]
    assert len(set(late)) == len(late)


def test_a_sampler_used_for_a_second_study_starts_afresh(tmp_path):
    sampler = CalibratedSampler(seed=0)
    first = optuna.create_study(sampler=sampler, study_name="same")
    first.optimize(lambda t: (t.suggest_float("x", -10, 10) - 2) ** 2, n_trials=15)
    second = optuna.create_study(sampler=sampler, study_name="same")
    second.optimize(lambda t: (t.suggest_float("x", -10, 10) + 7) ** 2, n_trials=20)
    assert second.best_value < 0.1
    url = f"sqlite:///{tmp_path}/s.db"
    storage = optuna.storages.RDBStorage(url)
    for name in ("x", "y"):  # the database gives out the same number again
        study = optuna.create_study(sampler=sampler, storage=storage, study_name="same")
        study.optimize(lambda t, name=name: t.suggest_float(name, 0, 1), n_trials=8)
        assert list(sampler.infer_relative_search_space(study, study.trials[-1])) == [name]
        optuna.delete_study(study_name="same", storage=storage)


def test_running_trials_draw_no_other_point_to_them():
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=6))
    for _ in range(8):
        trial = study.ask(XY)
        study.tell(trial, bowl(trial) + 0.1 * np.sin(12 * trial.params["x"]))
    batch = [study.ask(XY) for _ in range(6)]
    points = np.array([[t.params["x"], t.params["y"]] for t in batch])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(6, 1)]
    assert apart.min() > 0.01


def test_threads_share_a_sampler():
    study = a_study()
    study.optimize(bowl, n_trials=30, n_jobs=4)
    assert len({tuple(t.params.values()) for t in study.trials}) == 30
    assert study.best_value < 1e-2


def test_a_copied_sampler_forgets_and_reads_again():
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=3))
    study.optimize(bowl, n_trials=6)
    copy = pickle.loads(pickle.dumps(study.sampler))
    np.testing.assert_array_equal(
        copy.outcomes(study)[0].scores, study.sampler.outcomes(study)[0].scores
    )
    study.sampler = copy
    study.optimize(bowl, n_trials=3)
    assert len(study.trials) == 9


def test_reseeded_samplers_part_ways():
    first, second = CalibratedSampler(seed=0), CalibratedSampler(seed=0)
    second.reseed_rng()
    studies = [a_study(sampler) for sampler in (first, second)]
    for study in studies:
        study.optimize(bowl, n_trials=8)
    assert studies[0].trials[-1].params != studies[1].trials[-1].params


def test_constraints_are_met():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("area", 0.5 - x * y)
        return x + y

    study = a_study()
    study.optimize(objective, n_trials=35)
    best = study.best_trial
    assert best.constraints["area"] <= 0.0
    assert best.value == pytest.approx(2 * np.sqrt(0.5), abs=0.02)


def test_a_feasible_point_is_searched_for_when_none_is_known():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("corner", (x - 0.93) ** 2 + (y - 0.07) ** 2 - 0.003)
        return y - x

    study = a_study()
    study.optimize(objective, n_trials=30)
    feasible = [t.number for t in study.trials if t.constraints["corner"] <= 0.0]
    assert feasible
    assert feasible[0] < 20  # a random search would need 1/0.0075 trials on average


def test_constraints_that_only_some_trials_have():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint(f"limit of {kind}", x - (0.5 if kind == "a" else 0.7))
        return -x

    study = a_study()
    study.optimize(objective, n_trials=30)
    assert study.best_trial.constraints["limit of b"] <= 0
    assert study.best_value < -0.69
    assert len(study.sampler.outcomes(study)[0]) >= 20


def test_an_infinite_constraint_is_as_broken_as_any():
    def a_search(broken):
        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            trial.set_constraint("memory", broken if x < 0.5 else -1.0)
            return x

        study = a_study()
        study.optimize(objective, n_trials=20)
        assert review(study).best_value == study.best_value >= 0.5
        return [trial.params for trial in study.trials]

    assert a_search(np.inf) == a_search(1.0)  # of the same size as the others


def test_only_infinite_constraints():
    study = a_study()
    for _ in range(8):
        trial = study.ask(X)
        trial.set_constraint("memory", np.inf)
        study.tell(trial, trial.params["x"])
    assert len({trial.params["x"] for trial in study.trials}) == 8


def test_trials_copied_into_a_study_of_the_other_direction_keep_no_forecasts():
    study = a_study(CalibratedSampler(seed=0))
    study.optimize(bowl, n_trials=12)
    other = optuna.create_study(direction="maximize", sampler=CalibratedSampler(seed=0))
    other.add_trials(study.trials)
    assert len(study.sampler.outcomes(study)[0]) == 7
    assert len(other.sampler.outcomes(other)[0]) == 0
    other.optimize(bowl, n_trials=2)
    assert len(other.sampler.outcomes(other)[0]) == 2


def test_a_trial_copied_from_a_study_with_more_objectives():
    two = a_study(directions=["minimize"] * 2)
    two.optimize(lambda t: (bowl(t), -t.params["x"]), n_trials=8)
    last = two.trials[-1]
    study = a_study()
    study.add_trial(
        optuna.create_trial(
            value=last.values[0],
            params=last.params,
            distributions=last.distributions,
            system_attrs=last.system_attrs,
        )
    )
    study.optimize(bowl, n_trials=8)
    assert len(study.trials) == 9


def test_a_search_for_something_feasible_minds_running_points():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("never", 1.5 + np.sin(3 * x) + np.cos(4 * y))
        return x

    study = a_study()
    study.optimize(objective, n_trials=12)
    batch = [study.ask(XY).params for _ in range(4)]
    points = np.array([[p["x"], p["y"]] for p in batch])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(4, 1)]
    assert apart.min() > 0.01


def test_several_objectives_spread_over_the_front():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x**2 + y**2, -((x - 1) ** 2) - y**2

    study = a_study(directions=["minimize", "maximize"])
    study.optimize(objective, n_trials=40)
    front = np.array(sorted(t.values for t in study.best_trials))
    assert front.shape[0] >= 12
    # the true front is y = 0: f2 = −(√f1 − 1)²
    gap = -((np.sqrt(front[:, 0]) - 1) ** 2) - front[:, 1]
    assert np.median(gap) < 0.01
    assert np.ptp(front[:, 0]) > 0.5
    assert all(len(outcomes) >= 25 for outcomes in study.sampler.outcomes(study))


def test_several_objectives_reach_both_ends_of_the_front():
    def objective(trial):
        x = np.array([trial.suggest_float(f"x{i}", -2, 3) for i in range(3)])
        return (x**2).sum(), ((x - 1) ** 2).sum()

    study = a_study(directions=["minimize", "minimize"])
    study.optimize(objective, n_trials=40)
    values = np.array([trial.values for trial in study.trials])
    assert values[:, 0].min() < 0.1
    assert values[:, 1].min() < 0.1
    assert values.sum(axis=1).min() < 1.6  # the middle of the front is at 1.5


def test_several_objectives_with_constraints():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("c", 0.3 - x)
        return x, (y - x) ** 2

    study = a_study(directions=["minimize", "minimize"])
    study.optimize(objective, n_trials=25)
    assert min(t.values[0] for t in study.best_trials) == pytest.approx(0.3, abs=0.05)


def test_a_reference_point_says_what_is_of_use():
    """The search stays in the part of the front that is better than the reference in both."""

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x**2 + y, -((x - 1) ** 2) - y

    def inside(reference_point):
        sampler = CalibratedSampler(seed=0, reference_point=reference_point)
        study = a_study(directions=["minimize", "maximize"], sampler=sampler)
        study.optimize(objective, n_trials=20)
        values = np.array([trial.values for trial in study.trials[5:]])
        return int(np.sum((values[:, 0] < 0.4) & (values[:, 1] > -0.4)))

    assert inside((0.4, -0.4)) > inside(None)


@pytest.mark.parametrize(
    ("reference_point", "message"),
    [
        ((1.0, np.inf), "finite"),
        ((1.0,), "one number per objective"),
        ((1.0,) * 5, "two to 4"),
        (3.0, "one number per objective"),
    ],
)
def test_what_a_reference_point_cannot_be(reference_point, message):
    with pytest.raises(ValueError, match=message):
        CalibratedSampler(reference_point=reference_point)


@pytest.mark.parametrize("directions", [["minimize"], ["minimize"] * 3])
def test_a_reference_point_has_a_value_for_each_objective(directions):
    study = a_study(directions=directions, sampler=CalibratedSampler(reference_point=(1.0, 1.0)))
    with pytest.raises(ValueError, match="got 2 for a study of"):
        study.optimize(lambda t: [t.suggest_float("x", 0, 1)] * len(directions), n_trials=1)


@pytest.mark.parametrize("objectives", [3, 4, 5])
def test_many_objectives(objectives):
    """Up to four by hypervolume, five and more by ParEGO; running trials are known to both."""
    centres = np.random.default_rng(0).random((objectives, 2))

    def values(params):
        x = np.array([params["x"], params["y"]])
        return ((x - centres) ** 2).sum(axis=1).tolist()

    study = a_study(directions=["minimize"] * objectives)
    for _ in range(4):
        batch = [study.ask(XY) for _ in range(3)]
        points = np.array([[t.params["x"], t.params["y"]] for t in batch])
        apart = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(3, 1)]
        assert apart.min() > 1e-3
        for trial in batch:
            study.tell(trial, values(trial.params))
    chosen = np.array([[t.params["x"], t.params["y"]] for t in study.trials[6:]])
    low, high = centres.min(axis=0) - 0.2, centres.max(axis=0) + 0.2
    assert np.mean(np.all((low <= chosen) & (chosen <= high), axis=1)) > 0.8


@pytest.mark.parametrize("objectives", [1, 2])
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_huge_and_tiny_values(factor, objectives):
    study = a_study(directions=["minimize"] * objectives)

    def objective(trial):
        value = bowl(trial) * factor
        return value if objectives == 1 else (value, -value)

    study.optimize(objective, n_trials=15)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)


def test_one_huge_value_among_small_ones_does_not_blind_the_search():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return 1e300 if x > 0.9 else (x - 0.3) ** 2

    study = a_study(CalibratedSampler(seed=1))
    study.enqueue_trial({"x": 0.95})
    study.optimize(objective, n_trials=25)
    assert study.best_value < 1e-3


def test_a_constant_objective_is_explored_without_repeats():
    study = a_study()
    study.optimize(lambda trial: 1.0 + 0.0 * bowl(trial), n_trials=25)
    assert len({tuple(t.params.values()) for t in study.trials}) == 25


@pytest.mark.slow
def test_thousands_of_duplicates():
    study = a_study()
    for i in range(3000):
        study.add_trial(
            optuna.create_trial(params={"x": 0.5, "y": 0.5}, distributions=XY, value=float(i % 7))
        )
    study.optimize(bowl, n_trials=3)
    assert len(study.trials) == 3003


def test_a_finite_space_is_exhausted_before_anything_is_repeated():
    space = {"n": IntDistribution(0, 4), "c": CategoricalDistribution(["a", "b"])}
    study = a_study(CalibratedSampler(seed=0, search_space=space))
    for _ in range(14):
        trial = study.ask(space)
        study.tell(trial, trial.params["n"] + (trial.params["c"] == "b"))
    points = [tuple(sorted(t.params.items())) for t in study.trials]
    assert len(set(points[:10])) == 10
    assert len(points) == 14


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_small_space_is_gone_through_once(seed, n_jobs):
    space = {"n": IntDistribution(0, 2), "c": CategoricalDistribution(["a", "b", "c"])}
    study = a_study(CalibratedSampler(seed=seed, search_space=space))

    def objective(trial):
        return trial.suggest_int("n", 0, 2) + len(trial.suggest_categorical("c", ["a", "b", "c"]))

    study.optimize(objective, n_trials=9, n_jobs=n_jobs)
    assert len({tuple(sorted(t.params.items())) for t in study.trials}) == 9


def test_workers_with_the_same_seed_do_not_draw_the_same():
    study = a_study()
    points = []
    for _ in range(2):  # two workers that know nothing of each other's first trial
        study.sampler = CalibratedSampler(seed=0)
        points.append(study.ask().suggest_float("x", 0, 1))
    assert points[0] != points[1]


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_the_rest_of_a_partly_enqueued_trial_is_optimised(seed):
    def valley(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return (y - x) ** 2 + 0.01 * (x - 0.3) ** 2

    study = a_study(CalibratedSampler(seed=seed, n_startup_trials=8))
    study.optimize(valley, n_trials=12)
    study.enqueue_trial({"x": 0.6})
    study.optimize(valley, n_trials=1)
    last = study.trials[-1].params
    assert last["x"] == 0.6
    assert last["y"] == pytest.approx(0.6, abs=0.1)  # the best there, and not the best of all


@pytest.mark.parametrize("value", ["abc", None, float("nan"), 7.0])
def test_an_enqueued_value_that_is_none_fails_its_trial_at_most(value):
    study = a_study(CalibratedSampler(seed=0, n_startup_trials=3))
    study.optimize(bowl, n_trials=4)
    study.enqueue_trial({"x": value, "y": 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna warns of a value out of range
        study.optimize(bowl, n_trials=3, catch=(Exception,))
    assert len(study.trials) == 7
    assert not study.get_trials(states=(TrialState.RUNNING,))


def test_a_narrowed_range_does_not_spoil_what_is_known():
    def run(*highs):
        study = a_study(CalibratedSampler(seed=0))
        for high in highs:
            study.optimize(lambda t, h=high: (t.suggest_float("x", 0, h) - 1.3) ** 2, n_trials=12)
        return min(t.value for t in study.trials[-12:])

    assert run(100.0, 2.0) < 1e-4


def test_spaces_with_nothing_to_choose():
    study = a_study()
    study.optimize(lambda trial: 1.0, n_trials=3)
    one = {"a": CategoricalDistribution(["only"]), "b": FloatDistribution(2.0, 2.0)}
    for _ in range(3):
        trial = study.ask(one)
        assert trial.params == {"a": "only", "b": 2.0}
        study.tell(trial, 1.0)


def test_a_range_without_room_is_no_reason_to_stop():
    high = float(np.nextafter(1e10, np.inf))
    study = a_study()
    study.optimize(lambda t: t.suggest_float("n", 1e10, high, log=True) * 0 + 1.0, n_trials=7)
    study.optimize(lambda t: t.suggest_float("d", 0.0, 5e-324) + 1.0, n_trials=7)
    assert len(study.get_trials(states=(TrialState.COMPLETE,))) == 14


def test_branches_that_no_single_parameter_decides_about_are_not_run_twice():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["tree", "net"])
        if kind == "net" and trial.suggest_categorical("deep", [True, False]):
            return sum((trial.suggest_int(f"a{i}", 1, 12) - 9) ** 2 for i in range(3)) + 5.0
        return float(sum((trial.suggest_int(f"b{i}", 1, 12) - 4) ** 2 for i in range(3)))

    study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    study.optimize(objective, n_trials=40)
    asked = [tuple(sorted(trial.params.items())) for trial in study.trials]
    # Trials from before all parameters were known may be met again.
    assert len(set(asked[5:])) == 35
    assert study.best_value <= 1.0


def test_repeats_are_allowed_where_asked_for():
    space = {"n": IntDistribution(0, 3)}
    study = a_study(CalibratedSampler(seed=0, repeats=True, n_startup_trials=4))
    rng = np.random.default_rng(0)
    for _ in range(20):
        trial = study.ask(space)
        study.tell(trial, (trial.params["n"] - 2) ** 2 + 0.1 * rng.standard_normal())
    assert sum(t.params["n"] == 2 for t in study.trials) > 8


def test_models_of_another_kind():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import BayesianRidge

    from calibrant.bridges.sklearn import GaussianRegressor

    study = a_study(CalibratedSampler(model=GaussianRegressor(BayesianRidge()), seed=0))
    study.optimize(lambda trial: bowl(trial) if trial.number else float("nan"), n_trials=14)
    pending = [study.ask(XY) for _ in range(2)]
    assert pending[0].params != pending[1].params


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="n_startup_trials >= 0"):
        CalibratedSampler(n_startup_trials=-1)
    with pytest.raises(ValueError, match="jackknife"):
        CalibratedSampler(calibration_set="jackknife")
    with pytest.raises(ValueError, match="hexagonal"):
        CalibratedSampler(design="hexagonal")
    with pytest.raises(ValueError, match="seed >= 0"):
        CalibratedSampler(seed=-1)
    for name in ("model", "acquisition", "recalibrator"):
        with pytest.raises(TypeError, match=f"`{name}` must be an object such as .*, but got 'ei'"):
            CalibratedSampler(**{name: "ei"})
    with pytest.raises(TypeError, match=r"such as GaussianProcess\(\), but got <class"):
        CalibratedSampler(model=GaussianProcess)
    with pytest.raises(ValueError, match="finished trial with something to choose"):
        CalibratedSampler().forecasts(a_study(), [{"x": 1.0}])


def test_a_search_space_as_minimize_takes_it():
    study = a_study(CalibratedSampler(search_space={"x": (0.0, 1.0), "y": "0.0..1.0"}, seed=0))
    study.optimize(bowl, n_trials=5)
    assert len({int(5 * trial.params["x"]) for trial in study.trials}) == 5  # a Latin hypercube


WORKER = """
import sys, optuna, numpy as np
from calibrant import CalibratedSampler
from calibrant.models import GaussianProcess
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.RDBStorage(sys.argv[1], engine_kwargs={"connect_args": {"timeout": 60}})
# Before the parameters are known trials are drawn at random, and may coincide: tell them.
space = {
    "x": optuna.distributions.FloatDistribution(0, 1, step=0.05),
    "n": optuna.distributions.IntDistribution(0, 9),
}
sampler = CalibratedSampler(search_space=space)
study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)
def objective(trial):
    x, n = trial.suggest_float("x", 0, 1, step=0.05), trial.suggest_int("n", 0, 9)
    trial.set_user_attr("worker", sys.argv[2])
    return (x - 0.3) ** 2 + 0.01 * (n - 4) ** 2
study.optimize(objective, n_trials=30)
print(*study.sampler.outcomes(study)[0].scores.tolist())
"""


def test_two_processes_on_one_study(tmp_path):
    """No point twice, each learns from the other, and memory equals what storage says."""
    url = f"sqlite:///{tmp_path}/shared.db"
    optuna.create_study(storage=url, study_name="shared")
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(WORKER))
    workers = [
        subprocess.Popen(
            [sys.executable, str(script), url, name], stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    printed = [worker.communicate(timeout=300)[0] for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    study = optuna.load_study(study_name="shared", storage=url)
    assert len(study.trials) == 60
    points = [tuple(t.params.values()) for t in study.trials]
    assert len(set(points)) == 60  # of 210 points: chance alone would repeat some
    assert {t.user_attrs["worker"] for t in study.trials} == {"one", "two"}
    rebuilt = CalibratedSampler().outcomes(study)[0].scores
    # Whoever finished last had all outcomes in memory, the other's included.
    in_memory = max((np.array(line.split(), dtype=float) for line in printed), key=len)
    np.testing.assert_array_equal(in_memory, rebuilt[: in_memory.size])
    assert in_memory.size >= 45
    # 30 trials each: more scores than one worker's own trials could give
    assert study.best_value < 0.003


def test_the_sampler_is_public():
    assert calibrant.CalibratedSampler is CalibratedSampler


def test_a_review_changes_no_suggestion():
    def suggestions(look):
        sampler = CalibratedSampler(seed=0, model=GaussianProcess())
        study = optuna.create_study(sampler=sampler)
        space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in "xy"}
        for x, y in np.random.default_rng(0).random((40, 2)):
            value = (x - 0.3) ** 2 + (y - 0.6) ** 2
            study.add_trial(
                optuna.trial.create_trial(params={"x": x, "y": y}, distributions=space, value=value)
            )
        found = []
        for _ in range(6):
            for trial in [study.ask(space) for _ in range(2)]:
                point = trial.params
                found.append((point["x"], point["y"]))
                study.tell(trial, (point["x"] - 0.3) ** 2 + (point["y"] - 0.6) ** 2)
                if look:
                    review(study)
        return found

    assert suggestions(look=True) == suggestions(look=False)


def test_a_range_that_becomes_much_narrower_is_searched_as_if_it_were_new():
    def objective(trial, ends):
        return (trial.suggest_float("x", -ends, ends) - 0.3) ** 2

    study = a_study(optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: objective(trial, 1000.0), n_trials=30)
    study.sampler = CalibratedSampler(search_space={"x": (-1.0, 1.0)}, seed=0)
    study.optimize(lambda trial: objective(trial, 1.0), n_trials=12)
    assert study.best_value < 1e-4


def test_a_declared_range_counts_from_the_first_trial_on():
    storage = optuna.storages.InMemoryStorage()
    for space, count in (({"x": (0.0, 10.0)}, 10), ({"x": (-5.0, -2.0)}, 13)):
        study = calibrant.minimize(lambda p: p["x"] ** 2, space, count, storage=storage, seed=0)
    # What was suggested, in the new range, is what was evaluated.
    assert all(stored(trial).params == trial.params for trial in study.trials)


@pytest.mark.parametrize("seed", range(3))
def test_points_of_a_batch_keep_their_distance_however_many_there_are(seed):
    def objective(trial):
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + trial.suggest_float("y", 0, 1)

    study = a_study(CalibratedSampler(seed=seed))
    study.optimize(objective, n_trials=8)
    batch = np.array([list(study.ask(XY).params.values()) for _ in range(16)])
    apart = np.abs(batch[:, None] - batch).max(axis=2) + np.eye(16)
    assert (apart.min(axis=1) < 1e-4).sum() <= 5


def test_the_best_value_outside_a_narrowed_range_is_not_to_be_beaten():
    def objective(p):
        bowl = 10 * ((p["x"] - 0.2) ** 2 + (p["y"] - 0.4) ** 2)
        return bowl - 24 * max(0.0, p["x"] - 0.5)

    storage = optuna.storages.InMemoryStorage()
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    assert calibrant.minimize(objective, space, 12, storage=storage, seed=1).best_value < -3
    space["x"] = (0.0, 0.5)
    study = calibrant.minimize(objective, space, 27, storage=storage, seed=2)
    assert min(trial.value for trial in study.trials[12:]) < 0.01


def test_outcomes_from_before_a_constraint_was_reported_are_no_rivals_where_it_is_broken():
    """Without the constraint the best is 0, at the corner that it forbids; with it, 0.5."""

    def broken(x, y):
        return 1.0 - 2.0 * x + 0.5 * np.sin(6.0 * y)

    def objective(trial, reports):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if reports:
            trial.set_constraint("limit", broken(x, y))
        return x + y

    study = a_study(CalibratedSampler(seed=1))
    study.optimize(lambda trial: objective(trial, False), n_trials=12)
    study.optimize(lambda trial: objective(trial, True), n_trials=20)
    met = [t.value for t in study.trials if broken(t.params["x"], t.params["y"]) <= 1e-9]
    assert min(met) < 0.52
