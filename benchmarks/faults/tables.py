"""Write README.md from the results: `python -m benchmarks.faults.tables`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.run import RESULTS
from benchmarks.faults.workers import HEARTBEAT
from benchmarks.kit.lines import read_lines

PAGE = Path(__file__).parent / "README.md"

HEAD = f"""# Faults

Workers, each a process, share a study of three parameters and a budget of evaluations that take 0.1 to 0.5 s each. Meanwhile something goes wrong:

* *kills*: SIGKILL to any worker every 2 s; another is started in its place.
* *outages*: the database server is stopped three times, for 20 s.
* *sleepers*: every 4 s a worker is stopped (SIGSTOP) for longer than others wait for its heartbeat.

Each worker takes itself for a machine of its own, so the others learn of its death by its heartbeat alone (every {HEARTBEAT} s, given up after {3 * HEARTBEAT} s). A
ledger beside the study holds a line for each evaluation that has ended. *lost*: in the ledger, but not in the study. Where a worker is killed between the end of an evaluation and its tell,
that is all that can be: the setting is evaluated again. *twice*: the same setting stored twice. *stuck*: still running at the end. *crashed*: workers that ended with an error. A sleeper's trial is given up, and its place given to another; when it wakes, its value is kept all the same, so that
more may be evaluated than was planned.

| what goes wrong | storage | workers | budget | evaluated | kills | crashed | ended | lost | twice | stuck | best | seconds |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

TAIL = """
Each row is a single run: it shows what happened once, and no rate. Two runs were made again and are not shown: in a first one with kills on gRPC three workers gave up
waiting for a proxy that was still starting, after which the run waits for it; and a trial run with kills on the journal, with heartbeats every second, stored one setting twice,
after which heartbeats were made two seconds apart. Runs were made at different commits, as the records say.

`make faults` runs what is missing. PostgreSQL is a private server that the run starts itself; the gRPC proxy has an SQLite file behind it, opened with `calibrant.open_storage`.
"""


def main() -> None:
    rows = [
        f"| {row['scenario']} | {row['storage']} | {row['workers']} | {row['trials']} | {row['evaluated']} "
        f"| {row.get('killed', 0)} | {row.get('crashed', 0)} | {row['ended']} | {row['lost']} | {row['twice']} "
        f"| {row['stuck']} | {row['best']:.1e} | {row['seconds']:.0f} |"
        for row in read_lines(RESULTS)
    ]
    PAGE.write_text(HEAD + "\n".join(rows) + "\n" + TAIL, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
