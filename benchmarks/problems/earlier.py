"""Earlier studies: related problems were searched before, or what seems so and misleads.

Two or three earlier studies of 40 trials each, made by Optuna's TPE; then searches of 25 trials.
Related tasks are the same function moved by up to a tenth of the box and scaled (*moved*), with a
parameter more or one less, with other names and ranges; and tables of training runs on other data.
Tasks that mislead: the earlier function was the negated one, had its minimum on the other side of
the box (*mirrored*), had nothing to do with it (*unrelated*), or its outcomes were *shuffled*.
First evaluations differ here by system: they are what earlier studies are for.

    calibrant    earlier=[…]
    anew         calibrant, without earlier studies
    enqueued     the same, and the best setting of each earlier study is evaluated first
    added        the same, and all trials of the earlier studies are added as its own
    tpe-enqueued Optuna's TPE, the best settings first
    optuna-tpe   Optuna's TPE, without earlier studies
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import TPESampler

import calibrant
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.peers import tabular
from benchmarks.problems.kinds import Kind
from calibrant.models import Priors, Rotation
from calibrant.search.defaults import MODEL
from calibrant.studies.asking import suggest
from calibrant.studies.space_text import parse_space
from calibrant.test_functions import (
    Problem,
    branin,
    hartmann,
    levy,
    rosenbrock,
    styblinski_tang,
)

LEARNED = Path(__file__).parent / "results" / "earlier-learning.jsonl"
LEARNING_REPETITIONS = 10
VARIANTS = {"trust 0.1": 0.1, "trust 10": 10.0}  # the median of the prior of trust, otherwise 1
TRIALS = 25
_BEFORE = 40  # trials of each earlier study
_MOVED = 0.1  # of the box's width, at most, in each coordinate

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """What one study searches.

    Args:
        space: by name, as calibrant takes it.
        loss: of a setting.
        rename: what its parameters are called in the new study.
    """

    space: Mapping[str, BaseDistribution]
    loss: Callable[[Settings], float]
    rename: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A new study, and earlier ones, drawn by a generator; and its lowest and its usual value."""

    draw: Callable[[np.random.Generator], tuple[Job, list[Job]]]
    scale: Callable[[], tuple[float, float]]
    misleads: bool = False


def _job(problem: Problem, by: np.ndarray, factor: float = 1.0, mirrored: bool = False) -> Job:
    """Return a function whose minimum is moved by so much of the box, scaled."""
    low, high = np.array(problem.box).T

    def loss(settings: Settings) -> float:
        x = np.array([settings[f"x{i}"] for i in range(problem.dim)])
        x = low + high - x if mirrored else x
        return factor * float(problem(x - by * (high - low)))

    return Job(parse_space(problem.space()), loss)


def _moved(problem: Problem, rng: np.random.Generator, mirrored: bool = False) -> Job:
    by = rng.uniform(-_MOVED, _MOVED, problem.dim)
    return _job(problem, by, float(np.exp(rng.uniform(-1.0, 1.0))), mirrored)


def _new(problem: Problem, rng: np.random.Generator) -> Job:
    return _job(problem, rng.uniform(-_MOVED, _MOVED, problem.dim))


def _waves(problem: Problem, rng: np.random.Generator) -> Job:
    """Return a smooth function of the same box that was drawn at random."""
    low, high = np.array(problem.box).T
    turns, phases = rng.normal(0.0, 4.0, (20, problem.dim)), rng.uniform(0.0, 2.0 * np.pi, 20)

    def loss(settings: Settings) -> float:
        u = (np.array([settings[f"x{i}"] for i in range(problem.dim)]) - low) / (high - low)
        return float(np.cos(turns @ u + phases).sum())

    return Job(parse_space(problem.space()), loss)


def _more(job: Job, spread: float, rng: np.random.Generator) -> Job:
    """Return a problem with one parameter more, which matters as much as others."""
    best = rng.uniform(0.2, 0.8)

    def loss(settings: Settings) -> float:
        return job.loss(settings) + 4.0 * spread * (settings["z"] - best) ** 2

    return Job({**job.space, **parse_space({"z": (0.0, 1.0)})}, loss)


def _elsewhere(job: Job, box: tuple[tuple[float, float], ...]) -> Job:
    """Return the problem with other names, on a box that is a third wider, and moved by a fifth."""
    space, rename = {}, {}
    for i, (low, high) in enumerate(box):
        width = high - low
        space[f"old{i}"] = (low - 0.1 * width, high + 0.2 * width)
        rename[f"old{i}"] = f"x{i}"
    return Job(parse_space(space), lambda s: job.loss({rename[n]: v for n, v in s.items()}), rename)


def related(problem: Problem, kind: str, earlier: int = 2, misleads: bool = False) -> Task:
    """Return a task of a family of functions."""

    def draw(rng: np.random.Generator) -> tuple[Job, list[Job]]:
        new = _new(problem, rng)
        if kind == "mirrored":
            return new, [_moved(problem, rng, mirrored=True) for _ in range(earlier)]
        if kind == "unrelated":
            return new, [_waves(problem, rng) for _ in range(earlier)]
        before = [_moved(problem, rng) for _ in range(earlier)]
        if kind == "negated":
            return new, [replace(one, loss=partial(_negated, one.loss)) for one in before]
        if kind == "renamed":
            return new, [_elsewhere(one, problem.box) for one in before]
        if kind == "more":
            return _more(new, _spread(problem), rng), before
        if kind == "less":
            return new, [_more(one, _spread(problem), rng) for one in before]
        return new, before

    def scale() -> tuple[float, float]:
        drawn = problem.on_cube(np.random.default_rng(0).random((4000, problem.dim)))
        added = 4.0 * _spread(problem) / 9.0 if kind == "more" else 0.0
        return problem.minimum, float(drawn.mean()) + added

    return Task(draw, scale, misleads)


def _negated(loss: Callable[[Settings], float], settings: Settings) -> float:
    return -loss(settings)


@cache
def _spread(problem: Problem) -> float:
    return float(problem.on_cube(np.random.default_rng(0).random((4000, problem.dim))).std())


def table(make: Callable[..., Any], new: str, *before: str, misleads: bool = False) -> Task:
    """Return a task of tables of training runs: the same settings on other data."""

    def draw(rng: np.random.Generator) -> tuple[Job, list[Job]]:
        earlier = [_looked_up(make, name) for name in before]
        if misleads:
            earlier = [replace(one, loss=_shuffled(one.loss, rng)) for one in earlier]
        return _looked_up(make, new), earlier

    def scale() -> tuple[float, float]:
        values = np.array(list(_means(make, new).values()))
        return float(values.min()), float(np.median(values))

    return Task(draw, scale, misleads)


def _shuffled(
    loss: Callable[[Settings], float], rng: np.random.Generator
) -> Callable[[Settings], float]:
    """Return the losses, each of another setting that is drawn at random."""
    key = int(rng.integers(2**31))

    def drawn(settings: Settings) -> float:
        numbers = [value for value in settings.values() if isinstance(value, int)]
        other = np.random.default_rng([key, *numbers])
        return loss({name: int(other.integers(3 if name == "depth" else 10)) for name in settings})

    return drawn


def _looked_up(make: Callable[..., Any], name: str) -> Job:
    task, means = make(name, 0.0), _means(make, name)
    space = {
        p["name"]: p["choices"] if p["type"] == "choice" else (p["low"], p["high"])
        for p in task.space
    }

    def loss(settings: Settings) -> float:
        return means[tuple(settings[p["name"]] for p in task.space)]

    return Job(parse_space(space), loss)


@cache
def _means(make: Callable[..., Any], name: str) -> dict[tuple[Any, ...], float]:
    """Return the mean outcome of every setting; of losses that are tiny, the logarithm."""
    task = make(name, 0.0)
    axes = [
        p["choices"] if p["type"] == "choice" else range(p["low"], p["high"] + 1)
        for p in task.space
    ]
    names = [p["name"] for p in task.space]
    found = {
        place: float(np.mean(task.values(dict(zip(names, place, strict=True)))))
        for place in product(*axes)
    }
    if make is tabular.network:
        return {place: float(np.log(value)) for place, value in found.items()}
    return found


# Everything was chosen on these.
LEARNING: dict[str, Task] = {
    "branin, moved": related(branin(), "moved"),
    "hartmann 3, moved": related(hartmann(3), "moved", 3),
    "levy 4, moved": related(levy(4), "moved"),
    "branin, one more": related(branin(), "more"),
    "mlp on vehicle": table(tabular.mlp, "vehicle", "australian", "kc1"),
    "hartmann 3, negated": related(hartmann(3), "negated", misleads=True),
    "levy 4, mirrored": related(levy(4), "mirrored", misleads=True),
    "branin, unrelated": related(branin(), "unrelated", 3, misleads=True),
}
TASKS: dict[str, Task] = {
    "styblinski-tang 3, moved": related(styblinski_tang(3), "moved"),
    "hartmann 6, moved": related(hartmann(6), "moved"),
    "rosenbrock 4, renamed": related(rosenbrock(4), "renamed"),
    "styblinski-tang 3, one more": related(styblinski_tang(3), "more"),
    "hartmann 6, one less": related(hartmann(6), "less"),
    "mlp on credit_g": table(tabular.mlp, "credit_g", "blood_transfusion", "car", "segment"),
    "network on parkinsons": table(
        tabular.network, "parkinsons_telemonitoring", "naval_propulsion", "protein_structure"
    ),
    "cell for cifar100": table(tabular.cells, "cifar100", "cifar10"),
    "hartmann 6, negated": related(hartmann(6), "negated", misleads=True),
    "styblinski-tang 3, mirrored": related(styblinski_tang(3), "mirrored", misleads=True),
    "rosenbrock 4, unrelated": related(rosenbrock(4), "unrelated", 3, misleads=True),
    "mlp on segment, shuffled": table(tabular.mlp, "segment", "car", "credit_g", misleads=True),
}


def play(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return the values of a search's evaluations."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task = {**LEARNING, **TASKS}[name]
    job, before = task.draw(np.random.default_rng([seed, len(name), *name.encode()]))
    earlier = [
        calibrant.Earlier(_searched(one, [seed, place]), one.rename)
        for place, one in enumerate(before)
        if system not in ("anew", "optuna-tpe")
    ]
    study = optuna.create_study(sampler=_sampler(system, job, seed, earlier))
    for one in earlier:
        if system.endswith("enqueued"):
            study.enqueue_trial(_translated(one.study.best_params, one, job), skip_if_exists=True)
        elif system == "added":
            _add(study, one, job)
    known = len(study.trials) if system == "added" else 0
    study.optimize(lambda trial: job.loss(suggest(trial, job.space)), n_trials=TRIALS)
    found = {"values": [trial.value for trial in study.trials[known:]]}
    if system in ("calibrant", "anew"):
        found["held"] = [bool(held) for held in calibrant.review(study).held]
    return found


def _searched(job: Job, seed: list[int]) -> optuna.Study:
    """Return an earlier study."""
    drawn = int(np.random.default_rng(seed).integers(2**31))
    study = optuna.create_study(sampler=TPESampler(seed=drawn, multivariate=True))
    study.optimize(lambda trial: job.loss(suggest(trial, job.space)), n_trials=_BEFORE)
    return study


def _translated(params: Settings, one: calibrant.Earlier, job: Job) -> dict[str, Any]:
    """Return what an earlier setting is in the new space, within its ranges."""
    found = {}
    for old, value in params.items():
        name = one.rename.get(old, old)
        if name in job.space:
            ends = getattr(job.space[name], "low", value), getattr(job.space[name], "high", value)
            found[name] = value if isinstance(value, str) else min(max(value, ends[0]), ends[1])
    return found


def _add(study: optuna.Study, one: calibrant.Earlier, job: Job) -> None:
    for trial in one.study.trials:
        params = _translated(trial.params, one, job)
        distributions = {name: job.space[name] for name in params}
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=trial.value)
        )


def _sampler(
    system: str, job: Job, seed: int, earlier: list[calibrant.Earlier]
) -> optuna.samplers.BaseSampler:
    if "tpe" in system:
        return TPESampler(seed=seed, multivariate=True, n_startup_trials=5)
    if system in VARIANTS:
        return calibrant.CalibratedSampler(
            search_space=job.space, seed=seed, earlier=earlier, model=_trusting(VARIANTS[system])
        )
    told = earlier if system == "calibrant" else None
    return calibrant.CalibratedSampler(search_space=job.space, seed=seed, earlier=told)


def _trusting(median: float) -> Rotation:
    """Return the default model with another belief about how far to trust earlier studies."""
    priors = Priors(trust=(median, Priors().trust[1]))
    return Rotation(tuple(replace(process, priors=priors) for process in MODEL.processes))


def scales() -> dict[str, tuple[float, float]]:
    """Return the lowest value of each task, and the usual one of random points."""
    return {name: task.scale() for name, task in TASKS.items()}


KIND = Kind(
    "earlier",
    "Earlier studies",
    (__doc__ or "").strip(),
    {
        system: partial(play, system)
        for system in ("calibrant", "anew", "enqueued", "added", "tpe-enqueued", "optuna-tpe")
    },
    scales,
    TRIALS,
)


def main() -> None:
    """Run what is missing of the searches that everything was chosen on."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--systems", nargs="+", default=["calibrant", "anew", *VARIANTS])
    parser.add_argument("--repetitions", type=int, default=LEARNING_REPETITIONS)
    chosen = parser.parse_args()
    known = {(r["system"], r["task"], r["seed"]) for r in read_lines(LEARNED)}
    for seed in range(chosen.repetitions):
        for name in LEARNING:
            for system in chosen.systems:
                if (system, name, seed) not in known:
                    found = {"system": system, "task": name, "seed": seed}
                    append(LEARNED, {**found, **play(system, name, seed), "commit": commit()})


if __name__ == "__main__":
    main()
