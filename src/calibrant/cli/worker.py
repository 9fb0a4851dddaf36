"""``calibrant worker``: join a study from any machine; ``tune --workers`` starts several."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import optuna
import typer
from optuna.study import Study

from calibrant.cli.inputs import read_candidates, read_earlier
from calibrant.cli.live_table import live_table
from calibrant.cli.options import STUDY, Jobs, Logs
from calibrant.cli.rescue import save
from calibrant.cli.terminal import EXIT_INTERRUPTED, console, fail
from calibrant.decisions import CalibratedPruner
from calibrant.studies.budget import Budget
from calibrant.studies.domain import domain_of
from calibrant.studies.earlier import Earlier
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.runner import evaluated, quiet_optuna
from calibrant.studies.sampler import CalibratedSampler
from calibrant.studies.sharing import Plan, plan_of
from calibrant.studies.storage import StorageLost, hidden, open_storage
from calibrant.studies.structure import Parameters, structure_of
from calibrant.studies.totals import at_most
from calibrant.studies.tuning import placeholders, tune_command
from calibrant.studies.watchdog import Watchdog

_FROM_ENVIRONMENT = "-"  # in place of a storage whose password others would see
_VARIABLE = "CALIBRANT_STORAGE"
_START = 60.0  # seconds to wait for a database, or a study, that is being started at the same time
_FAREWELL = 60.0  # seconds in which a worker that is told to stop hands back its trial


def worker(
    storage: Annotated[
        str, typer.Argument(help=f"Where the study is stored; - reads {_VARIABLE} instead.")
    ],
    program: Annotated[
        list[str] | None,
        typer.Argument(
            help="After `--`: the program, if this machine needs another command for it."
        ),
    ] = None,
    study_name: Annotated[str, typer.Option(*STUDY, help="Name of the study there.")] = "calibrant",
    trials: Annotated[
        int | None,
        typer.Option(help="Total evaluations of the study; by default as it was started."),
    ] = None,
    jobs: Jobs = 1,
    logs: Logs = None,
    heartbeat: Annotated[
        int,
        typer.Option(
            help="Seconds between two heartbeats; after three times as long without one, other "
            "workers take over a trial. The same for all."
        ),
    ] = 60,
) -> None:
    """Join a study that `calibrant tune` has started, from this or any other machine.

    It ends when the study has all its evaluations. SIGTERM and Ctrl-C hand back what is running.
    """
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    url = os.environ.get(_VARIABLE, "") if storage == _FROM_ENVIRONMENT else storage
    try:
        if not url:
            raise ValueError(f"{_VARIABLE} is not set: set it, or give the storage itself.")
        study = _join(url, study_name, heartbeat)
        plan = plan_of(study)
        budget = None if plan.budget is None else Budget(plan.budget)
        listed = None
        if plan.candidates is not None:
            listed = read_candidates(Path(plan.candidates[0]), plan.candidates[1], plan.space)
        space = Parameters(plan.space, structure_of(study))
        domain = domain_of(space, plan.such_that, listed, plan.fixed)
        study.sampler = CalibratedSampler(
            search_space=space,
            min_feasible=plan.min_feasible,
            such_that=domain.constraints,
            candidates=domain.candidates,
            fixed=domain.fixed,
            budget=budget,
            earlier=_earlier(plan),
        )
        command = Command(
            program or plan.program,
            plan.json_field,
            plan.result_file,
            plan.trial_timeout,
            plan.result_regex,
            logs,
            plan.limits,
            plan.json_std_field,
            plan.cost_field,
            plan.report_regex,
        )
        if plan.prune_below is not None:
            study.pruner = CalibratedPruner(plan.prune_below)
        total = plan.n_trials if trials is None else trials
        total = at_most(total, study, domain)
        command.check(list(plan.space), 2, placeholders(listed))  # there may be others
        done = evaluated(study)
        console.print(f"Joined {study_name} in {hidden(url)}, with {done} of {total} evaluations.")
        with live_table(study, total, console, jobs, budget) as listener:
            interrupted = tune_command(
                command, domain, study, total, jobs, listener, handing_back=True, budget=budget
            )
    except StorageLost as error:
        fail(f"{error} {save(error)}")
    except (ValueError, TypeError, OSError, CommandFailed) as error:
        fail(str(error))
    if interrupted:
        console.print("Stopped; what was running is handed back.")
        raise typer.Exit(EXIT_INTERRUPTED)
    console.print(f"Done: the study has {evaluated(study)} evaluations.")


def _earlier(plan: Plan) -> list[Earlier]:
    """Return the earlier studies of a plan; a worker that cannot reach them goes without."""
    try:
        return read_earlier(plan.earlier, plan.renamed)
    except Exception as error:  # whatever their database says
        console.print(f"Without the earlier studies: {str(error).splitlines()[0]}")
        return []


def _join(url: str, study_name: str, heartbeat: int) -> Study:
    """Return a study, also if it is only just being started."""
    deadline, wait = time.monotonic() + _START, 0.5
    while True:
        try:
            with quiet_optuna():
                opened = open_storage(url, heartbeat=heartbeat)
                assert opened is not None  # as a URL was given
                study = optuna.load_study(study_name=study_name, storage=opened)
            plan_of(study)
            return study
        except KeyError:
            complaint = ValueError(f"{hidden(url)} holds no study {study_name!r}.")
        except ValueError as error:
            complaint = error
        if time.monotonic() + wait > deadline:
            raise complaint
        time.sleep(wait)
        wait = min(2.0 * wait, 10.0)


@contextmanager
def more_workers(
    count: int, url: str, study_name: str, jobs: int, folder: Path
) -> Iterator[Callable[[], None]]:
    """Run workers beside this process, each with a log; yield what stops them.

    They are waited for, and end with this process, whatever becomes of it.
    """
    watchdog = Watchdog()
    environment = {**os.environ, _VARIABLE: url}
    command = [sys.executable, "-m", "calibrant", "worker", _FROM_ENVIRONMENT]
    command += ["--study", study_name, "--jobs", str(jobs)]
    with ExitStack() as files:
        workers: list[subprocess.Popen[bytes]] = []
        if count:
            folder.mkdir(parents=True, exist_ok=True)
            watchdog.start()
        for number in range(1, count + 1):
            log = files.enter_context((folder / f"worker-{number}.log").open("ab"))
            workers.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C reaches this process, which stops them
                )
            )
            watchdog.watch(workers[-1].pid)

        def stop() -> None:
            for process in workers:
                process.terminate()

        try:
            yield stop
        except BaseException:
            stop()
            raise
        finally:
            for process in workers:
                try:
                    process.wait(timeout=_FAREWELL)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                watchdog.forget(process.pid)
