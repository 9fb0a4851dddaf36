"""Hydra's door, `hydra/sweeper=calibrant`: real multiruns of a program."""

import importlib.util
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import calibrant

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("hydra") is None, reason="needs pip install hydra-core"
)

PROGRAM = """
import math
import hydra

@hydra.main(version_base=None, config_path=".", config_name="config")
def train(cfg):
    if cfg.optimizer == "broken":
        raise RuntimeError("no such optimizer")
    loss = (math.log10(cfg.lr) + 3) ** 2 + abs(cfg.net.layers - 4) + (cfg.optimizer == "sgd")
    if cfg.returns == "memory":
        return loss, {"memory": 2.0 * cfg.net.layers}
    return loss if cfg.returns == "loss" else None

if __name__ == "__main__":
    train()
"""

CONFIG = """
defaults:
  - _self_
  - override hydra/sweeper: calibrant
lr: 0.1
optimizer: sgd
returns: loss
net: {layers: 2}
hydra:
  sweep: {dir: jobs}
  sweeper:
    n_trials: 12
    seed: 0
    storage: sqlite:///study.db
    study_name: train
    params:
      lr: tag(log, interval(1e-5, 1e-1))
      net.layers: range(1, 9)
      optimizer: choice(sgd, adam)
"""


@pytest.fixture
def multirun(tmp_path):
    """Run the program with `--multirun` and more arguments; return its output."""
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "config.yaml").write_text(CONFIG)
    environment = {**os.environ, "HYDRA_FULL_ERROR": "0"}

    def run(*arguments, fails=False):
        command = [sys.executable, "-W", "error::DeprecationWarning:calibrant", "train.py"]
        done = subprocess.run(
            [*command, "--multirun", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, said
        return said

    return run


def stored(folder, name="train"):
    return optuna.load_study(study_name=name, storage=f"sqlite:///{folder}/study.db")


def test_twelve_jobs_find_a_good_setting_and_leave_a_report(multirun, tmp_path):
    said = multirun()
    study = stored(tmp_path)
    assert len(study.trials) == 12
    assert study.best_value < 1.0  # random settings reach 2.6 on average
    assert {path.name for path in (tmp_path / "jobs").iterdir()} >= set(map(str, range(12)))
    results = (tmp_path / "jobs" / "optimization_results.yaml").read_text()
    assert f"best_value: {study.best_value}" in results
    assert "lr: " in results
    assert "Best value" in said
    assert "intervals" in (tmp_path / "jobs" / "report.html").read_text(encoding="utf-8")
    space = study.trials[0].distributions
    assert space["lr"] == FloatDistribution(1e-5, 1e-1, log=True)
    assert space["net.layers"] == IntDistribution(1, 8)  # Hydra's range ends before its stop
    assert space["optimizer"] == CategoricalDistribution(["sgd", "adam"])
    assert calibrant.review(study).held.size == 7  # all but the first five have a forecast


def test_a_sweep_is_resumed_where_it_was(multirun, tmp_path):
    multirun("hydra.sweeper.n_trials=5")
    half = [trial.params for trial in stored(tmp_path).trials]
    multirun()
    resumed = stored(tmp_path)
    assert len(resumed.trials) == 12
    assert [trial.params for trial in resumed.trials[:5]] == half
    assert {path.name for path in (tmp_path / "jobs").iterdir()} >= set(map(str, range(12)))
    multirun()  # nothing is missing
    assert len(stored(tmp_path).trials) == 12
    multirun("hydra.sweeper.study_name=whole")  # the same settings as in one go
    assert [t.params for t in stored(tmp_path, "whole").trials] == [
        t.params for t in resumed.trials
    ]


def test_batches_command_line_and_other_launchers(multirun, tmp_path):
    arguments = ["hydra.sweeper.n_jobs=4", "lr=0.001", "optimizer=adam,sgd,'adam w'"]
    if importlib.util.find_spec("hydra_plugins.hydra_joblib_launcher") is not None:
        arguments.append("hydra/launcher=joblib")
    multirun(*arguments)
    study = stored(tmp_path)
    assert len(study.trials) == 12
    assert set(study.trials[0].params) == {"net.layers", "optimizer"}  # lr is given
    assert "adam w" in study.trials[0].distributions["optimizer"].choices
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 12


def test_failing_jobs_are_failed_trials(multirun, tmp_path):
    said = multirun("optimizer=choice(adam, broken)")
    study = stored(tmp_path)
    assert len(study.trials) == 12
    failed = [trial for trial in study.trials if trial.state.name == "FAIL"]
    assert failed
    assert all(trial.params["optimizer"] == "broken" for trial in failed)
    assert "no such optimizer" in failed[0].user_attrs["error"]
    assert "failed" in said


def test_a_program_that_returns_no_number_is_reported_after_five_jobs(multirun, tmp_path):
    said = multirun("returns=nothing", fails=True)
    assert "must return a number, but returned None" in said
    assert len(stored(tmp_path).trials) == 5
    said = multirun("no.such.key=1,2", fails=True)
    assert "no.such.key" in said
    assert len(stored(tmp_path).trials) == 5  # no job was launched, and no trial is left


def test_limits_and_callbacks_from_the_configuration(multirun, tmp_path):
    stop = "{_target_: calibrant.StopWhen, probability: 0.99, delta: 1e3, earliest: 8}"
    multirun(
        "returns=memory", "+hydra.sweeper.limits.memory=7", f"hydra.sweeper.callbacks=[{stop}]"
    )
    study = stored(tmp_path)
    assert study.best_params["net.layers"] <= 3
    assert len(study.trials) == 8  # an improvement by a thousand is improbable
    assert "calibrant:stopped" in study.user_attrs


def launcher(function):
    """Return what launches jobs here, without Hydra: a function of x."""
    from hydra.core.utils import JobReturn, JobStatus

    def launch(overrides, first):
        jobs = []
        for (text,) in overrides:
            try:
                job = JobReturn(status=JobStatus.COMPLETED)
                job.return_value = function(float(text.removeprefix("x=")))
            except RuntimeError as error:
                job = JobReturn(status=JobStatus.FAILED)
                job.return_value = error
            jobs.append(job)
        return jobs

    return launch


@pytest.mark.parametrize("returned", [math.nan, -math.inf, None, "small", (1.0, 2.0)])
def test_what_is_no_finite_number_is_a_failed_trial(returned, tmp_path):
    from calibrant.bridges.hydra import Sweep, parse, write_results

    study = Sweep(n_trials=2).run(parse(["x=interval(0,1)"]), launcher(lambda x: returned))
    assert {trial.state.name for trial in study.trials} == {"FAIL"}
    assert repr(returned).strip("'") in study.trials[0].user_attrs["error"]
    write_results(study, tmp_path)
    assert "best_value: null" in (tmp_path / "optimization_results.yaml").read_text()


def test_several_objectives(tmp_path):
    from calibrant.bridges.hydra import Sweep, parse, write_results

    sweep = Sweep(direction=["minimize", "maximize"], n_trials=6, n_jobs=2, seed=0)
    study = sweep.run(parse(["x=interval(0,1)"]), launcher(lambda x: (x, x)))
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MAXIMIZE"]
    assert len(study.best_trials) == 6
    write_results(study, tmp_path)
    assert "solutions" in (tmp_path / "optimization_results.yaml").read_text()
    with pytest.raises(ValueError, match="must return 2 numbers, but returned 0"):
        sweep.run(parse(["x=interval(0,1)"]), launcher(lambda x: 0))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x=1", "nothing to choose"),
        ("x=tag(log, interval(0, 1))", r"x=tag\(log, interval\(0, 1\)\)"),
        ("x=tag(cold, interval(1, 2))", "The only tag is `log`"),
        ("x=tag(log, range(1, 3))", "goes with an interval"),
        ("x=range(3, 3)", "range is empty"),
        ("x=range(1.0, 0.0, 0.5)", "range is empty"),
        ("x=a,a", "must differ"),
        ("x=1,true", "must differ"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(line, words):
    from calibrant.bridges.hydra import parse

    with pytest.raises(ValueError, match=words):
        parse([line])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"direction": "sideways"}, '"minimize", "maximize"'),
        ({"n_trials": 0}, "n_trials"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"limits": {"memory": 7}, "direction": ["minimize"] * 2}, "go with one objective"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    from calibrant.bridges.hydra import Sweep

    with pytest.raises(ValueError, match=words):
        Sweep(**settings)


def test_a_space_means_what_hydra_says():
    from calibrant.bridges.hydra import parse

    space = parse(
        ["a=range(0,1,0.25)", "b=int(interval(1,5))", "c=tag(log,int(interval(1,100)))",
         "d=shuffle(range(1,4))", "e=null,[1,2],'c d'", "+f=1,2,4", "g@pkg=x,y", "~old", "+new=3",
         "h=range(9,1,-2)", "i=shuffle(choice(z,y,x))"]
    )  # fmt: skip
    assert space.distributions == {
        "a": FloatDistribution(0.0, 0.75, step=0.25),
        "b": IntDistribution(1, 5),
        "c": IntDistribution(1, 100, log=True),
        "d": IntDistribution(1, 3),
        "e": CategoricalDistribution([None, "[1,2]", "c d"]),
        "f": CategoricalDistribution([1, 2, 4]),
        "g@pkg": CategoricalDistribution(["x", "y"]),
        "h": IntDistribution(3, 9, step=2),
        "i": CategoricalDistribution(["z", "y", "x"]),
    }
    chosen = {"a": 0.25, "b": 3, "c": 7, "d": 2, "e": "c d", "f": 2, "g@pkg": "y", "h": 5, "i": "x"}
    overrides = space.overrides(chosen)
    assert overrides == [
        "a=0.25", "b=3", "c=7", "d=2", "e='c d'", "+f=2", "g@pkg=y", "h=5", "i=x", "~old", "+new=3"
    ]  # fmt: skip
    assert "e=null" in space.overrides({**chosen, "e": None})
    assert "e=[1,2]" in space.overrides({**chosen, "e": "[1,2]"})
    assert math.isclose(float(parse(["a=interval(0,1)"]).overrides({"a": 1e-7})[0][2:]), 1e-7)


def test_the_spaces_of_the_page_are_spaces():
    from calibrant.bridges.hydra import parse

    page = (ROOT / "docs" / "doors" / "hydra.md").read_text(encoding="utf-8")
    params = re.findall(r"^      (\w+: .+)$", page, re.MULTILINE)
    assert len(parse([line.replace(": ", "=", 1) for line in params]).distributions) == 3
    table = page.split("## Spaces")[1].split("## Settings")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    texts = [text for cell in first for text in re.findall("`(.+?)`", cell)]
    assert len(texts) == 10
    for text in texts:
        if text != "glob(*)":  # needs the options of a program
            assert parse([f"x={text}"]).distributions


def test_an_interrupted_batch_is_no_evaluation(tmp_path):
    from calibrant.bridges.hydra import Sweep, parse

    def launch(overrides, first):
        raise KeyboardInterrupt

    storage = f"sqlite:///{tmp_path}/study.db"
    sweep = Sweep(n_jobs=2, n_trials=4, storage=storage, study_name="train")
    with pytest.raises(KeyboardInterrupt):
        sweep.run(parse(["x=interval(0,1)"]), launch)
    trials = stored(tmp_path).trials
    assert [trial.state.name for trial in trials] == ["FAIL", "FAIL"]
    assert all(trial.user_attrs["calibrant:interrupted"] for trial in trials)


def test_starting_a_program_of_hydra_does_not_load_calibrant():
    code = (
        "import sys; from hydra.core.plugins import Plugins; Plugins.instance(); "
        "assert 'hydra_plugins.calibrant_sweeper' in sys.modules; "
        "assert not {'calibrant', 'optuna'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
