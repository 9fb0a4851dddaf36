"""Run searches on all cores, keep each as it ends, and go on where an earlier run stopped.

    python -m benchmarks.paper.run FOLDER EXPERIMENT … --jobs 16 --repetitions 30

does the same without the command line's libraries, on a machine that has only numpy and scipy.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from benchmarks.paper.experiments import EXPERIMENTS, repetitions
from benchmarks.paper.records import Records, Repetition, repetition_of
from benchmarks.paper.search import Record, search
from benchmarks.paper.tasks import prepare
from calibrant.core import validate

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


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
    validate.at_least("jobs", jobs, 1)
    wanted = list(dict.fromkeys(wanted))
    missing = records.missing(wanted)
    done = len(wanted) - len(missing)
    progress(done, len(wanted))
    if not missing:
        return
    for error in missing_data({one.setup.task for one in missing}).values():
        raise error
    with _one_thread_each(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures: list[Future[Record]] = [pool.submit(search, *one) for one in missing]
        try:
            for future in as_completed(futures):
                records.add(future.result())
                done += 1
                progress(done, len(wanted))
        except BaseException:  # an error, or an impatient user: start no more, keep what is done
            pool.shutdown(wait=True, cancel_futures=True)
            for future in futures:
                if future.done() and not future.cancelled() and future.exception() is None:
                    record = future.result()
                    if repetition_of(record) not in records:
                        records.add(record)
            raise


def missing_data(names: Iterable[str]) -> dict[str, Exception]:
    """Return the tasks that lack their data or a library, and what each says about it."""
    lacking: dict[str, Exception] = {}
    for name in sorted(names):
        try:
            prepare(name)
        except (ImportError, FileNotFoundError) as error:
            lacking[name] = error
    return lacking


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes started meanwhile use one thread for linear algebra: they are many already."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def main() -> None:
    """Run from a shell, without the libraries of the command line."""
    parser = argparse.ArgumentParser(description="Run searches of the paper's experiments.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("experiments", nargs="+", choices=list(EXPERIMENTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repetitions", type=int, default=None)
    given = parser.parse_args()
    wanted = [one for name in given.experiments for one in repetitions(name, given.repetitions)]
    run_missing(Records(given.folder), wanted, given.jobs)


if __name__ == "__main__":
    main()
