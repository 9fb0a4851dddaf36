"""The state of the recalibrator that showed a forecast, as it is noted with its suggestion.

A note also has a mark of the outcomes that the state has observed, so that whoever reads it can
tell whether these are the first ones of the study as it is now; and a sum that a damaged note, or
one of a version with other settings, does not have.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.recalibration.chain import ChainRecalibrator
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.recalibration.online import OnlineRecalibrator
from calibrant.search.defaults import INFORMED, SHOWN

NOTHING = 0  # the mark of no outcome

_STARTS = {"shown": SHOWN, "informed": INFORMED}
_SETTINGS = {name: zlib.crc32(json.dumps(s.to_dict()).encode()) for name, s in _STARTS.items()}


def after(mark: int, finished: tuple[float, int], value: float) -> int:
    """Return the mark of some outcomes and another one: when its trial ended, number, and value."""
    return zlib.crc32(repr((*finished, value)).encode(), mark)


def noted(state: ChainRecalibrator, mark: int) -> dict[str, Any]:
    """Return a state as JSON values; of its hits the increments, which are mostly one digit."""
    gaussian, online = _parts(state)
    strength = gaussian.strength
    start = next(name for name, one in _STARTS.items() if _parts(one)[0].strength == strength)
    note = {
        "start": start,
        "mark": mark,
        "count": gaussian.count,
        "total": gaussian.total,
        "squares": gaussian.squares,
        "hits": np.diff(online.hits, prepend=0).tolist(),
    }
    return {**note, "sum": _sum(note)}


def read(note: Mapping[str, Any] | None) -> ChainRecalibrator | None:
    """Return the state of a note, or None if there is none that can be used."""
    if note is None or str(note.get("start")) not in _STARTS:
        return None
    told = {name: value for name, value in note.items() if name != "sum"}
    if note.get("sum") != _sum(told):
        return None
    gaussian, online = _parts(_STARTS[note["start"]])
    count, hits = note["count"], np.cumsum(note["hits"])
    return ChainRecalibrator(
        replace(gaussian, count=count, total=note["total"], squares=note["squares"]),
        OnlineRecalibrator(online.levels, online.rate, count, hits),
    )


def place(note: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """Return how many outcomes the state of a note has observed, and their mark."""
    count, mark = (None, None) if note is None else (note.get("count"), note.get("mark"))
    return (count, mark) if isinstance(count, int) and isinstance(mark, int) else None


def _sum(note: Mapping[str, Any]) -> int:
    """Return a sum over a note, and over the settings that it relies on."""
    return zlib.crc32(json.dumps(note, sort_keys=True).encode(), _SETTINGS[note["start"]])


def _parts(state: ChainRecalibrator) -> tuple[GaussianRecalibrator, OnlineRecalibrator]:
    assert isinstance(state.first, GaussianRecalibrator)
    assert isinstance(state.then, OnlineRecalibrator)
    return state.first, state.then
