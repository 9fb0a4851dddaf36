"""The page of kinds of problems: python -m benchmarks.kinds.tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.kinds.cost import PATH as COSTS
from benchmarks.kinds.kinds import AT_A_TIME, FIRST, KINDS, SPREAD, Kind
from benchmarks.kinds.run import RESULTS, path
from benchmarks.kit.lines import Record, read_lines
from benchmarks.kit.statistics import estimate_over_tasks, holm, paired_p, worst_tenth
from benchmarks.kit.words import interval, markdown_table, p_equation, p_value, signed
from benchmarks.peers.adapters.worker import from_unit
from benchmarks.peers.tasks import Task
from calibrant.core.words import percent

OURS = "calibrant"
CLOSEST = 1e-10  # of the range of values in the box: stored results hold nine digits
FEWEST = 3  # searches of each task that a line needs
TENTH = 5  # those that a worst tenth needs (of so few it is the worst), and a verdict
GOAL = 0.8  # of the best rival's mean regret
SPENT, UNITS = 48, 3  # evaluations beyond the first; evaluations' times
SHOWN = ("calibrant", "optuna-gp", "optuna-tpe", "random")
Regrets = dict[str, dict[str, dict[int, float]]]  # system → task → seed → normalised regret


def regrets(kind_name: str) -> tuple[Regrets, dict[str, float]]:
    """Return regrets, 1 being what random search leaves on average, and CPU seconds by system."""
    kind = KINDS[kind_name]
    found: Regrets = {system: {task: {} for task in kind.tasks} for system in kind.systems}
    seconds: dict[str, list[float]] = {system: [] for system in kind.systems}
    rows = [row for row in read_lines(path(kind_name)) if row["task"] in kind.tasks]
    lowest = lowest_values(kind, rows)
    for row in rows:
        left = max(row["values"][-1] - lowest[row["task"]], 0.0)
        found[row["system"]][row["task"]][row["seed"]] = left
        seconds[row["system"]].append(row["seconds"] / (kind.trials - FIRST))
    units = {
        task: np.mean(list(by_seed.values()))
        for task, by_seed in found["random"].items()
        if by_seed
    }
    scaled = {
        system: {
            task: {seed: value / units[task] for seed, value in by_seed.items()}
            for task, by_seed in tasks.items()
            if task in units
        }
        for system, tasks in found.items()
    }
    return scaled, {system: float(np.mean(times)) for system, times in seconds.items() if times}


def lowest_values(kind: Kind, rows: list[Record]) -> dict[str, float]:
    """Return the lowest value of each task; where nobody can know it, the lowest that was found."""
    lowest = {name: task.minimum for name, task in kind.tasks.items()}
    for row in rows:
        if "live" in kind.tasks[row["task"]].groups:
            lowest[row["task"]] = min(lowest[row["task"]], row["values"][-1])
    return lowest


def table(kind: Kind, found: Regrets, seconds: dict[str, float], tasks: Mapping[str, Task]) -> str:
    """Return a table of systems on some tasks, each paired with calibrant."""
    rows, p_values = [], []
    for system in kind.systems:
        every = [found[system][task] for task in tasks]
        if min(map(len, every)) < FEWEST:
            continue
        values = [np.array(list(by_seed.values())) for by_seed in every]
        pairs = [np.subtract(*_pairs(found, system, task)) for task in tasks]
        cells = [
            f"**{system}**" if system == OURS else system,
            str(sum(map(len, every))),
            interval(estimate_over_tasks(values)),
            f"{np.mean([worst_tenth(one) for one in values]):.2f}",
            f"{1000.0 * seconds[system]:.0f} ms",
            "",
        ]
        if system != OURS:
            cells[-1] = signed(estimate_over_tasks(pairs))
            p_values.append(paired_p(np.concatenate(pairs)))
        rows.append(cells)
    corrected = iter(holm(p_values))
    lines = [[*cells, p_value(next(corrected)) if cells[-1] else ""] for cells in rows]
    head = ("system", "searches", "mean regret (95 %)", "worst tenth", "CPU per suggestion")
    return markdown_table((*head, "calibrant less it (95 %)", "p, Holm"), lines)


class Standing(NamedTuple):
    """How calibrant stands on held-out tasks, against each rival on the searches that both have."""

    rival: str  # whose mean regret is the lowest beside calibrant's
    ratio: float  # of mean regrets
    p: float  # of paired searches
    steadiest: str  # the rival whose worst tenth is the lowest beside calibrant's
    worst: tuple[float, float]  # tenth: calibrant's, that rival's
    missing: tuple[str, ...]  # rivals that have too few searches to tell

    @property
    def goal(self) -> str:
        """Whether calibrant is significantly ahead, by a fifth, and no worse at the worst."""
        if self.p >= 0.01 or self.ratio > GOAL or self.worst[0] > self.worst[1]:
            return "missed"
        return f"open: {', '.join(self.missing)}" if self.missing else "reached"


def standing(kind: Kind, found: Regrets) -> Standing | None:
    """Return how calibrant stands, or None where too little has been run."""
    rivals = [system for system in kind.systems if not system.startswith(OURS)]
    pairs = {rival: [_pairs(found, rival, task) for task in kind.held_out] for rival in rivals}
    searches = {rival: min((len(one[0]) for one in pairs[rival]), default=0) for rival in rivals}
    told = [rival for rival in rivals if searches[rival] >= TENTH]
    if not told:
        return None
    means, worst = (
        {rival: np.mean([[of(v) for v in one] for one in pairs[rival]], axis=0) for rival in told}
        for of in (np.mean, worst_tenth)
    )
    best, steadiest = (
        max(told, key=lambda rival: side[rival][0] / max(side[rival][1], 1e-12))
        for side in (means, worst)
    )
    return Standing(
        best,
        float(means[best][0] / means[best][1]),
        paired_p(np.concatenate([ours - theirs for ours, theirs in pairs[best]])),
        steadiest,
        (float(worst[steadiest][0]), float(worst[steadiest][1])),
        tuple(rival for rival in rivals if rival not in told),
    )


def _pairs(found: Regrets, rival: str, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrant's regrets and a rival's of those searches of a task that both have."""
    ours, theirs = found[OURS][task], found[rival][task]
    seeds = sorted(ours.keys() & theirs.keys())
    return np.array([ours[seed] for seed in seeds]), np.array([theirs[seed] for seed in seeds])


def verdict(kind: Kind, found: Regrets) -> str:
    """Say whether calibrant is first on held-out tasks, and if not, who is and by how much."""
    now = standing(kind, found)
    if now is None:
        return f"No rival has {TENTH} searches of each task yet: nothing is said of who is first."
    rivals = [
        system
        for system in kind.systems
        if not system.startswith(OURS)
        and min(len(found[system][task]) for task in kind.held_out) >= FEWEST
    ]
    behind = [
        f"{task} ({best_rival}, {ours - least:+.2f})"
        for task in kind.held_out
        for ours, least, best_rival in [_on(task, found, rivals)]
        if ours > least
    ]
    if now.p >= 0.05:
        place = "no one is shown to be first"
    else:
        place = f"calibrant is {'first' if now.ratio < 1.0 else 'not first'}"
    return (
        f"On held-out tasks {place}: calibrant's mean regret is {now.ratio:.2f} of that of the best "
        f"rival, {now.rival} ({p_equation(now.p)}; goal: at most {GOAL}). "
        f"Behind the best rival of the task on: {', '.join(behind) or 'none'}."
    )


def overview(names: Iterable[str]) -> str:
    """Return a line for each kind: how calibrant stands against the best rival of it."""
    rows = []
    for name in names:
        kind, _ = run_part(KINDS[name], name)
        now = standing(kind, regrets(name)[0])
        if now is not None:
            ours, theirs = now.worst
            worst = f"{ours:.2f} ({now.steadiest} {theirs:.2f})"
            rows.append([name, now.rival, f"{now.ratio:.2f}", p_value(now.p), worst, now.goal])
    head = ("kind", "best rival", "mean regret / its", "p", "worst tenth (lowest of a rival)")
    return markdown_table((*head, "goal"), rows)


def _on(task: str, found: Regrets, rivals: Sequence[str]) -> tuple[float, float, str]:
    means = {name: float(np.mean(list(found[name][task].values()))) for name in (*rivals, OURS)}
    best = min(rivals, key=lambda name: means[name])
    return means[OURS], means[best], best


def each(kind: Kind, found: Regrets) -> str:
    systems = [s for s in kind.systems if all(found[s][task] for task in kind.tasks)]
    rows = []
    for task in kind.tasks:
        means = [float(np.mean(list(found[system][task].values()))) for system in systems]
        cells = [f"**{m:.3f}**" if m == min(means) else f"{m:.3f}" for m in means]
        rows.append([task, *cells])
    return markdown_table(("task", *systems), rows)


def section(name: str) -> list[str]:
    """Return the paragraphs about a kind."""
    kind, without = run_part(KINDS[name], name)
    if not kind.held_out:
        return [f"## {name.capitalize()}", f"{kind.about} Not run yet."]
    found, seconds = regrets(name)
    planned = (
        f"{kind.trials:,} evaluations, {kind.running} at a time, {kind.repetitions} repetitions "
        "planned."
    )
    parts = [f"## {name.capitalize()}", f"{kind.about} {planned}"]
    for title, tasks in (("Held-out tasks", kind.held_out), ("Learning tasks", kind.learning)):
        if tasks:
            parts += [f"**{title}**", table(kind, found, seconds, tasks)]
    short = [
        f"{system} ({fewest} of {kind.repetitions})"
        for system in kind.systems
        if (fewest := min(len(found[system][task]) for task in kind.held_out)) < kind.repetitions
    ]
    if short:
        parts.append(
            f"Repetitions missing on held-out tasks, the least of one: {', '.join(short)}."
        )
    if without:
        parts.append(f"Not run by all systems yet: {', '.join(without)}.")
    parts += [verdict(kind, found), each(kind, found)]
    if name == "dimensions":
        parts += [COST, cost()]
    if name == "workers":
        parts += [AT_ONCE, at_once()]
    return [*parts, DIGITS, digits(kind, name)] if kind.digits else parts


def run_part(kind: Kind, name: str) -> tuple[Kind, list[str]]:
    """Return the kind with the tasks that random search and calibrant met, and those still to be.

    Learning tasks that nobody met are not missed: nothing was chosen on them.
    """
    met = {(row["system"], row["task"]) for row in read_lines(path(name))}
    known = {task for task in kind.tasks if {("random", task), (OURS, task)} <= met}
    learning, held_out = (
        {task: one for task, one in part.items() if task in known}
        for part in (kind.learning, kind.held_out)
    )
    rest = [task for task in kind.held_out if task not in known]
    return replace(kind, learning=learning, held_out=held_out), rest


def at_once() -> str:
    """Return regrets with more and fewer evaluations at a time: per evaluation, and per time."""
    rows = []
    unit = {task: np.mean(list(v.values())) for task, v in left("workers", SPENT)["random"].items()}
    for running, kind in AT_A_TIME.items():
        name = "workers" if kind is KINDS["workers"] else f"{running} at a time"
        for label, count in (
            (f"{FIRST + SPENT} evaluations", SPENT),
            (f"{UNITS} units of time: {FIRST + UNITS * running} evaluations", UNITS * running),
        ):
            found = left(name, count)
            means = {
                system: [
                    np.array([value / unit[task] for value in by_seed.values()])
                    for task, by_seed in tasks.items()
                ]
                for system, tasks in found.items()
                if all(tasks.values())
            }
            cells = [interval(estimate_over_tasks(means[s])) if s in means else "" for s in SHOWN]
            rows.append([str(running), label, *cells])
    return markdown_table(("at a time", "after", *SHOWN), rows)


def left(kind_name: str, count: int) -> dict[str, dict[str, dict[int, float]]]:
    """Return what is left above the minimum after so many evaluations beyond the first."""
    kind = KINDS[kind_name]
    found: dict[str, dict[str, dict[int, float]]] = {
        system: {task: {} for task in kind.held_out} for system in kind.systems
    }
    for row in read_lines(path(kind_name)):
        value = row["values"][count] - kind.held_out[row["task"]].minimum
        found[row["system"]][row["task"]][row["seed"]] = max(value, 0.0)
    return found


def digits(kind: Kind, name: str) -> str:
    """Return how close to the minimum searches come: the middle one, and the share that arrives."""
    above: dict[str, dict[str, list[float]]] = {
        s: {t: [] for t in kind.tasks} for s in kind.systems
    }
    for row in read_lines(path(name)):
        if row["task"] in kind.tasks:
            left = row["values"][-1] - kind.tasks[row["task"]].minimum
            above[row["system"]][row["task"]].append(left)
    systems = [s for s in kind.systems if all(above[s].values())]
    rows = []
    for task, one in kind.tasks.items():
        extent, cells = spread(one), []
        for system in systems:
            middle = max(float(np.median(above[system][task])), CLOSEST * extent)
            arrived = float(np.mean(np.array(above[system][task]) <= 1e-6 * extent))
            share = np.log10(middle / np.mean(above["random"][task]))
            cells.append(f"{share:.1f} ({percent(arrived)})")
        rows.append([task, *cells])
    return markdown_table(("task", *systems), rows)


def spread(task: Task) -> float:
    """Return the range of a task's values at random points."""
    units = np.random.default_rng(0).random((SPREAD, len(task.space)))
    values = [
        task.values({p["name"]: from_unit(p, u) for p, u in zip(task.space, unit, strict=True)})
        for unit in units.tolist()
    ]
    return float(np.ptp(values))


def refinement() -> str:
    """Say what the refinement of long searches was chosen on."""
    best: dict[str, dict[tuple[str, int], float]] = {"before": {}, "refining": {}}
    for row in read_lines(RESULTS / "refinement.jsonl"):
        best[row["variant"]][row["task"], row["seed"]] = row["best"]
    pairs = best["before"].keys() & best["refining"].keys()
    better = sum(best["refining"][pair] < best["before"][pair] for pair in pairs)
    worse = sum(best["refining"][pair] > best["before"][pair] for pair in pairs)
    return (
        "*How refinement was chosen*: after twenty suggestions in vain, every other one stays beside "
        "the best point. On twelve functions of the suite, 100 evaluations, with prototypes of the "
        f"step before and after, the best value was better in {better} and worse in {worse} of "
        f"{len(pairs)} pairs ([results](results/refinement.jsonl)); starting after five or ten "
        "suggestions in vain did no better, and under noise worse."
    )


def cost() -> str:
    """Return the time of asks in many dimensions."""
    rows = [
        [str(row["dimensions"]), str(row["outcomes"])]
        + [f"{row[part]:.2f} s" for part in ("appends", "refits", "first")]
        for row in read_lines(COSTS)
    ]
    return markdown_table(("dimensions", "outcomes", "an ask", "with a refit", "the first"), rows)


def main() -> None:
    own = [name for name in KINDS if not name.endswith("at a time")]  # those are lines of one table
    parts = [HEAD, SHORT, overview(own)]
    for name in own:
        parts += section(name)
    parts.append(refinement())
    Path(__file__).with_name("README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


HEAD = """\
# Kinds of problems

One exact objective, evaluated one at a time, is [benchmarks/peers](../peers/README.md). Here are noise, workers, many
dimensions, long searches and mixed spaces, beside Optuna's own samplers, Ax and SMAC with their default settings, from the
same five first points. Systems that take about a minute a search, or more, are left out: HEBO and BoTorch everywhere, Ax and
GPSampler where searches are long or have many dimensions. `make kinds` runs what is missing and rewrites this page; raw
results, one JSON line a search: [results](results).

Regret is 0 at the minimum and 1 at what random search leaves on average, with the same budget. *Worst tenth*: the mean over
tasks of the mean regret of each task's worst tenth of searches. Differences are paired by task and first points; intervals by
bootstrap over repetitions, p by Wilcoxon's test over paired searches, with Holm's correction in the tables of systems. On
learning tasks something of calibrant was chosen, or could have been: how it deals with noise, and how long searches refine.
Held-out tasks had no part in any choice. Where nobody knows the minimum, it is the lowest value that any search has found."""

SHORT = (
    "**In short**, on held-out tasks, against the rival with the lowest mean regret, on the searches "
    f"that both have. The goal: a mean regret of at most {GOAL} of the rival's, p < 0.01, and no "
    f"rival with a lower worst tenth (of {TENTH} searches a task or more)."
)

COST = (
    "*What an ask costs*: CPU seconds of the default model, on Ackley's function. Each of the three "
    "kernels is fitted again when outcomes have grown by 5 %: at 500 outcomes, three asks of 25 have "
    "a refit. In more than 20 dimensions fewer outcomes tell the hyper-parameters, so that a fit "
    "does not grow with the dimensions. The goal, every ask under a second at 100 dimensions and "
    "500 outcomes, is met between refits, and not by asks with one "
    "(`python -m benchmarks.kinds.cost`)."
)

AT_ONCE = (
    f"*More and fewer at a time*, on the same tasks: regret after {FIRST + SPENT} evaluations, at "
    f"equal cost, and after {UNITS} units of time, each as long as an evaluation. 1 is what random "
    f"search leaves after {FIRST + SPENT} evaluations."
)

DIGITS = (
    "*How close*: the logarithm to base 10 of the middle search's regret, and how many searches come "
    "closer to the minimum than a millionth of the range of values in the box."
)


if __name__ == "__main__":
    main()
