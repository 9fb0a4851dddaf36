"""What goes wrong while workers share a study, and what that needs of a machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.faults import postgres
from benchmarks.faults.workers import Fault, kill_one, suspend_one

STORAGES = ("postgresql", "sqlite", "journal", "grpc")
EVERY = [
    *[("none", kind) for kind in STORAGES],
    *[("kills", kind) for kind in STORAGES],
    ("outages", "postgresql"),
    ("sleepers", "postgresql"),
    ("full disk", "sqlite"),
    ("full disk", "journal"),
    ("clocks", "postgresql"),
    ("clocks", "journal"),
    ("versions", "sqlite"),
    ("read-only", "sqlite"),
]

OTHER_VERSION = "885c411"  # a commit: the last one that noted no states with suggestions
_DISK = "16m"  # bytes of the disk that fills; a study needs some of them
_TIMES = 3  # that the disk fills, and that the database goes away


def missing(scenario: str, kind: str) -> str | None:
    """Return why a scenario cannot be run here, if it cannot."""
    if kind == "postgresql" and (why := postgres.missing()):
        return why
    if scenario in ("full disk", "read-only") and os.geteuid() != 0:
        return "only root can make a disk that fills, or that cannot be written to"
    known = ["git", "cat-file", "-e", OTHER_VERSION]
    if scenario == "versions" and subprocess.run(known, check=False).returncode:
        return f"the commit {OTHER_VERSION} is not here"
    return None


def faults(scenario: str, server: postgres.Postgres | None, folder: Path) -> list[Fault]:
    """Return what happens meanwhile; the folder is that of the storage."""
    match scenario:
        case "kills":
            return [Fault(2.0, kill_one)]
        case "sleepers":
            return [Fault(4.0, suspend_one)]
        case "outages":
            assert server is not None
            return [Fault(8.0, _so_often(lambda: _outage(server)))]
        case "full disk":
            return [Fault(6.0, _so_often(lambda: _fill(folder)))]
    return []


def _so_often(happen: Callable[[], None]) -> Callable[[list[int]], None]:
    left = [None] * _TIMES

    def now(alive: list[int]) -> None:
        if left:
            left.pop()
            happen()

    return now


def _outage(server: postgres.Postgres) -> None:
    """Stop the database for 20 s."""
    server.stop()
    time.sleep(20.0)
    server.start()


def _fill(folder: Path) -> None:
    """Fill the disk to its last byte, for 10 s."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            for size in (65536, 1024, 1):
                while file.write(b"0" * size) == size:
                    pass
        except OSError:
            pass  # it is full
    time.sleep(10.0)
    filler.unlink()


def place(scenario: str, folder: Path):
    """Return the context of the folder for a storage: one on a small disk, where that may fill."""
    return _small_disk(folder) if scenario in ("full disk", "read-only") else nullcontext(folder)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs"]
    subprocess.run(["mount", *options, str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Make a small disk one that cannot be written to."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def other_version(folder: Path) -> Path:
    """Return a folder with the code of an earlier commit."""
    code = folder / "other"
    code.mkdir()
    archive = subprocess.run(
        ["git", "archive", OTHER_VERSION], check=True, stdout=subprocess.PIPE
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(code)], input=archive, check=True)
    return code
