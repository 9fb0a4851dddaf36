"""JSON lines that a stopped run may have cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what each whole line holds."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def append(path: Path, result: dict[str, Any]) -> None:
    """Write a line after the last whole one."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write((json.dumps(result, separators=(",", ":")) + "\n").encode())
