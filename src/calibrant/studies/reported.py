"""Numbers that a program prints as it goes on, such as the loss of each epoch."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable

from calibrant.core.words import shortened
from calibrant.studies.results import plain

logger = logging.getLogger("calibrant")

_END = re.compile(rb"[\r\n]")  # a progress bar returns to the beginning of its line
_LONGEST = 2**16  # bytes of a line that has not ended: what came before them is forgotten


class GivenUp(Exception):
    """The program was killed: what it had reported promised too little."""


class Reported:
    """Finds numbers in output as it comes, on any thread; they are taken on another one.

    A program has two streams of output, and some print a line to both: the one in which the first
    number is found is the one that is read.

    Args:
        regex: a regular expression with at most one group, which says where the number is. It is
            searched in each line that has ended.
    """

    def __init__(self, regex: str) -> None:
        self._regex = re.compile(regex)
        self._found: list[float] = []
        self._streams: list[Callable[[bytes], None]] = []
        self._read: Callable[[bytes], None] | None = None  # the stream with the numbers
        self._lock = threading.Lock()
        self._complained = False

    def stream(self) -> Callable[[bytes], None]:
        """Return what is to be called with all of a stream, piece by piece."""
        rest = b""

        def search(read: bytes) -> None:
            nonlocal rest
            *lines, rest = _END.split(rest + read)
            rest = rest[-_LONGEST:]
            for line in lines:
                for match in self._regex.finditer(plain(line)):
                    self._keep((match[1] if self._regex.groups else match[0]) or "", search)

        self._streams.append(search)
        return search

    def end(self) -> None:
        """Search what is left of each stream: the last line may have no end."""
        for search in self._streams:
            search(b"\n")

    def take(self) -> list[float]:
        """Return the numbers found since the last time, in order."""
        with self._lock:
            found, self._found = self._found, []
        return found

    def _keep(self, text: str, stream: Callable[[bytes], None]) -> None:
        try:
            value = float(text.strip().replace("\N{MINUS SIGN}", "-"))
        except ValueError:
            if not self._complained:
                self._complained = True
                said = shortened(text, 60)
                logger.warning(
                    "What %r matches is no number: %r. It does not count as a report.",
                    self._regex.pattern,
                    said,
                )
            return
        with self._lock:
            self._read = self._read or stream
            if self._read is stream:
                self._found.append(value)
