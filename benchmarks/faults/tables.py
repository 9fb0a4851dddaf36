"""Write README.md from the results: `python -m benchmarks.faults.tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.faults import asks, scenarios
from benchmarks.faults.run import RESULTS
from benchmarks.faults.workers import HEARTBEAT
from benchmarks.kit.lines import read_lines

PAGE = Path(__file__).parent / "README.md"

HEAD = f"""# Faults

Workers, each a process, share a study of three parameters and a budget of evaluations that take 0.1 to 0.5 s each. Meanwhile something goes wrong:

* *kills*: SIGKILL to any worker every 2 s; another is started in its place.
* *outages*: the database server is stopped three times, for 20 s.
* *sleepers*: every 4 s a worker is stopped (SIGSTOP) for longer than others wait for its heartbeat.
* *full disk*: the disk of the storage is filled to its last byte three times, for 10 s.
* *clocks*: each worker has a clock of its own, which jumps every 3 s by up to an hour either way (inside the processes: the machine's clock stays as it is).
* *versions*: every second worker runs the code of commit `{scenarios.OTHER_VERSION}`, before states and random numbers were noted with suggestions.

Each worker takes itself for a machine of its own, so the others learn of its death by its heartbeat alone (every {HEARTBEAT} s, given up after {3 * HEARTBEAT} s). A
ledger beside the study holds a line for each evaluation that has ended, with the interval that was shown before it. *lost*: in the ledger, but not in the study. Where a worker is killed between the end of an evaluation and its tell,
that is all that can be: the setting is evaluated again. *twice*: the same setting stored twice. *late*: outcomes of trials that were given up though their worker lived, since no heartbeat came for {3 * HEARTBEAT} s: it slept, the storage was away, or
the machine had no time for it. Such an outcome is kept, and its setting may have been evaluated a second time by then, so that more may be evaluated than was planned. *stuck*: still running at the end. *crashed*: workers that ended with an error.
*shown*: intervals that a review reports, and how many of them are not those that the worker was shown.

| what goes wrong | storage | workers | budget | evaluated | kills | crashed | ended | lost | twice | late | stuck | shown, wrong | best | seconds |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

ASKS = f"""
## Many workers on one server

Workers on one PostgreSQL server, each a process, with evaluations of 4 to 8 s and a study that begins with {asks.FIRST} outcomes; {asks.SECONDS:.0f} s each, on two cores that had other work at the same time.
*An ask*: from the end of one evaluation to the beginning of the next, so that telling, looking for dead workers and creating a trial are part of it. The first of each worker is left out.

| workers | asks a second | an ask, median, s | 95 %, s | CPU, median, s | statements | crashed |
|---:|---:|---:|---:|---:|---:|---:|
"""

TAIL = """
Each row is a single run: it shows what happened once, and no rate. Earlier runs are not shown. In a first one with kills on gRPC three workers gave up
waiting for a proxy that was still starting, after which the run waits for it. The first run with a full disk on the journal left half a line in the file, and nobody could open the study any more: now the next
writer cuts such a line off. Rows of 100 trials, of earlier code, have been replaced.

Not shown here: regret with 64 workers against other samplers; machines that are really apart.

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
    cause = ", each time after a heartbeat that lapsed" if again and explained else ""
    return (
        f"\nIn all rows together {every['crashed']} workers crashed, {every['stuck']} trials are stuck, "
        f"{every['invented']} outcomes were made up, and {every['misreported']} intervals misreported. "
        f"That no setting is stored twice {goal}{cause}; heartbeats {HEARTBEAT} s apart are for this "
        "benchmark, by default they are a minute. *failed*: settings with which four workers in a row "
        "were killed, and which are not tried again.\n"
    )


def _flat(timed: list[dict[str, Any]]) -> str:
    """Return whether asks take as long with many workers as with one."""
    few, many = timed[0], timed[-1]
    times = many["latency"][0] / few["latency"][0]
    goal = "is reached" if times < 2.0 else "is **missed**"
    busy = many["per_second"] * many["cpu"]
    return (
        f"\nThe goal, asks that take as long with many workers as with one, {goal}: {times:.0f} times as "
        f"long with {many['workers']} as with {few['workers']}. Statements hardly grow. CPU does, as each "
        f"point under evaluation is part of the model; {many['workers']} workers kept "
        f"{busy:.1f} cores busy with asks alone, and waited for their turn beside the other work.\n"
    )


def _refused(row: dict[str, Any]) -> str:
    said = " ".join(f"`{line}`" for line in row["said"])
    return (
        f"\nIn a folder that cannot be written to, {row['refused']} of {row['workers']} workers ended at "
        f"once ({row['storage']}): {said}\n"
    )


if __name__ == "__main__":
    main()
