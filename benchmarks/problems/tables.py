"""Write the page of results from the stored ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.kit.words import interval, markdown_table, number
from benchmarks.problems import earlier_page
from benchmarks.problems.costs import LEARNED, LEARNING
from benchmarks.problems.kinds import FIRST, REPETITIONS, Kind, regrets
from benchmarks.problems.run import KINDS, results

PAGE = Path(__file__).parent / "README.md"
OWN = "calibrant"

Ends = dict[str, dict[str, dict[int, float]]]  # system, task, seed -> regret at the end


def ends_of(kind: Kind) -> Ends:
    scales, found = (
        kind.scales(),
        {system: {t: {} for t in kind.scales()} for system in kind.systems},
    )
    for (system, task, seed), record in results(kind.name).items():
        found[system][task][seed] = float(regrets(record["values"], *scales[task])[-1])
    return found


def section(kind: Kind) -> str:
    found, records = ends_of(kind), results(kind.name)
    played = [system for system in kind.systems if any(found[system].values())]
    rows = []
    for system in played:
        own = [record for (name, _, _), record in records.items() if name == system]
        cells = [
            interval(estimate(list(by_seed.values()))) if by_seed else "–"
            for by_seed in found[system].values()
        ]
        broken = np.mean([record["broken"] for record in own]) if "broken" in own[0] else None
        shown = [] if broken is None else [f"{broken:.1f}"]
        fewest = min(map(len, found[system].values()))
        rows.append(
            [system, str(fewest), *cells, *shown, f"{np.mean([r['seconds'] for r in own]):.1f}"]
        )
    broken_head = ["broken"] if any("broken" in record for record in records.values()) else []
    head = ("system", "runs", *kind.scales(), *broken_head, "CPU s")
    lines = [f"## {kind.title}", kind.text, markdown_table(head, rows)]
    if broken_head:
        lines.append(
            f"*Broken*: suggestions of a run, of {kind.trials}, that break the constraint."
        )
    lines += [f"- {against(found, rival)}" for rival in played if rival != OWN and found.get(OWN)]
    return (
        "\n\n".join(lines[:4]) + "\n" + "\n".join(["", *lines[4:]])
        if broken_head
        else ("\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:]))
    )


def against(found: Ends, rival: str) -> str:
    """Return calibrant beside a rival, on the runs that both have, with the tasks that are lost."""
    changes, lost = [], []
    for task, theirs in found[rival].items():
        ours = found[OWN][task]
        change = np.array(
            [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
        )
        changes.append(change)
        if change.size and change.mean() > 0:
            lost.append(f"{task} ({change.mean():+.3f}, p = {paired_p(change):.2g})")
    every = np.concatenate(changes)
    if not every.size:
        return f"Against {rival}: no shared runs."
    return (
        f"Against {rival}: lower in {np.mean(every < -1e-9):.0%}, higher in {np.mean(every > 1e-9):.0%} "
        f"of {every.size} paired runs (Wilcoxon p = {paired_p(every):.2g}). "
        f"A higher mean on: {', '.join(lost) or 'no task'}."
    )


def learned() -> str:
    """Return what the weight of prices was chosen on."""
    found = {(r["system"], r["task"], r["seed"]): r["regret"] for r in read_lines(LEARNED)}
    rows = []
    for task in LEARNING:
        seeds = [seed for who, name, seed in found if (who, name) == ("cooled", task)]
        ours, cooled = (
            np.log([found[who, task, seed] for seed in seeds]) for who in ("calibrant", "cooled")
        )
        means = [number(float(np.exp(np.mean(logs))), 5) for logs in (ours, cooled)]
        rows.append(
            [task, *means, str(int(np.sum(ours < cooled))), str(int(np.sum(ours > cooled)))]
        )
    table = markdown_table(["task", "calibrant", "cooled", "won", "lost"], rows)
    return f"""### How the weight of prices was chosen

Improvement is divided by the price to a power. On tasks of their own (`python -m benchmarks.problems.costs`), that power was 1 to the
end (*calibrant*), or fell from 1 to 0 as the budget was spent (*cooled*; Lee et al. 2020). Cells are geometric means of regrets, in the
units of each task; *dear* has its minimum where prices are high, and *wide* prices that differ by a factor of 1,000. The difference is
no more than a hint; the simpler rule was taken.

{table}"""


def _with_more(kind: Kind) -> str:
    """Return the section of a kind, with what else the page says about it."""
    more = {"costs": learned, "earlier": earlier_page.page}.get(kind.name)
    return section(kind) if more is None else f"{section(kind)}\n\n{more()}"


def page() -> str:
    head = f"""\
# Problems as people have them

Each kind of problem beside what its users would take instead. `make problems` runs what is missing and rewrites this page; raw
results, one JSON line a run: [results](results). Every system has its default settings and the same {FIRST} first evaluations; up to
{REPETITIONS} paired repetitions, mean regret at the end of a run with its 95 % interval."""
    missing = [
        f"{system} ({kind.title.lower()})"
        for kind in KINDS.values()
        for system, by_task in ends_of(kind).items()
        if min(map(len, by_task.values())) < REPETITIONS
    ]
    tail = f"Not complete here: {', '.join(missing)}.\n" if missing else ""
    return "\n\n".join([head, *map(_with_more, KINDS.values()), tail]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
