"""Changes of the default that were tried against stuck searches, on two sets of first points.

    python -m benchmarks.peers.screening          # what is missing, one JSON line per search
    python -m benchmarks.peers.screening page     # screening.md

What looks best of a dozen changes looks so partly by chance. So the changes that looked best on the
first set of first points were tried again on a second one, on which nothing had been chosen.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import estimate_over_tasks, paired_p
from benchmarks.kit.words import markdown_table, p_value, signed
from benchmarks.peers.regret import scales
from benchmarks.peers.stuck import LEARNING
from benchmarks.peers.suite import SUITE, TASKS
from benchmarks.peers.variants import BUDGET, FIRST, OptunaStudy
from calibrant import CalibratedSampler
from calibrant.acquisition import ExpectedImprovement, ProbabilityOfImprovement, QuantileBound
from calibrant.acquisition.base import Acquisition, Belief, Criterion
from calibrant.core.cube import Cube
from calibrant.core.words import percent
from calibrant.models import (
    RBF,
    Additive,
    GaussianProcess,
    Kernel,
    Kumaraswamy,
    Matern52,
    Priors,
    Rotation,
)

RESULTS = Path(__file__).parent / "screening.jsonl"
PAGE = Path(__file__).parent / "screening.md"
DEFAULT = "default"
FUNCTIONS = [name for name in SUITE if not TASKS[name].groups & {"tables", "live", "20 dimensions"}]


@dataclass(frozen=True)
class InTurns(Acquisition):
    """Acquisitions that take turns, or of which one is drawn at each step."""

    parts: tuple[Acquisition, ...]
    drawn: bool = False
    takes_shift: ClassVar[bool] = False

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        turn = int(rng.integers(len(self.parts))) if self.drawn else belief.outcomes
        return self.parts[turn % len(self.parts)].criterion(belief, rng, cube)


def _rotation(*kernels: Kernel, **settings: Any) -> Rotation:
    return Rotation(tuple(GaussianProcess(kernel, **settings) for kernel in kernels))


_KERNELS = (Additive(), Additive(whole=RBF), Additive(per_dimension=True))
_EI, _PI = ExpectedImprovement(), ProbabilityOfImprovement()
_PLAIN = GaussianProcess(Matern52(per_dimension=True), outputs="standardise")
_BOTH = Rotation(
    tuple(
        GaussianProcess(_KERNELS[i % 3], outputs=("yeo-johnson", "standardise")[i % 2])
        for i in range(6)
    )
)
_WARPED = Kumaraswamy(kernel=Additive())
CHANGES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "patience of 5": {"patience": 5},
    "more noise expected": {"model": _rotation(*_KERNELS, priors=Priors(noise=(1e-3, 1.5)))},
    "a fourth model: warped inputs": {"model": _rotation(*_KERNELS, _WARPED)},
    "warped inputs in the place of a lengthscale a dimension": {
        "model": _rotation(*_KERNELS[:2], _WARPED)
    },
    "all inputs warped": {"model": _rotation(*(Kumaraswamy(kernel=k) for k in _KERNELS))},
    "a fourth model: plain Matérn, standardised": {
        "model": Rotation((*map(GaussianProcess, _KERNELS), _PLAIN))
    },
    "every other turn standardised, patience of 5": {"model": _BOTH, "patience": 5},
    "every other turn a margin of 0.15": {
        "acquisition": InTurns((_EI, ExpectedImprovement(margin=0.15)))
    },
    "every fourth turn probability of improvement": {"acquisition": InTurns((_EI, _EI, _EI, _PI))},
    "EI, PI or bound, drawn at each step": {
        "acquisition": InTurns((_EI, _PI, QuantileBound()), drawn=True)
    },
}
# As found in the results; the code of these is not kept.
PROTOTYPES = ("improvement in the outcomes' units",)
FIRST_SET, OTHERS = range(100, 112), range(200, 208)
# Searched from other first points too: the best of the first set on functions, and the best of
# stuck.md on training jobs.
AGAIN = (
    DEFAULT,
    "every other turn a margin of 0.15",
    "every other turn standardised, patience of 5",
)
# Searched again where it had looked best: in spaces of numbers alone, of which some are whole or on
# log scales. That was seen in the results of the first set, so that only the second can tell.
PLAIN = "a fourth model: plain Matérn, standardised"
NUMBERS = [
    name
    for name in dict.fromkeys((*LEARNING, *FUNCTIONS))
    if all(p["type"] != "choice" for p in TASKS[name].space)
    and any(p["type"] == "int" or p["log"] for p in TASKS[name].space)
]


def execute(change: str, name: str, seed: int) -> dict[str, Any]:
    """Return what a search ended with."""
    task, rng = TASKS[name], np.random.default_rng([seed, 1])
    sampler = CalibratedSampler(seed=seed, **CHANGES[change])
    study = OptunaStudy(list(task.space), seed, BUDGET, sampler)
    points, least = task.first(FIRST, seed), np.inf
    for step in range(BUDGET):
        settings = points[step] if step < FIRST else study.ask()
        evaluation = task.evaluate(settings, rng)
        least = min(least, evaluation.mean)
        study.tell(settings, evaluation.outcome)
    value = float(f"{least:.6g}")
    return {"change": change, "task": name, "seed": seed, "value": value, "commit": commit()}


def regrets(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str, int], float]:
    """Return normalised regrets by change, task and first points."""
    rows, known = list(rows), scales()
    lowest = {name: scale.minimum for name, scale in known.items()}
    for row in rows:  # of a live task nobody knows the minimum
        lowest[row["task"]] = min(lowest[row["task"]], row["value"])
    found = {}
    for row in rows:
        name, scale = row["task"], known[row["task"]]
        unit = scale.unit + scale.minimum - lowest[name]
        found[row["change"], name, row["seed"]] = (row["value"] - lowest[name]) / unit
    return found


def table(
    found: dict[tuple[str, str, int], float],
    tasks: list[str],
    seeds: range,
    changes: Iterable[str] = (*CHANGES, *PROTOTYPES),
) -> str:
    """Return a table of the changes, each paired with the default's searches."""
    rows = []
    for change in changes:
        pairs: dict[str, list[tuple[float, float]]] = {}
        for (who, task, seed), left in found.items():
            default = found.get((DEFAULT, task, seed))
            if who == change and task in tasks and seed in seeds and default is not None:
                pairs.setdefault(task, []).append((left, default))
        if not pairs:
            continue
        every = np.array([pair for of_task in pairs.values() for pair in of_task])
        differences = [np.subtract(*np.transpose(of_task)) for of_task in pairs.values()]
        worst = np.sort(every[:, 0])[-max(1, len(every) // 10) :].mean()
        row = [change, str(len(every)), f"{every[:, 0].mean():.3f}", f"{worst:.2f}"]
        row.append(percent(float(np.mean(every[:, 0] > 1.0))))
        if change == DEFAULT:
            rows.append([*row, "", ""])
        else:
            p = paired_p(np.concatenate(differences))
            rows.append([*row, signed(estimate_over_tasks(differences)), p_value(p)])
    return markdown_table(COLUMNS, rows)


COLUMNS = (
    "change",
    "searches",
    "mean regret",
    "worst tenth",
    "stuck",
    "it less the default (95 %)",
    "p",
)


KINDS = (("training jobs and tables", LEARNING), ("functions", FUNCTIONS))
MIXED = ("numbers alone, some whole or on log scales", NUMBERS)


def page() -> str:
    """Return the page."""
    found = regrets(read_lines(RESULTS))
    elsewhere = {run: left for run, left in found.items() if run[0] != PLAIN}
    plain = {run: left for run, left in found.items() if run[0] in (DEFAULT, PLAIN)}
    tables = "\n\n".join(
        f"## {title}, {kind}\n\n{table(searches, tasks, seeds)}"
        for title, seeds, searches, kinds in (
            ("First points tried first", FIRST_SET, found, (*KINDS, MIXED)),
            ("Other first points", OTHERS, elsewhere, KINDS),
            ("Other first points", OTHERS, plain, (MIXED,)),
        )
        for kind, tasks in kinds
    )
    return f"""\
# Changes tried against stuck searches

A tenth of the searches of training jobs get [stuck](stuck.md). Here are changes of the default, on
{len(LEARNING)} training jobs and tables of real ones and on {len(FUNCTIONS)} functions (noisy,
mixed and conditional ones too), 30 evaluations, the first five the same for all. None of the tasks
is held out. Regret, *stuck* and pairs are as on the page of stuck searches; p is not corrected.
`python -m benchmarks.peers.screening` runs what is missing, which is part of the other first points
and half of the functions; `… page` writes this page. Raw results:
[screening.jsonl](screening.jsonl).
Searches from the two sets of first points were run on two machines, pairs on one but for those of
the last table.

{tables}

**What it says.** Of a dozen changes some look good by chance. Improvement in the outcomes' units (a
prototype, which differs from the default only where a model smooths its outcomes) looked like a
gain on the first points tried first, and changes nothing on others. Taking turns with standardised
outcomes, which helps searches of [training jobs](stuck.md), costs on functions what it gains there;
so does a fourth, plain model, and warping all inputs. A search cannot tell from 30 outcomes which
kind it has before it. Nor can it from its space: a fourth, plain model looked best where all
parameters are numbers and some are whole or on log scales, as in most training jobs; from other
first points it was no better there. So the default stays.

Twenty-nine further changes were then tried with [20,000 searches](screening-wide.md), among them
hyper-parameters drawn from their posterior. What was ahead beyond chance on one set of first points
was behind on the next.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing, or write the page.")
    parser.add_argument("what", nargs="?", choices=("run", "page"), default="run")
    parser.add_argument("--changes", nargs="+", choices=list(CHANGES), default=list(CHANGES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.what == "page":
        PAGE.write_text(page(), encoding="utf-8")
        return
    done = {(r["change"], r["task"], r["seed"]) for r in read_lines(RESULTS)}
    missing = [
        (change, task, seed)
        for seed in (*FIRST_SET, *OTHERS)
        for task in (*LEARNING, *FUNCTIONS)
        for change in given.changes
        if seed in FIRST_SET or change in AGAIN
        if (change, task, seed) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
