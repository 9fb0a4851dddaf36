"""What a section of the page is made of, and what many have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import interval, number, p_value
from benchmarks.paper import metrics
from benchmarks.paper.experiments import RAW, Block, Experiment
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


COSTS = "costs"  # the name of the section that no experiment has

_UNSEEN = ("conformal BO", "adaptive UCB")  # their forecasts are not those of the model alone


def summary(runs: Mapping[str, Runs], beside: str = RAW) -> Table:
    """Return where each method ended beside another, and how true its forecasts were."""
    head = (
        "setting", "method", "repetitions", "best value at the end", "a", f"a − {beside}'s", "p",
        "calibration score, raw → used", "p of that", "80 % intervals hold",
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
                    before_after(records, metrics.calibration, 2) if known else "",
                    _paired(records) if known else "",
                    f"{100 * mean(records, metrics.coverage):.0f} %" if known else "",
                )
            )
    return Table(head, rows)


def present(experiment: Experiment, runs: Mapping[str, Runs]) -> list[Block]:
    """Return the blocks of an experiment that have been run."""
    return [block for block in experiment.blocks if block.title in runs]


def mean(
    records: Mapping[int, Any], measure: Callable[[Any, str], float], which: str = "calibrated"
) -> float:
    """Return the mean of a measure of the forecasts that the acquisition used, or of raw ones."""
    return float(np.mean([measure(record, which) for record in records.values()]))


def before_after(
    records: Mapping[int, Any], measure: Callable[[Any, str], float], digits: int
) -> str:
    """Return the mean of a measure of raw forecasts and of those used, of the same searches."""
    before, after = (
        number(mean(records, measure, which), digits) for which in ("raw", "calibrated")
    )
    return f"{before} → {after}" if _is_calibrated(records) else before


def _paired(records: Mapping[int, Any]) -> str:
    """Return the p-value of the change of the calibration score, raw to calibrated."""
    if not _is_calibrated(records):
        return ""
    after, before = (
        [metrics.calibration(record, which) for record in records.values()]
        for which in ("calibrated", "raw")
    )
    return p_value(paired_p(after, before))


def _is_calibrated(records: Mapping[int, Any]) -> bool:
    return all("calibrated" in record["forecasts"] for record in records.values())
