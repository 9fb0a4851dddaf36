"""The page of searches in trouble: python -m benchmarks.trouble.tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kit.statistics import estimate_over_tasks, paired_p
from benchmarks.kit.words import markdown_table, signed
from benchmarks.trouble.run import REPETITIONS, SYSTEMS, TRIALS, results
from benchmarks.trouble.tasks import TASKS

Regrets = dict[str, dict[str, dict[int, float]]]  # system → task → seed → normalised regret


def main() -> None:
    found = regrets()
    groups = list(dict.fromkeys(task.group for task in TASKS.values()))
    parts = [HEAD, table(found, groups), *(against(found, rival) for rival in rivals(found))]
    parts += ["## Each task", each(found), TAIL]
    Path(__file__).with_name("README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def regrets() -> Regrets:
    """Return all regrets, in units of what random search leaves on average."""
    runs = results()
    raw: Regrets = {system: {task: {} for task in TASKS} for system in SYSTEMS}
    for (system, task, seed), run in runs.items():
        raw[system][task][seed] = np.nan if run["regret"] is None else run["regret"]
    found: Regrets = {system: {} for system in SYSTEMS}
    for task in TASKS:
        random = np.array(list(raw["random"][task].values()))
        for system in SYSTEMS:
            # Where nothing succeeded, as the worst of random search.
            found[system][task] = {
                seed: (np.nanmax(random) if np.isnan(value) else value) / np.nanmean(random)
                for seed, value in raw[system][task].items()
            }
    return found


def rivals(found: Regrets) -> list[str]:
    return [s for s in SYSTEMS if s not in ("random", "calibrant") and all(found[s].values())]


def table(found: Regrets, groups: list[str]) -> str:
    lines = [
        f"| | repetitions | mean regret | {' | '.join(groups)} | median |",
        "|---|---:|---:|" + "---:|" * (len(groups) + 1),
    ]
    for system, tasks in found.items():
        if not all(tasks.values()):
            continue
        means = {task: np.mean(list(values.values())) for task, values in tasks.items()}
        medians = [np.median(list(values.values())) for values in tasks.values()]
        of_group = [
            np.mean([mean for task, mean in means.items() if TASKS[task].group == group])
            for group in groups
        ]
        name = f"**{system}**" if system == "calibrant" else system
        cells = " | ".join(f"{value:.3f}" for value in (np.mean(list(means.values())), *of_group))
        least = min(len(values) for values in tasks.values())
        lines.append(f"| {name} | {least} | {cells} | {np.mean(medians):.3f} |")
    return "\n".join(lines)


def against(found: Regrets, rival: str) -> str:
    """Return calibrant beside a rival, on the runs that both have."""
    changes = []
    for task in TASKS:
        ours, theirs = found["calibrant"][task], found[rival][task]
        shared = sorted(ours.keys() & theirs.keys())
        changes.append(np.array([ours[seed] - theirs[seed] for seed in shared]))
    every = np.concatenate(changes)
    by_task = [
        (task, change.mean(), paired_p(change)) for task, change in zip(TASKS, changes, strict=True)
    ]
    worse = [f"{task} ({mean:+.3f}, p = {p:.2g})" for task, mean, p in by_task if mean > 0]
    return (
        f"Against {rival}: mean regret {signed(estimate_over_tasks(changes))} over repetitions, "
        f"{signed(estimate_over_tasks(changes, tasks_too=True))} over tasks and repetitions; lower in "
        f"{np.mean(every < 0):.0%} and higher in {np.mean(every > 0):.0%} of {every.size} runs "
        f"(Wilcoxon p = {paired_p(every):.2g}). "
        f"A higher mean on: {', '.join(worse) or 'no task'}."
    )


def each(found: Regrets) -> str:
    runs = results()
    systems = [system for system in SYSTEMS if all(found[system].values())]
    head = ("task", *systems, "ended early, calibrant", f"… {systems[-1]}")
    rows = []
    for task in TASKS:
        means = [np.mean(list(found[system][task].values())) for system in systems]
        cells = [f"**{m:.3f}**" if m == min(means) else f"{m:.3f}" for m in means]
        early = [
            np.mean([r["failed"] + r["pruned"] for (s, t, _), r in runs.items() if (s, t) == key])
            for key in (("calibrant", task), (systems[-1], task))
        ]
        rows.append([task, *cells, *(f"{count:.1f}" for count in early)])
    return markdown_table(head, rows)


HEAD = f"""\
# Searches in trouble

Real evaluations run out of memory, diverge, are pruned, or have more than one objective. `make trouble` runs what is missing
and rewrites this page; raw results, one JSON line a run: [results](results).

{len(TASKS)} tasks, {TRIALS} trials, up to {REPETITIONS} repetitions, for calibrant and Optuna's own samplers with their default settings. All have the same five first points and the same random
numbers in the objective. *By accident*: trials fail whatever their parameters are. *In some places*: they
fail, always, in a part of the space. *Penalties*: a loss of 1e6 and the like, there. *Pruned*: reports approach the outcome, the
first ones with noise. *Several objectives*: dominated hypervolume. Regret is 0 at the best possible value and 1 at what random search reaches on average, with the
same trouble. calibrant's handling of these cases was developed on most of these functions, with other first points."""

TAIL = "*Ended early*: trials of a run that failed or were pruned, of 40. Lowest mean in bold."


if __name__ == "__main__":
    main()
