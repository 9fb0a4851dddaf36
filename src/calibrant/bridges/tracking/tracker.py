"""The callback: what has ended goes to the trackers, and a tracker that is away stops nothing."""

from __future__ import annotations

import logging
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Protocol

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.bridges.tracking.facts import Facts, Tally
from calibrant.core import validate
from calibrant.reporting import report
from calibrant.studies.records import ended

logger = logging.getLogger(__name__)

_EVERY = 10  # trials after which the report is written anew: it takes about a second


class Recorder(Protocol):
    """One tracker's side of a study: a run of its own, opened again when a study is resumed."""

    def open(self, study: Study) -> set[int]:
        """Begin or go on with the run of a study, and return the trials that it has already."""

    def trial(self, facts: Facts) -> None:
        """Log a trial that has ended."""

    def report(self, page: Path) -> None:
        """Keep the report as an artefact, in place of the one before."""

    def close(self) -> None:
        """End the run."""


class Tracker:
    """Logs the trials of a study to MLflow, to Weights & Biases, or to both.

    It is a callback for ``study.optimize``; leaving its context writes the report and ends the
    runs::

        with Tracker(MLflow(experiment="digits")) as tracker:
            study.optimize(objective, n_trials=50, callbacks=[tracker])

    The trials that a study had before are logged, too, unless the tracker has them already. If a
    tracker cannot be reached, the search goes on, and what is missing is logged with the next
    trial.

    Args:
        recorders: where to log.
        every: trials after which the report is written anew.
    """

    def __init__(self, *recorders: Recorder, every: int = _EVERY) -> None:
        if not recorders:
            raise ValueError(
                "A tracker needs somewhere to log to, such as "
                'Tracker(MLflow(experiment="digits")), but got nothing.'
            )
        self._every = validate.at_least("every", every, 1)
        self._logs = [_Log(recorder) for recorder in recorders]
        self._lock = threading.Lock()  # `n_jobs` threads call it
        self._study: Study | None = None
        self._tally, self._facts = Tally(), dict[int, Facts]()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Log what has ended."""
        with self._lock:
            self._study = study
            self._read(study)
            reported = len(self._facts) % self._every == 0
            for log in self._logs:
                log.bring_up(study, self._facts)
                if reported:
                    log.report(study)

    def _read(self, study: Study) -> None:
        states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        new = [
            trial
            for trial in study.get_trials(deepcopy=False, states=states)
            if trial.number not in self._facts
        ]
        for trial in sorted(new, key=ended):
            self._facts[trial.number] = self._tally.take(study, trial)

    def close(self) -> None:
        """Log what is missing, write the report, and end the runs."""
        with self._lock:
            if self._study is None:
                return
            self._read(self._study)
            for log in self._logs:
                log.bring_up(self._study, self._facts)
                log.report(self._study)
                log.close(self._facts)
            self._study = None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Log:
    """What one recorder has, and what it is still to be given."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._has: set[int] | None = None  # None: not opened yet

    def bring_up(self, study: Study, facts: dict[int, Facts]) -> None:
        """Log the trials that are missing."""
        try:
            if self._has is None:
                self._has = self._recorder.open(study)
            for number, one in facts.items():
                if number not in self._has:
                    self._recorder.trial(one)
                    self._has.add(number)
        except ImportError:
            raise  # nothing that waiting could mend
        except Exception as error:
            self._say("a trial was not logged, and will be with the next one", error)

    def report(self, study: Study) -> None:
        """Log the report as it is now, if there is anything to report."""
        if self._has is None or not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            return
        try:
            with tempfile.TemporaryDirectory() as folder:
                self._recorder.report(report(study, Path(folder, "report.html")))
        except Exception as error:
            self._say("the report was not logged", error)

    def close(self, facts: dict[int, Facts]) -> None:
        """End the run, and say what it lacks."""
        if missing := len(facts) - len(self._has or ()):
            logger.warning("%s lacks %d trials; the study has them all.", self._name, missing)
        if self._has is None:
            return
        try:
            self._recorder.close()
        except Exception as error:
            self._say("the run was not ended", error)

    @property
    def _name(self) -> str:
        return type(self._recorder).__name__

    def _say(self, what: str, error: Exception) -> None:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        logger.warning("%s: %s (%s).", self._name, what, reason)
