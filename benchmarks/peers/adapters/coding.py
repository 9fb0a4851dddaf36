"""Numbers for settings, for the libraries that want numbers."""

from __future__ import annotations

import math
from typing import Any

from worker import Settings, Space

Parameter = dict[str, Any]


def limits(parameter: Parameter, logs: bool = False) -> tuple[float, float]:
    """Return the ends of a parameter's coded range; of a choice, the first and last place."""
    if parameter["type"] == "choice":
        return 0, len(parameter["choices"]) - 1
    low, high = parameter["low"], parameter["high"]
    return (math.log(low), math.log(high)) if logs and parameter["log"] else (low, high)


def encode(space: Space, settings: Settings, logs: bool = False) -> dict[str, Any]:
    """Return settings with places for choices and, if asked, logarithms for log-scaled ones."""
    coded = {}
    for p in space:
        value = settings[p["name"]]
        if p["type"] == "choice":
            value = p["choices"].index(value)
        elif logs and p["log"]:
            value = math.log(value)
        coded[p["name"]] = value
    return coded


def decode(space: Space, coded: dict[str, Any], logs: bool = False) -> Settings:
    """Return the settings, as plain Python, nearest to coded ones."""
    settings = {}
    for p in space:
        value = float(coded[p["name"]])
        if p["type"] == "choice":
            settings[p["name"]] = p["choices"][min(max(round(value), 0), len(p["choices"]) - 1)]
            continue
        if logs and p["log"]:
            value = math.exp(value)
        nearest = round(value) if p["type"] == "int" else value
        settings[p["name"]] = min(max(nearest, p["low"]), p["high"])
    return settings
