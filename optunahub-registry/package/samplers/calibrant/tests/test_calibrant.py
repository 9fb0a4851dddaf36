"""The package as the registry serves it: loaded from its folder, without a network."""

from pathlib import Path

import optuna
import pytest

optunahub = pytest.importorskip("optunahub", reason="needs pip install optunahub")

PACKAGE = "samplers/calibrant"
ROOT = str(Path(__file__).parents[3])


@pytest.fixture(scope="module")
def module():
    return optunahub.load_local_module(PACKAGE, registry_root=ROOT)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 5.0)
    kind = trial.suggest_categorical("kind", ["flat", "steep"])
    return (x - 1.0) ** 2 + (kind == "steep")


def test_the_sampler_searches_and_the_callback_stops_it(module):
    study = optuna.create_study(sampler=module.CalibratedSampler(seed=0))
    stop = module.StopWhen(probability=0.5, delta=10.0, earliest=12)
    study.optimize(objective, n_trials=40, callbacks=[stop])
    assert study.best_value < 0.1
    assert len(study.trials) == 12
    assert stop.reason in study.user_attrs.values()

    found = module.review(study)
    assert found.held.size == 7
    assert "7 intervals, promised with 80 %" in str(found)
    figure = module.plot_reliability(study)
    assert {trace.name for trace in figure.data} >= {"raw", "calibrated"}


def test_a_study_without_forecasts_has_no_reliability(module):
    study = optuna.create_study(sampler=module.CalibratedSampler(seed=0))
    study.optimize(objective, n_trials=3)
    with pytest.raises(ValueError, match="none of the 3 trials has a forecast"):
        module.plot_reliability(study)
