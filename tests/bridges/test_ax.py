"""The Ax node: its search space, its trials, and where its forecasts go."""

import copy
import logging
import math

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

REASON = "needs Ax: pip install 'calibrant[ax]'"
pytest.importorskip("ax.api.client", reason=REASON)

from ax.adapter.registry import Generators  # noqa: E402
from ax.api.client import Client  # noqa: E402
from ax.api.configs import (  # noqa: E402
    ChoiceParameterConfig,
    DerivedParameterConfig,
    RangeParameterConfig,
)
from ax.core.data import Data, DataRow  # noqa: E402
from ax.core.experiment import Experiment  # noqa: E402
from ax.core.parameter import (  # noqa: E402
    ChoiceParameter,
    FixedParameter,
    ParameterType,
    RangeParameter,
)
from ax.core.search_space import SearchSpace  # noqa: E402
from ax.exceptions.core import UnsupportedError, UserInputError  # noqa: E402
from ax.generation_strategy.generation_node import GenerationNode  # noqa: E402
from ax.generation_strategy.generation_strategy import GenerationStrategy  # noqa: E402
from ax.generation_strategy.generator_spec import GeneratorSpec  # noqa: E402
from ax.generation_strategy.transition_criterion import MinTrials  # noqa: E402

import calibrant  # noqa: E402
from calibrant.bridges.ax import CalibratedNode  # noqa: E402
from calibrant.studies.evaluations import INTERRUPTED  # noqa: E402
from calibrant.studies.suggestions import stored  # noqa: E402

pytestmark = [
    # What Ax itself still uses of Ax and of pandas.
    pytest.mark.filterwarnings("ignore:add_tracking_metric is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]
logging.getLogger("ax").setLevel(logging.ERROR)

X = RangeParameterConfig("x", (-5.0, 10.0), "float")
Y = RangeParameterConfig("y", (0.0, 15.0), "float")


def a_client(*parameters, objective="-loss", node=None, constraints=None, **settings):
    client = Client()
    client.configure_experiment(parameters or [X, Y], **settings)
    client.configure_optimization(objective, outcome_constraints=constraints)
    node = node or CalibratedNode(seed=0)
    client.set_generation_strategy(GenerationStrategy(name="calibrant", nodes=[node]))
    return client, node


def a_client_of(*parameters, **kwargs):
    """A client whose parameters only Ax's core knows how to write."""
    client, node = a_client(**kwargs)
    experiment = Experiment(SearchSpace(list(parameters)), name="core")
    client.set_experiment(experiment)
    client.configure_optimization("-loss")
    client.set_generation_strategy(client._generation_strategy)
    return client, node


def run(client, function, n):
    for _ in range(n):
        for index, params in client.get_next_trials(1).items():
            client.complete_trial(index, function(params))


def one(client, **kwargs):
    ((index, params),) = client.get_next_trials(1, **kwargs).items()
    return index, params


def branin(params):
    x, y = params["x"], params["y"]
    b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
    value = (y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
    return {"loss": value}


def bowl(params):
    return {"loss": (params["x"] - 2) ** 2 + (params["y"] - 3) ** 2}


def test_the_five_line_start():
    client, node = a_client()
    run(client, branin, 30)
    params, metrics, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert metrics["loss"][0] < 0.41  # the minimum is 0.398
    assert node.study.best_params == params
    assert len(calibrant.review(node.study).held) == 25


def test_what_is_maximised():
    client, node = a_client(objective="gain")
    run(client, lambda p: {"gain": -bowl(p)["loss"]}, 20)
    assert node.study.direction.name == "MAXIMIZE"
    assert node.study.best_value > -0.01


def test_parameters_of_every_kind():
    client, node = a_client(
        RangeParameterConfig("rate", (1e-5, 1e-1), "float", scaling="log"),
        RangeParameterConfig("layers", (1, 8), "int"),
        RangeParameterConfig("units", (1, 1000), "int", scaling="log"),
        RangeParameterConfig("drop", (0.0, 0.5), "float", step_size=0.1),
        ChoiceParameterConfig("batch", [16, 64, 32], "int", is_ordered=True),
        ChoiceParameterConfig("kind", ["a", "b", "c"], "str", is_ordered=False),
        ChoiceParameterConfig("bias", [True, False], "bool", is_ordered=False),
        ChoiceParameterConfig("version", [3], "int"),
        DerivedParameterConfig("double", "2 * layers", "int"),
    )
    types = {
        "rate": float, "layers": int, "units": int, "drop": float, "batch": int,
        "kind": str, "bias": bool, "version": int, "double": int,
    }  # fmt: skip
    seen = []

    def loss(params):
        seen.append(params)
        miss = abs(math.log10(params["rate"]) + 3) + abs(params["layers"] - 3)
        return {"loss": miss + (params["kind"] != "b") + abs(math.log2(params["batch"]) - 5)}

    run(client, loss, 30)
    for params in seen:
        assert {name: type(value) for name, value in params.items()} == types
        assert 1e-5 <= params["rate"] <= 1e-1
        assert 1 <= params["layers"] <= 8
        assert 1 <= params["units"] <= 1000
        assert min(abs(params["drop"] - step) for step in np.arange(6) / 10) < 1e-9
        assert params["version"] == 3
        assert params["double"] == 2 * params["layers"]
        assert params["batch"] in (16, 32, 64)
    best, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert (best["layers"], best["kind"], best["batch"]) == (3, "b", 32)
    rates = [params["rate"] for params in seen[:5]]
    assert min(rates) < 1e-4 < 1e-2 < max(rates)  # spread over the logarithm
    assert node.study.best_trial.params["batch"] == 1  # a place in a list that has an order
    assert "version" not in node.study.best_trial.params


def test_digits():
    client, _ = a_client_of(
        RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0, digits=1),
        RangeParameter("y", ParameterType.FLOAT, 0.01, 1.0, digits=2, log_scale=True),
    )
    for _ in range(8):
        index, params = one(client)
        assert params["x"] == round(params["x"], 1)
        assert params["y"] == round(params["y"], 2)
        client.complete_trial(index, {"loss": params["x"]})


def test_parameters_that_depend_on_others():
    client, node = a_client(
        ChoiceParameterConfig(
            "model",
            ["tree", "net"],
            "str",
            is_ordered=False,
            dependent_parameters={"tree": ["depth"], "net": ["lr"]},
        ),
        RangeParameterConfig("depth", (1, 9), "int"),
        RangeParameterConfig("lr", (1e-4, 1.0), "float", scaling="log"),
    )
    seen = []

    def loss(params):
        seen.append(params)
        if params["model"] == "tree":
            return {"loss": 1 + abs(params["depth"] - 4)}
        return {"loss": abs(math.log10(params["lr"]) + 2)}

    run(client, loss, 25)
    assert {frozenset(params) for params in seen} == {
        frozenset({"model", "depth"}),
        frozenset({"model", "lr"}),
    }
    assert node.study.best_value < 0.1
    (outcomes,) = node.study.sampler.outcomes(node.study)
    assert len(outcomes) == 20


def test_forecasts_come_due():
    client, node = a_client()
    run(client, bowl, 12)
    study = node.study
    (outcomes,) = study.sampler.outcomes(study)
    assert len(outcomes) == 7  # all but the first five
    for trial in study.trials[5:]:
        suggestion = stored(trial)
        assert suggestion.params == trial.params
        assert len(suggestion.forecasts) == 1


def test_trials_attached_by_hand_are_learned_from():
    client, node = a_client()
    for x in np.linspace(-5, 10, 6).tolist():
        params = {"x": x, "y": 7.5}
        client.complete_trial(client.attach_trial(params), bowl(params))
    run(client, bowl, 8)
    study = node.study
    assert [trial.params["y"] for trial in study.trials[:6]] == [7.5] * 6
    assert not any(stored(trial) for trial in study.trials[:6])
    assert all(stored(trial).forecasts for trial in study.trials[6:])  # no design is needed
    assert study.best_value < 0.1


@pytest.mark.filterwarnings("ignore:.*is in out-of-design:RuntimeWarning")
def test_a_trial_outside_of_the_search_space_is_left_out():
    client, node = a_client()
    client.complete_trial(client.attach_trial({"x": 50.0, "y": 1.0}), {"loss": -100.0})
    client.complete_trial(client.attach_trial({"x": 10.0 + 1e-8, "y": 1.0}), {"loss": 1.0})
    run(client, bowl, 1)
    assert len(node.study.trials) == 2
    assert node.study.trials[0].params["x"] == 10.0  # within the tolerance of Ax


def test_trials_that_fail_or_are_abandoned():
    client, node = a_client()
    indices = [one(client)[0] for _ in range(6)]
    client.mark_trial_failed(indices[0])
    client.mark_trial_abandoned(indices[1])
    client.complete_trial(indices[2], {"loss": float("nan")})
    client.complete_trial(indices[3])  # no data
    client.complete_trial(indices[4], {"loss": float("inf")})
    states = [trial.state for trial in node.study.trials]
    assert states == [TrialState.FAIL] * 5 + [TrialState.RUNNING]
    run(client, bowl, 10)
    assert len(node.study.get_trials(states=(TrialState.COMPLETE,))) == 10


def test_a_trial_that_was_stopped_early_bounds_its_value():
    client, node = a_client()
    index, params = one(client)
    client.attach_data(index, {"loss": 7.0}, progression=3)
    client.mark_trial_early_stopped(index)
    trial = node.study.trials[0]
    assert (trial.state, trial.value) == (TrialState.PRUNED, 7.0)
    assert trial.params == params


def test_a_trial_that_was_never_run_says_nothing():
    client, node = a_client()
    run(client, bowl, 1)
    experiment = client._experiment
    (generator_run,) = client._generation_strategy.gen(experiment)[0]
    experiment.new_trial(generator_run).mark_stale()
    assert INTERRUPTED in node.study.trials[1].user_attrs


def test_points_that_never_became_trials_are_forgotten():
    client, node = a_client()
    client._generation_strategy.gen(client._experiment, num_trials=2)
    run(client, bowl, 2)
    trials = node.study.trials
    assert [INTERRUPTED in trial.user_attrs for trial in trials] == [True, True, False, False]
    assert all(trial.state.is_finished() for trial in trials)


def test_pending_points_differ():
    client, node = a_client()
    run(client, bowl, 6)
    pending = {**client.get_next_trials(3), **client.get_next_trials(3)}
    points = {(params["x"], params["y"]) for params in pending.values()}
    assert len(points) == 6
    gaps = [math.dist(p, q) for p in points for q in points if p is not q]
    assert min(gaps) > 1e-3
    for index, params in reversed(pending.items()):  # in whatever order they end
        client.complete_trial(index, bowl(params))
    by_number = {trial.number: trial for trial in node.study.trials}
    assert all(by_number[index].params == params for index, params in pending.items())
    assert all(by_number[index].value == bowl(p)["loss"] for index, p in pending.items())


def test_several_arms_a_trial():
    client, node = a_client()
    experiment = client._experiment
    (generator_run,) = client._generation_strategy.gen(experiment, n=3)[0]
    trial = experiment.new_batch_trial(generator_runs=[generator_run])
    trial.mark_running(no_runner_required=True)
    gone, *arms = trial.arms
    trial.mark_arm_abandoned(gone.name)
    measured = [
        DataRow(0, arm.name, "loss", "loss", mean=bowl(arm.parameters)["loss"], se=0.1)
        for arm in arms
    ]
    experiment.attach_data(Data(measured))
    trial.mark_completed()
    first, *others = node.study.trials
    assert first.state == TrialState.FAIL
    assert [other.params for other in others] == [arm.parameters for arm in arms]
    assert [other.value for other in others] == [bowl(arm.parameters)["loss"] for arm in arms]


def test_a_node_among_others(tmp_path):
    def sobol(name, *criteria):
        spec = GeneratorSpec(Generators.SOBOL, generator_kwargs={"seed": 0})
        return GenerationNode(name, generator_specs=[spec], transition_criteria=criteria)

    first = sobol("first", MinTrials(threshold=4, transition_to="calibrant"))
    criteria = [MinTrials(threshold=3, transition_to="last")]
    node = CalibratedNode(n_startup_trials=4, transition_criteria=criteria)
    client, _ = a_client()
    nodes = [first, node, sobol("last")]
    client.set_generation_strategy(GenerationStrategy(name="three", nodes=nodes))
    run(client, bowl, 8)
    trials = node.study.trials
    assert [stored(t) is not None for t in trials] == [False] * 4 + [True] * 3 + [False]
    assert all(stored(trial).forecasts for trial in trials[4:7])
    path = str(tmp_path / "client.json")
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)._generation_strategy.nodes_by_name["calibrant"]
    assert loaded.transition_criteria == node.transition_criteria


def test_a_small_space_is_searched_through_without_repeats():
    kinds = ChoiceParameterConfig("kind", ["a", "b", "c"], "str", is_ordered=False)
    client, _ = a_client(kinds, RangeParameterConfig("n", (1, 3), "int"))
    seen = []
    run(client, lambda p: seen.append(tuple(p.items())) or {"loss": p["n"]}, 9)
    assert len(set(seen)) == 9
    run(client, lambda p: {"loss": p["n"]}, 1)  # and then any


def test_given_parameters():
    client, node = a_client()
    run(client, bowl, 6)
    index, params = one(client, fixed_parameters={"x": 1.5})
    assert params["x"] == 1.5
    assert stored(node.study.trials[index]).forecasts
    _, params = one(client)
    assert params["x"] != 1.5
    with pytest.raises(UserInputError, match="not within the range"):
        one(client, fixed_parameters={"x": 99.0})
    with pytest.raises(ValueError, match="'z' is not part of the search space"):
        one(client, fixed_parameters={"z": 1.0})


def test_a_parameter_that_is_disabled_keeps_its_value():
    client, node = a_client()
    run(client, bowl, 7)
    client._experiment.search_space.disable_parameters({"y": 3.0})
    _, params = one(client)
    assert params["y"] == 3.0
    (outcomes,) = node.study.sampler.outcomes(node.study)
    assert len(outcomes) == 2  # what was forecast before still counts


def test_several_objectives_and_thresholds():
    client, node = a_client(objective="-cost, gain", constraints=["cost <= 60"])
    run(client, lambda p: {"cost": p["x"] ** 2, "gain": p["x"] - p["y"]}, 15)
    assert [d.name for d in node.study.directions] == ["MINIMIZE", "MAXIMIZE"]
    for trial in node.study.trials:
        assert trial.values == [trial.params["x"] ** 2, trial.params["x"] - trial.params["y"]]
        assert trial.constraints == {"cost <= 60": trial.values[0] - 60}
    assert len(node.study.sampler.outcomes(node.study)) == 2


def test_a_weighted_sum():
    client, node = a_client(objective="-2 * a - b")
    run(client, lambda p: {"a": (p["x"] - 2) ** 2, "b": (p["y"] - 3) ** 2}, 20)
    assert node.study.direction.name == "MINIMIZE"
    assert node.study.best_value < 0.1


def test_outcome_constraints():
    client, node = a_client(constraints=["x_again >= 4", "x_again + y_again <= 12"])

    def measured(params):
        return {**bowl(params), "x_again": params["x"], "y_again": params["y"]}

    run(client, measured, 10)
    run(client, bowl, 1)  # nothing is known about its constraints
    run(client, measured, 10)
    assert node.study.trials[10].constraints == {}
    best = node.study.best_trial
    assert best.constraints["x_again >= 4"] == 4 - best.params["x"]
    assert all(value <= 0 for value in best.constraints.values())
    assert 4 <= best.params["x"] < 4.3


def test_a_sampler_of_your_own():
    sampler = calibrant.CalibratedSampler(seed=3, n_startup_trials=2)
    client, node = a_client(node=CalibratedNode("mine", sampler=sampler))
    run(client, bowl, 4)
    assert node.study.sampler is sampler
    assert [bool(stored(trial).forecasts) for trial in node.study.trials[1:]] == [False, True, True]


def test_the_seed_decides():
    def points(seed):
        client, node = a_client(node=CalibratedNode(seed=seed))
        run(client, bowl, 7)
        return [trial.params for trial in node.study.trials]

    assert points(1) == points(1) != points(2)


def test_another_search_space_begins_anew_with_what_is_known():
    client, node = a_client()
    run(client, bowl, 6)
    before = node.study
    client._experiment.search_space.parameters["x"].update_range(-5.0, 20.0)
    run(client, bowl, 1)
    assert node.study is not before
    assert len(node.study.trials) == 7
    assert node.study.trials[3].value == before.trials[3].value


def test_another_fixed_value_is_another_problem():
    fixed = FixedParameter("version", ParameterType.INT, 1)
    client, node = a_client_of(RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0), fixed)
    run(client, lambda p: {"loss": p["x"]}, 3)
    fixed.set_value(2)
    run(client, lambda p: {"loss": p["x"]}, 2)
    assert len(node.study.trials) == 2  # as in Ax, the others are outside of the search space


def test_a_copy_starts_from_the_experiment():
    client, node = a_client()
    run(client, bowl, 6)
    strategy = client._generation_strategy.clone_reset()
    client.set_generation_strategy(strategy)
    _, params = one(client)
    (copied,) = strategy._nodes
    assert copied is not node
    assert len(copied.study.trials) == 7
    assert copied.study.trials[6].params == params
    assert copy.deepcopy(CalibratedNode(seed=1))._settings == {"seed": 1}


def test_a_client_is_saved_and_loaded(tmp_path):
    client, _ = a_client(node=CalibratedNode(seed=4, n_startup_trials=3))
    run(client, bowl, 5)
    path = str(tmp_path / "client.json")
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)
    (node,) = loaded._generation_strategy._nodes
    assert node._settings == {"seed": 4, "n_startup_trials": 3}
    run(loaded, bowl, 2)
    assert len(node.study.trials) == 7

    client, _ = a_client(node=CalibratedNode(sampler=calibrant.CalibratedSampler()))
    with pytest.raises(UnsupportedError, match="Only a node made from settings can be saved"):
        client.save_to_json_file(path)


def test_constraints_between_parameters_are_kept():
    client, node = a_client(parameter_constraints=["x + y <= 3", "x <= y"])
    run(client, bowl, 9)
    found = [trial.params for trial in node.study.trials]
    assert all(p["x"] + p["y"] <= 3 and p["x"] <= p["y"] for p in found)
    sampler = optuna.samplers.RandomSampler()
    client, _ = a_client(node=CalibratedNode(sampler=sampler), parameter_constraints=["x <= y"])
    with pytest.raises(UnsupportedError, match="kept by the default sampler only"):
        client.get_next_trials(1)


def test_any_sampler_of_optuna_will_do():
    client, node = a_client(node=CalibratedNode(sampler=optuna.samplers.RandomSampler(seed=0)))
    run(client, bowl, 3)
    assert len(node.study.trials) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraints": ["cost <= 0.9 * baseline"]}, "must be a number, but got `cost"),
        ({"objective": "-a - b, c"}, "must be one metric, but got `-a - b, c`"),
    ],
)
def test_what_is_not_supported_is_said(settings, message):
    client, _ = a_client(**settings)
    with pytest.raises(UnsupportedError, match=message):
        client.get_next_trials(1)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (
            RangeParameter("p", ParameterType.FLOAT, 0.1, 0.9, logit_scale=True),
            "that of `p` is logit",
        ),
        (
            RangeParameter("p", ParameterType.INT, 1, 9, is_fidelity=True, target_value=9),
            "`p` is a fidelity",
        ),
        (
            ChoiceParameter(
                "p", ParameterType.INT, [0, 1], True, is_task=True, target_value=1, sort_values=True
            ),
            "`p` is a task",
        ),
    ],
)
def test_parameters_that_are_not_supported(parameter, message):
    client, _ = a_client_of(parameter, FixedParameter("q", ParameterType.INT, 1))
    with pytest.raises(UnsupportedError, match=message):
        client.get_next_trials(1)


def test_arguments_are_checked_at_once():
    with pytest.raises(TypeError, match="`sampler` must come without other settings, but got seed"):
        CalibratedNode(sampler=calibrant.CalibratedSampler(), seed=1)
    with pytest.raises(ValueError, match="n_startup_trials >= 0"):
        CalibratedNode(n_startup_trials=-1)
    with pytest.raises(TypeError, match="seeed"):
        CalibratedNode(seeed=1)


def test_an_objective_is_needed():
    node = CalibratedNode()
    experiment = Experiment(SearchSpace([RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0)]))
    with pytest.raises(UnsupportedError, match="call `configure_optimization`"):
        node.gen(experiment=experiment, pending_observations=None)
