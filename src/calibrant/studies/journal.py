"""A journal of which every line is whole, whatever becomes of those who write it."""

from __future__ import annotations

import os

from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

_PIECE = 4096  # bytes that are read at a time, backwards, to find the end of a line


class WholeLines(JournalFileSymlinkLock):
    """The lock of a journal; who acquires it cuts off a line that was not written to its end.

    A disk that is full, or a machine that stops, may leave half a line. The next one would be
    written behind it, and nobody could read either.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path

    def acquire(self) -> bool:
        """Wait for the lock, then make the journal end with a whole line."""
        acquired = super().acquire()
        try:
            self._cut()
        except OSError:
            self.release()
            raise
        return acquired

    def _cut(self) -> None:
        with open(self._path, "rb+") as file:
            size = end = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - _PIECE)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    end = start + newline + 1
                    break
                end = start
            if end < size:
                file.truncate(end)


def journal(path: str) -> JournalFileBackend:
    """Return the journal in a file, which is created if there is none."""
    return JournalFileBackend(path, WholeLines(path))
