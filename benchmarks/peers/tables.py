"""Write README.md from the results: `python -m benchmarks.peers.tables`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.kit.statistics import estimate_over_tasks, paired_p, worst_tenth
from benchmarks.kit.words import markdown_table, signed
from benchmarks.peers import ablation, calibration, shown
from benchmarks.peers.regret import scales
from benchmarks.peers.rivals import PARTS, RIVALS, Part, Run, plan
from benchmarks.peers.run import FIRST, load
from benchmarks.peers.suite import TASKS

README = Path(__file__).parent / "README.md"
OURS = "calibrant"
UNCALIBRATED = "calibrant-raw"
GROUPS = ("functions", "moved", "noisy", "mixed", "conditional", "tables", "live", "20 dimensions")

Curves = dict[str, dict[str, dict[int, np.ndarray]]]  # rival → task → seed → normalised regret


def main() -> None:
    parts = [HEAD, *unfinished()]
    for part in PARTS:
        found = curves(part.budget)
        shared = common(found, list(RIVALS), part.tasks, part.repetitions)
        if OURS in shared.rivals:
            parts += [f"## {part.title}", summary(shared, part.budget)]
            parts += rest(found, shared, part)
    parts += [calibration.section(), shown.section(), ablation.section()]
    for budget in (30, 100):
        if OURS in (found := curves(budget)):
            parts += [f"## Each task, {budget} evaluations", per_task(found, budget)]
    parts += ["## The systems", systems()]
    README.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(README)


def unfinished() -> list[str]:
    """Return what of the plan has not been run, if anything."""
    done = {Run(r["rival"], r["task"], r["budget"], r["seed"]) for r in load()}
    planned, missing = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for run in plan():
        planned[run.rival, run.budget] += 1
        missing[run.rival, run.budget] += run not in done
    lacking = [
        f"{rival}, {budget} evaluations: {count:,} of {planned[rival, budget]:,}"
        for (rival, budget), count in missing.items()
        if count
    ]
    if not lacking:
        return []
    text = "**Not finished.** Runs that are planned and missing: " + "; ".join(lacking)
    return [
        f"{text}. A system has its place in a table once it has met each task as often as declared."
    ]


def curves(budget: int) -> Curves:
    """Return normalised regret by evaluation; a run that ended early keeps what it had reached."""
    known = scales()
    found: Curves = defaultdict(lambda: defaultdict(dict))
    for result in load():
        scale = known.get(result["task"])
        if result["budget"] == budget and result["values"] and scale:
            reached = np.minimum.accumulate(result["values"])
            whole = np.pad(reached, (0, budget - reached.size), mode="edge")
            found[result["rival"]][result["task"]][result["seed"]] = scale.regret(whole)
    return found


class Common(NamedTuple):
    """What all of some rivals have run."""

    rivals: list[str]
    tasks: list[str]
    runs: list[tuple[str, int]]  # (task, seed)
    final: np.ndarray  # (rivals, runs), regret at the end
    area: np.ndarray  # (rivals, runs), mean regret after the first points

    def by_task(
        self, values: np.ndarray, group: Callable[[str], bool] = lambda _: True
    ) -> list[np.ndarray]:
        """Return the values of the runs of each task."""
        return [values[[t == task for t, _ in self.runs]] for task in self.tasks if group(task)]

    def mean(self, values: np.ndarray, group: Callable[[str], bool] = lambda _: True) -> float:
        """Return the mean over tasks of the mean over their runs."""
        means = [v.mean() for v in self.by_task(values, group)]
        return float(np.mean(means)) if means else np.nan


def common(found: Curves, rivals: Sequence[str], tasks: Sequence[str], repetitions: int) -> Common:
    """Return the runs that all rivals share which have met each of the tasks often enough."""
    known = [
        r
        for r in rivals
        if r in found and all(len(found[r].get(t, ())) >= repetitions for t in tasks)
    ]
    runs = [
        (task, seed)
        for task in tasks
        for seed in sorted(set.intersection(*(set(found[r][task]) for r in known)) if known else ())
    ]
    pick = [[found[r][t][s] for t, s in runs] for r in known]
    final = np.array([[c[-1] for c in row] for row in pick])
    area = np.array([[c[FIRST:].mean() for c in row] for row in pick])
    return Common(known, list(tasks), runs, final, area)


def summary(found: Common, budget: int) -> str:
    ranks = np.array([rankdata(column) for column in found.final.T]).T
    seconds, failures = cpu_seconds(found, budget), failed(found, budget)
    groups = [g for g in GROUPS if any(g in TASKS[t].groups for t in found.tasks)]
    head = ["", "mean regret", "worst tenth", "mean rank", "mean area", "CPU ms an ask", *groups]
    rows = []
    order = sorted(range(len(found.rivals)), key=lambda i: found.mean(found.final[i]))
    for i in order:
        rival = found.rivals[i]
        cells = [
            f"{found.mean(found.final[i]):.3f}",
            f"{np.mean([worst_tenth(v) for v in found.by_task(found.final[i])]):.3f}",
            f"{found.mean(ranks[i]):.2f}",
            f"{found.mean(found.area[i]):.3f}",
            f"{float(f'{1000 * seconds[rival]:.3g}'):g}",
            *(
                f"{found.mean(found.final[i], lambda t, g=g: g in TASKS[t].groups):.3f}"
                for g in groups
            ),
        ]
        rows.append([f"**{rival}**" if rival == OURS else rival, *cells])
    fewest = min(sum(task == t for t, _ in found.runs) for task in found.tasks)
    note = (
        f"{len(found.tasks)} tasks, {fewest} paired repetitions of each or more. Columns on the right: mean regret "
        "of the tasks of a kind. Worst tenth: the mean over tasks of the mean regret of each task's worst tenth of runs. Ranks are among the systems of this table, run by run."
    )
    wrong = [f"{r}: {n}" for r, n in failures.items() if n and r in found.rivals]
    ended = (
        f"\n\nRuns that ended early (they keep what they had reached): {', '.join(wrong)}."
        if wrong
        else ""
    )
    told = [lead(found, ranks)]
    if UNCALIBRATED in found.rivals:
        told += ["", f"Against itself without calibration: {against(found, UNCALIBRATED)}."]
    return "\n".join([note, "", markdown_table(head, rows), "", *told]) + ended


def lead(found: Common, ranks: np.ndarray) -> str:
    """Return how far calibrant is ahead of, or behind, the best other system of the table."""
    others = [r for r in found.rivals if r not in (OURS, UNCALIBRATED)]
    second = min(others, key=lambda r: found.mean(found.final[found.rivals.index(r)]))
    i, j = found.rivals.index(OURS), found.rivals.index(second)
    rank = estimate_over_tasks(found.by_task(ranks[i] - ranks[j]))
    return (
        f"Against the best other system of this table, {second}: {against(found, second)}; mean rank "
        f"{signed(rank, 2)}."
    )


def rest(found: Curves, shared: Common, part: Part) -> list[str]:
    """Return what can be said of systems that belong in a table and have not met it often enough."""
    lines, absent = [], []
    for rival in (*part.rivals, *part.fewer):
        if rival not in shared.rivals:
            line = on_fewer_runs(found, rival, part.tasks)
            lines += [line] if line else []
            absent += [] if line else [rival]
    if absent:
        lines.append(
            f"Planned for this table, and not run on all of its tasks: {', '.join(absent)}."
        )
    return lines


def on_fewer_runs(found: Curves, rival: str, tasks: Sequence[str]) -> str | None:
    """Return how calibrant compares with a system that has met each task, but not often."""
    shared = common(found, [OURS, rival], tasks, 1)
    if rival not in shared.rivals:
        return None
    fewest = min(sum(task == t for t, _ in shared.runs) for task in tasks)
    ours, theirs = (shared.mean(row) for row in shared.final)
    return (
        f"On fewer runs ({fewest} of each task or more), {rival} has a mean regret of {theirs:.3f}, calibrant on the same "
        f"runs {ours:.3f}: {against(shared, rival)}."
    )


def against(found: Common, rival: str) -> str:
    """Return calibrant's regret less a rival's, with intervals and a paired test."""
    i, j = found.rivals.index(OURS), found.rivals.index(rival)
    difference = found.final[i] - found.final[j]
    by_task = found.by_task(difference)
    these = estimate_over_tasks(by_task)
    others = estimate_over_tasks(by_task, tasks_too=True)
    share = found.mean(found.final[i]) / found.mean(found.final[j]) - 1.0
    means = np.array([values.mean() for values in by_task])
    # One or two repetitions drawn again say nothing about how they vary.
    over_repetitions = f"{these.low:+.3f} to {these.high:+.3f} over repetitions, "
    enough = min(values.size for values in by_task) >= 3
    return (
        f"mean regret {these.mean:+.3f} ({over_repetitions if enough else ''}{others.low:+.3f} to "
        f"{others.high:+.3f} over tasks and repetitions; {share:+.0%}), lower in {np.mean(difference < 0):.0%} and higher "
        f"in {np.mean(difference > 0):.0%} of {difference.size} runs (Wilcoxon p = "
        f"{paired_p(found.final[i], found.final[j]):.2g} over runs, {paired_p(means):.2g} over task means)"
    )


def per_task(found: Curves, budget: int) -> str:
    """Return the mean regret on each task of the systems that have met it as often as planned."""
    often = {t: p.repetitions for p in PARTS if p.budget == budget for t in p.tasks}
    met = [common(found, list(RIVALS), [task], least) for task, least in often.items()]
    rivals = [r for r in RIVALS if any(r in one.rivals for one in met)]
    rows = []
    for one in met:
        if one.rivals:
            ends = dict(zip(one.rivals, np.maximum(one.final.mean(axis=1), 0.0), strict=True))
            cells = {r: f"{end:.3f}" for r, end in ends.items()}
            cells |= {r: f"**{cells[r]}**" for r in ends if ends[r] == min(ends.values())}
            told = [cells.get(r, "") for r in rivals]
            rows.append([one.tasks[0], str(len(one.runs)), *told])
    return markdown_table(("task", "runs", *rivals), rows)


def cpu_seconds(found: Common, budget: int) -> dict[str, float]:
    """Return the mean CPU seconds an ask of each system on some tasks."""
    times: dict[str, list[float]] = defaultdict(list)
    for result in load():
        if result["budget"] == budget and result["task"] in found.tasks and result["seconds"]:
            times[result["rival"]].append(result["seconds"])
    return {rival: float(np.mean(values)) for rival, values in times.items()}


def failed(found: Common, budget: int) -> dict[str, int]:
    """Return how many runs of each system on some tasks ended early."""
    return Counter(
        result["rival"]
        for result in load()
        if result["budget"] == budget and result["task"] in found.tasks and result["error"]
    )


def systems() -> str:
    """Return what each system is, in the words of its adapter."""
    rows = [
        (name, rival.about(name), f"[{rival.environment}](environments/{rival.environment}.txt)")
        for name, rival in RIVALS.items()
    ]
    return markdown_table(("", "what it is", "versions"), rows, text_columns=3)


HEAD = """\
# calibrant beside its peers

`make peers` (Python 3.11: some rivals have no wheels for later ones) creates the environments, runs what is missing and
rewrites this page; `python -m benchmarks.peers.tables` only rewrites it. Raw results, one JSON line a run: [results](results).

**How it is measured.** Every system has its own default settings but for its start, one thread, and an environment of its own
([the systems](#the-systems)). All are told the same five first points (a Latin hypercube) with their outcomes, which take the
place of any points that a system would draw before it uses its model, and choose the rest. They are judged by the lowest
*mean* outcome of the points they evaluated, also where what they were told was noisy: by what they found, not by what they
would recommend. A run may take half an hour. Systems that know no conditions see a box in which some parameters do not matter.

**Normalised regret**: 0 is the minimum, 1 what random search reaches on average with 30 evaluations ([units](units.json): of
1,000 searches, of 30 where a model is trained; with 100 evaluations it solves some tasks, and would be no measure). Area: the
mean regret over the evaluations after the first five. Intervals are of 95 %, by bootstrap: *over repetitions* they are about
these tasks, *over tasks and repetitions* about others like them. A p over runs takes the tasks as given, too.

**What meets what**: systems that need at most 0.2 CPU seconds an ask meet the whole suite 20 times; the others a fixed part
of it, declared before they were run, 10 times (Vizier, which needs three minutes a run, not at all). 100 evaluations are for that
part and the strongest systems with 30, some of which need minutes a run and meet it less often (GPyOpt 3 times, Ax, HEBO and
bayes_opt once); so on the held-out tasks (BoTorch, Ax and bayes_opt 5 times, HEBO 2). The suite was also used to choose calibrant's
defaults: kernels on its functions, the level of the model, patience and what each acquisition learns on nearly all of its
tasks, from other first points. That flatters calibrant, so that there are
**held-out tasks** too, on which nothing was chosen; but two of them are other tables of kinds that the suite has, and one tunes
boosted trees on the data of calibrant's demo.

calibrant's own searches here are of the version of today, but for most of those of one thing changed at a time: these were run
before it drew the best value where it sees noise. Its searches without calibration meet the 12 tasks and the held-out ones; what calibration does to a search is [benchmarks/calibrated](../calibrated/README.md).

How often searches of tuning jobs get stuck, and what was tried against it: [stuck searches](stuck.md)."""


if __name__ == "__main__":
    main()
