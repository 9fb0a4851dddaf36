"""Ordinals, permutations, and conditions that are written down beforehand."""

import itertools
import json
import pickle

import numpy as np
import optuna
import pytest
from scipy.stats import kendalltau

import calibrant
from calibrant.core.cube import Cube, Order
from calibrant.models.kernels import RBF, Additive, Matern52
from calibrant.studies.archive import Archive
from calibrant.studies.space_text import describe_all, parse_parameter, parse_space
from calibrant.studies.structure import Structure, structure_of

SPACE = {
    "leaf": calibrant.when((0.0, 1.0), booster="tree", size=["l", "xl"]),
    "booster": ["tree", "linear"],
    "size": calibrant.ordered("s", "m", "l", "xl"),
    "rate": "1e-4..1:log if booster=linear",
    "depth": calibrant.when((2, 12), booster="tree"),
    "extra": calibrant.when((0.0, 1.0), depth=[2, 3, 4]),
    "steps": calibrant.permutation("cut", "fold", "glue"),
}


def expected(setting):
    tree = setting["booster"] == "tree"
    return {
        "booster",
        "size",
        "steps",
        *(["depth"] if tree else ["rate"]),
        *(["leaf"] if tree and setting["size"] in ("l", "xl") else []),
        *(["extra"] if tree and setting["depth"] <= 4 else []),
    }


def loss(setting):
    assert set(setting) == expected(setting)
    assert sorted(setting["steps"]) == ["cut", "fold", "glue"]
    away = setting["steps"].index("glue") + 0.5 * ["s", "m", "l", "xl"].index(setting["size"])
    return away + abs(setting.get("depth", 3) - 7) / 5


@pytest.mark.parametrize("seed", range(3))
def test_only_parameters_that_exist_are_suggested_and_all_of_these(seed):
    study = calibrant.minimize(loss, SPACE, n_trials=25, seed=seed)
    assert all(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)
    for trial in study.trials:
        assert set(trial.params) == expected(trial.params)
    # Nothing was left to chance: the model knew what exists.
    assert study.best_value < 1.0


def test_the_study_shows_permutations_as_text_and_statements_read_both():
    study = calibrant.minimize(loss, SPACE, n_trials=12, seed=0)
    best = calibrant.recommend(study).params
    assert best["steps"] in {",".join(p) for p in itertools.permutations(["cut", "fold", "glue"])}
    text, tuples = (
        calibrant.forecast(study, {**best, "steps": value}).interval(0.8)
        for value in (best["steps"], tuple(best["steps"].split(",")))
    )
    assert text == tuples
    for proposal in calibrant.suggest(study, 4, seed=0):
        assert set(proposal.params) == expected(proposal.params)
    without = {name: value for name, value in best.items() if name != "steps"}
    with pytest.raises(ValueError, match="steps is missing"):
        calibrant.forecast(study, without)


def test_suggestions_before_the_first_trial_keep_to_conditions():
    for proposal in calibrant.suggest(optuna.create_study(), 20, space=SPACE, seed=1):
        assert set(proposal.params) == expected(proposal.params)


def test_a_stored_study_is_resumed_and_other_conditions_are_refused(tmp_path):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    calibrant.minimize(loss, SPACE, n_trials=7, storage=storage, seed=0)
    study = calibrant.minimize(loss, SPACE, n_trials=9, storage=storage, seed=0)
    assert len(study.trials) == 9
    assert structure_of(study) == parse_space(SPACE).structure
    other = {**SPACE, "depth": calibrant.when((2, 12), booster=["tree", "linear"])}
    with pytest.raises(ValueError, match="other conditions, orders or permutations"):
        calibrant.minimize(loss, other, n_trials=10, storage=storage)
    assert len(study.trials) == 9
    # A reader that was told nothing knows what the study knows.
    archive = Archive()
    archive.update(optuna.load_study(study_name="calibrant", storage=storage))
    space = archive.space(archive.search_space())
    assert space.conditions["leaf"].parent == "booster"
    assert [one.parent for one in space.conditions["leaf"].also] == ["size"]


def test_workers_and_threads_and_other_samplers_keep_to_conditions():
    study = calibrant.minimize(loss, SPACE, n_trials=14, n_jobs=3, seed=0)
    assert all(set(trial.params) == expected(trial.params) for trial in study.trials)
    tpe = optuna.samplers.TPESampler(seed=0)
    study = calibrant.minimize(loss, SPACE, n_trials=12, sampler=tpe)
    assert all(set(trial.params) == expected(trial.params) for trial in study.trials)


def test_constraints_and_costs_see_what_the_objective_sees():
    seen = []

    def first_is_cut(setting):
        seen.append(setting)
        return setting["steps"][0] == "cut"

    def price(setting):
        return 1.0 + setting["steps"].index("glue")

    study = calibrant.minimize(
        loss, SPACE, n_trials=10, seed=0, such_that=first_is_cut, budget=100.0, cost=price
    )
    assert all(trial.params["steps"].startswith("cut") for trial in study.trials)
    assert all(isinstance(setting["steps"], tuple) for setting in seen)


def test_the_sampler_takes_them_in_a_study_of_its_own_and_can_be_copied():
    sampler = calibrant.CalibratedSampler(search_space=SPACE, seed=0)
    study = optuna.create_study(sampler=pickle.loads(pickle.dumps(sampler)))

    def objective(trial):
        tree = trial.suggest_categorical("booster", ["tree", "linear"]) == "tree"
        trial.suggest_categorical("size", ["s", "m", "l", "xl"])
        return float(trial.suggest_int("depth", 2, 12) if tree else 20)

    study.optimize(objective, n_trials=12)
    assert structure_of(study).ordered == {"size"}
    assert study.best_value == 2.0


def test_an_ordinal_is_no_label_to_the_model_and_a_permutation_is_one_of_a_kind():
    space = parse_space(SPACE)
    archive = Archive(declared=space.structure)
    archive.update(optuna.create_study())
    cube = archive.space(space).cube
    names = list(archive.space(space).coordinates)
    labels = {names[column]: column for column in cube.categorical}
    assert set(labels) == {"booster", "steps"}
    assert isinstance(labels["steps"], Order)
    assert labels["steps"].items == 3
    assert pickle.loads(pickle.dumps(labels["steps"])).items == 3


@pytest.mark.parametrize("kernel", [RBF, Matern52, Additive])
def test_orders_are_as_far_apart_as_kendall_says(kernel):
    every = list(itertools.permutations(range(4)))
    X = np.column_stack([(np.arange(24) + 0.5) / 24, np.full(24, 0.3)])
    K, pullback = kernel(categorical=(Order(0, 4),)).on_itself(X)(
        np.zeros(len(kernel(categorical=(Order(0, 4),)).parameter_names(2)))
    )
    tau = np.array([[kendalltau(np.argsort(a), np.argsort(b))[0] for b in every] for a in every])
    # A function of the share of pairs in another order alone, and the higher the fewer they are.
    by_share = {round(float(share), 6): K[tau == share] for share in np.unique(tau)}
    middles = [values.mean() for _, values in sorted(by_share.items())]
    assert all(np.ptp(values) < 1e-12 for values in by_share.values())
    assert np.all(np.diff(middles) > 0.0)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert np.isfinite(pullback(np.eye(24))).all()


def test_gradients_of_a_kernel_of_orders_are_those_of_differences():
    kernel, rng = Additive(per_dimension=True, categorical=(Order(1, 4),)), np.random.default_rng(0)
    X = np.column_stack([rng.random(9), (rng.integers(24, size=9) + 0.5) / 24])
    theta, M = rng.normal(size=len(kernel.parameter_names(2))), rng.normal(size=(9, 9))
    M = M + M.T
    forward = kernel.on_itself(X)
    gradient = forward(theta)[1](M)
    steps = 1e-6 * np.eye(theta.size)
    numeric = [((forward(theta + s)[0] - forward(theta - s)[0]) * M).sum() / 2e-6 for s in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(
        kernel.with_inputs(theta, X)(X)[0], forward(theta)[0], rtol=1e-9, atol=1e-12
    )


def test_text_says_the_same_as_python():
    texts = [
        "size=s,m,l,xl:ordered",
        "steps=cut,fold,glue:permutation",
        "booster=tree,linear",
        "depth=2..12 if booster=tree",
        "leaf=0.0..1.0 if booster=tree and size=l,xl",
        "rate=1e-4..1:log if booster=linear",
        "extra=0.0..1.0 if depth=2,3,4",
    ]
    assert parse_space(dict(map(parse_parameter, texts))).structure == parse_space(SPACE).structure
    words = describe_all(parse_space(SPACE))
    assert words["steps"] == "an order of cut, fold, glue"
    assert words["size"] == "one of 's', 'm', 'l', 'xl', in this order"
    assert words["leaf"] == "a number from 0 to 1, if booster=tree and size=l,xl"


def test_it_is_kept_as_plain_json_and_damage_is_nothing():
    structure = parse_space(SPACE).structure
    assert Structure.from_json(json.loads(json.dumps(structure.to_json()))) == structure
    for damaged in (None, 3, {}, {"ordered": 1}, {"ordered": [], "permutations": []}):
        assert not Structure.from_json(damaged)


@pytest.mark.parametrize(
    ("space", "complaint"),
    [
        ({"a": calibrant.when((0, 1), b=1)}, "the parameters are a"),
        ({"a": calibrant.when((0, 5), b="z"), "b": ["x", "y"]}, "one of x, y"),
        ({"a": calibrant.when((0, 5), b=0.5), "b": (0.0, 1.0)}, "neither"),
        (
            {"a": calibrant.when(["x", "y"], b="x"), "b": calibrant.when(["x", "y"], a="x")},
            "wait for each other",
        ),
        ({"a": "1..8 if"}, "empty|end|range"),
        ({"a": "1..8 if b", "b": ["x", "y"]}, "parameter=value"),
        ({"a": "x:permutation"}, "2 to 6 items, but got 1"),
        ({"a": "x:ordered"}, "at least two"),
        ({"a": "x,x,y:permutation"}, "must differ"),
        ({"a": calibrant.ordered("x", "x")}, "must differ"),
    ],
)
def test_mistakes_are_explained(space, complaint):
    with pytest.raises(ValueError, match=complaint):
        calibrant.minimize(lambda p: 0.0, space, n_trials=1)


def test_mistakes_of_a_single_parameter_are_explained():
    with pytest.raises(ValueError, match="2 to 6 items, but got 7"):
        calibrant.permutation(*"abcdefg")
    with pytest.raises(ValueError, match="no comma"):
        calibrant.permutation("a,b", "c")
    with pytest.raises(ValueError, match="A condition is needed"):
        calibrant.when((0, 1))
    with pytest.raises(TypeError, match="one `when`"):
        calibrant.when(calibrant.when((0, 1), a=1), b=2)
    with pytest.raises(ValueError, match="Candidates have all their columns"):
        calibrant.minimize(
            lambda p: 0.0,
            {"a": calibrant.when((0, 2), b=1), "b": (1, 2)},
            candidates=[{"a": 0, "b": 1}, {"a": 2, "b": 2}],
        )


def test_an_ordered_column_of_candidates_is_no_label():
    table = [
        {"size": size, "x": i / 10}
        for i, size in enumerate(["s", "m", "l", "xl", "s", "m", "l", "xl"])
    ]
    sizes = calibrant.ordered("s", "m", "l", "xl")
    study = calibrant.minimize(
        lambda p: p["x"], {"size": sizes}, candidates=table, n_trials=8, seed=0
    )
    assert structure_of(study).ordered == {"size"}
    assert len({trial.user_attrs["candidate"] for trial in study.trials}) == 8


def test_a_cube_without_orders_has_plain_columns():
    assert [type(c) for c in Cube.continuous(2).categorical] == []
