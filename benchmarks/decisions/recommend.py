"""Forecasts and recommendations after noisy searches: `python -m benchmarks.decisions.recommend`.

Every search is calibrant's default on a task that was held out from every choice. Then, on the same
trials: what is recommended, beside the best observation and the best posterior mean; what was said
of it; and forecasts at random settings, beside the best ones, and at the recommended one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.peers.adapters.worker import from_unit
from benchmarks.peers.suite import TASKS
from benchmarks.peers.tasks import Settings, Task
from calibrant import CalibratedSampler
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.recommend import recommend_of
from calibrant.forecasts import Normal

RESULTS = Path(__file__).parent / "results" / "recommend.jsonl"
AGAIN = RESULTS.with_name("recommend-again.jsonl")  # as stored searches are answered now
RIVALS = {name: RESULTS.with_name(f"recommend-{name}.jsonl") for name in ("botorch", "ax")}
FUNCTIONS = (
    "schwefel-4",
    "eggholder",
    "dixon-price-6",
    "zakharov-5, shifted 40",
    "griewank-8, shifted 41",
    "colville, noisy",
)
# How a setting is chosen was decided on these, and on the functions and landscapes of
# :mod:`benchmarks.decisions.kinds` with numbers up to 35.
CHOSEN_ON = (
    "branin",
    "hartmann-3",
    "hartmann-6",
    "rosenbrock-6",
    "levy-4",
    "ackley-5, shifted 2",
    "rastrigin-2, shifted 6",
    "michalewicz-5",
    "styblinski-tang-10",
    "alpine-3, shifted 4",
)
# Noise in std of the function's values; "grows" from 0.1 to 1 with the first parameter.
NOISES = ("none", "0.05", "0.2", "0.5", "1", "grows")
TRIALS = 40
REPETITIONS = 10
LEVELS = (0.5, 0.8, 0.95)
SHARE = 0.4  # of the model's promise for evaluating again, by the searches to choose by
RANDOM, NEAR = 20, 5  # settings; beside each of the three best


def runs() -> list[tuple[str, str, int]]:
    """Return task, noise and seed of all searches, so that a part of them is a fair part."""
    pairs = [(task, noise) for noise in NOISES for task in FUNCTIONS]
    return [(*pair, seed) for seed in range(REPETITIONS) for pair in pairs]


def settings_at(task: Task, unit: np.ndarray) -> Settings:
    return {p["name"]: from_unit(p, u) for p, u in zip(task.space, unit.tolist(), strict=True)}


def settings_by_name(task: Task, unit: Sequence[float]) -> Settings:
    """Return the setting of a row of stored points, whose columns are sorted by name."""
    space = sorted(task.space, key=lambda p: p["name"])
    return {p["name"]: from_unit(p, u) for p, u in zip(space, unit, strict=True)}


def mean_at(task: Task, settings: Settings) -> float:
    return float(np.mean(task.values(settings)))


@cache
def spread(name: str) -> float:
    """Return the std of a task's values in its box."""
    task = TASKS[name]
    units = np.random.default_rng(0).random((512, len(task.space)))
    return float(np.std([mean_at(task, settings_at(task, unit)) for unit in units]))


class Objective:
    """A task with noise: evaluations, and what they are on average."""

    def __init__(self, name: str, noise: str, seed: int) -> None:
        self.task, self.noise, self.std = TASKS[name], noise, spread(name)
        self.rng = np.random.default_rng([seed, NOISES.index(noise), 11])

    def noise_std(self, settings: Settings) -> float:
        if self.noise == "none":
            return 0.0
        if self.noise == "grows":
            first = self.task.space[0]
            share = (settings[first["name"]] - first["low"]) / (first["high"] - first["low"])
            return self.std * (0.1 + 0.9 * share)
        return self.std * float(self.noise)

    def evaluate(self, settings: Settings) -> float:
        noise = self.noise_std(settings) * self.rng.standard_normal()
        return mean_at(self.task, settings) + noise

    def __call__(self, trial: optuna.Trial) -> float:
        settings = {
            p["name"]: trial.suggest_float(p["name"], p["low"], p["high"]) for p in self.task.space
        }
        return self.evaluate(settings)


def execute(name: str, noise: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search and of what is said after it."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    objective = Objective(name, noise, seed)
    study = optuna.create_study(sampler=CalibratedSampler(seed=500 + seed))
    study.optimize(objective, n_trials=TRIALS)
    belief = believe(study)
    known = said(study, belief, objective)
    chosen = recommend_of(belief).params
    forecasts = _forecasts(belief, belief.objectives[0], objective, seed, chosen)
    data = {"X": belief.history.X.round(5).tolist(), "y": belief.history.Y[:, 0].tolist()}
    record = {"task": name, "noise": noise, "seed": seed, **known, "forecasts": forecasts}
    return rounded({**record, "commit": commit(), **data})


def again(record: dict[str, Any]) -> dict[str, Any]:
    """Return what is said now after a stored search."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    objective = Objective(record["task"], record["noise"], record["seed"])
    objective.rng.standard_normal(TRIALS)  # the noise of the search
    study = stored_study(record, objective.task)
    search = {key: record[key] for key in ("task", "noise", "seed")}
    return rounded({**search, **said(study, believe(study), objective), "commit": commit()})


def stored_study(record: Mapping[str, Any], task: Task) -> optuna.Study:
    """Return the trials that a record has kept, as a study."""
    kinds = {p["name"]: FloatDistribution(p["low"], p["high"]) for p in task.space}
    study = optuna.create_study()
    for x, y in zip(record["X"], record["y"], strict=True):
        params = settings_by_name(task, x)
        study.add_trial(create_trial(value=y, params=params, distributions=kinds))
    return study


def said(study: optuna.Study, belief: StudyBelief, objective: Objective) -> dict[str, Any]:
    """Return what is recommended after a search, what is said of it, and what is true."""
    task, quantity, found = objective.task, belief.objectives[0], recommend_of(belief)
    trials = [study.trials[number] for number in belief.numbers]
    truth = np.array([mean_at(task, trial.params) for trial in trials])
    observed = np.array([trial.value for trial in trials])
    posterior = quantity.expected(belief.history.X).mean()
    position = {number: row for row, number in enumerate(belief.numbers)}
    rows = [position[candidate.trials[0]] for candidate in found.candidates]
    chosen = rows[0]
    low, high = found.interval
    best = int(np.argmin(observed))
    return {
        "std": objective.std,
        "noise_std": objective.noise_std(trials[chosen].params),
        "by": found.by,
        "exact": found.is_exact,
        "true": truth[chosen],
        "true_of_best": truth[best],
        "true_of_posterior": truth[int(np.argmin(posterior))],
        "lowest": truth.min(),
        "stated": found.value,
        "best_value": observed[best],
        "held": bool(low <= truth[chosen] <= high),
        "expected_loss": found.expected_loss,
        "lucky": len(found.warnings) > 0,
        "probabilities": [candidate.probability_best for candidate in found.candidates],
        "is_best": [bool(truth[row] == truth.min()) for row in rows],
        "repeat": _repeated(study, objective, found, truth[chosen]),
    }


def _repeated(
    study: optuna.Study, objective: Objective, found: Any, before: float
) -> list[float] | None:
    """Return times, the gain expected of evaluating settings again, and the one that came."""
    if found.repeat is None:
        return None
    came = evaluated_again(study, objective, found, before)
    return [found.repeat.times, SHARE * found.repeat._promised, came]


def evaluated_again(study: optuna.Study, objective: Objective, found: Any, before: float) -> float:
    """Return how much better the setting is that is recommended after what was advised is done."""
    copy = optuna.create_study()
    copy.add_trials(study.get_trials(deepcopy=False))
    distributions = study.trials[0].distributions
    for params in found.repeat.settings:
        used = {name: distributions[name] for name in params}
        for _ in range(found.repeat.times):
            value = objective.evaluate(params)
            copy.add_trial(create_trial(value=value, params=params, distributions=used))
    after = recommend_of(believe(copy))
    return before - mean_at(objective.task, after.params)


def _forecasts(
    belief: Any, quantity: Quantity, objective: Objective, seed: int, chosen: Settings
) -> dict[str, list[list[float]]]:
    """Return coverages at LEVELS: of new evaluations, raw and calibrated, and of true means."""
    task, rng = objective.task, np.random.default_rng([seed, 13])
    dim = belief.cube.dim
    order = np.argsort(belief.history.Y[:, 0])[:3]
    beside = np.repeat(belief.history.X[order], NEAR, axis=0)
    places = {
        "random": belief.cube.spread(RANDOM, rng),
        "near": belief.cube.snap(beside + 0.05 * rng.standard_normal((len(beside), dim))),
        "recommended": belief.points([chosen]),
    }
    raw = replace(quantity, residual=Normal(0.0, 1.0))
    found = {}
    for place, X in places.items():
        settings = belief.settings(X)
        means = np.array([mean_at(task, one) for one in settings])
        new = np.array([objective.evaluate(one) for one in settings])
        found[place] = [
            [held(forecast, outcomes, level) for level in LEVELS]
            for forecast, outcomes in (
                (raw.outcome(X), new),
                (quantity.outcome(X), new),
                (quantity.expected(X), means),
            )
        ]
    return found


def held(forecast: Any, outcomes: np.ndarray, level: float) -> float:
    low, high = forecast.interval(level)
    return float(np.mean((low <= outcomes) & (outcomes <= high)))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, float) and not isinstance(value, bool):
        return float(f"{value:.6g}")
    return value


def ask_again() -> None:
    """Keep what is said now after stored searches with noise; the next call goes on."""
    known = {(r["task"], r["noise"], r["seed"]) for r in read_lines(AGAIN)}
    for record in read_lines(RESULTS):
        key = record["task"], record["noise"], record["seed"]
        if record["noise"] != "none" and key not in known:
            append(AGAIN, again(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument(
        "--again", action="store_true", help="ask anew after stored searches: the rule has changed"
    )
    arguments = parser.parse_args()
    if arguments.again:
        ask_again()
        return
    known = {(r["task"], r["noise"], r["seed"]) for r in read_lines(RESULTS)}
    missing = [run for run in runs() if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), arguments.jobs)


if __name__ == "__main__":
    main()
