"""Who meets whom: the rivals, where each lives, and the plan of what is run.

A rival's library sits in an environment of its own (``environments/NAME.txt``, created by
``make peers-environments``) and is driven by an adapter that runs there.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.suite import HELD_OUT, SUBSET, SUITE

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".venv-peers"


class Rival(NamedTuple):
    """A system with its own default settings."""

    environment: str
    adapter: str
    fast: bool  # meets the whole suite

    @property
    def python(self) -> Path:
        return ENVIRONMENTS / self.environment / "bin" / "python"

    @property
    def script(self) -> Path:
        return HERE / "adapters" / self.adapter

    def about(self, name: str) -> str:
        """Return what the adapter's class of this name in `serve` says of itself."""
        tree = ast.parse(self.script.read_text(encoding="utf-8"))
        served = next(
            node.args[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "serve"
        )
        assert isinstance(served, ast.Dict)
        classes = [ast.unparse(value) for value in served.values]
        names = dict(zip(map(ast.literal_eval, filter(None, served.keys)), classes, strict=True))
        told = {c.name: ast.get_docstring(c) for c in tree.body if isinstance(c, ast.ClassDef)}
        return " ".join((told[names[name]] or "").split())


RIVALS = {
    "random": Rival("own", "own.py", fast=True),
    "calibrant": Rival("own", "own.py", fast=True),
    # What calibration does to a search is benchmarks/calibrated.
    "calibrant-raw": Rival("own", "own.py", fast=False),
    "sobol": Rival("own", "own.py", fast=True),
    "optuna-tpe": Rival("own", "own.py", fast=True),
    "optuna-cma": Rival("own", "own.py", fast=True),
    "optuna-gp": Rival("own", "own.py", fast=True),
    "nevergrad": Rival("nevergrad", "nevergrad_adapter.py", fast=True),
    "gpyopt": Rival("gpyopt", "gpyopt_adapter.py", fast=True),
    "bayes_opt": Rival("classic", "classic_adapter.py", fast=False),
    "botorch": Rival("torch", "torch_adapter.py", fast=False),
    "hebo": Rival("hebo", "hebo_adapter.py", fast=False),
    "ax": Rival("torch", "torch_adapter.py", fast=False),
    "skopt": Rival("classic", "classic_adapter.py", fast=False),
    "smac": Rival("smac", "smac_adapter.py", fast=False),
    "smac-blackbox": Rival("smac", "smac_adapter.py", fast=False),
    "syne-tune-cqr": Rival("synetune", "synetune_adapter.py", fast=False),
    "confopt": Rival("confopt", "confopt_adapter.py", fast=False),
    "vizier": Rival("vizier", "vizier_adapter.py", fast=False),
}


class Run(NamedTuple):
    """One rival on one task, once."""

    rival: str
    task: str
    budget: int
    seed: int


class Part(NamedTuple):
    """A table of the page, and the runs that it needs.

    Args:
        title: what stands above it.
        budget: evaluations of a run.
        tasks: what is met.
        repetitions: how often; a system that has met a task less often is not in the table.
        rivals: who meets them.
        fewer: systems that are too slow for that, and how often they meet them instead: each is
            compared with calibrant on the runs that it has.
    """

    title: str
    budget: int
    tasks: tuple[str, ...]
    repetitions: int
    rivals: tuple[str, ...]
    fewer: Mapping[str, int]

    def runs(self) -> list[Run]:
        """Return the runs, so ordered that all tasks are met once before any is met twice."""
        often = {**dict.fromkeys(self.rivals, self.repetitions), **self.fewer}
        return [
            Run(rival, task, self.budget, seed)
            for rival, count in often.items()
            for seed in range(count)
            for task in self.tasks
        ]


_FAST = tuple(name for name, rival in RIVALS.items() if rival.fast)
_SLOW = tuple(name for name, rival in RIVALS.items() if not rival.fast and name != "vizier")
# A run of Vizier takes three minutes: it has an adapter, and no table waits for it.
# The strongest with 30 evaluations are Ax, bayes_opt, GPyOpt, HEBO, BoTorch and GPSampler; all but
# the last take minutes per run of 100: each met the tasks once to three times. TPE is what most
# people have.
_LONG = ("random", "calibrant", "optuna-tpe", "optuna-gp")
_RARELY_LONG = {"ax": 1, "hebo": 1, "bayes_opt": 1, "gpyopt": 3}
_FRESH = (
    "random",
    "calibrant",
    "calibrant-raw",
    "optuna-tpe",
    "optuna-gp",
    "optuna-cma",
    "nevergrad",
    "gpyopt",
    "skopt",
)
# Of the held-out tasks HEBO takes more than a minute a run.
_RARELY_FRESH = {"botorch": 5, "ax": 5, "hebo": 2, "bayes_opt": 5}

PARTS = (
    Part("30 evaluations, the whole suite", 30, SUITE, 20, _FAST, {}),
    Part("30 evaluations, 12 tasks, slow systems too", 30, SUBSET, 10, _SLOW, {}),
    Part("100 evaluations, the same 12 tasks", 100, SUBSET, 10, _LONG, _RARELY_LONG),
    Part("30 evaluations, 12 held-out tasks", 30, HELD_OUT, 10, _FRESH, _RARELY_FRESH),
)


def plan() -> list[Run]:
    """Return what is to be run."""
    return [run for part in PARTS for run in part.runs()]
