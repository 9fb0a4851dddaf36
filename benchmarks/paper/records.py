"""Results on disk: one JSON line per repetition, one file per problem; none is run twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.kit.lines import append, files, whole_lines
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
        self._known: dict[Setup, dict[int, Record]] = {}
        for one, record in self._read():
            self._keep(one, record)

    def __contains__(self, repetition: Repetition) -> bool:
        return repetition.seed in self._known.get(repetition.setup, {})

    def __iter__(self) -> Iterator[Repetition]:
        return (Repetition(setup, seed) for setup, known in self._known.items() for seed in known)

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def missing(self, wanted: Iterable[Repetition]) -> list[Repetition]:
        """Return those that have not been run, each once."""
        return [one for one in dict.fromkeys(wanted) if one not in self]

    def outside(self, wanted: Iterable[Repetition]) -> list[Repetition]:
        """Return those that are of no experiment any more."""
        kept = set(wanted)
        return [one for one in self if one not in kept]

    def of(self, setup: Setup) -> dict[int, Record]:
        """Return the repetitions of a setup by their seeds."""
        return dict(sorted(self._known.get(setup, {}).items()))

    def add(self, record: Record) -> None:
        """Keep a result, on disk before anything else."""
        append(self.folder / f"{file_name(record['problem'])}.jsonl", record)
        self._keep(repetition_of(record), record)

    def _keep(self, one: Repetition, record: Record) -> None:
        self._known.setdefault(one.setup, {})[one.seed] = record

    def _read(self) -> Iterator[tuple[Repetition, Record]]:
        for path in files(self.folder):
            for place, line in whole_lines(path):
                try:
                    record = json.loads(line)
                    yield repetition_of(record), record
                except (ValueError, TypeError, KeyError) as error:
                    raise ValueError(
                        f"{place} is not a search ({error}); remove it to go on."
                    ) from error
