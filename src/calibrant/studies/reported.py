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

    A program has two streams of output. Reports are in the first; only if it ends without any are
    they those of the second. Progress bars and warnings, which go to the second, would else be
    mixed with them.

    Args:
        regex: a regular expression with at most one group, which says where the number is. It is
            searched in each line that has ended.
        source: which stream has the reports, where earlier trials have told: 0 or 1.
    """

    def __init__(self, regex: str, source: int | None = None) -> None:
        self._regex = re.compile(regex)
        self.source = source
        self._found: list[list[float]] = []  # by stream
        self._streams: list[Callable[[bytes], None]] = []
        self._lock = threading.Lock()
        self._complained = False

    def stream(self) -> Callable[[bytes], None]:
        """Return what is to be called with all of the next stream, piece by piece."""
        rest, found, own = b"", list[float](), len(self._found)

        def search(read: bytes) -> None:
            nonlocal rest
            if self.source not in (None, own):
                return
            *lines, rest = _END.split(rest + read)
            rest = rest[-_LONGEST:]
            for line in lines:
                for match in self._regex.finditer(plain(line)):
                    self._keep((match[1] if self._regex.groups else match[0]) or "", found)

        self._found.append(found)
        self._streams.append(search)
        return search

    def end(self) -> None:
        """Search the last line of each stream, which may have no end, and tell the source."""
        for search in self._streams:
            search(b"\n")
        if self.source is None:
            self.source = next((i for i, found in enumerate(self._found) if found), None)

    def take(self) -> list[float]:
        """Return the numbers found since the last time, in order."""
        with self._lock:
            found = self._found[self.source or 0]
            taken, found[:] = found[:], []
        if taken:
            self.source = self.source or 0
        return taken

    def _keep(self, text: str, found: list[float]) -> None:
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
            found.append(value)
