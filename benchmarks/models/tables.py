"""Write README.md from the results: `python -m benchmarks.models.tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import paired_p
from benchmarks.models.families import BUDGET, FAMILIES, FIRST, PROBLEMS, TASKS
from benchmarks.models.run import REPETITIONS, path
from calibrant.evaluation.metrics import calibration_score

PAGE = Path(__file__).parent / "README.md"
EARLY = 10  # evaluations

HEAD = f"""# Families of models, raw and calibrated

Every family of models that calibrant can search with, on three problems: Branin, Hartmann's function of six variables, and Branin with noise.
Five points of a Latin hypercube, then the model's choice by expected improvement, {BUDGET} evaluations in all, {REPETITIONS} repetitions; calibrated and raw start
from the same points.

- *Calibration error*: of the forecasts made before each evaluation, Σ over levels (share of outcomes at or below − level)², as the model had them
  and as they are shown to people, recalibrated online; pooled over the repetitions of raw searches, so that both are about the same forecasts.
- *CRPS*: of the same forecasts, shown : raw, geometric mean over searches; below 1, calibration made forecasts better. p: paired, over searches.
- *Regret*: mean of the best value found less the minimum, raw and with calibration inside the acquisition; better : worse counts pairs of
  searches, p is Wilcoxon's.

Calibration inside the acquisition is the default's: how wide forecasts should be, from leave-one-out scores (in closed form, from out-of-bag
trees, or by ten-fold cross-validation). The BoTorch rows are BoTorch's own loop with the same recalibrator
on `loo_cv` scores. The recalibrator acts on evidence of 10 to 1, so that some pairs of searches are the same.
It lets errors of scale between × 0.75 and × 1.25 pass. The rows of BoTorch are older: then it was from × 0.6 on; they were run on another machine
than the others, too, both searches of a pair on the same. (All 180 searches with deep ensembles and all 180 with boosted quantiles are the same with
either tolerance.)

| model | problem | calibration error, raw → shown | CRPS, shown : raw | regret, raw → calibrated | better : worse | p |
|---|---|---:|---:|---:|---:|---:|
"""


def main() -> None:
    rows, verdicts = [], []
    for family in FAMILIES:
        found = list(read_lines(path(family)))
        for problem in PROBLEMS:
            row = compare([r for r in found if r["problem"] == problem], problem)
            if row is None:
                rows.append(f"| {family} | {problem} | not run | | | | |")
                continue
            verdicts.append({**row, "name": f"{family} on {problem}"})
            rows.append(f"| {family} | {problem} | {cells(row)} |")
    PAGE.write_text(
        HEAD + "\n".join(rows) + "\n" + summary(verdicts) + early() + ensembles() + TAIL,
        encoding="utf-8",
    )
    print(PAGE)


def compare(found: list[dict[str, Any]], problem: str) -> dict[str, Any] | None:
    """Return what the searches of a family on a problem say."""
    by_kind = {
        kind: {r["seed"]: r for r in found if int(r["calibrated"]) == kind} for kind in (0, 1)
    }
    seeds = sorted(by_kind[0].keys() & by_kind[1].keys())
    if len(seeds) < REPETITIONS:
        return None
    raw = [by_kind[0][seed] for seed in seeds]
    regret = {
        kind: np.array([min(by_kind[kind][s]["values"]) for s in seeds]) - TASKS[problem].minimum
        for kind in (0, 1)
    }
    ratios = [np.log(np.mean(r["shown_crps"]) / np.mean(r["crps"])) for r in raw]
    return {
        "error": [
            calibration_score(np.concatenate([r[kind] for r in raw]))
            for kind in ("pit", "shown_pit")
        ],
        "crps": float(np.exp(np.mean(ratios))),
        "crps p": paired_p(ratios),
        "regret": [float(regret[0].mean()), float(regret[1].mean())],
        "better": int((regret[1] < regret[0]).sum()),
        "worse": int((regret[1] > regret[0]).sum()),
        "p": paired_p(regret[1], regret[0]),
    }


def cells(row: dict[str, Any]) -> str:
    return (
        f"{row['error'][0]:.3f} → {row['error'][1]:.3f} | {row['crps']:.3f} (p = {row['crps p']:.2g}) | "
        f"{row['regret'][0]:.3g} → {row['regret'][1]:.3g} | {row['better']} : {row['worse']} | {row['p']:.2g}"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    """Return what the table says, counted."""
    lower = sum(row["error"][1] < row["error"][0] for row in rows)
    times = np.median([row["error"][0] / row["error"][1] for row in rows])
    sharper = sum(row["crps"] < 1.0 and row["crps p"] < 0.05 for row in rows)
    blunter = sum(row["crps"] > 1.0 and row["crps p"] < 0.05 for row in rows)
    told = [row for row in rows if row["p"] < 0.05]
    helped = [row for row in told if row["regret"][1] < row["regret"][0]]
    hurt = [row for row in told if row not in helped]
    same = sum(row["better"] + row["worse"] == 0 for row in rows)
    return f"""
## In short

Shown forecasts have a lower calibration error than raw ones in {lower} of {len(rows)} rows, {times:.1f} times in the median. Their CRPS is
lower in {sharper} of them and higher in {blunter} (p < 0.05 each, not corrected for their number). Inside the acquisition,
calibration lowered the regret in {len(helped)} of the rows and raised it in {len(hurt)} (p < 0.05 each, not corrected){_named(hurt)}; in {same} it
changed no search, and in the others there is no telling.
"""


def early() -> str:
    """Return what is to be said of searches that have just begun, when models know least."""
    pairs = {
        (family, problem): found
        for family in FAMILIES
        for problem in PROBLEMS
        if len(found := _pairs(family, problem)) >= REPETITIONS
    }
    changed = []
    for (family, problem), found in pairs.items():
        raw, calibrated = (
            np.array([min(r["values"][:EARLY]) for r in one]) for one in zip(*found, strict=True)
        )
        if (p := paired_p(calibrated, raw)) < 0.05:
            how = "higher" if calibrated.mean() > raw.mean() else "lower"
            changed.append(f"{how} with a {family} on {problem} (p = {p:.2g})")
    botorch = [
        pair for (family, _), found in pairs.items() for pair in found if "BoTorch" in family
    ]
    other = sum(raw["values"][:EARLY] != ours["values"][:EARLY] for raw, ours in botorch)
    shares = ", ".join(
        f"{np.mean([_held(raw, EARLY - FIRST) for raw, _ in found]):.0%} on {problem}"
        for (family, problem), found in pairs.items()
        if "BoTorch" in family
    )
    return f"""
After {EARLY} evaluations, the regret with calibration differs from that without in {len(changed)} of {len(pairs)} rows (p < 0.05 each, not corrected):
{"; ".join(changed) or "none"}.
BoTorch's process is over-confident so early: of the own 80 % intervals of its first {EARLY - FIRST} forecasts {shares} held.
Calibration had changed {other} of {len(botorch)} searches with it by then.
"""


def _pairs(family: str, problem: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return searches of a family on a problem from the same points: raw, calibrated."""
    found = [r for r in read_lines(path(family)) if r["problem"] == problem]
    raw, ours = ({r["seed"]: r for r in found if r["calibrated"] == kind} for kind in (False, True))
    return [(raw[seed], ours[seed]) for seed in sorted(raw.keys() & ours.keys())]


def _held(row: dict[str, Any], count: int) -> float:
    """Return the share of the model's own 80 % intervals that held, of its first forecasts."""
    return float(np.mean(np.abs(np.array(row["pit"][:count]) - 0.5) <= 0.4))


def ensembles() -> str:
    """Return what is to be said of deep ensembles: how sure they are, and what to do about it."""
    raw = [r for r in read_lines(path("deep ensemble")) if not r["calibrated"]]
    held = np.mean(np.abs(np.concatenate([r["pit"] for r in raw]) - 0.5) <= 0.4)
    return f"""
Of the own 80 % intervals of deep ensembles {held:.0%} held, so that they are widened. That is right for
the forecasts, and here wrong for expected improvement: a model that is too sure stays near what it knows, which serves 25 evaluations of
these functions better. With a deep ensemble, search uncalibrated (`recalibrator=None`).
"""


def _named(rows: list[dict[str, Any]]) -> str:
    return ": " + ", ".join(row["name"] for row in rows) if rows else ""


TAIL = """
## Again

```
make models
```

runs what is missing in `results/` (some 80 core-minutes) and writes this page.
"""

if __name__ == "__main__":
    main()
