"""Promises about constraints: `python -m benchmarks.decisions.feasibility`.

Searches with `min_feasible` at four levels, calibrated and with the model's own probabilities,
beside calibrant without a level and Optuna's samplers with constraints. Kept of each: which of the
suggestions that the model made met all constraints, as evaluated and in truth, what was promised,
and the regret of the best feasible setting. The first points are the same for all.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, TPESampler

from benchmarks.decisions.constrained import CHOSEN_ON, JUDGED_ON, LANDSCAPES, problem
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import DRAWS, Estimate
from benchmarks.kit.words import markdown_table, number
from calibrant import CalibratedSampler
from calibrant.search import step
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
    "optuna-gp",
)
RIVALS = ("botorch", "ax")  # of :mod:`benchmarks.decisions.feasibility_rivals`
RIVAL_PROBLEMS = ("gramacy", "tension spring", "training job")  # an ask of theirs takes seconds
SLOW, SLOW_REPETITIONS = ("optuna-gp",), 5
Run = tuple[str, str, float, int]  # system, problem, noise, seed


class Objective:
    """A problem with noise on its constraints; what the truth is, is noted with each trial."""

    def __init__(self, name: str, noise: float, seed: int) -> None:
        self.problem, self.rng = problem(name), np.random.default_rng([seed, 3])
        self.stds = {key: noise * std for key, std in spreads(name).items()}

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


@cache
def spreads(name: str) -> dict[str, float]:
    """Return the std of each limit of a problem in its box."""
    rng = np.random.default_rng(0)
    limits = [problem(name).evaluate(random_setting(name, rng))[1] for _ in range(200)]
    return {key: float(np.std([one[key] for one in limits])) for key in limits[0]}


def random_setting(name: str, rng: np.random.Generator) -> dict[str, float]:
    return {
        key: int(rng.integers(low, high + 1)) if _whole(low, high) else rng.uniform(low, high)
        for key, (low, high) in problem(name).space.items()
    }


def _whole(low: float, high: float) -> bool:
    return isinstance(low, int) and isinstance(high, int)


def sampler(system: str, seed: int) -> BaseSampler:
    kind, _, level = system.partition(" ")
    if kind == "optuna-tpe":
        return TPESampler(seed=seed, n_startup_trials=FIRST)
    if kind == "optuna-gp":
        return GPSampler(seed=seed, n_startup_trials=FIRST)
    return CalibratedSampler(
        seed=seed, n_startup_trials=FIRST, min_feasible=float(level) if level else None
    )


@contextmanager
def own_probabilities() -> Iterator[None]:
    """Let promises be those of the search's own models of constraints, meanwhile."""
    kept = Promise.of, step.careful
    Promise.of = classmethod(lambda cls, data, models, level: cls(models))  # type: ignore
    step.careful = lambda model: model
    try:
        yield
    finally:
        Promise.of, step.careful = kept  # type: ignore


def execute(system: str, name: str, noise: float, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # that something is experimental
    objective = Objective(name, noise, seed)
    study = optuna.create_study(sampler=sampler(system, seed))
    first = np.random.default_rng([seed, 5])
    for _ in range(FIRST):
        study.enqueue_trial(random_setting(name, first))
    with own_probabilities() if system.startswith("raw") else nullcontext():
        study.optimize(objective, n_trials=TRIALS)
    return record(system, name, noise, seed, study)


def record(system: str, name: str, noise: float, seed: int, study: optuna.Study) -> dict[str, Any]:
    """Return what is to be kept of a finished search."""
    trials = study.get_trials(deepcopy=False)
    met = [all(limit <= 0.0 for limit in trial.constraints.values()) for trial in trials]
    truly = [trial.user_attrs["true"] <= 0.0 for trial in trials]
    safe = [trial.value for trial, meets in zip(trials, truly, strict=True) if meets]
    known = problem(name)
    regret = (min(safe) - known.minimum) / known.typical if safe else None
    archive = Archive()
    archive.update(study)
    return {
        "system": system,
        "problem": name,
        "noise": noise,
        "seed": seed,
        "promised": [round(p, 3) for p, _ in archive.promises()],
        "met": _digits(met[FIRST:]),
        "truly": _digits(truly[FIRST:]),
        "regret": None if regret is None else round(regret, 5),
        "commit": commit(),
    }


def _digits(met: Sequence[bool]) -> str:
    return "".join(str(int(one)) for one in met)


def section() -> list[str]:
    """Return the part of the page about promises of feasibility."""
    records = [r for r in read_lines(RESULTS) if r["problem"] in JUDGED_ON]
    if not records:
        return []
    own = [r for r in records if r["system"] not in RIVALS]
    parts = [
        "## Feasibility",
        "",
        f"Searches of {TRIALS} trials, of which {FIRST} were random and the same for all, on "
        f"{', '.join(JUDGED_ON)}. Constraints without noise, and with noise of a tenth of their "
        "std in the box. With `min_feasible`, suggestions are kept where at least that is "
        "promised; *raw*: by the search's own model and its probabilities; *weighed*: the default, "
        "without a level. A promise is about the evaluation, noise included, which can be counted "
        "without knowing the truth. Suggestions: where the level could be promised; promised: the "
        "mean stated probability of these; met: the share of them that met all constraints as "
        "evaluated, with a 95 % interval over searches; truly: the same without the noise; each: "
        "the mean of the shares of single searches, in which those with few promises count most. "
        "Regret of the best setting that is truly feasible, in spreads of the objective. "
        f"{REPETITIONS} repetitions were planned ({SLOW_REPETITIONS} of {', '.join(SLOW)}); the "
        "command goes on where it stopped. Whole so far: "
        + ", ".join(f"{_whole_runs(system, records)} of {system}" for system in _asked(own))
        + f". BoTorch's constrained EI and Ax ({', '.join(RIVALS)}) are asked on "
        f"{', '.join(RIVAL_PROBLEMS)} alone, as an ask of theirs takes longest: "
        f"{sum(r['system'] in RIVALS for r in records)} searches so far; they are shown, beside "
        "the others on the same searches, once a repetition is whole. How promises are made was "
        "chosen on "
        f"{len(CHOSEN_ON) + len(LANDSCAPES)} other problems, the last of it after a look at two "
        "repetitions of an earlier way on these.",
        "",
    ]
    head = ["system", "searches", "suggestions", "promised", "met", "truly", "each",
            "median regret", "none found"]  # fmt: skip
    for noise in NOISES:
        rows = [row for system in _asked(own) if (row := _row(system, noise, own))]
        words = "With noise on constraints:" if noise else "Without noise:"
        parts += [words, "", markdown_table(head, rows), ""]
    return [*parts, _verdict(own), "", *_beside_rivals(records, head)]


def _beside_rivals(records: list[dict[str, Any]], head: list[str]) -> list[str]:
    """Return all systems on the searches that the rivals were asked for."""
    count = min(_whole_runs(system, records) for system in RIVALS)
    if not count:
        return []
    same = [r for r in records if r["problem"] in RIVAL_PROBLEMS and r["seed"] < count]
    parts = [f"Beside BoTorch and Ax, {count} repetitions of {len(RIVAL_PROBLEMS)} problems:", ""]
    for noise in NOISES:
        rows = [row for system in _asked(same) if (row := _row(system, noise, same))]
        words = "With noise on constraints:" if noise else "Without noise:"
        parts += [words, "", markdown_table(head, rows), ""]
    return parts


def _asked(records: list[dict[str, Any]]) -> list[str]:
    """Return the systems that have results."""
    there = {r["system"] for r in records}
    return [system for system in (*SYSTEMS, *RIVALS) if system in there]


def _whole_runs(system: str, records: list[dict[str, Any]]) -> int:
    """Return how many repetitions a system has of every problem, with and without noise."""
    names = RIVAL_PROBLEMS if system in RIVALS else JUDGED_ON
    mine = {(r["problem"], r["noise"], r["seed"]) for r in records if r["system"] == system}
    seeds = [
        {s for p, n, s in mine if (p, n) == (name, noise)} for name in names for noise in NOISES
    ]
    return len(set.intersection(*seeds))


def _verdict(records: list[dict[str, Any]]) -> str:
    """Return at which levels fewer suggestions met the constraints than were promised."""
    broken = []
    for noise in NOISES:
        for level in LEVELS:
            row = _row(f"calibrated {level}", noise, records)
            shares = [] if row is None else [row[4].partition(" ")[0], row[6]]
            if any(float(share.rstrip("%")) / 100.0 < level for share in shares):
                words = "with" if noise else "without"
                broken.append(f"{level:.0%} {words} noise ({shares[0]}; {shares[1]} of each)")
    goal = "Goal: at each level at least as many met as promised, in all and in the mean of each:"
    return f"{goal} {'missed at ' + ', '.join(broken) if broken else 'reached'}."


def _row(system: str, noise: float, records: list[dict[str, Any]]) -> list[str] | None:
    group = [r for r in records if r["system"] == system and r["noise"] == noise]
    if not group:
        return None
    level = float(system.partition(" ")[2] or 0.0)
    met, truly, promised = [], [], []
    for record in group:
        said = record["promised"] or [np.nan] * len(record["met"])
        # A search may have made its first suggestions before it knew of a constraint.
        every = zip(said, record["met"][-len(said) :], record["truly"][-len(said) :], strict=True)
        kept = [(p, int(m), int(t)) for p, m, t in every if not p < level - 1e-3]
        promised += [p for p, _, _ in kept]
        if kept:
            met.append([m for _, m, _ in kept])
            truly.append([t for _, _, t in kept])
    regrets = [r["regret"] for r in group if r["regret"] is not None]
    return [
        system,
        str(len(group)),
        str(len(promised)),
        "–" if np.isnan(promised).any() else f"{np.mean(promised):.0%}",
        *(f"{one.mean:.0%} ({one.low:.0%}–{one.high:.0%})" for one in map(_share, (met, truly))),
        f"{np.mean([np.mean(one) for one in met]):.0%}",
        number(float(np.median(regrets))) if regrets else "–",
        str(len(group) - len(regrets)),
    ]


def _share(searches: list[list[int]]) -> Estimate:
    """Return the share of ones in all searches together, with an interval from drawn searches."""
    ones, counts = (np.array([count(one) for one in searches]) for count in (sum, len))
    drawn = np.random.default_rng(0).integers(len(searches), size=(DRAWS, len(searches)))
    shares = ones[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return Estimate(float(ones.sum() / counts.sum()), *np.quantile(shares, [0.025, 0.975]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--only", help="systems whose name begins so, such as calibrated")
    chosen = parser.parse_args(arguments)
    known = {(r["system"], r["problem"], r["noise"], r["seed"]) for r in read_lines(RESULTS)}
    every = [
        (system, name, noise, seed)
        for seed in range(chosen.repetitions)
        for name in JUDGED_ON
        for noise in NOISES
        for system in SYSTEMS
        if system.startswith(chosen.only or "") and (system not in SLOW or seed < SLOW_REPETITIONS)
    ]
    missing = [run for run in every if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), chosen.jobs)


if __name__ == "__main__":
    main()
