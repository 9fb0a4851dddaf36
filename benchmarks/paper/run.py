"""Run searches on all cores, keep each as it ends, and resume where an earlier run stopped.

    python -m benchmarks.paper.run FOLDER EXPERIMENT … --jobs 16 --repetitions 30

does the same without the command line's libraries, on a machine that has only numpy and scipy.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.kit.running import run_all
from benchmarks.paper.experiments import EXPERIMENTS, repetitions
from benchmarks.paper.records import Records, Repetition
from benchmarks.paper.search import search
from benchmarks.paper.setups import RECALIBRATORS
from benchmarks.paper.tasks import prepare


def run_missing(
    records: Records,
    wanted: Sequence[Repetition],
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Run the repetitions that are not in the records yet.

    Args:
        records: what is known, and where results are kept.
        wanted: the repetitions.
        jobs: how many run at a time, each in a process of its own.
        progress: called with the numbers of repetitions known and wanted.
    """
    wanted = list(dict.fromkeys(wanted))
    missing = records.missing(wanted)
    known = len(wanted) - len(missing)
    progress(known, len(wanted))
    for error in missing_data({one.setup.task for one in missing}).values():
        raise error
    run_all(search, missing, records.add, jobs, lambda done: progress(known + done, len(wanted)))


def missing_data(names: Iterable[str]) -> dict[str, Exception]:
    """Return the tasks that lack their data or a library, and what each says about it."""
    lacking: dict[str, Exception] = {}
    for name in sorted(names):
        try:
            prepare(name)
        except (ImportError, FileNotFoundError) as error:
            lacking[name] = error
    return lacking


def main() -> None:
    """Run from a shell, without the libraries of the command line."""
    parser = argparse.ArgumentParser(description="Run searches of the paper's experiments.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("experiments", nargs="+", choices=list(EXPERIMENTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repetitions", type=int, default=None)
    parser.add_argument(
        "--without", nargs="*", default=[], choices=list(RECALIBRATORS), metavar="RECALIBRATOR",
        help="recalibrators whose searches are left for later",
    )  # fmt: skip
    given = parser.parse_args()
    wanted = [one for name in given.experiments for one in repetitions(name, given.repetitions)]
    wanted = [one for one in wanted if one.setup.recalibrator not in given.without]
    wanted.sort(key=lambda one: one.seed)  # all experiments grow together
    run_missing(Records(given.folder), wanted, given.jobs)


if __name__ == "__main__":
    main()
