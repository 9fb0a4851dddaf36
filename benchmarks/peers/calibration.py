"""Calibrated against uncalibrated calibrant, everything else equal: a section of the page."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kit.statistics import estimate_over_tasks, holm, paired_p, sign_test
from benchmarks.kit.words import markdown_table, signed
from benchmarks.peers import variants
from benchmarks.peers.regret import scales
from benchmarks.peers.run import FIRST
from calibrant.evaluation.metrics import calibration_score

_NAMED = 3  # tasks whose CRPS grows most

Results = dict[tuple[str, int], dict[str, Any]]  # by task and seed


def section() -> str:
    """Return the section, for each acquisition whose searches have been run."""
    rows, notes = [], []
    pairs = [*variants.PAIRS.items()]
    pairs += [(f"{name}, location and scale", pair) for name, pair in variants.SHIFTED.items()]
    for acquisition, (calibrated, raw) in pairs:
        ours, theirs = results(calibrated), results(raw)
        if ours and theirs:
            row = compare(ours, theirs)
            rows.append([acquisition, *row.cells()])
            notes.append(f"- {acquisition}: {row.note()}")
    if not rows:
        return f"{HEAD} Not run yet."
    return "\n".join([HEAD, "", markdown_table(COLUMNS, rows), "", *notes])


def results(name: str) -> Results:
    return {(r["task"], r["seed"]): r for r in variants.load(name)}


class Comparison(NamedTuple):
    """Paired searches, calibrated less uncalibrated, in units of what random search leaves."""

    change: dict[str, np.ndarray]  # task → change of area
    p: dict[str, float]  # task → after Holm's correction
    errors: tuple[float, float]  # calibration error of forecasts, shown and raw, a search of ours
    pooled: tuple[float, float]  # the same over all forecasts of a task
    crps: dict[str, np.ndarray]  # task → log ratios, shown to raw, of the same forecasts

    @property
    def all_changes(self) -> np.ndarray:
        return np.concatenate(list(self.change.values()))

    def cells(self) -> list[str]:
        change = self.all_changes
        better, worse = int((change < 0).sum()), int((change > 0).sum())
        mean = estimate_over_tasks(list(self.change.values()))
        ratios = np.concatenate(list(self.crps.values()))
        hurt = [t for t, p in self.p.items() if p < 0.05 and self.change[t].mean() > 0]
        helped = [t for t, p in self.p.items() if p < 0.05 and self.change[t].mean() < 0]
        (shown, raw), (shown_pooled, raw_pooled) = self.errors, self.pooled
        return [
            str(change.size),
            f"{better / change.size:.1%}",
            f"{worse / change.size:.1%}",
            f"{sign_test(better, worse):.2g}",
            signed(mean),
            f"{len(helped)} / {len(hurt)}",
            f"{raw:.3f} → {shown:.3f}",
            f"{raw_pooled:.3f} → {shown_pooled:.3f}",
            f"{np.exp(ratios.mean()):.3f}, {np.exp(np.median(ratios)):.3f} "
            f"(p = {paired_p(ratios):.2g})",
        ]

    def note(self) -> str:
        named = [f"{t} ({self.change[t].mean():+.3f})" for t, p in self.p.items() if p < 0.05]
        changed = f"tasks that change after Holm's correction: {', '.join(named) or 'none'}."
        by_growth = sorted(self.crps.items(), key=lambda item: -item[1].mean())
        most = [f"{task} (× {np.exp(logs.mean()):.2f})" for task, logs in by_growth[:_NAMED]]
        others = [logs for _, logs in by_growth[_NAMED:]]
        if not others:
            return changed
        without = np.exp(np.concatenate(others).mean())
        return f"{changed} CRPS grows most on {', '.join(most)}; without these × {without:.3f}."


def compare(ours: Results, theirs: Results) -> Comparison:
    """Return calibrated beside uncalibrated searches from the same first points."""
    shared = sorted(ours.keys() & theirs.keys())
    areas = [areas_and_ends(results, shared)[0] for results in (ours, theirs)]
    change: dict[str, list[float]] = defaultdict(list)
    for (task, _), difference in zip(shared, areas[0] - areas[1], strict=True):
        change[task].append(difference)
    changes = {task: np.array(values) for task, values in change.items()}
    p = dict(zip(changes, holm([paired_p(c) for c in changes.values()]), strict=True))
    ratios: dict[str, list[float]] = defaultdict(list)
    for task, seed in shared:
        shown, raw = (float(np.mean(ours[task, seed][kind])) for kind in ("shown_crps", "crps"))
        if raw > 0:
            ratios[task].append(np.log(shown / raw))
    return Comparison(
        changes,
        p,
        (_error(ours, shared, "shown_pit"), _error(ours, shared, "pit")),
        (_pooled(ours, shared, "shown_pit"), _pooled(ours, shared, "pit")),
        {task: np.array(logs) for task, logs in ratios.items()},
    )


def areas_and_ends(found: Results, keys: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised area and regret at the end of some searches."""
    scale = scales()
    curves = [
        scale[task].regret(np.minimum.accumulate(found[task, seed]["values"]))
        for task, seed in keys
    ]
    return np.array([c[FIRST:].mean() for c in curves]), np.array([c[-1] for c in curves])


def _error(results: Results, keys: list[tuple[str, int]], kind: str) -> float:
    return float(np.mean([calibration_score(results[key][kind]) for key in keys]))


def _pooled(results: Results, keys: list[tuple[str, int]], kind: str) -> float:
    by_task: dict[str, list[float]] = defaultdict(list)
    for key in keys:
        by_task[key[0]] += results[key][kind]
    return float(np.mean([calibration_score(pits) for pits in by_task.values()]))


HEAD = """\
## Calibrated against uncalibrated, everything else equal

`python -m benchmarks.peers.variants`: every task of the suite, 30 evaluations, 30 repetitions from the same first points. `patience`, which
widens the forecasts of a search that stagnates, is on in both arms: "uncalibrated" is without recalibration, not the plain model. Each
acquisition is calibrated as it is by default, in scale. (Two are planned in location and scale, too; the paper page has that for
one model.) Where calibration sees no evidence, both searches are the same. The sign test
counts searches that differ. Calibration error and CRPS of what was forecast of the points that the calibrated search evaluated, by the model alone and as
shown to people (before there was a prior of chosen points; [with it](shown-intervals.md)): pairs of the same forecasts. CRPS: mean of the
ratio's logarithm over searches, and its median."""

COLUMNS = (
    "acquisition",
    "searches",
    "smaller area",
    "larger",
    "sign test p",
    "change of area",
    "tasks better / worse (Holm)",
    "calibration error a search, raw → shown",
    "pooled over a task",
    "CRPS, shown : raw",
)
