"""The rival's side of a run: requests come in as JSON lines, answers go out as JSON lines.

    {"start": {"rival": NAME, "space": [...], "seed": 0, "budget": 30}}  →  {}
    {"tell": {"settings": {...}, "outcome": 1.5}}  →  {}
    {"ask": {}}  →  {"settings": {...}, "seconds": 0.01}

and ``{"error": ...}`` where the rival raised. It runs in the rival's own environment, with nothing
but the standard library, on any Python from 3.8 on. A parameter of the space is

    {"name": "C", "type": "float", "low": 0.01, "high": 100.0, "log": true}
    {"name": "depth", "type": "int", "low": 1, "high": 12, "log": false}
    {"name": "kernel", "type": "choice", "choices": ["rbf", "linear"]}

and with ``"when": ["kernel", ["rbf"]]`` it exists only where another has one of some values. Told
settings have a value for each parameter, also where it does not exist; a library that knows of
conditions drops it (see :func:`active`), any other sees a box in which some values do not matter.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

Settings = dict[str, Any]
Space = list[dict[str, Any]]


def active(space: Space, settings: Settings) -> Settings:
    """Return the settings that exist: those whose condition, if they have one, is met."""
    found: Settings = {}
    for parameter in space:  # a condition is on a parameter listed earlier
        on, values = parameter.get("when", (None, ()))
        if on is None or (on in found and found[on] in values):
            found[parameter["name"]] = settings[parameter["name"]]
    return found


def serve(rivals: dict[str, type]) -> None:
    """Answer requests until there are no more."""
    # Libraries print as they please: what they print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    rival: Any | None = None
    told_at = time.process_time()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: dict[str, Any] = {}
            if "start" in request:
                start = request["start"]
                rival = rivals[start.pop("rival")](**start)
            elif "tell" in request:
                told_at = time.process_time()
                rival.tell(**request["tell"])
            else:
                settings = rival.ask()
                # Some libraries work when they are told, some when they are asked.
                answer = {"settings": settings, "seconds": time.process_time() - told_at}
        except Exception as problem:  # a rival's failure is a result, and the harness records it
            answer = {"error": f"{type(problem).__name__}: {problem}"[:500]}
        answers.write(json.dumps(answer, default=_plain) + "\n")
        answers.flush()


def _plain(value: Any) -> Any:
    """Return the Python number or string that a NumPy one stands for."""
    return value.item()


def from_unit(parameter: dict[str, Any], u: float) -> Any:
    """Return the value at a share u of a parameter's range, 0 ≤ u ≤ 1."""
    if parameter["type"] == "choice":
        choices = parameter["choices"]
        return choices[min(int(u * len(choices)), len(choices) - 1)]
    low, high = parameter["low"], parameter["high"]
    if parameter["type"] == "int":
        low, high = low - 0.5, high + 0.5
    value = low * (high / low) ** u if parameter["log"] else low + u * (high - low)
    if parameter["type"] == "int":
        return int(min(max(round(value), parameter["low"]), parameter["high"]))
    return min(max(value, low), high)
