"""Results on disk: JSON lines, one per result, appended as each is ready.

A run that is stopped while it writes leaves a last line without its end. That line counts as not
written: it is not read, and the next result takes its place.

A file that has grown large can be packed, while nothing writes to it; it takes a quarter of the
room or less:

    python -m benchmarks.kit.lines benchmarks/paper/results/*.jsonl

Then the lines are in ``NAME.jsonl.xz`` (``xzcat`` prints them), and are read from there as before;
new ones go to ``NAME.jsonl`` beside it, until that is packed too.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

Record = dict[str, Any]


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the result that each whole line holds; none where there is no file."""
    for place, line in whole_lines(path):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"{place} is not JSON ({error}); remove it to go on.") from error


def whole_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield where each line is and its text, if it was written to its end and is not empty.

    Those that are packed come first.
    """
    for part, opened in ((packed(path), lzma.open), (path, open)):
        if not part.exists():
            continue
        with opened(part, "rb") as file:
            try:
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        _check_is_ours(part, line)
                    elif line.strip():
                        yield f"Line {number} of {part}", line
            except (EOFError, lzma.LZMAError) as error:
                raise ValueError(f"{part} is damaged ({error}); take it from git.") from error


def append(path: Path, record: Record) -> None:
    """Write a result after the last whole line; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _drop_cut_off_line(path, file)
        file.write(_line(record))


def rewrite(path: Path, records: Iterable[Record]) -> None:
    """Put these results in the place of all that the file holds."""
    _replace(path, b"".join(_line(record) for record in records))
    packed(path).unlink(missing_ok=True)


def packed(path: Path) -> Path:
    """Return where the packed lines of a file are."""
    return path.with_name(f"{path.name}.xz")


def pack(path: Path) -> None:
    """Pack the lines of a file, after those of it that are packed. Nothing may write to it."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: nothing to pack.")
    lines = b"".join(line for _, line in whole_lines(path))
    _replace(packed(path), lzma.compress(lines))
    path.unlink(missing_ok=True)


def files(folder: Path) -> list[Path]:
    """Return the files of results in a folder, by name, packed or not."""
    found = {*folder.glob("*.jsonl"), *(path.with_suffix("") for path in folder.glob("*.jsonl.xz"))}
    return sorted(found)


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(f"{path.name}.new")  # whole before it replaces the old one
    new.write_bytes(content)
    new.replace(path)


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _drop_cut_off_line(path: Path, file: IO[bytes]) -> None:
    size = file.seek(0, 2)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    _check_is_ours(path, content[end:])
    file.truncate(end)


def _check_is_ours(path: Path, cut_off: bytes) -> None:
    """Raise unless this can be the beginning of a result: another file is not to be shortened."""
    if not cut_off.startswith(b"{"):
        raise ValueError(
            f"{path} must hold one JSON object per line, but ends with {cut_off[:80]!r}; "
            "take another file."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack files of results.")
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args().files:
        pack(path)


if __name__ == "__main__":
    main()
