"""Which process this is, and whether another one on this machine is still alive."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path


def identity() -> str:
    """Return a name of this process that no other process has, on any machine, at any time."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_birth(pid)}"


def has_died(name: str) -> bool:
    """Return whether a process is known to have ended: only this machine's own are known."""
    machine, _, rest = name.partition(":")
    pid, _, birth = rest.partition(":")
    if machine != _machine() or not pid.isdigit():
        return False
    return _birth(int(pid)) != birth


def is_at_work(name: str) -> bool:
    """Return whether a process is known to live: one of this machine that nobody has stopped."""
    machine, _, rest = name.partition(":")
    pid, _, birth = rest.partition(":")
    if machine != _machine() or not pid.isdigit() or not Path("/proc/self/stat").exists():
        return False
    fields = _stat(int(pid))
    return bool(fields) and fields[0] not in "ZXTt" and fields[19] == birth


@cache
def _machine() -> str:
    """Return a name of this machine since it was started, and of this container on it."""
    parts = [socket.gethostname(), _read("/proc/sys/kernel/random/boot_id")]
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))  # process ids are counted anew in each
    except OSError:
        parts.append("")
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]


def _birth(pid: int) -> str:
    """Return when a process was started, as its ids are given out again; "" if there is none."""
    if Path("/proc/self/stat").exists():
        fields = _stat(pid)
        # Its state comes first: a zombie has ended, though nobody has taken note of it yet.
        return "" if not fields or fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except (PermissionError, OSError):
        pass
    return "alive"  # systems without /proc


def _stat(pid: int) -> list[str]:
    """Return what is known of a process, from its state on; nothing if there is none."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
