"""Running a program with parameters, and reading its result.

Arguments are passed to the program as a list, never through a shell. Any failure (a time-out, an
exit code, output without a number) raises :class:`CommandFailed` with the reason in one line.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from calibrant.studies.output import Tail
from calibrant.studies.reported import GivenUp, Reported
from calibrant.studies.results import NoResult, Reading, plain, read_result
from calibrant.studies.watchdog import Watchdog

logger = logging.getLogger("calibrant")

_NAME = r"[A-Za-z_][\w.-]*"
_PLACE = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")  # {{name}} gives {name}
_ENOUGH = 2**20  # bytes at the end of the output that are searched for a number
_MOMENT = 0.2  # seconds between two looks at what was reported
_ENOUGH_JSON = 2**22  # bytes in which the last JSON object must be found


class Watcher(Protocol):
    """Who is told what a program reports while it runs."""

    def report(self, value: float) -> None:
        """Take note of a report."""

    def hopeless(self) -> bool:
        """Return whether the program is to be given up, by what it has reported."""


class CommandFailed(Exception):
    """An evaluation gave no number; the message says why."""


@dataclass
class Command:
    """A program to tune.

    Args:
        arguments: the program and its arguments, with ``{name}`` in place of parameters;
            ``{trial}`` is the number of the trial, and ``{{name}}`` gives ``{name}``. All other
            braces are kept.
        json_field: read this field of the last JSON object, ``a.b`` for a nested one; by default
            the last number is read.
        result_file: the file to which the program writes its result, with the same placeholders;
            by default it prints the result. If several processes share a study, the name must
            contain ``{trial}``.
        trial_timeout: seconds after which the program is killed, with all its child processes that
            have not started a session of their own.
        result_regex: read the last match of this regular expression, or of the group in it.
        logs: the folder in which the output of each trial is kept, as ``trial-0.out`` and
            ``trial-0.err``; they can be followed while it runs.
        limits: by name, the most that other fields of the JSON may be.
        json_std_field: the field of the JSON that holds the std of the result's noise. Without it,
            a result such as ``0.83 ± 0.02`` has one.
        cost_field: the field of the JSON that says what the evaluation has cost.
        report_regex: reports on the way are what this regular expression matches in a line of the
            output, or the group in it: 'val_loss (\\S+)'. It is standard error that is read if
            standard output matches nowhere in the first trial that reports anything.
    """

    arguments: Sequence[str]
    json_field: str | None = None
    result_file: str | None = None
    trial_timeout: float | None = None
    result_regex: str | None = None
    logs: Path | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    json_std_field: str | None = None
    cost_field: str | None = None
    report_regex: str | None = None
    first_reading: Reading | None = field(default=None, init=False, repr=False)
    _source: int | None = field(default=None, init=False, repr=False)  # of reports: see Reported
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set, init=False, repr=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _watchdog: Watchdog = field(default_factory=Watchdog, init=False, repr=False, compare=False)

    def check(
        self, names: Sequence[str], jobs: int = 1, columns: Sequence[str] | None = None
    ) -> None:
        """Raise unless the program exists and its placeholders are exactly the parameters.

        Of the ``columns`` of candidates, at least one must be used.
        """
        if not self.arguments:
            raise ValueError("The program is missing: write it after `--`.")
        program = self.arguments[0]
        if not _placeholders(program) and shutil.which(program) is None:
            raise ValueError(f"The program `{program}` was not found, or cannot be run.")
        if self.trial_timeout is not None and not self.trial_timeout > 0:
            raise ValueError(
                f"`trial_timeout > 0` must hold, but got trial_timeout={self.trial_timeout}."
            )
        self._check_regex()
        if self.limits and self.json_field is None and self.result_regex is None:
            raise ValueError(
                "A limit is about a field of the JSON that the program prints; say which field is "
                "the result, too: --json-field."
            )
        if self.json_std_field is not None and self.json_field is None:
            raise ValueError(
                "The field of the std belongs to a field of the result: give --json-field, too, or "
                "print `0.83 ± 0.02`."
            )
        if "trial" in names:
            raise ValueError("`trial` is the number of the trial; give the parameter another name.")
        used = {name for text in self.arguments for name in _placeholders(text)}
        in_file = set(_placeholders(self.result_file or ""))
        known = names if columns is None else columns
        unknown = sorted((used | in_file) - {*known, "trial"})
        if unknown:
            raise ValueError(
                f"`{{{unknown[0]}}}` is not among the parameters {sorted(known)}; "
                f"to pass it on literally, write `{{{{{unknown[0]}}}}}`."
            )
        if columns is not None and not used & set(columns):
            raise ValueError("No candidate reaches the program: put `{name}` in the command.")
        unused = sorted(set(names) - used) if columns is None else []
        if unused:
            raise ValueError(f"`{unused[0]}` is never used: put `{{{unused[0]}}}` in the command.")
        if jobs > 1 and self.result_file is not None and "trial" not in in_file:
            raise ValueError(
                "Several jobs would write the same result file; put `{trial}` in its name."
            )

    def run(self, params: Mapping[str, Any], trial: int) -> float:
        """Run the program and return its result.

        Raises:
            CommandFailed: if it gives no number.
        """
        return self.reading(params, trial).value

    def reading(
        self, params: Mapping[str, Any], trial: int, watcher: Watcher | None = None
    ) -> Reading:
        """Run the program and return its result, with what else it says.

        Args:
            params: the setting.
            trial: the number of the trial.
            watcher: who is told of reports, and may give the program up.

        Raises:
            CommandFailed: if it does not give the result, and what was measured of each limit.
            GivenUp: if the watcher gave it up.
        """
        reading = self._reading(params, trial, watcher)
        if self.first_reading is None:
            self.first_reading = reading
        return reading

    def _reading(self, params: Mapping[str, Any], trial: int, watcher: Watcher | None) -> Reading:
        values = {**params, "trial": trial}
        arguments = given(self.arguments, values)
        if self.result_file is None:
            text, cut = self._output(arguments, trial, watcher)
            return self._read(text, "the program's output", cut)
        path = Path(_filled(self.result_file, values))
        before = _signature(path)
        self._output(arguments, trial, watcher)
        if _signature(path) == before:  # an old file says nothing about this run
            raise CommandFailed(f"{path} was not written")
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
        return self._read(text, str(path))

    def stop(self) -> None:
        """Kill all running programs, and start no others."""
        self._stopped.set()
        for process in list(self._running):
            _kill(process)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def _check_regex(self) -> None:
        if self.report_regex is not None:
            _check_regex(self.report_regex)
        if self.result_regex is None:
            return
        if self.json_field is not None:
            raise ValueError("Give either a JSON field or a regular expression, not both.")
        _check_regex(self.result_regex)

    def _read(self, text: str, source: str, cut: bool = False) -> Reading:
        def beside(name: str) -> float | None:
            """Return a field without which the result is still one."""
            try:
                return read_result(text, source, name, None, cut).value
            except NoResult as failure:
                logger.warning("The result is used without its `%s`: %s.", name, failure)
                return None

        try:
            reading = read_result(text, source, self.json_field, self.result_regex, cut)
            measured = {name: read_result(text, source, name, None, cut) for name in self.limits}
        except NoResult as failure:
            raise CommandFailed(str(failure)) from None
        return replace(
            reading,
            measured={name: one.value for name, one in measured.items()},
            std=reading.std if self.json_std_field is None else beside(self.json_std_field),
            cost=None if self.cost_field is None else beside(self.cost_field),
        )

    def _tails(self, trial: int, reported: Reported | None) -> tuple[Tail, Tail]:
        """Return what follows the program's output, and its errors."""
        in_json = self.json_field is not None or self.limits or self.cost_field is not None
        enough = _ENOUGH_JSON if in_json else _ENOUGH
        if self.logs is not None:
            self.logs.mkdir(parents=True, exist_ok=True)

        def tail(limit: int, ending: str) -> Tail:
            log = None if self.logs is None else self.logs / f"trial-{trial}.{ending}"
            return Tail(limit, log, None if reported is None else reported.stream())

        return tail(enough, "out"), tail(_ENOUGH, "err")

    def _output(
        self, arguments: list[str], trial: int, watcher: Watcher | None
    ) -> tuple[str, bool]:
        """Run the program to its end; return its output, and whether that was cut to its end."""
        if self.stopped:
            raise CommandFailed("stopped")
        watched = watcher is not None and self.report_regex is not None
        reported = (
            Reported(self.report_regex, self._source) if watched and self.report_regex else None
        )
        printed, complaints = self._tails(trial, reported)
        with printed, complaints:
            self._watchdog.start()
            process = self._start(arguments, printed, complaints)
            self._running.add(process)
            self._watchdog.watch(process.pid)
            try:
                if self.stopped:  # between the check above and now
                    _kill(process)
                if watcher is None or reported is None:
                    process.wait(timeout=self.trial_timeout)
                else:
                    self._watch(process, reported, watcher)
            except subprocess.TimeoutExpired:
                raise CommandFailed(f"no result after {self.trial_timeout:g} s") from None
            finally:
                self._running.discard(process)
                _kill(process)
                process.wait()
                self._watchdog.forget(process.pid)
            text, said = plain(printed.end()), plain(complaints.end())
            if watcher is not None and reported is not None:
                reported.end()
                if process.returncode == 0 and self._source is None:
                    self._source = reported.source
                for value in reported.take():  # of a trial that has finished, all is known
                    watcher.report(value)
        if process.returncode != 0:
            words = said.strip() or text.strip() or "no output"
            raise CommandFailed(f"{_ending(process.returncode)}: {words.splitlines()[-1][:300]}")
        return text, printed.cut

    def _watch(
        self, process: subprocess.Popen[bytes], reported: Reported, watcher: Watcher
    ) -> None:
        """Wait until the program ends, and pass on what it reports.

        Raises:
            GivenUp: if the watcher gives it up.
            subprocess.TimeoutExpired: if it takes too long.
        """
        limit = math.inf if self.trial_timeout is None else self.trial_timeout
        deadline = time.monotonic() + limit
        while True:
            left = deadline - time.monotonic()
            try:
                process.wait(timeout=max(min(_MOMENT, left), 0.0))
                return
            except subprocess.TimeoutExpired:
                if left <= _MOMENT:
                    raise
            for value in reported.take():
                watcher.report(value)
                if watcher.hopeless():
                    raise GivenUp

    def _start(
        self, arguments: list[str], printed: Tail, complaints: Tail
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=printed.entrance,
                stderr=complaints.entrance,
                env=self._environment(),
                start_new_session=True,  # so that its children can be killed with it
            )
        except (OSError, ValueError) as error:  # ValueError: an argument with a null character
            reason = getattr(error, "strerror", None) or error
            raise CommandFailed(f"{arguments[0]} does not start: {reason}") from error
        finally:
            printed.close_entrance()
            complaints.close_entrance()

    def _environment(self) -> dict[str, str] | None:
        """Return the program's environment: Python must not hold back reports in a buffer."""
        return None if self.report_regex is None else {"PYTHONUNBUFFERED": "1", **os.environ}


def _check_regex(regex: str) -> None:
    try:
        groups = re.compile(regex).groups
    except re.error as error:
        raise ValueError(f"The regular expression {regex!r} is not valid: {error}.") from None
    if groups > 1:
        raise ValueError(
            f"The regular expression {regex!r} has {groups} groups, and at most one says where "
            "the number is; write (?:…) for the others."
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children, also the children of one that has already ended."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()  # the group is gone; this does nothing to a process that has been reaped


def _placeholders(text: str) -> list[str]:
    return [match[2] for match in _PLACE.finditer(text) if match[2]]


def _filled(text: str, values: Mapping[str, Any]) -> str:
    def fill(match: re.Match[str]) -> str:
        return str(values[match[2]]) if match[2] else f"{{{match[1]}}}"

    return _PLACE.sub(fill, text)


def given(arguments: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return a program's arguments with the values of a setting.

    An argument with a parameter that does not exist in the setting is left out, and of a pair such
    as ``--depth {depth}`` the option, too.
    """
    kept: list[str] = []
    option = False  # whether the last one kept is an option that may wait for its value
    for text in arguments:
        names = _placeholders(text)
        if values.keys() >= set(names):
            kept.append(_filled(text, values))
            option = text.startswith("-") and not names and "=" not in text
            continue
        if option and _PLACE.fullmatch(text):
            kept.pop()
        option = False
    return kept


def filled(arguments: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return a program's arguments with values in place of the parameters that are given."""
    return [
        _filled(text, {name: f"{{{name}}}" for name in _placeholders(text)} | dict(values))
        for text in arguments
    ]


def _ending(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"killed by signal {-code}"


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is written, or None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
