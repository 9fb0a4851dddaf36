"""Running a program with some parameters, and reading the number that it is judged by.

Arguments go to the program as a list; no shell ever sees them. Whatever goes wrong (a time-out, an
exit code, output without a number) is a :class:`CommandFailed` with the reason in one line.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAME = r"[A-Za-z_][\w.-]*"
_PLACE = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")  # {{name}} stays {name}
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)(?![\w])",
    re.IGNORECASE,
)


class CommandFailed(Exception):
    """An evaluation that gave no number; its text says why."""


@dataclass
class Command:
    """A program to tune.

    Args:
        arguments: the program and its arguments, with ``{name}`` where parameters go; ``{trial}``
            is the trial's number, and ``{{name}}`` gives ``{name}``. All other braces stay.
        json_field: read this field of the last JSON object, ``a.b`` for one inside another;
            by default the last number is read.
        result_file: where the result is written, with the same placeholders; by default it is
            printed.
        timeout: seconds after which the program, and all it has started, is killed.
    """

    arguments: Sequence[str]
    json_field: str | None = None
    result_file: str | None = None
    timeout: float | None = None
    _running: set[subprocess.Popen[str]] = field(default_factory=set, init=False, repr=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def check(self, names: Sequence[str], jobs: int = 1) -> None:
        """Raise unless the placeholders are just the parameters."""
        if not self.arguments:
            raise ValueError("The program is missing: write it after `--`.")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"`timeout > 0` must hold, but got timeout={self.timeout}.")
        used = {name for text in self.arguments for name in _placeholders(text)}
        in_file = set(_placeholders(self.result_file or ""))
        unknown = sorted((used | in_file) - {*names, "trial"})
        if unknown:
            raise ValueError(
                f"`{{{unknown[0]}}}` is not among the parameters {sorted(names)}; "
                f"to pass it on as it is, write `{{{{{unknown[0]}}}}}`."
            )
        unused = sorted(set(names) - used)
        if unused:
            raise ValueError(f"`{unused[0]}` is never used: put `{{{unused[0]}}}` in the command.")
        if jobs > 1 and self.result_file is not None and not in_file:
            raise ValueError(
                "Several jobs would write the same result file; put `{trial}` in its name."
            )

    def run(self, params: Mapping[str, Any], trial: int) -> float:
        """Run the program and return its number.

        Raises:
            CommandFailed: if there is none.
        """
        values = {**params, "trial": trial}
        arguments = [_filled(text, values) for text in self.arguments]
        started = time.time()
        printed = self._output(arguments)
        if self.result_file is None:
            return _read(printed, self.json_field, "the program's output")
        path = Path(_filled(self.result_file, values))
        try:
            # A file that was there before says nothing about this run; clocks of file systems
            # may be a little behind.
            if path.stat().st_mtime < started - 2.0:
                raise CommandFailed(f"{path} was not written")
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
        return _read(text, self.json_field, str(path))

    def stop(self) -> None:
        """Kill all programs that are running, and start no others."""
        self._stopped.set()
        for process in list(self._running):
            _kill(process)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def _output(self, arguments: list[str]) -> str:
        if self.stopped:
            raise CommandFailed("stopped")
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # so that what it starts can be killed with it
            )
        except OSError as error:
            raise CommandFailed(f"{arguments[0]} does not start: {error.strerror}") from error
        self._running.add(process)
        try:
            if self.stopped:  # between the check above and now
                _kill(process)
            printed, complaints = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"no result after {self.timeout:g} s") from None
        finally:
            self._running.discard(process)
            _kill(process)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        if process.returncode != 0:
            last = (complaints.strip() or printed.strip() or "no output").splitlines()[-1]
            raise CommandFailed(f"exit code {process.returncode}: {last[:300]}")
        return printed


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a program and its children; one that has ended is left alone, its children are not."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()  # no such group any more; does nothing to a process that was waited for


def _placeholders(text: str) -> list[str]:
    return [match[2] for match in _PLACE.finditer(text) if match[2]]


def _filled(text: str, values: Mapping[str, Any]) -> str:
    def fill(match: re.Match[str]) -> str:
        return str(values[match[2]]) if match[2] else f"{{{match[1]}}}"

    return _PLACE.sub(fill, text)


def _read(text: str, json_field: str | None, source: str) -> float:
    if json_field is None:
        numbers = _NUMBER.findall(text)
        if not numbers:
            raise CommandFailed(f"no number in {source}")
        value = float(numbers[-1])
    else:
        value = _field(text, json_field, source)
    if not math.isfinite(value):
        raise CommandFailed(f"the number in {source} is {value}")
    return value


def _field(text: str, name: str, source: str) -> float:
    """Return a field of the last JSON object: the whole text, or else its last line that is one."""
    for part in [text, *reversed(text.splitlines())]:
        try:
            found = json.loads(part)
            for key in name.split("."):
                found = found[key]
            return float(found)
        except (ValueError, KeyError, TypeError):
            continue
    raise CommandFailed(f"no JSON object with a number `{name}` in {source}")
