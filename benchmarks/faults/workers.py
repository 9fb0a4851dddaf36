"""Workers of one study, as processes that are killed and started again.

Each worker is forked from a process that has loaded everything, so that killing one every other
second leaves time to work. Each takes itself for a machine of its own: others learn of its death
by its heartbeat alone. A ledger holds a line for each evaluation that has ended, told or not.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import Trial, TrialState

import calibrant
from calibrant.studies import processes
from calibrant.studies.archive import Archive
from calibrant.studies.runner import evaluated, run
from calibrant.studies.space_text import parse_space

SPACE = parse_space({f"x{i}": (0.0, 1.0) for i in range(3)})
HEARTBEAT = 2  # seconds; a trial is taken over after three times as long
NAME = "faults"


@dataclass(frozen=True)
class Fault:
    """Something that happens every so many seconds, to one worker or to all."""

    every: float
    happen: Callable[[list[int]], None]


def evaluate(trial: Trial, ledger: Path) -> float:
    """Evaluate a setting, for some tenths of a second, and write its end to the ledger."""
    x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in SPACE])
    time.sleep(random.uniform(0.1, 0.5))
    value = float(((x - 0.3) ** 2).sum())
    line = " ".join(repr(float(v)) for v in (*x, value)) + "\n"
    file = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, line.encode())
    os.close(file)
    return value


def _work(url: str, n_trials: int, ledger: Path) -> None:
    random.seed(os.getpid())
    own = f"machine-{os.getpid()}"
    processes._machine = lambda: own  # type: ignore[assignment]
    storage = calibrant.open_storage(url, heartbeat=HEARTBEAT, patience=120)
    sampler = calibrant.CalibratedSampler(search_space=SPACE)
    assert storage is not None
    study = optuna.load_study(study_name=NAME, storage=storage, sampler=sampler)
    run(study, lambda trial: evaluate(trial, ledger), n_trials)


def _fork(work: Callable[[], None], log: Path) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        work()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def together(
    url: str, home: str, n_trials: int, workers: int, faults: Sequence[Fault], folder: Path
) -> dict[str, Any]:
    """Run workers until the study has its evaluations; return what became of them.

    Args:
        url: the storage, as the workers open it.
        home: the same, as this process may open it: what is forked must not hold a connection.
        n_trials: the evaluations that the study is to have.
        workers: how many there are at any time.
        faults: what goes wrong meanwhile; a worker that was killed is replaced.
        folder: for the ledger and the workers' logs.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ledger, log = folder / "ledger", folder / "workers.log"
    start = time.monotonic()

    def begin() -> int:
        return _fork(lambda: _work(url, n_trials, ledger), log)

    alive = [begin() for _ in range(workers)]
    due = [start + fault.every for fault in faults]
    ended: Counter[str] = Counter()
    while alive:
        for pid in list(alive):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                alive.remove(pid)
                code = os.waitstatus_to_exitcode(status)
                ended["killed" if code < 0 else "done" if code == 0 else "crashed"] += 1
                if code < 0:
                    alive.append(begin())
        for k, fault in enumerate(faults):
            if alive and time.monotonic() > due[k]:
                fault.happen(alive)
                due[k] = time.monotonic() + fault.every
        time.sleep(0.02)
    seconds = time.monotonic() - start
    return {"seconds": round(seconds, 1), **dict(ended), **accounts(home, ledger)}


def kill_one(alive: list[int]) -> None:
    """Kill any of the workers, at any moment."""
    os.kill(random.choice(alive), signal.SIGKILL)


def suspend_one(alive: list[int]) -> None:
    """Stop a worker for longer than its heartbeat may stay away, then let it go on."""
    pid = random.choice(alive)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(4.0 * HEARTBEAT)
    os.kill(pid, signal.SIGCONT)


def accounts(home: str, ledger: Path) -> dict[str, Any]:
    """Compare what the study holds with what has been evaluated."""
    study = optuna.load_study(study_name=NAME, storage=calibrant.open_storage(home))
    trials = study.get_trials()
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    settings = Counter(tuple(t.params[name] for name in SPACE) for t in complete)
    stored = Counter((*(t.params[name] for name in SPACE), t.value) for t in complete)
    lines = ledger.read_text(encoding="ascii").splitlines()
    made = Counter(tuple(map(float, line.split())) for line in lines)
    archive = Archive()
    archive.update(study)
    return {
        "evaluated": evaluated(study),
        "complete": len(complete),
        "ended": sum(made.values()),
        "lost": sum((made - stored).values()),  # killed between their end and their tell
        "invented": sum((stored - made).values()),
        "twice": sum(count - 1 for count in settings.values()),
        "stuck": sum(t.state == TrialState.RUNNING for t in trials),
        "queued": sum(t.state == TrialState.WAITING for t in trials),  # for the next run
        "scored": len(archive.outcomes(1)[0]),
        "best": min((t.value for t in complete if t.value is not None), default=None),
    }
