"""Who meets whom: the rivals, where each lives, and the plan of what is run.

A rival's library sits in an environment of its own (``environments/NAME.txt``, created by
``make peers-environments``) and is driven by an adapter that runs there.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.suite import SUBSET, TASKS

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


RIVALS = {
    "random": Rival("own", "own.py", fast=True),
    "calibrant": Rival("own", "own.py", fast=True),
    "calibrant-raw": Rival("own", "own.py", fast=True),
    "sobol": Rival("own", "own.py", fast=True),
    "optuna-tpe": Rival("own", "own.py", fast=True),
    "optuna-cma": Rival("own", "own.py", fast=True),
    "optuna-gp": Rival("own", "own.py", fast=True),
    "nevergrad": Rival("nevergrad", "nevergrad_adapter.py", fast=True),
    "gpyopt": Rival("gpyopt", "gpyopt_adapter.py", fast=True),
    "bayes_opt": Rival("classic", "classic_adapter.py", fast=True),
    "botorch": Rival("torch", "torch_adapter.py", fast=True),
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


def plan() -> list[Run]:
    """Return what is to be run, the most telling first."""
    fast = [name for name, rival in RIVALS.items() if rival.fast]
    slow = [name for name, rival in RIVALS.items() if not rival.fast]
    return [
        *(Run(r, t, 30, seed) for r in fast for seed in range(20) for t in TASKS),
        *(Run(r, t, 30, seed) for r in slow for seed in range(10) for t in SUBSET),
        *(Run(r, t, 100, seed) for r in STRONGEST for seed in range(10) for t in SUBSET),
    ]


# By mean regret after 30 evaluations; with random search, by which regret is normalised.
STRONGEST = ("random", "calibrant", "calibrant-raw", "hebo", "ax", "optuna-gp", "botorch")
