"""What a section of the page is made of, and what many have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.kit.statistics import estimate
from benchmarks.kit.words import interval, number, p_value
from benchmarks.paper import metrics
from benchmarks.paper.experiments import CALIBRATED, RAW, Block, Experiment
from benchmarks.paper.metrics import compare
from benchmarks.paper.records import Runs


@dataclass(frozen=True)
class Table:
    """Rows of text under a heading."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """What the page says about one experiment."""

    name: str
    title: str
    text: str
    tables: list[Table] = field(default_factory=list)
    figure: Any = None  # a plotly figure
    verdict: str = ""


_UNSEEN = ("conformal BO", "adaptive UCB")  # their forecasts are not those of the model alone


def summary(runs: Mapping[str, Runs], beside: str = RAW) -> Table:
    """Return where each method ended beside another, and how true its forecasts were."""
    head = (
        "setting", "method", "repetitions", "best value at the end", "a", f"a − {beside}'s", "p",
        "calibration score", "80 % intervals hold",
    )  # fmt: skip
    rows = []
    for title, part in runs.items():
        for label, records in part.items():
            seen = compare(records, part[beside])
            found = estimate([float(metrics.curve(r)[-1]) for r in records.values()])
            known = label not in _UNSEEN
            rows.append(
                (
                    title,
                    label,
                    str(len(records)),
                    interval(found),
                    number(seen.area.mean),
                    "" if label == beside else interval(seen.difference),
                    "" if label == beside else p_value(seen.p),
                    number(mean(records, metrics.calibration), 2) if known else "",
                    f"{100 * mean(records, metrics.coverage):.0f} %" if known else "",
                )
            )
    return Table(head, rows)


def present(experiment: Experiment, runs: Mapping[str, Runs]) -> list[Block]:
    """Return the blocks of an experiment that have been run."""
    return [block for block in experiment.blocks if block.title in runs]


def count(part: Runs) -> int:
    """Return how many repetitions both the raw and the calibrated search have."""
    return min(len(part[RAW]), len(part[CALIBRATED]))


def mean(records: Mapping[int, Any], measure: Callable[[Any, str], float]) -> float:
    """Return the mean of a measure of the forecasts that the acquisition used."""
    return float(np.mean([measure(record, "calibrated") for record in records.values()]))
