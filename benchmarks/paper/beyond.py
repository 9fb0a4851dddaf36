"""Sections beyond the paper's tables and figures: its theorem, and where calibration helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import interval, number, p_value
from benchmarks.paper import metrics, theorem
from benchmarks.paper.experiments import CALIBRATED, RAW, Experiment
from benchmarks.paper.metrics import compare
from benchmarks.paper.records import Runs
from benchmarks.paper.section import Section, Table, mean, present, summary
from benchmarks.paper.texts import text_of


def write_theorem(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    """Write about Theorem 1."""
    head = (
        "forecasts of", "", "steps", *(f"r = {ratio:.3g}" for ratio in theorem.RATIOS),
        "largest error of coverage", "infinite expectation",
    )  # fmt: skip
    rows = [("", "1/r", "", *(number(1.0 / ratio) for ratio in theorem.RATIOS), "", "")]
    searches = {
        title: [part[RAW][seed] for seed in sorted(part[RAW])] for title, part in runs.items()
    }
    kinds = {
        "streams": theorem.streams(),
        "kinds of search": [theorem.searched(*search) for search in searches.items()],
        "kinds of search, by their regret,": [
            theorem.searched(f"{title}: regret", records, regret=True)
            for title, records in searches.items()
        ],
    }
    said, kept, unbounded, breaking = [], True, [], []
    for kind, found in kinds.items():
        broken = {"raw": 0, "calibrated": 0}
        for stream in found:
            seen = theorem.shares(stream)
            if kind != "streams":
                unbounded.append(seen.unbounded)
                breaking += [stream.name] if np.any(seen.raw > seen.allowed) else []
            for which, share, error in zip(
                broken, (seen.raw, seen.calibrated), seen.calibration, strict=True
            ):
                cells = [
                    f"**{number(one)}**" if one > most else number(one)
                    for one, most in zip(share, seen.allowed, strict=True)
                ]
                never = "" if which == "raw" else number(seen.unbounded, 2)
                rows.append((stream.name, which, str(stream.y.size), *cells, number(error), never))
                broken[which] += int(np.any(share > seen.allowed))
            steps = round((1.0 - seen.unbounded) * stream.y.size)
            cells = [number(one) if steps else "" for one in seen.finite]
            rows.append((stream.name, "calibrated, finite only", str(steps), *cells, "", ""))
        kept &= broken["calibrated"] == 0
        said.append(
            f"of {len(found)} {kind} {broken['raw']} break the bound before calibration and "
            f"{broken['calibrated']} after"
        )
    word = "Reproduced, but it says little about searches" if kept else "Not reproduced"
    conclusion = f"**{word}**: {'; '.join(said)}."
    if unbounded:
        few, many = (f"{100 * share:.0f}" for share in (min(unbounded), max(unbounded)))
        conclusion += (
            f" In searches the calibrated expectation is infinite in {few} to {many} % of steps, "
            "and nothing exceeds that. Before calibration the bound is broken by: "
            f"{' · '.join(breaking) or 'none'}."
        )
    return Section(name, experiment.title, text_of(name), [Table(head, rows)], None, conclusion)


def write_where(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    """Write about where calibration helps, all problems together and each by itself."""
    head = (
        "model", "acquisition", "method", "repetitions", "better in", "worse in",
        "a, uncalibrated → with it", "difference", "p", "calibration score, raw → used",
        "80 % hold, raw → used",
    )  # fmt: skip
    groups: dict[tuple[str, str, str], list[tuple[Runs, str]]] = {}
    for block in present(experiment, runs):
        setup, part = block.rows[RAW], runs[block.title]
        for label in part:
            if label != RAW:
                key = (setup.model, setup.acquisition.upper(), label)
                groups.setdefault(key, []).append((part, label))
    rows = []
    for (model, acquisition, label), parts in groups.items():
        seen = [compare(part[label], part[RAW]) for part, _ in parts]
        areas = [
            (metrics.area(part[label][seed]), metrics.area(part[RAW][seed]))
            for part, _ in parts
            for seed in sorted(part[label].keys() & part[RAW].keys())
        ]
        ours, theirs = np.array(areas).T
        before, after, held_before, held_after = (  # of the same forecasts: pairs
            float(np.mean([mean(part[label], measure, which) for part, _ in parts]))
            for measure in (metrics.calibration, metrics.coverage)
            for which in ("raw", "calibrated")
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
                p_value(paired_p(ours, theirs)),
                f"{number(before, 2)} → {number(after, 2)}",
                f"{100 * held_before:.0f} % → {100 * held_after:.0f} %",
            )
        )
    tables = [Table(head, rows, "All problems together"), _by_budget(experiment, runs)]
    learned = _learned(runs)
    if learned.rows:
        tables.append(learned)
    tables.append(summary(runs))
    return Section(name, experiment.title, text_of(name), tables)


_BUDGETS = (5, 10, 15, 25)


def _by_budget(experiment: Experiment, runs: dict[str, Runs]) -> Table:
    """Return how the gain depends on the problem and on the number of steps, models together."""
    ahead: dict[tuple[str, str], list[Any]] = {}
    for block in present(experiment, runs):
        part = runs[block.title]
        problem, acquisition = block.task, block.rows[RAW].acquisition.upper()
        for seed in sorted(part[RAW].keys() & part[CALIBRATED].keys()):
            raw, calibrated = part[RAW][seed], part[CALIBRATED][seed]
            change = metrics.curve(calibrated) - metrics.curve(raw)
            change = change / max(metrics.curve(raw)[0] - raw["minimum"], 1e-12)
            ahead.setdefault((acquisition, "all"), []).append(change[1:])
            ahead.setdefault((acquisition, problem), []).append(change[1:])
    rows = []
    for (acquisition, problem), changes in sorted(ahead.items(), key=lambda item: item[0][0]):
        areas = [np.array([change[:budget].mean() for change in changes]) for budget in _BUDGETS]
        better = f"{np.mean(areas[-1] < 0):.2f} / {np.mean(areas[-1] > 0):.2f}"
        cells = [f"{number(float(area.mean()), 4)}, p {p_value(paired_p(area))}" for area in areas]
        rows.append((acquisition, problem, str(len(changes)), better, *cells))
    head = ("acquisition", "problem", "repetitions", "smaller / larger area")
    budgets = tuple(f"after {budget} steps" for budget in _BUDGETS)
    return Table(
        (*head, *budgets), rows, "Calibrated less uncalibrated area, by problem and budget"
    )


def _learned(runs: dict[str, Runs]) -> Table:
    """Return what calibration had learned by some steps."""
    rows = []
    for title, part in runs.items():
        found = [
            r for r in part[CALIBRATED].values() if "shift" in r["forecasts"].get("calibrated", {})
        ]
        if found:
            read = np.array([[metrics.learned(r, step) for step in _BUDGETS] for r in found])
            shift, scale = np.nanmedian(read, axis=0).T
            cells = (f"{number(a, 2)}, ×{number(b, 2)}" for a, b in zip(shift, scale, strict=True))
            rows.append((title, *cells))
    head = ("search", *(f"step {step}" for step in _BUDGETS))
    return Table(head, rows, "What calibration had learned: medians of shift (in std) and of scale")
