"""Reading the result of a program out of the text that it wrote.

Text that leaves doubt fails: a wrong number would be worse than none.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from calibrant.core.words import shortened

# Possessive quantifiers, so that no part of a number attached to text ("3.2s") matches.
_SIGNED = r"[-+]?+(?:(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+|inf(?:inity)?+|nan)(?![\w])"
_NUMBER = re.compile(rf"(?<![\w.]){_SIGNED}", re.IGNORECASE)
# 0.83 ± 0.02, 0.83 +- 0.02, 0.83 +/- 0.02: a value, and the std of its noise.
_WITH_STD = re.compile(rf"(?<![\w.])({_SIGNED})\s*(?:±|\+/?-)\s*({_SIGNED})", re.IGNORECASE)
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")  # colours and cursor movements
# Names of devices, as in tensor(0.25, device='cuda:0'): their numbers are no results.
_DEVICE = re.compile(
    r"\b(?:cuda|cpu|gpu|mps|xpu|hpu|npu|ipu|tpu|xla|hip|mtia|vulkan|privateuseone):\d+\b",
    re.IGNORECASE,
)
# Of all braces, those that may begin a JSON object: each one that does not costs time to find out.
_OPENING = re.compile(r"\{(?=\s*[\"}])")


class NoResult(Exception):
    """A text holds no result; the message says why."""


@dataclass(frozen=True)
class Reading:
    """A result, and the line it was read from."""

    value: float
    line: str
    measured: Mapping[str, float] = field(default_factory=dict)  # what has a limit, by name
    std: float | None = None  # of its noise, where the program says so
    cost: float | None = None  # likewise

    def __str__(self) -> str:
        noise = "" if self.std is None else f" ± {self.std:g}"
        return f'read {self.value:g}{noise} from "{shortened(self.line, 72)}"'


def plain(text: bytes) -> str:
    """Return text without escape sequences such as colours."""
    return _ESCAPE.sub("", text.decode("utf-8", errors="replace"))


def read_result(
    text: str, source: str, json_field: str | None, regex: str | None, cut: bool = False
) -> Reading:
    """Return the last number of a text, a field of its last JSON object, or the last match.

    Args:
        text: what was written.
        source: what to call the text in an error.
        json_field: the field, ``a.b`` for a nested one.
        regex: a regular expression with at most one group.
        cut: whether the text had a beginning that is not there.
    """
    if json_field is not None:
        value = _field(text, json_field, source, cut)
        reading = Reading(value, f"{json_field}: {value:g}")
    elif regex is not None:
        reading = _last_match(text, regex, source)
    else:
        reading = _last_number(text, source)
    if not math.isfinite(reading.value):
        what = "the number" if json_field is None else f"`{json_field}`"
        raise NoResult(f"{what} in {source} is {reading.value}")
    return reading


def _last_match(text: str, regex: str, source: str) -> Reading:
    last = deque(re.finditer(regex, _ESCAPE.sub("", text), re.MULTILINE), maxlen=1)
    if not last:
        raise NoResult(f"nothing in {source} matches {regex!r}")
    found = last[0][1] if last[0].re.groups else last[0][0]
    text = (found or "").strip().replace("\N{MINUS SIGN}", "-")
    pair = _WITH_STD.fullmatch(text)
    try:
        value = float(pair[1] if pair else text)
    except ValueError:
        said = shortened(found or "", 60)
        raise NoResult(f"what {regex!r} matches in {source} is no number: {said!r}") from None
    std = float(pair[2]) if pair else None
    return Reading(value, _line(last[0].string, last[0].start()), std=std)


def _line(text: str, place: int) -> str:
    """Return the line of a text in which a place lies."""
    start = text.rfind("\n", 0, place) + 1
    return text[start:].partition("\n")[0].strip()


def _last_number(text: str, source: str) -> Reading:
    text = _ESCAPE.sub("", text).replace("\N{MINUS SIGN}", "-")
    hidden = _DEVICE.sub(lambda device: " " * len(device[0]), text)  # places stay as they are
    last = deque(_NUMBER.finditer(hidden), maxlen=1)
    if not last:
        raise NoResult(f"no number in {source}")
    found, place, std = last[0][0], last[0].start(), None
    pairs = deque(_WITH_STD.finditer(hidden), maxlen=1)
    if pairs and pairs[0].end() == last[0].end():
        found, place, std = pairs[0][1], pairs[0].start(), float(pairs[0][2])
    # 1,234.5 and 0,25 may be one number or the last two of a list: fail instead of guessing.
    thousands = re.search(r"(?<!\d)\d{1,3},$", text[:place])
    decimals = re.search(r"(?<![\d.,])\d+,$", text[:place])
    if (thousands and re.match(r"\d{3}(\D|$)", found)) or (decimals and found.isdigit()):
        raise NoResult(f"{source} ends in ...,{found}: write it without commas")
    return Reading(float(found), _line(text, place), std=std)


def _field(text: str, name: str, source: str, cut: bool) -> float:
    """Return a field of the last JSON object that has it.

    ``a.b`` is a field of that name, or the field b of the object a. Outer objects come first,
    nested ones second, because a nested history of epochs is not the result.
    """
    depths = (False,) if cut else (False, True)
    for found in chain.from_iterable(reversed(_objects(text, inner, cut)) for inner in depths):
        for keys in ([name], name.split(".")):
            value = found
            for key in keys:
                value = value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT
            if value is _ABSENT or isinstance(value, bool):  # true and false are not results
                continue
            try:
                return float(value)
            except (TypeError, ValueError):
                # Do not fall back to an earlier object: a run that diverged may write null.
                said = json.dumps(value)[:60]
                raise NoResult(f"the last `{name}` in {source} is {said}") from None
    raise NoResult(f"no JSON object with a number `{name}` in {source}")


_ABSENT = object()


def _objects(text: str, inner: bool, cut: bool) -> list[Any]:
    """Return the JSON objects in a text, with the nested ones if ``inner``.

    In a text whose beginning was cut off, a brace that closes nothing ends an object of which only
    the inner ones are there: those are not its outer ones, and are left out.
    """
    found: list[Any] = []
    decoder, seen = json.JSONDecoder(), 0
    for match in _OPENING.finditer(text):
        start = match.start()
        if start < seen and not inner:
            continue
        if cut and "}" in text[seen:start]:
            found.clear()
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            end = start + 1
        seen = end
    return [] if cut and "}" in text[seen:] else found
