"""Running a program with parameters, and reading its result.

Arguments are passed to the program as a list, never through a shell. Any failure (a time-out, an
exit code, output without a number) raises :class:`CommandFailed` with the reason in one line.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from calibrant.core.words import shortened

_NAME = r"[A-Za-z_][\w.-]*"
_PLACE = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")  # {{name}} gives {name}
# Possessive quantifiers, so that no part of a number attached to text ("3.2s") matches.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?+(?:(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+|inf(?:inity)?+|nan)(?![\w])",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")  # colours and cursor movements
_TAIL = 2**20  # bytes at the end of the output that are searched for the result


class CommandFailed(Exception):
    """An evaluation gave no number; the message says why."""


@dataclass(frozen=True)
class Reading:
    """A result, and the line it was read from."""

    value: float
    line: str

    def __str__(self) -> str:
        return f'read {self.value:g} from "{shortened(self.line, 72)}"'


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
    """

    arguments: Sequence[str]
    json_field: str | None = None
    result_file: str | None = None
    trial_timeout: float | None = None
    result_regex: str | None = None
    logs: Path | None = None
    first_reading: Reading | None = field(default=None, init=False, repr=False)
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set, init=False, repr=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def check(self, names: Sequence[str], jobs: int = 1) -> None:
        """Raise unless the program exists and its placeholders are exactly the parameters."""
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
        if "trial" in names:
            raise ValueError("`trial` is the number of the trial; give the parameter another name.")
        used = {name for text in self.arguments for name in _placeholders(text)}
        in_file = set(_placeholders(self.result_file or ""))
        unknown = sorted((used | in_file) - {*names, "trial"})
        if unknown:
            raise ValueError(
                f"`{{{unknown[0]}}}` is not among the parameters {sorted(names)}; "
                f"to pass it on literally, write `{{{{{unknown[0]}}}}}`."
            )
        unused = sorted(set(names) - used)
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
        reading = self._reading(params, trial)
        if self.first_reading is None:
            self.first_reading = reading
        return reading.value

    def _reading(self, params: Mapping[str, Any], trial: int) -> Reading:
        values = {**params, "trial": trial}
        arguments = [_filled(text, values) for text in self.arguments]
        if self.result_file is None:
            return self._read(self._output(arguments, trial), "the program's output")
        path = Path(_filled(self.result_file, values))
        before = _signature(path)
        self._output(arguments, trial)
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
        if self.result_regex is None:
            return
        if self.json_field is not None:
            raise ValueError("Give either a JSON field or a regular expression, not both.")
        try:
            groups = re.compile(self.result_regex).groups
        except re.error as error:
            raise ValueError(
                f"The regular expression {self.result_regex!r} is not valid: {error}."
            ) from None
        if groups > 1:
            raise ValueError(
                f"The regular expression {self.result_regex!r} has {groups} groups, and at most "
                "one says where the number is; write (?:…) for the others."
            )

    def _read(self, text: str, source: str) -> Reading:
        if self.json_field is not None:
            value = _field(text, self.json_field, source)
            reading = Reading(value, f"{self.json_field}: {value:g}")
        elif self.result_regex is not None:
            reading = _last_match(text, self.result_regex, source)
        else:
            reading = _last_number(text, source)
        if not math.isfinite(reading.value):
            raise CommandFailed(f"the number in {source} is {reading.value}")
        return reading

    def _files(self, trial: int) -> tuple[IO[bytes], IO[bytes]]:
        """Open the files that take what the program prints, and its errors."""
        if self.logs is None:
            return tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.logs.mkdir(parents=True, exist_ok=True)
        out, err = (self.logs / f"trial-{trial}.{end}" for end in ("out", "err"))
        return out.open("w+b"), err.open("w+b")

    def _output(self, arguments: list[str], trial: int) -> str:
        """Run the program to its end and return its output."""
        if self.stopped:
            raise CommandFailed("stopped")
        # Files instead of pipes: a child left in the background would keep a pipe open for ever.
        printed, complaints = self._files(trial)
        with printed, complaints:
            process = self._start(arguments, printed, complaints)
            self._running.add(process)
            try:
                if self.stopped:  # between the check above and now
                    _kill(process)
                process.wait(timeout=self.trial_timeout)
            except subprocess.TimeoutExpired:
                raise CommandFailed(f"no result after {self.trial_timeout:g} s") from None
            finally:
                self._running.discard(process)
                _kill(process)
                process.wait()
            if process.returncode != 0:
                words = _tail(complaints).strip() or _tail(printed).strip() or "no output"
                raise CommandFailed(
                    f"{_ending(process.returncode)}: {words.splitlines()[-1][:300]}"
                )
            # All of it for JSON: an object cut in two would be read as the objects inside it.
            return _tail(printed) if self.json_field is None else _text(printed)

    def _start(
        self, arguments: list[str], printed: IO[bytes], complaints: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=complaints,
                start_new_session=True,  # so that its children can be killed with it
            )
        except (OSError, ValueError) as error:  # ValueError: an argument with a null character
            reason = getattr(error, "strerror", None) or error
            raise CommandFailed(f"{arguments[0]} does not start: {reason}") from error


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


def filled(arguments: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return a program's arguments with values in place of the parameters that are given."""
    return [
        _filled(text, {name: f"{{{name}}}" for name in _placeholders(text)} | dict(values))
        for text in arguments
    ]


def _ending(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"killed by signal {-code}"


def _tail(file: IO[bytes]) -> str:
    """Return the end of a file's text, without escape sequences such as colours."""
    size = file.seek(0, os.SEEK_END)
    return _text(file, max(0, size - _TAIL))


def _text(file: IO[bytes], start: int = 0) -> str:
    file.seek(start)
    return _ESCAPE.sub("", file.read().decode("utf-8", errors="replace"))


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is written, or None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _last_match(text: str, regex: str, source: str) -> Reading:
    last = deque(re.finditer(regex, _ESCAPE.sub("", text), re.MULTILINE), maxlen=1)
    if not last:
        raise CommandFailed(f"nothing in {source} matches {regex!r}")
    found = last[0][1] if last[0].re.groups else last[0][0]
    try:
        value = float((found or "").strip().replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        said = shortened(found or "", 60)
        raise CommandFailed(f"what {regex!r} matches in {source} is no number: {said!r}") from None
    return Reading(value, _line(last[0]))


def _line(found: re.Match[str]) -> str:
    """Return the line of a text in which a match begins."""
    start = found.string.rfind("\n", 0, found.start()) + 1
    return found.string[start:].partition("\n")[0].strip()


def _last_number(text: str, source: str) -> Reading:
    text = _ESCAPE.sub("", text).replace("\N{MINUS SIGN}", "-")
    last = deque(_NUMBER.finditer(text), maxlen=1)
    if not last:
        raise CommandFailed(f"no number in {source}")
    found = last[0]
    # 1,234.5 and 0,25 may be one number or the last two of a list: fail instead of guessing.
    thousands = re.search(r"(?<!\d)\d{1,3},$", text[: found.start()])
    decimals = re.search(r"(?<![\d.,])\d+,$", text[: found.start()])
    if (thousands and re.match(r"\d{3}(\D|$)", found[0])) or (decimals and found[0].isdigit()):
        raise CommandFailed(f"{source} ends in ...,{found[0]}: write it without commas")
    return Reading(float(found[0]), _line(found))


def _field(text: str, name: str, source: str) -> float:
    """Return a field of the last JSON object that has it.

    ``a.b`` is a field of that name, or the field b of the object a. Outer objects come first,
    nested ones second, because a nested history of epochs is not the result.
    """
    for found in chain.from_iterable(reversed(_objects(text, inner)) for inner in (False, True)):
        for keys in ([name], name.split(".")):
            value = found
            for key in keys:
                value = value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT
            if value is _ABSENT or isinstance(value, bool):  # true and false are not results
                continue
            try:
                return float(value)
            except (TypeError, ValueError):
                # Do not fall back to an earlier object: a run that diverged may write null.
                said = json.dumps(value)[:60]
                raise CommandFailed(f"the last `{name}` in {source} is {said}") from None
    raise CommandFailed(f"no JSON object with a number `{name}` in {source}")


_ABSENT = object()


def _objects(text: str, inner: bool) -> list[Any]:
    """Return the JSON objects in a text, with the nested ones if ``inner``."""
    decoder, found, start = json.JSONDecoder(), [], text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except ValueError:
            end = start + 1
        start = text.find("{", start + 1 if inner else end)
    return found
