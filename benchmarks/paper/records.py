"""Results on disk: one JSON line per repetition, one file per problem; none is run twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.kit.lines import append, whole_lines
from benchmarks.kit.words import file_name
from benchmarks.paper.search import Record
from benchmarks.paper.setups import Setup

Runs = Mapping[str, Mapping[int, Record]]  # label → seed → record


class Repetition(NamedTuple):
    """A search to be run, or found on disk."""

    setup: Setup
    seed: int


def repetition_of(record: Record) -> Repetition:
    """Return which search a record is of."""
    return Repetition(Setup(record["problem"], **record["settings"]), record["seed"])


class Records:
    """The results in a folder.

    Several processes may read it, one may write: the one that runs the searches.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known = dict(self._read())

    def __contains__(self, repetition: Repetition) -> bool:
        return repetition in self._known

    def __len__(self) -> int:
        return len(self._known)

    def missing(self, wanted: Iterable[Repetition]) -> list[Repetition]:
        """Return those that have not been run, each once."""
        return [one for one in dict.fromkeys(wanted) if one not in self._known]

    def outside(self, wanted: Iterable[Repetition]) -> list[Repetition]:
        """Return those that are of no experiment any more."""
        known = set(wanted)
        return [one for one in self._known if one not in known]

    def of(self, setup: Setup) -> dict[int, Record]:
        """Return the repetitions of a setup by their seeds."""
        found = {r.seed: record for r, record in self._known.items() if r.setup == setup}
        return dict(sorted(found.items()))

    def add(self, record: Record) -> None:
        """Keep a result, on disk before anything else."""
        append(self.folder / f"{file_name(record['problem'])}.jsonl", record)
        self._known[repetition_of(record)] = record

    def _read(self) -> Iterator[tuple[Repetition, Record]]:
        for path in sorted(self.folder.glob("*.jsonl")):
            for number, line in whole_lines(path):
                try:
                    record = json.loads(line)
                    yield repetition_of(record), record
                except (ValueError, TypeError, KeyError) as error:
                    raise ValueError(
                        f"Line {number} of {path} is not a search ({error}); remove it to go on."
                    ) from error
