"""The end of what a program prints, read while it runs.

Through a pipe, and not through a file: where a disk is full, a file would hold part of the output,
and the last number of that is not the result.
"""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType

_MOMENT = 0.1  # seconds between two looks whether the program has ended
_CHUNK = 2**16  # bytes that a pipe holds


class Tail:
    """Follows a pipe in a thread, and keeps its last bytes.

    A child that the program left in the background may hold the pipe open for ever. All that the
    program itself has written is in the pipe when it has ended, so nothing more is waited for.

    Args:
        limit: how many bytes to keep, at least; at most twice as many are.
        log: a file to write all of it to, which can be followed.
        listener: called with all of it, piece by piece, in the thread that follows.
    """

    def __init__(
        self,
        limit: int,
        log: Path | None = None,
        listener: Callable[[bytes], None] | None = None,
    ) -> None:
        self.cut = False  # whether there was more than is kept
        self._limit, self._kept = limit, bytearray()
        self._exit, self.entrance = -1, -1
        self._log_path = log
        self._log: FileIO | None = None
        self._listener = listener
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Tail:
        if self._log_path is not None:  # first: where it fails, nothing else is open
            self._log = self._log_path.open("wb", buffering=0)
        self._exit, self.entrance = os.pipe()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close_entrance()
        self.end()
        os.close(self._exit)
        if self._log is not None:
            self._log.close()

    def close_entrance(self) -> None:
        """Leave the pipe to the program that writes to it."""
        if self.entrance >= 0:
            os.close(self.entrance)
            self.entrance = -1

    def end(self) -> bytes:
        """Return the last bytes of a program that has ended."""
        self._over.set()
        self._thread.join()
        return bytes(self._kept)

    def _follow(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._exit, selectors.EVENT_READ)
            while True:
                over = self._over.is_set()  # before the look: what is there then, is all there is
                if not selector.select(_MOMENT):
                    if over:
                        return
                    continue
                if not (read := os.read(self._exit, _CHUNK)):
                    return
                self._kept += read
                if self._log is not None:
                    with suppress(OSError):  # a disk that is full costs the log, not the result
                        self._log.write(read)
                if self._listener is not None:
                    self._listener(read)
                if len(self._kept) > 2 * self._limit:
                    self.cut = True
                    del self._kept[: -self._limit]
