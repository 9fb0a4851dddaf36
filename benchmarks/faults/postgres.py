"""A private PostgreSQL server, started as a user without privileges, to be stopped at will."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_VERSIONS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _bin() -> Path | None:
    """Return the folder of the server's programs; Debian keeps them out of the path."""
    found = shutil.which("pg_ctl")
    folders = [*reversed(_VERSIONS), *([Path(found).resolve().parent] if found else [])]
    needed = ("initdb", "pg_ctl", "createdb")
    return next((f for f in folders if all((f / name).exists() for name in needed)), None)


def missing() -> str | None:
    """Return why there can be no server here, if there cannot."""
    if _bin() is None:
        return "PostgreSQL is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg, the driver of PostgreSQL, is not installed"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "PostgreSQL does not run as root, and there is no user postgres"
    return None


class Postgres:
    """A server in a folder of its own, to be stopped and started at will."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", self.data, "-U", "worker", "-A", "trust", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(_bin() / program), *map(str, arguments)]
        user = {"user": "postgres"} if os.geteuid() == 0 else {}
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder, timeout=120, **user,
        )  # fmt: skip

    def start(self) -> None:
        settings = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off "
            f"-c max_connections=200 -c unix_socket_directories={self.folder}"
        )
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-o", settings, "-l", log, "-w", "-t", "90", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def url(self, name: str) -> str:
        """Return the URL of a new, empty database."""
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "worker", name)
        return f"postgresql+psycopg://worker:s3cret@127.0.0.1:{self.port}/{name}"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Yield a running server, and remove it afterwards."""
    # A short path that other users may enter: sockets have short names.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    folder.chmod(0o755)
    server = Postgres(folder)
    try:
        yield server
    finally:
        with suppress(subprocess.CalledProcessError):  # a test may have stopped it
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
