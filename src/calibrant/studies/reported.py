"""Numbers that a program prints as it goes on, such as the loss of each epoch."""

from __future__ import annotations

import logging
import re
import threading

from calibrant.core.words import shortened
from calibrant.studies.results import plain

logger = logging.getLogger("calibrant")

_END = re.compile(rb"[\r\n]")  # a progress bar returns to the beginning of its line
_LONGEST = 2**16  # bytes of a line that has not ended: what came before them is forgotten


class GivenUp(Exception):
    """The program was killed: what it had reported promised too little."""


class Reported:
    """Finds numbers in output as it comes, on any thread; they are taken on another one.

    Args:
        regex: a regular expression with at most one group, which says where the number is. It is
            searched in each line that has ended.
    """

    def __init__(self, regex: str) -> None:
        self._regex, self._rest = re.compile(regex), b""
        self._found: list[float] = []
        self._lock = threading.Lock()
        self._complained = False

    def __call__(self, read: bytes) -> None:
        """Search what a program has printed."""
        *lines, rest = _END.split(self._rest + read)
        self._rest = rest[-_LONGEST:]
        for line in lines:
            for match in self._regex.finditer(plain(line)):
                self._keep((match[1] if self._regex.groups else match[0]) or "")

    def take(self) -> list[float]:
        """Return the numbers found since the last time, in order."""
        with self._lock:
            found, self._found = self._found, []
        return found

    def _keep(self, text: str) -> None:
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
            self._found.append(value)
