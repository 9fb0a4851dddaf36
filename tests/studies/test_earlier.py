"""Earlier studies of related problems."""

import pickle

import numpy as np
import optuna
import pytest

import calibrant
from calibrant import CalibratedSampler, Earlier, minimize

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def bowl(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def searched(objective=bowl, space=SPACE, n_trials=12, **options):
    return minimize(objective, space, n_trials, seed=1, progress=False, **options)


@pytest.fixture(scope="module")
def old():
    return searched()


def values(study):
    return [trial.value for trial in study.trials]


def new(earlier, objective=bowl, space=SPACE, n_trials=7, **options):
    return minimize(objective, space, n_trials, seed=5, progress=False, earlier=earlier, **options)


def test_no_earlier_studies_change_nothing():
    assert values(new([])) == values(new(None))


def test_an_empty_one_changes_nothing_and_is_said(caplog):
    assert values(new(optuna.create_study(study_name="void"))) == values(new(None))
    assert caplog.text.count("The earlier study `void` has no finished trials") == 1


def test_the_same_problem_begins_at_its_best(old):
    assert new(old).trials[0].value < 0.01 < new(None).trials[0].value


def test_directions_are_turned():
    maximised = searched(lambda p: -bowl(p), direction="maximize")
    assert new(maximised).trials[0].value < 0.01


def test_names_ranges_and_parameters_may_differ():
    wider = {"a": (-1.0, 2.0), "y": (0.0, 2.0), "gone": (0.0, 1.0)}
    before = searched(
        lambda p: bowl({"x": p["a"], "y": p["y"]}) + (p["gone"] - 0.5) ** 2, wider, 25
    )
    found = new(Earlier(before, rename={"a": "x"}), space={**SPACE, "more": (1, 5)})
    assert found.trials[0].value < 0.05
    assert all(0.0 <= trial.params["y"] <= 1.0 for trial in found.trials)


def test_categories_go_by_name():
    def loss(p):
        return {"a": 0.0, "b": 1.0, "c": 2.0}.get(p["k"], 1.5) + (p["x"] - 0.5) ** 2

    before = searched(loss, {"k": ["c", "b", "a"], "x": (0.0, 1.0)}, 15)
    found = new([before], loss, {"k": ["d", "a", "b"], "x": (0.0, 1.0)})
    assert found.trials[0].params["k"] == "a"


def test_failed_trials_and_broken_constraints_are_not_held_best():
    def left_only(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.9:
            raise ValueError("failed")
        trial.set_constraint("limit", x - 0.4)
        return -x

    before = optuna.create_study(sampler=CalibratedSampler(seed=0))
    before.optimize(left_only, n_trials=30, catch=ValueError)
    sampler = CalibratedSampler(earlier=before, seed=0, search_space={"x": (0.0, 1.0)})
    study = optuna.create_study(sampler=sampler)
    study.optimize(left_only, n_trials=8, catch=ValueError)
    assert study.trials[0].params["x"] < 0.45  # where -x is lowest it fails


def test_a_misleading_study_gets_one_first_point(old):
    found = new(old, lambda p: -bowl(p), n_trials=5)
    anew = new(None, lambda p: -bowl(p), n_trials=5)
    assert values(found)[1:] == values(anew)[1:]
    assert values(found)[0] != values(anew)[0]


def test_every_first_point_keeps_to_constraints(old):
    found = new(old, such_that="x + y <= 0.5", n_trials=8)
    assert all(t.params["x"] + t.params["y"] <= 0.5 + 1e-9 for t in found.trials)


def test_a_study_goes_on_without_them(old, tmp_path):
    url = f"sqlite:///{tmp_path}/new.db"
    new(old, storage=url)
    assert len(new(None, storage=url, n_trials=9).trials) == 9


def test_it_works_in_a_plain_study_and_when_pickled(old):
    sampler = pickle.loads(pickle.dumps(CalibratedSampler(earlier=[old], seed=0)))
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: bowl({n: t.suggest_float(n, 0.0, 1.0) for n in "xy"}), n_trials=8)
    assert study.best_value < 0.02


def test_forecasts_know_them(old):
    few = new(old, n_trials=5)
    forecasts = few.sampler.forecasts(few, [{"x": 0.3, "y": 0.6}, {"x": 1.0, "y": 0.0}])
    means = np.asarray(forecasts[0].quantile(0.5))
    assert means[0] < means[1]


def test_what_cannot_be_an_earlier_study_is_refused(old, tmp_path):
    two = optuna.create_study(directions=["minimize", "minimize"], study_name="pair")
    with pytest.raises(ValueError, match="one objective, but `pair` has 2"):
        new(two)
    with pytest.raises(TypeError, match="list of Optuna studies"):
        new("old.db")
    with pytest.raises(TypeError, match="`study` must be"):
        new([3])
    with pytest.raises(ValueError, match="none of x, y: if some have other names"):
        new(searched(lambda p: p["q"], {"q": (0.0, 1.0)}, 4))
    with pytest.raises(ValueError, match="but names nope"):
        new(Earlier(old, rename={"nope": "x"}))
    with pytest.raises(ValueError, match="two parameters"):
        new(Earlier(old, rename={"x": "y"}))
    with pytest.raises(ValueError, match="different names"):
        Earlier(old, rename={"x": "z", "y": "z"})
    with pytest.raises(ValueError, match="applies to the default sampler"):
        new(old, sampler=CalibratedSampler())
    with pytest.raises(ValueError, match="leave out `earlier`"):
        CalibratedSampler(earlier=old, model=calibrant.models.BaggedProcesses())
    url = f"sqlite:///{tmp_path}/same.db"
    same = new(None, storage=url)
    with pytest.raises(ValueError, match="would count twice"):
        new(same, storage=url, n_trials=9)


def test_several_objectives_cannot_learn_from_one(old):
    study = optuna.create_study(directions=["minimize"] * 2, sampler=CalibratedSampler(earlier=old))
    with pytest.raises(ValueError, match="about one objective, but the study has 2"):
        study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})


def test_orders_and_conditions_are_learned_from_as_well():
    sizes = calibrant.ordered("s", "m", "l", "xl")
    space = {
        "size": sizes,
        "steps": calibrant.permutation("a", "b", "c"),
        "kind": ["x", "y"],
        "deep": calibrant.when((0.0, 1.0), kind="x"),
    }

    def loss(p):
        return (
            abs(["s", "m", "l", "xl"].index(p["size"]) - 2)
            + p["steps"].index("c")
            + p.get("deep", 2.0)
        )

    before = calibrant.minimize(loss, space, n_trials=20, seed=0)
    study = calibrant.minimize(loss, space, n_trials=8, seed=1, earlier=[before])
    assert study.trials[0].value <= before.best_value + 0.5
    assert all(("deep" in t.params) == (t.params["kind"] == "x") for t in study.trials)


def test_old_trials_are_read_once_and_not_at_every_suggestion(old, monkeypatch):
    sampler = calibrant.CalibratedSampler(earlier=[old], seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=2)

    def read(*_, **__):
        raise AssertionError("the earlier study was read again")

    monkeypatch.setattr(old, "get_trials", read)
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 4
