"""Run what is missing of the faults: `python -m benchmarks.faults.run`, or `make faults`.

Results are JSON lines, one per run. What cannot be run here is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import optuna

import calibrant
from benchmarks.faults import scenarios
from benchmarks.faults.postgres import Postgres, postgres
from benchmarks.faults.workers import NAME, refused, together
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit

RESULTS = Path(__file__).parent / "results" / "faults.jsonl"
KEYS = ("scenario", "storage", "workers", "trials")

PROXY = """
import sys, warnings
warnings.simplefilter("ignore")
from calibrant import open_storage
from optuna.storages import run_grpc_proxy_server
run_grpc_proxy_server(open_storage(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]))
"""


@contextmanager
def storage(kind: str, folder: Path) -> Iterator[tuple[str, str, Postgres | None]]:
    """Yield the URL of an empty storage with a study, another way to it, and its server if any."""
    with ExitStack() as stack:
        server = None
        if kind == "postgresql":
            server = stack.enter_context(postgres())
            url = home = server.url("faults")
        elif kind == "grpc":
            home = f"sqlite:///{folder}/study.db"
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            url = f"grpc://127.0.0.1:{port}"
        else:
            url = home = f"{kind}:///{folder}/study"
        opened = calibrant.open_storage(home)
        assert opened is not None
        optuna.create_study(storage=opened, study_name=NAME)
        engine = getattr(getattr(opened.inside, "_backend", None), "engine", None)
        if engine is not None:
            engine.dispose()  # workers are forked: they must not share its connections
        if kind == "grpc":
            proxy = subprocess.Popen([sys.executable, "-c", PROXY, home, str(port)])
            stack.callback(proxy.wait)
            stack.callback(proxy.kill)
            _wait_for(port)
        yield url, home, server


def _wait_for(port: int) -> None:
    """Wait until something listens; whoever starts a proxy does so before its workers."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return
        time.sleep(0.2)
    raise TimeoutError("The proxy does not start.")


def execute(scenario: str, kind: str, workers: int, trials: int) -> dict[str, Any]:
    """Return the accounts of one run."""
    key = dict(zip(KEYS, (scenario, kind, workers, trials), strict=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with scenarios.place(scenario, folder) as home_folder:
            found = _run(scenario, kind, workers, trials, folder, home_folder)
        if found.get("crashed"):
            print((folder / "workers.log").read_text()[-3000:], file=sys.stderr)
    return {**key, **found, "commit": commit()}


def _run(
    scenario: str, kind: str, workers: int, trials: int, folder: Path, home_folder: Path
) -> dict[str, Any]:
    with storage(kind, home_folder) as (url, home, server):
        if scenario == "read-only":
            with scenarios.read_only(home_folder):
                return refused(url, workers, folder)
        other = scenarios.other_version(folder) if scenario == "versions" else None
        faults = scenarios.faults(scenario, server, home_folder)
        clocks = scenario == "clocks"
        return together(url, home, trials, workers, faults, folder, other, clocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--only", nargs=2, metavar=("SCENARIO", "STORAGE"), help="print one run")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(execute(*given.only, given.workers, given.trials)))
        return
    done = {tuple(row[key] for key in KEYS) for row in read_lines(RESULTS)}
    for scenario, kind in scenarios.EVERY:
        if why := scenarios.missing(scenario, kind):
            print(f"left out: {scenario} on {kind}: {why}")
            continue
        if (scenario, kind, given.workers, given.trials) not in done:
            append(RESULTS, found := execute(scenario, kind, given.workers, given.trials))
            print(found)


if __name__ == "__main__":
    main()
