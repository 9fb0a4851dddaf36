"""Run what is missing of a benchmark on all cores, and keep each result as soon as it is there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from calibrant.core import validate

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
INTERRUPTED = "Interrupted. What is finished is kept; run the same again to resume."
CHECKOUT = Path(__file__).parents[2]
CODE = ("*.py", "*.toml", "benchmarks/*.txt")  # results and pages are modified by the run itself


def run_missing(
    work: Callable[..., Any],
    missing: Sequence[tuple[Any, ...]],
    keep: Callable[[Any], None],
    jobs: int | None = None,
    title: str = "searches",
) -> None:
    """Run as :func:`run_all` does, with a progress bar and, when interrupted, a word on resuming.

    ``jobs`` is one per core unless given; ``title`` says what the bar counts.
    """
    # Only here: :func:`run_all` is also for machines that have only numpy and scipy.
    from calibrant.cli.terminal import EXIT_INTERRUPTED, errors, progress_bar

    if jobs is None:
        jobs = os.cpu_count() or 1
    try:
        with progress_bar() as bars:
            bar = bars.add_task(title, total=len(missing))
            run_all(work, missing, keep, jobs, lambda done: bars.update(bar, completed=done))
    except KeyboardInterrupt:
        errors.print(INTERRUPTED)
        raise SystemExit(EXIT_INTERRUPTED) from None


def run_all(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    keep: Callable[[Any], None],
    jobs: int = 1,
    progress: Callable[[int], None] = lambda done: None,
    initializer: Callable[[], None] | None = None,
) -> None:
    """Run ``work(*task)`` for all tasks, each on one thread, and keep each result as it ends.

    After an error, or when a user interrupts, no more are begun, and what has ended well is kept.

    Args:
        work: what to run; a function of a module, as it goes to other processes by its name.
        tasks: the arguments of each call.
        keep: what is done with each result, in this process.
        jobs: how many run at a time, each in a process of its own.
        progress: called with the number of results kept.
        initializer: called once in each process, before its first task.
    """
    validate.at_least("jobs", jobs, 1)
    if not tasks:
        return
    # Spawned, not forked: the number of threads is read when numpy is loaded.
    context = get_context("spawn")
    with one_thread_each(), ProcessPoolExecutor(jobs, context, initializer) as pool:
        waiting, begun, kept = iter(tasks), set[Future[Any]](), 0
        try:
            while kept < len(tasks):
                # No more than there are processes: a pool runs what it was given, come what may.
                begun |= {pool.submit(work, *task) for task in islice(waiting, jobs - len(begun))}
                for future in wait(begun, return_when=FIRST_COMPLETED).done:
                    keep(future.result())
                    begun.remove(future)
                    kept += 1
                    progress(kept)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            for future in begun:
                if not future.cancelled() and future.exception() is None:
                    keep(future.result())
            raise


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started meanwhile use one thread for linear algebra: they are many already."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def commit(checkout: Path = CHECKOUT) -> str | None:
    """Return the short commit of the code that runs, for the records of a run.

    It ends with "-dirty" where code differs from that commit, and is None where there is no git.
    A copy of the code that has no history is told it by the environment, as CALIBRANT_COMMIT.
    """
    if told := os.environ.get("CALIBRANT_COMMIT"):
        return told
    try:
        head = _git(checkout, "rev-parse", "--short", "HEAD")
        changed = _git(checkout, "status", "--porcelain", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changed else head


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True).strip()
