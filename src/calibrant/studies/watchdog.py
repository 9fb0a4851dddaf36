"""A process that ends programs whose tuner was killed: SIGKILL leaves no time to do it oneself."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from contextlib import suppress

# It reads which groups of processes begin and end, until whoever writes that is gone.
_DOG = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    group = int(line[1:])
    groups.add(group) if line[0] == "+" else groups.discard(group)
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watchdog:
    """Watches over groups of processes; started before the first one is."""

    def __init__(self) -> None:
        self._dog: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Be there before a program begins: it takes longer than a program may need to begin."""
        with self._lock:
            if self._dog is None:
                self._dog = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _DOG],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # signals to our own group are none of its business
                )
                weakref.finalize(self, _send_off, self._dog)

    def watch(self, group: int) -> None:
        """End a group of processes if this process dies."""
        with self._lock:
            self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Take note that a group of processes has ended."""
        with self._lock:
            self._say(f"-{group}\n")

    def _say(self, words: str) -> None:
        assert self._dog is not None
        assert self._dog.stdin is not None
        with suppress(OSError):  # somebody may have killed it: programs run all the same
            self._dog.stdin.write(words.encode())
            self._dog.stdin.flush()


def _send_off(dog: subprocess.Popen[bytes]) -> None:
    assert dog.stdin is not None
    with suppress(OSError):
        dog.stdin.close()
    dog.wait()
