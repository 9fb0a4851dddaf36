"""Ray Tune: its OptunaSearch takes our sampler, and CalibratedSearch ends what it leaves open."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_tune.py"

# Not imported here: Ray warns, and starts threads.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs pip install 'ray[tune]'"
)


def test_the_example_finds_a_good_classifier(tmp_path):
    # Ray writes its results and a token into the home directory.
    environment = os.environ | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    printed = subprocess.check_output(
        [sys.executable, str(EXAMPLE)], text=True, timeout=300, env=environment
    )
    assert float(re.search(r"error (\S+) with", printed)[1]) < 0.12
    assert "80 % intervals held" in printed


ON_NODES = """
import time

import optuna
import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.search.optuna import OptunaSearch

import calibrant


def train(settings):
    time.sleep(1.0)
    node = ray.get_runtime_context().get_node_id()
    return {"loss": (settings["x"] - 0.3) ** 2, "node": node}


optuna.logging.set_verbosity(optuna.logging.WARNING)
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
for _ in range(3):
    cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, log_to_driver=False)
results = tune.Tuner(
    train,
    param_space={"x": tune.uniform(0.0, 1.0)},
    tune_config=tune.TuneConfig(
        metric="loss",
        mode="min",
        search_alg=OptunaSearch(sampler=calibrant.CalibratedSampler(seed=0)),
        num_samples=15,
        max_concurrent_trials=3,
        reuse_actors=True,
    ),
    run_config=tune.RunConfig(verbose=0),
).fit()
nodes = {result.metrics["node"] for result in results}
settings = {result.config["x"] for result in results}
print(f"{len(nodes)} nodes, {len(settings)} settings, {results.get_best_result().metrics['loss']}")
"""


def test_the_nodes_of_a_cluster_share_a_search(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-W", "ignore", "-c", ON_NODES]
    printed = subprocess.check_output(command, text=True, timeout=300, env=environment)
    nodes, settings, loss = re.search(r"(\d+) nodes, (\d+) settings, (\S+)", printed).groups()
    assert int(nodes) >= 2  # the third may be ready only when all is done
    assert int(settings) == 15
    assert float(loss) < 1e-3


WITHOUT_A_CLUSTER = """
import math

import optuna
from ray import tune
from calibrant.bridges.ray import CalibratedSearch

optuna.logging.set_verbosity(optuna.logging.WARNING)
storage = optuna.storages.InMemoryStorage()
search = CalibratedSearch(
    seed=0, storage=storage, study_name="x", metric="loss", mode="min",
    space={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
)
results = [{"loss": 1.0}, {"loss": math.nan}, {"loss": -math.inf}, {"other": 1.0}, None]
for number, result in enumerate(results):
    search.suggest(f"trial {number}")
    search.on_trial_complete(f"trial {number}", result=result, error=result is None)
study = optuna.load_study(study_name="x", storage=storage)
print(*(trial.state.name for trial in study.trials))
try:
    CalibratedSearch(seed=0, sampler=optuna.samplers.RandomSampler())
except ValueError as error:
    print(error)
"""


def test_a_result_that_is_no_finite_number_is_a_failed_trial(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_A_CLUSTER]
    printed = subprocess.check_output(command, text=True, timeout=300, env=environment)
    states, refused = printed.splitlines()
    # A result without the metric is Ray's way to say that the trial was stopped early.
    assert states == "COMPLETE FAIL FAIL PRUNED FAIL"
    assert "`seed` applies to the default sampler" in refused
