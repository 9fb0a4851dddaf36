"""Write README.md from the results: `python -m benchmarks.faults.tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults import asks, fits, regret, scenarios
from benchmarks.faults.run import RESULTS
from benchmarks.faults.workers import HEARTBEAT
from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import paired_p
from benchmarks.kit.words import p_equation

PAGE = Path(__file__).parent / "README.md"

HEAD = f"""# Faults

Are evaluations lost when workers are killed or databases stop? Several worker processes share a study of three parameters and a budget of evaluations that take 0.1 to 0.5 s each. Meanwhile one of these things goes wrong:

* *kills*: SIGKILL to any worker every 2 s; another is started in its place.
* *outages*: the database server is stopped three times, for 20 s.
* *sleepers*: every 4 s a worker is stopped (SIGSTOP) for longer than others wait for its heartbeat.
* *full disk*: the disk of the storage is filled to its last byte three times, for 10 s.
* *clocks*: each worker has a clock of its own, which jumps every 3 s by up to an hour either way (inside the processes: the machine's clock stays as it is).
* *versions*: every second worker runs the code of commit `{scenarios.OTHER_VERSION}`, before states and random numbers were noted with suggestions.

Each worker acts as if it were on a machine of its own, so the others can tell only by its heartbeat that it is dead (every {HEARTBEAT} s, given up after {3 * HEARTBEAT} s). A
ledger beside the study holds a line for each evaluation that has ended, with the interval that was shown before it. *lost*: in the ledger, but not in the study. If a worker is killed after the end of an evaluation and before it stores the result, a loss cannot be avoided: the setting is evaluated again. *twice*: the same setting stored twice. *late*: outcomes of trials that were given up though their worker lived, since no heartbeat came for {3 * HEARTBEAT} s: it slept, the storage was away, or
the machine had no time for it. Such an outcome is kept, and its setting may have been evaluated a second time by then, so that more may be evaluated than was planned. *stuck*: still running at the end. *crashed*: workers that ended with an error.
*shown*: intervals that a review reports, and how many of them are not those that the worker was shown.

| what goes wrong | storage | workers | budget | evaluated | kills | crashed | ended | lost | twice | late | stuck | shown, wrong | best | seconds |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

ASKS = f"""
## Many workers on one server

Workers on one PostgreSQL server, each a process, with evaluations of 4 to 8 s and a study that begins with {asks.FIRST} outcomes; {asks.SECONDS:.0f} s each, on two cores that had other work at the same time (a load of 5 to 15).
*An ask*: from the end of one evaluation to the beginning of the next, so that telling, looking for dead workers and creating a trial are part of it. The first of each worker is left out.

| workers | asks a second | an ask, median, s | 95 %, s | CPU, median, s | statements | crashed |
|---:|---:|---:|---:|---:|---:|---:|
"""

FITS = f"""
### Would it pay to share fits?

Workers of one machine fit the same model, each for itself. What one fit could hand to the others are its hyper-parameters. CPU seconds of an ask, mean of {fits.ASKS} in one process, while each of
the other workers tells an outcome between two asks; the study begins with {fits.FIRST} outcomes.

| workers | outcomes at the end | an ask, s | of it hyper-parameters, s | workers on one core, evaluations of a minute | if fits were shared |
|---:|---:|---:|---:|---:|---:|
"""

REGRET = f"""
## What 64 workers find

Searches on {len(regret.TASK_NAMES)} functions on which nothing was chosen ({", ".join(regret.TASK_NAMES)}), {regret.WORKERS} evaluations at a time, {regret.EVALUATIONS} in all,
the first {regret.WORKERS} the same for all. Workers are simulated: an evaluation takes about a minute of a simulated clock, and an ask as many of its seconds as it takes of CPU.
Regrets are geometric means over searches, in brackets those of calibrant in the same searches as the rival; the last column counts the searches in which calibrant ends with the lower regret (paired Wilcoxon test of log regrets).

| | searches | after 128 evaluations | after 192 | after 150 s | after 200 s | CPU of an ask, s | calibrant is better |
|---|---:|---:|---:|---:|---:|---:|---|
"""

TAIL = """
Each row is a single run: it shows what happened once, and no rate. Earlier runs are not shown. In a first one with kills on gRPC three workers gave up
waiting for a proxy that was still starting, after which the run waits for it. The first run with a full disk on the journal left half a line in the file, and nobody could open the study any more: now the next
writer cuts such a line off. Rows of 100 trials, of earlier code, have been replaced.

Not shown here: machines that are really apart.

## Again

```
make faults
```

runs what is missing. PostgreSQL is a private server that the run starts itself; the gRPC proxy has an SQLite file behind it, opened with `calibrant.open_storage`. Disks that fill or cannot be written to need root. What cannot be run is left out, and said so.
"""


def main() -> None:
    found = list(read_lines(RESULTS))
    lines = [_line(row) for row in found if row["scenario"] != "read-only"]
    refused = [_refused(row) for row in found if row["scenario"] == "read-only"]
    timed = list(read_lines(asks.RESULTS))
    asked = [
        f"| {row['workers']} | {row['per_second']:.1f} | {row['latency'][0]:.2f} "
        f"| {row['latency'][1]:.2f} | {row['cpu']:.3f} | {row['statements']:.0f} | {row['crashed']} |"
        for row in timed
    ]
    parts = [HEAD, *(f"{line}\n" for line in lines), _verdict(found), *refused]
    parts += [ASKS, *(f"{line}\n" for line in asked), _flat(timed)]
    parts += [FITS, *_shared(list(read_lines(fits.RESULTS)))]
    parts += [REGRET, *_regrets(list(read_lines(regret.RESULTS)))]
    PAGE.write_text("".join(parts) + TAIL, encoding="utf-8")
    print(PAGE)


def _line(row: dict[str, Any]) -> str:
    return (
        f"| {row['scenario']} | {row['storage']} | {row['workers']} | {row['trials']} | {_evaluated(row)} "
        f"| {row.get('killed', 0)} | {row.get('crashed', 0)} | {row['ended']} | {row['lost']} | {row['twice']} "
        f"| {row['late']} | {row['stuck']} | {row['reported']}, {row['misreported']} "
        f"| {row['best']:.1e} | {row['seconds']:.0f} |"
    )


def _evaluated(row: dict[str, Any]) -> str:
    failed = row["evaluated"] - row["complete"]
    return f"{row['evaluated']} ({failed} failed)" if failed else str(row["evaluated"])


def _verdict(found: list[dict[str, Any]]) -> str:
    """Return what the rows come to, goals that are missed included."""
    rows = [row for row in found if row["scenario"] != "read-only"]
    every = {
        name: sum(row.get(name, 0) for row in rows)
        for name in ("crashed", "stuck", "invented", "misreported", "twice", "late")
    }
    again = [row for row in rows if row["twice"]]
    goal = "is reached" if not again else f"is **missed** in {len(again)} of {len(rows)} rows"
    explained = all(row["twice"] <= row["late"] for row in rows)
    cause = ", nowhere more often than outcomes came late" if again and explained else ""
    worst = {
        kind: max(row["best"] for row in rows if row["scenario"] == kind)
        for kind in ("none", "kills")
    }
    of: dict[str, list[str]] = {}
    for row in rows:
        of.setdefault(row["commit"], []).append(f"{row['scenario']} on {row['storage']}")
    made_by = "; ".join(f"`{made}`: {', '.join(those)}" for made, those in of.items())
    return (
        f"\nIn all rows together {every['crashed']} workers crashed, {every['stuck']} trials are stuck, "
        f"{every['invented']} outcomes were made up, and {every['misreported']} intervals misreported. "
        f"The minimum is 0: with kills every search ends within {worst['kills']:.0e} of it, without within {worst['none']:.0e}. "
        f"That no setting is stored twice {goal}{cause}. A worker that is slow cannot be told from one that is dead, on "
        "another machine; so what is promised is that no two workers are given the same setting, and that none is "
        "evaluated twice unless a worker gave no sign of life for three heartbeats and evaluated all the same. Then both outcomes "
        f"are kept. Heartbeats {HEARTBEAT} s apart are for this benchmark, on cores with several times as much other "
        "work as they can do; by default they are a minute. *failed*: settings with which four workers in a row "
        f"were killed, and which are not tried again. Rows by the commit that made them: {made_by}.\n"
    )


def _flat(timed: list[dict[str, Any]]) -> str:
    """Return whether asks take as long with many workers as with one."""
    few, many = timed[0], timed[-1]
    times = many["latency"][0] / few["latency"][0]
    goal = "is reached" if times < 2.0 else "is **missed**"
    busy = many["per_second"] * many["cpu"]
    return (
        f"\nThe goal, asks that take as long with many workers as with one, {goal}: {times:.0f} times as "
        f"long with {many['workers']} as with {few['workers']}. Statements do not grow. CPU does, {many['cpu'] / few['cpu']:.0f} "
        "times: between two of its asks a worker has the outcomes of all others to read and to learn from, and each point "
        f"under evaluation is part of the model. {many['workers']} workers, with evaluations of 6 s, would want "
        f"{many['workers'] / 6.0 * many['cpu']:.1f} cores for their asks, and the server its own; here they got {busy:.1f}, and "
        "the rest of the latency is waiting for a core.\n"
    )


def _shared(found: list[dict[str, Any]]) -> list[str]:
    """Return what sharing fits could save."""
    lines = [
        f"| {row['workers']} | {row['outcomes']} | {row['ask']:.3f} | {row['fit']:.3f} "
        f"| {60.0 / row['ask']:.0f} | {60.0 / (row['ask'] - row['fit']):.0f} |\n"
        for row in found
    ]
    most = max(row["fit"] for row in found)
    return [
        *lines,
        f"\nIt would save up to {most:.2f} s of an ask: {most / 60.0:.1%} of the time of a worker whose evaluations take a minute, and one core serves {60.0 / max(row['ask'] for row in found):.0f} such workers or more as it is. "
        "It would pay only where evaluations of seconds share few cores; and what a worker suggests would depend on when another one had last fitted. So fits are not shared.\n",
    ]


def _regrets(found: list[dict[str, Any]]) -> list[str]:
    """Return the table of searches with 64 workers, of those that all have made."""
    by = {(row["system"], row["task"], row["seed"]): row for row in found}
    pairs = sorted({key[1:] for key in by})
    lines = []
    for system in regret.NAMES:
        ours = [
            by["calibrant", *pair]
            for pair in pairs
            if (system, *pair) in by and ("calibrant", *pair) in by
        ]
        theirs = [
            by[system, *pair]
            for pair in pairs
            if (system, *pair) in by and ("calibrant", *pair) in by
        ]
        if not theirs:
            lines.append(f"| {system} | not run | | | | | | |\n")
            continue
        cells = []
        for read in (_after(128), _after(192), _at(150.0), _at(200.0)):
            mean, own = (
                np.exp(np.mean([np.log(read(r)) for r in rows])) for rows in (theirs, ours)
            )
            cells.append(f"{mean:.3g}" if system == "calibrant" else f"{mean:.3g} ({own:.3g})")
        logs = [np.log([_after(192)(row) for row in rows]) for rows in (ours, theirs)]
        wins = int(np.sum(logs[0] < logs[1]))
        versus = (
            ""
            if system == "calibrant"
            else f"{wins} of {len(theirs)}, {p_equation(paired_p(*logs))}"
        )
        ask = float(np.median([row["ask"] for row in theirs]))
        lines.append(f"| {system} | {len(theirs)} | {' | '.join(cells)} | {ask:.3f} | {versus} |\n")
    planned = len(regret.NAMES) * len(regret.TASK_NAMES) * regret.REPETITIONS
    if len(by) < planned:
        missing = f"{len(by)} of the {planned} searches of the plan have been made"
        lines.append(f"\n{missing}; `make faults` makes the others.\n")
    return lines


def _after(count: int) -> Any:
    return lambda row: max(row["regret"][count - 1], 1e-12)


def _at(seconds: float) -> Any:
    return lambda row: max(
        row["regret"][max(0, int(np.searchsorted(row["ends"], seconds, "right")) - 1)], 1e-12
    )


def _refused(row: dict[str, Any]) -> str:
    said = " ".join(f"`{line}`" for line in row["said"])
    return (
        f"\nIn a folder that cannot be written to, {row['refused']} of {row['workers']} workers ended at "
        f"once ({row['storage']}): {said}\n"
    )


if __name__ == "__main__":
    main()
