"""Costs: evaluations differ in price by a factor of 30, prices are reported, and there is a budget.

The logarithm of the price is linear in the coordinates, with weights drawn once per task: unless a
task says so, neither the cheap nor the dear side holds the minimum by design. The budget is that
of twenty evaluations at random points. An evaluation that ends beyond it does not count, whoever
asked for it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.problems.kinds import Kind
from calibrant import Budget, CalibratedSampler, set_cost
from calibrant.studies.pricing import Pricing
from calibrant.test_functions import Problem, branin, hartmann, levy, styblinski_tang

PROBLEMS: dict[str, Problem] = {
    "branin": branin(),
    "hartmann 6": hartmann(6),
    "styblinski-tang 3": styblinski_tang(3),
}
# The weight of prices was chosen on these. Of four of them the dear side holds the minimum, and of
# two of these prices differ by a factor of 1,000.
LEARNING: dict[str, Problem] = {
    "levy 2": levy(2),
    "hartmann 3": hartmann(3),
    "levy 2, dear": levy(2),
    "hartmann 3, dear": hartmann(3),
    "levy 2, wide, dear": levy(2),
    "hartmann 3, wide, dear": hartmann(3),
}
LEARNED = Path(__file__).parent / "results" / "costs-learning.jsonl"
VARIANTS = ("calibrant", "cooled")  # improvement per price, to the end or less and less
LEARNING_REPETITIONS = 8
_LARGEST, _WIDEST = 30.0, 1000.0  # price, where the smallest is 1
_EVALUATIONS = 20  # at random points, that the budget pays for


class Cooled(Pricing):
    """The weight of prices falls from 1 to 0 as the budget is spent (Lee et al. 2020)."""

    def weight(self, left: float) -> float:
        return float(np.clip(left / self.budget.most, 0.0, 1.0))


def play(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return the values of a search's evaluations, as far as the budget went, and their prices."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = {**LEARNING, **PROBLEMS}[name]
    price, most = _prices(name, problem)
    study = optuna.create_study(sampler=_sampler(system, problem, seed, most))
    low, high = np.array(problem.box).T
    values: list[float] = []
    prices: list[float] = []
    while True:
        trial = study.ask()
        point = [trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(problem.box)]
        value = float(problem(point))
        paid = price((np.array(point) - low) / (high - low))
        if sum(prices) + paid > most:
            return {"values": values, "prices": [round(one, 3) for one in prices]}
        set_cost(trial, paid)
        study.tell(trial, value)
        values.append(value)
        prices.append(paid)


def _prices(name: str, problem: Problem) -> tuple[Any, float]:
    """Return the price of points of the unit cube, and the budget."""
    dim = problem.dim
    rng = np.random.default_rng([len(name), *name.encode()])
    largest = _WIDEST if "wide" in name else _LARGEST
    weights = rng.dirichlet(np.ones(dim)) * np.log(largest)
    turned = rng.random(dim) < 0.5  # dear at the lower end
    if name.endswith("dear"):
        low, high = np.array(problem.box).T
        turned = np.array(problem.where) < 0.5 * (low + high)

    def price(u: np.ndarray) -> float:
        return float(np.exp(np.where(turned, 1.0 - u, u) @ weights))

    mean = np.mean([price(u) for u in rng.random((4000, dim))])
    return price, _EVALUATIONS * float(mean)


def _sampler(system: str, problem: Problem, seed: int, most: float) -> BaseSampler:
    if system == "random":
        return RandomSampler(seed=seed)
    if system == "optuna-tpe":
        return TPESampler(seed=seed, n_startup_trials=5, multivariate=True)
    space = problem.space()
    if system == "without-costs":
        return CalibratedSampler(search_space=space, seed=seed)
    sampler = CalibratedSampler(search_space=space, seed=seed, budget=Budget(most))
    if system == "cooled":
        sampler._chooser.pricing = Cooled(Budget(most))
    return sampler


def scales() -> dict[str, tuple[float, float]]:
    """Return the minimum of each task, and the mean of random points."""
    rng = np.random.default_rng(0)
    return {
        name: (problem.minimum, float(problem.on_cube(rng.random((4000, problem.dim))).mean()))
        for name, problem in PROBLEMS.items()
    }


KIND = Kind(
    "costs",
    "Evaluations that differ in price",
    (__doc__ or "").strip(),
    {
        system: partial(play, system)
        for system in ("calibrant", "without-costs", "optuna-tpe", "random")
    },
    scales,
    _EVALUATIONS,
)


def main() -> None:
    """Run what is missing of the searches that the weight of prices was chosen on."""
    known = {(r["system"], r["task"], r["seed"]) for r in read_lines(LEARNED)}
    for seed in range(LEARNING_REPETITIONS):
        for name in LEARNING:
            for system in VARIANTS:
                if (system, name, seed) not in known:
                    best = min(play(system, name, seed)["values"]) - LEARNING[name].minimum
                    found = {"system": system, "task": name, "seed": seed, "regret": best}
                    append(LEARNED, {**found, "commit": commit()})


if __name__ == "__main__":
    main()
