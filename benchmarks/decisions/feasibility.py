"""Promises about constraints: `python -m benchmarks.decisions.feasibility`.

Searches with `min_feasible` at four levels, calibrated and with the model's own probabilities,
beside calibrant without a level and Optuna's TPE with constraints. Kept of each: how many of the
suggestions that the model made met all constraints, what was promised, and the regret of the best
feasible setting. The first points are the same for all.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, TPESampler

from benchmarks.decisions.constrained import JUDGED_ON, PROBLEMS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import estimate
from benchmarks.kit.words import markdown_table, number
from calibrant import CalibratedSampler
from calibrant.search.feasibility import Promise
from calibrant.studies.archive import Archive

RESULTS = Path(__file__).parent / "results" / "feasibility.jsonl"
LEVELS = (0.5, 0.8, 0.9, 0.95)
TRIALS, FIRST = 25, 5
REPETITIONS = 30
NOISES = (0.0, 0.1)  # of constraints, in std of their values in the box
SYSTEMS = (
    *(f"calibrated {level}" for level in LEVELS),
    *(f"raw {level}" for level in LEVELS),
    "weighed",
    "optuna-tpe",
)
LESS = {"calibrated 0.5", "raw 0.5", "calibrated 0.9", "raw 0.9"}  # run after the others
Run = tuple[str, str, float, int]  # system, problem, noise, seed


class Objective:
    """A problem with noise on its constraints; what the truth is, is noted with each trial."""

    def __init__(self, name: str, noise: float, seed: int) -> None:
        self.problem, self.rng = PROBLEMS[name], np.random.default_rng([seed, 3])
        some = np.random.default_rng(0)
        limits = [self.problem.evaluate(self.random(some))[1] for _ in range(200)]
        self.stds = {key: noise * float(np.std([one[key] for one in limits])) for key in limits[0]}

    def random(self, rng: np.random.Generator) -> dict[str, float]:
        return {
            name: int(rng.integers(low, high + 1)) if _whole(low, high) else rng.uniform(low, high)
            for name, (low, high) in self.problem.space.items()
        }

    def __call__(self, trial: optuna.Trial) -> float:
        params = {
            name: trial.suggest_int(name, int(low), int(high))
            if _whole(low, high)
            else trial.suggest_float(name, low, high)
            for name, (low, high) in self.problem.space.items()
        }
        value, limits = self.problem.evaluate(params)
        trial.set_user_attr("true", max(limits.values()))
        for name, limit in limits.items():
            noise = self.stds[name] * self.rng.standard_normal()
            trial.set_constraint(name, float(limit + noise))
        return value


def _whole(low: float, high: float) -> bool:
    return isinstance(low, int) and isinstance(high, int)


def sampler(system: str, seed: int) -> BaseSampler:
    kind, _, level = system.partition(" ")
    if kind == "optuna-tpe":
        return TPESampler(seed=seed, n_startup_trials=FIRST)
    return CalibratedSampler(
        seed=seed, n_startup_trials=FIRST, min_feasible=float(level) if level else None
    )


def _raw(cls: type[Promise], data: Any, models: Any) -> Promise:
    return cls(models)


_calibrated = Promise.of


def execute(system: str, name: str, noise: float, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # that something is experimental
    Promise.of = classmethod(_raw) if system.startswith("raw") else _calibrated  # type: ignore
    objective = Objective(name, noise, seed)
    study = optuna.create_study(sampler=sampler(system, seed))
    first = np.random.default_rng([seed, 5])
    for _ in range(FIRST):
        study.enqueue_trial(objective.random(first))
    study.optimize(objective, n_trials=TRIALS)
    trials = study.get_trials(deepcopy=False)
    met = [all(limit <= 0.0 for limit in trial.constraints.values()) for trial in trials]
    safe = [trial.value for trial in trials if trial.user_attrs["true"] <= 0.0]
    problem = objective.problem
    regret = (min(safe) - problem.minimum) / problem.typical if safe else None
    archive = Archive()
    archive.update(study)
    return {
        "system": system,
        "problem": name,
        "noise": noise,
        "seed": seed,
        "promised": [round(p, 3) for p, _ in archive.promises()],
        "met": "".join(str(int(one)) for one in met[FIRST:]),
        "regret": None if regret is None else round(regret, 5),
        "commit": commit(),
    }


def section() -> list[str]:
    """Return the part of the page about promises of feasibility."""
    records = [r for r in read_lines(RESULTS) if r["problem"] in JUDGED_ON]
    if not records:
        return []
    parts = [
        "## Feasibility",
        "",
        f"Searches of {TRIALS} trials, of which {FIRST} were random and the same for all, on "
        f"{', '.join(JUDGED_ON)}. Constraints without noise, and with noise of a tenth of their "
        "std in the box. With `min_feasible`, suggestions are kept where the model promises at "
        "least that; *raw*: by the model's own probabilities; *weighed*: the default, without a "
        "level. Promised: the mean stated probability. Met: the share of suggestions that met all "
        "constraints, with a 95 % interval over searches; of those where the level could be "
        "promised, where there is one. Regret of the best setting that is truly feasible, in "
        f"spreads of the objective. {REPETITIONS} repetitions were planned; the command goes on "
        "where it stopped.",
        "",
    ]
    head = ["system", "searches", "suggestions", "promised", "met", "median regret", "none found"]
    for noise in NOISES:
        rows = [row for system in SYSTEMS if (row := _row(system, noise, records))]
        words = "With noise on constraints:" if noise else "Without noise:"
        parts += [words, "", markdown_table(head, rows), ""]
    return [*parts, _verdict(records), ""]


def _verdict(records: list[dict[str, Any]]) -> str:
    """Return at which levels fewer suggestions met the constraints than were promised."""
    broken = []
    for noise in NOISES:
        for level in LEVELS:
            row = _row(f"calibrated {level}", noise, records)
            if row is not None and float(row[4].partition("%")[0]) / 100.0 < level:
                words = "with" if noise else "without"
                broken.append(f"{level:.0%} {words} noise ({row[4].partition(' ')[0]} met)")
    if not broken:
        return "Goal: at each level at least as many met as promised: reached."
    return f"Goal: at each level at least as many met as promised: missed at {', '.join(broken)}."


def _row(system: str, noise: float, records: list[dict[str, Any]]) -> list[str] | None:
    group = [r for r in records if r["system"] == system and r["noise"] == noise]
    if not group:
        return None
    level = float(system.partition(" ")[2] or 0.0)
    shares, promised, count = [], [], 0
    for record in group:
        met = [int(one) for one in record["met"]]
        said = record["promised"] or [np.nan] * len(met)
        # A search may have made its first suggestions before it knew of a constraint.
        every = zip(said, met[-len(said) :], strict=True)
        pairs = [(p, m) for p, m in every if not p < level - 1e-3]
        promised += [p for p, _ in pairs]
        count += len(pairs)
        if pairs:
            shares.append(np.mean([m for _, m in pairs]))
    happened = estimate(shares)
    regrets = [r["regret"] for r in group if r["regret"] is not None]
    stated = "–" if np.isnan(promised).any() else f"{np.mean(promised):.0%}"
    return [
        system,
        str(len(group)),
        str(count),
        stated,
        f"{happened.mean:.0%} ({happened.low:.0%}–{happened.high:.0%})",
        number(float(np.median(regrets))) if regrets else "–",
        str(len(group) - len(regrets)),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    chosen = parser.parse_args(arguments)
    known = {(r["system"], r["problem"], r["noise"], r["seed"]) for r in read_lines(RESULTS)}
    every = [
        (system, name, noise, seed)
        for seed in range(chosen.repetitions)
        for later in (False, True)
        for name in JUDGED_ON
        for noise in NOISES
        for system in SYSTEMS
        if (system in LESS) == later
    ]
    missing = [run for run in every if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), chosen.jobs)


if __name__ == "__main__":
    main()
