"""Write README.md from the results: `python -m benchmarks.peers.tables`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.peers.run import FIRST, load
from benchmarks.peers.suite import TASKS
from calibrant.paper.metrics import estimate, paired_p

README = Path(__file__).parent / "README.md"
YARDSTICK = "random"


def main() -> None:
    best = curves()
    budgets = sorted({budget for _, _, budget in best})
    parts = [HEAD]
    for budget in budgets:
        parts += [f"## {budget} evaluations", summary(best, budget), per_task(best, budget)]
    README.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(README)


def curves() -> dict[tuple[str, str, int], dict[int, np.ndarray]]:
    """Return normalised regret by evaluation: (rival, task, budget) → seed → curve.

    0 is the minimum; 1 is what random search has reached on average at the end of the budget.
    """
    raw: dict[tuple[str, str, int], dict[int, np.ndarray]] = defaultdict(dict)
    for result in load():
        if result["error"] is None:
            key = (result["rival"], result["task"], result["budget"])
            raw[key][result["seed"]] = np.minimum.accumulate(result["values"])
    found = {}
    for (rival, task, budget), seeds in raw.items():
        yardstick = raw.get((YARDSTICK, task, budget))
        if yardstick:
            minimum = TASKS[task].minimum
            scale = np.mean([curve[-1] for curve in yardstick.values()]) - minimum
            found[rival, task, budget] = {s: (c - minimum) / scale for s, c in seeds.items()}
    return found


def summary(best: dict, budget: int) -> str:
    rivals = sorted({rival for rival, _, b in best if b == budget})
    tasks = [t for t in TASKS if all((rival, t, budget) in best for rival in rivals)]
    final = {r: [mean_end(best[r, t, budget]) for t in tasks] for r in rivals}
    areas = {r: [mean_area(best[r, t, budget]) for t in tasks] for r in rivals}
    ranks = np.mean(
        [np.argsort(np.argsort([final[r][i] for r in rivals])) for i in range(len(tasks))], axis=0
    )
    groups = {
        "all": tasks,
        "noisy": [t for t in tasks if TASKS[t].noise],
        "moved": [t for t in tasks if "shifted" in t],
        "10 dimensions and more": [t for t in tasks if TASKS[t].problem.dim >= 10],
    }
    seconds = cpu_seconds()
    head = ["", "mean rank", "mean area", *groups, "CPU ms an ask"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for i in np.argsort([np.mean(final[r]) for r in rivals]):
        rival = rivals[i]
        cells = [
            f"{np.mean([final[rival][tasks.index(t)] for t in group]):.3f}"
            for group in groups.values()
        ]
        lines.append(
            f"| {rival} | {ranks[i] + 1:.2f} | {np.mean(areas[rival]):.3f} | "
            + " | ".join(cells)
            + f" | {1000 * seconds[rival, budget]:.1f} |"
        )
    counts = min(len(best[r, t, budget]) for r in rivals for t in tasks)
    note = f"{len(tasks)} tasks, at least {counts} repetitions of each. The columns after the area are mean normalised regrets at the end."
    return "\n".join([note, "", *lines, "", against(best, budget, tasks)])


def against(best: dict, budget: int, tasks: list[str]) -> str:
    """Return calibrated beside uncalibrated calibrant, run by run."""
    ours, raw = [], []
    for task in tasks:
        a, b = (
            best.get(("calibrant", task, budget), {}),
            best.get(("calibrant-raw", task, budget), {}),
        )
        for seed in sorted(a.keys() & b.keys()):
            ours.append(a[seed][FIRST:].mean())
            raw.append(b[seed][FIRST:].mean())
    if not ours:
        return ""
    change = np.array(ours) - np.array(raw)
    low = estimate(change)
    return (
        f"Calibrated less uncalibrated calibrant, {change.size} paired runs: smaller area in "
        f"{np.mean(change < 0):.0%}, larger in {np.mean(change > 0):.0%}; mean {low.mean:+.4f} "
        f"({low.low:+.4f} to {low.high:+.4f}), p = {paired_p(ours, raw):.3g}."
    )


def per_task(best: dict, budget: int) -> str:
    rivals = sorted({rival for rival, _, b in best if b == budget})
    lines = ["| task | " + " | ".join(rivals) + " |", "|---|" + "---:|" * len(rivals)]
    for task in TASKS:
        found = [best.get((rival, task, budget)) for rival in rivals]
        if any(found):
            ends = [mean_end(f) if f else np.nan for f in found]
            lowest = np.nanmin(ends)
            cells = [
                "" if np.isnan(e) else f"**{e:.3f}**" if e == lowest else f"{e:.3f}" for e in ends
            ]
            lines.append(f"| {task} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mean_end(seeds: dict[int, np.ndarray]) -> float:
    return float(np.mean([curve[-1] for curve in seeds.values()]))


def mean_area(seeds: dict[int, np.ndarray]) -> float:
    return float(np.mean([curve[FIRST:].mean() for curve in seeds.values()]))


def cpu_seconds() -> dict[tuple[str, int], float]:
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for result in load():
        times[result["rival"], result["budget"]] += result["seconds"]
    return {key: float(np.mean(values)) for key, values in times.items()}


HEAD = """\
# calibrant beside its peers

Regenerate: `make peers` runs what is missing and rewrites this page. Raw results: [results](results).

**A first slice.** calibrant, Optuna's samplers, random and Sobol points on 41 functions with known minima. Still to come:
other libraries, mixed and conditional spaces, real tables, budget 100; no default has been chosen by this table yet.

All rivals have their own default settings and are told the same five first points (a Latin hypercube). Normalised
regret: 0 is the minimum, 1 what random search reaches on average with the same budget."""


if __name__ == "__main__":
    main()
