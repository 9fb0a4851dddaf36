"""Sections beyond the paper's tables and figures: its theorem, and where calibration helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.paper import metrics, theorem
from calibrant.paper.experiments import CALIBRATED, RAW, Experiment
from calibrant.paper.metrics import compare, estimate
from calibrant.paper.section import Section, Table, mean, summary
from calibrant.paper.texts import TEXTS
from calibrant.paper.words import Runs, interval, number, p_value


def write_theorem(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    """Write about Theorem 1."""
    ratios = [f"r = {ratio:g}" for ratio in metrics.RATIOS]
    head = ("forecasts of", "", *ratios)
    bound = ("", "bound 1/r", *(number(1.0 / ratio) for ratio in metrics.RATIOS))
    rows, kept = [bound], {"raw": True, "calibrated": True}
    shares: list[tuple[str, dict[str, Any]]] = [
        (stream.name, theorem.shares(stream)._asdict()) for stream in theorem.streams()
    ]
    for title, part in runs.items():
        seen = {
            which: np.mean(
                [metrics.exceedances(r, which) for r in part[CALIBRATED].values()], axis=0
            )
            for which in ("raw", "calibrated")
        }
        shares.append((f"search: {title}", seen))
    for title, seen in shares:
        for which, found in seen.items():
            rows.append((title, which, *(number(float(share)) for share in found)))
            kept[which] &= bool(np.all(found <= 1.0 / np.array(metrics.RATIOS) + 0.01))
    conclusion = (
        "**Reproduced**: calibrated forecasts keep the bound at every ratio"
        if kept["calibrated"]
        else "**Not reproduced** everywhere: calibrated forecasts break the bound by more than 0.01"
    ) + (
        "; so do raw ones: the bound is loose."
        if kept["raw"]
        else "; raw forecasts break it where they are badly over-confident or biased."
    )
    return Section(name, experiment.title, TEXTS[name], [Table(head, rows)], None, conclusion)


def write_where(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    """Write about where calibration helps, all problems together and each by itself."""
    head = (
        "model", "acquisition", "method", "repetitions", "better in", "worse in",
        "a, before → after", "difference", "p", "calibration score, before → after",
        "80 % hold, before → after",
    )  # fmt: skip
    groups: dict[tuple[str, str, str], list[tuple[Runs, str]]] = {}
    for title, part in runs.items():
        _, model, acquisition = title.split(", ")
        for label in part:
            if label != RAW:
                groups.setdefault((model, acquisition, label), []).append((part, label))
    rows = []
    for (model, acquisition, label), parts in groups.items():
        seen = [compare(part[label], part[RAW]) for part, _ in parts]
        areas = [
            (metrics.area(part[label][seed]), metrics.area(part[RAW][seed]))
            for part, _ in parts
            for seed in sorted(part[label].keys() & part[RAW].keys())
        ]
        ours, theirs = np.array(areas).T
        before, after, held_before, held_after = (
            float(np.mean([mean(part[which], measure) for part, _ in parts]))
            for measure in (metrics.calibration, metrics.coverage)
            for which in (RAW, label)
        )
        rows.append(
            (
                model,
                acquisition,
                label,
                str(ours.size),
                number(float(np.mean([one.better for one in seen])), 2),
                number(float(np.mean([one.worse for one in seen])), 2),
                f"{number(theirs.mean())} → {number(ours.mean())}",
                interval(estimate(ours - theirs), 4),
                p_value(metrics.paired_p(ours, theirs)),
                f"{number(before, 2)} → {number(after, 2)}",
                f"{100 * held_before:.0f} % → {100 * held_after:.0f} %",
            )
        )
    return Section(name, experiment.title, TEXTS[name], [Table(head, rows), summary(runs)])
