"""Studies of every kind that a page must cope with, made in milliseconds."""

import datetime

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from calibrant import CalibratedSampler

EVIL = "<script>alert(1)</script>\"'&"
LONG = "n" * 10_000
SPACE = {
    "lr": FloatDistribution(1e-5, 1e-1, log=True),
    "layers": IntDistribution(1, 8),
    "act": CategoricalDistribution(["relu", "tanh"]),
}


def value_of(params):
    penalty = 0.3 * (params["act"] == "tanh")
    return (np.log10(params["lr"]) + 3) ** 2 + 0.2 * abs(params["layers"] - 4) + penalty


def imported(count, space=SPACE, value=value_of, directions=("minimize",), name="imported"):
    """Return a study of random settings, as if another sampler had made it."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(study_name=name, directions=directions)
    start, trials = datetime.datetime(2026, 1, 1), []
    for k in range(count):
        params = {}
        for parameter, d in space.items():
            if isinstance(d, CategoricalDistribution):
                params[parameter] = d.choices[rng.integers(len(d.choices))]
            elif isinstance(d, IntDistribution):
                params[parameter] = int(rng.integers(d.low, d.high + 1))
            elif d.log:
                params[parameter] = float(np.exp(rng.uniform(np.log(d.low), np.log(d.high))))
            else:
                params[parameter] = float(rng.uniform(d.low, d.high))
        trial = optuna.create_trial(
            params=params, distributions=space, values=np.atleast_1d(value(params)).tolist()
        )
        trial.datetime_start = start + datetime.timedelta(minutes=k)
        trial.datetime_complete = trial.datetime_start + datetime.timedelta(seconds=30)
        trials.append(trial)
    study.add_trials(trials)
    return study


def searched(count=16, seed=0, direction="minimize", objective=None):
    """Return a study of a search, with forecasts."""
    study = optuna.create_study(direction=direction, sampler=CalibratedSampler(seed=seed))
    sign = 1.0 if direction == "minimize" else -1.0

    def usual(trial):
        params = {
            "lr": trial.suggest_float("lr", 1e-5, 1e-1, log=True),
            "layers": trial.suggest_int("layers", 1, 8),
            "act": trial.suggest_categorical("act", ["relu", "tanh"]),
        }
        return sign * value_of(params)

    study.optimize(objective or usual, n_trials=count)
    return study


def failed():
    study = optuna.create_study()
    for k in range(7):
        trial = study.ask(SPACE)
        trial.set_user_attr("error", f"exit code 1: out of memory {k % 2} {EVIL}")
        study.tell(trial, state=TrialState.FAIL)
    return study


def running():
    study = searched(9)
    study.ask().suggest_float("lr", 1e-5, 1e-1, log=True)  # it has a forecast, and no outcome yet
    study.enqueue_trial({"lr": 1e-3, "layers": 2, "act": "relu"})
    return study


def pruned():
    study = searched(8)
    trial = study.ask(SPACE)
    trial.report(3.0, step=2)
    study.tell(trial, state=TrialState.PRUNED)
    return study


def conditional():
    def objective(trial):
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return trial.suggest_int("depth", 1, 12) / 12
        return (trial.suggest_float("width", 8, 512, log=True) - 64) ** 2 / 1e4

    return searched(14, objective=objective)


def constrained():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint(f"memory {EVIL}", 0.5 - x)
        return x

    return searched(12, objective=objective)


def named_badly():
    space = {EVIL: FloatDistribution(0.0, 1.0), LONG: CategoricalDistribution([EVIL, LONG])}
    return imported(12, space, lambda p: p[EVIL], name=f"{EVIL} {LONG}")


def of_two_objectives():
    def both(params):
        return [value_of(params), -params["lr"]]

    return imported(30, value=both, directions=("minimize", "maximize"))


def of_three_objectives():
    def three(params):
        return [value_of(params), params["lr"], params["layers"]]

    return imported(12, value=three, directions=("minimize",) * 3)


def huge_and_tiny():
    sizes = iter(np.resize([1e300, 1e-300, -1e300, 0.0, 3.0, 5.0], 18))
    return imported(18, value=lambda p: float(next(sizes)))


def empty():
    return optuna.create_study()


STUDIES = {
    "empty": empty,
    "one trial": lambda: imported(1),
    "three trials": lambda: imported(3),
    "searched": searched,
    "maximised": lambda: searched(12, direction="maximize"),
    "by another sampler": lambda: imported(30),
    "all failed": failed,
    "constant": lambda: imported(12, value=lambda p: 1.5),
    "without parameters": lambda: imported(3, space={}, value=lambda p: 1.0),
    "nothing to choose": lambda: imported(4, {"x": IntDistribution(3, 3)}, lambda p: 2.0),
    "two objectives": of_two_objectives,
    "three objectives": of_three_objectives,
    "conditional": conditional,
    "constrained": constrained,
    "running": running,
    "pruned": pruned,
    "badly named": named_badly,
    "huge and tiny": huge_and_tiny,
}
