"""Workers of one study, as processes that are killed and started again.

Each worker is forked from a process that has loaded everything, so that killing one every other
second leaves time to work. Each takes itself for a machine of its own: others learn of its death
by its heartbeat alone. A ledger holds a line for each evaluation that has ended, told or not, with
the interval that its worker was shown before it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

import calibrant
from calibrant.studies import processes
from calibrant.studies.archive import Archive
from calibrant.studies.late import LATE
from calibrant.studies.review import review
from calibrant.studies.runner import evaluated, run
from calibrant.studies.shown import interval_shown
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
    study = trial.study
    shown = interval_shown(study, study._storage.get_trial(trial._trial_id)) or (np.nan, np.nan)
    time.sleep(random.uniform(0.1, 0.5))
    value = float(((x - 0.3) ** 2).sum())
    line = " ".join(repr(float(v)) for v in (*x, value, *shown)) + "\n"
    file = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, line.encode())
    os.close(file)
    return value


def _lose_the_time() -> None:
    """Make the clock of this process jump every three seconds, by up to an hour either way."""
    true, own = time.time, os.getpid()

    def told() -> float:
        jump = random.Random(f"{own} {time.monotonic() // 3.0}").uniform(-3600.0, 3600.0)
        return true() + jump

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.fromtimestamp(told(), tz)

    time.time = told
    for name, module in list(sys.modules.items()):
        if name.startswith(("optuna.", "calibrant.")) and vars(module).get("datetime") is datetime:
            module.datetime = Jumping  # type: ignore[attr-defined]


def _work(url: str, n_trials: int, ledger: Path, clocks: bool = False) -> None:
    random.seed(os.getpid())
    if clocks:
        _lose_the_time()
    own = f"machine-{os.getpid()}"
    processes._machine = lambda: own  # type: ignore[assignment]
    storage = calibrant.open_storage(url, heartbeat=HEARTBEAT, patience=120)
    sampler = calibrant.CalibratedSampler(search_space=SPACE)
    assert storage is not None
    study = optuna.load_study(study_name=NAME, storage=storage, sampler=sampler)
    run(study, lambda trial: evaluate(trial, ledger), n_trials)


def fork(work: Callable[[], None], log: Path) -> int:
    """Start a process that does some work; return its id."""
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


def start_at(code: Path, url: str, n_trials: int, ledger: Path, log: Path) -> int:
    """Start a worker that runs other code, such as that of an earlier version; return its id."""
    command = [sys.executable, "-W", "ignore", "-c", _OTHER, url, str(n_trials), str(ledger)]
    paths = os.pathsep.join([str(code / "src"), str(code)])
    with log.open("ab") as out:
        return subprocess.Popen(
            command, cwd=code, env={**os.environ, "PYTHONPATH": paths}, stdout=out, stderr=out
        ).pid


_OTHER = """
import sys
from pathlib import Path
from benchmarks.faults.workers import _work
_work(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
"""


def together(
    url: str,
    home: str,
    n_trials: int,
    workers: int,
    faults: Sequence[Fault],
    folder: Path,
    other: Path | None = None,
    clocks: bool = False,
) -> dict[str, Any]:
    """Run workers until the study has its evaluations; return what became of them.

    Args:
        url: the storage, as the workers open it.
        home: the same, as this process may open it: what is forked must not hold a connection.
        n_trials: the evaluations that the study is to have.
        workers: how many there are at any time.
        faults: what goes wrong meanwhile; a worker that was killed is replaced.
        folder: for the ledger and the workers' logs.
        other: where there is other code, which every second worker runs.
        clocks: whether each worker has a clock of its own, that jumps.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ledger, log = folder / "ledger", folder / "workers.log"
    ledger.touch()
    start = time.monotonic()

    def begin(place: int = 0) -> int:
        if other is not None and place % 2:
            return start_at(other, url, n_trials, ledger, log)
        return fork(lambda: _work(url, n_trials, ledger, clocks), log)

    alive = [begin(place) for place in range(workers)]
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


def refused(url: str, workers: int, folder: Path) -> dict[str, Any]:
    """Start workers where they cannot work; return how many ended with an error, and which."""
    log = folder / "workers.log"
    every = [fork(lambda: _work(url, 1, folder / "ledger"), log) for _ in range(workers)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in every]
    lines = log.read_text().replace(str(folder), "…").splitlines()
    said = {line for line in lines if not line.startswith(" ") and "Error: " in line}
    return {"refused": sum(code == 1 for code in codes), "said": sorted(said)}


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
    """Compare what the study holds with what has been evaluated, and with what was shown."""
    study = optuna.load_study(study_name=NAME, storage=calibrant.open_storage(home))
    trials = study.get_trials()
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    settings = Counter(tuple(t.params[name] for name in SPACE) for t in complete)
    stored = Counter(map(_evaluation, complete))
    lines = [
        tuple(map(float, line.split())) for line in ledger.read_text(encoding="ascii").splitlines()
    ]
    size = len(SPACE) + 1
    made = Counter(line[:size] for line in lines)
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
        "late": sum(LATE in t.system_attrs for t in trials),  # given up, though the worker lived
        "scored": len(archive.outcomes(1)[0]),
        **reported(study, {(line[:size], line[size:]) for line in lines}),
        "best": min((t.value for t in complete if t.value is not None), default=None),
    }


def reported(study: optuna.Study, seen: set[tuple[Any, Any]]) -> dict[str, int]:
    """Return how many intervals a review reports, and how many of them no worker was shown."""
    if not any(t.state == TrialState.COMPLETE for t in study.trials):
        return {"reported": 0, "misreported": 0}
    found, trials = review(study), study.get_trials()
    intervals = [
        (_evaluation(trials[number]), (low, high))
        for number, low, high in zip(found.forecast_numbers, found.low, found.high, strict=True)
    ]
    known = [one for one in intervals if (one[0], ()) not in seen]  # other versions wrote none
    return {"reported": len(known), "misreported": sum(one not in seen for one in known)}


def _evaluation(trial: FrozenTrial) -> tuple[float, ...]:
    return (*(trial.params[name] for name in SPACE), trial.value or 0.0)
