"""Forecasts of settings after the searches of :mod:`benchmarks.decisions.recommend`."""

from __future__ import annotations

import numpy as np

from benchmarks.decisions.recommend import LEVELS, NEAR, NOISES, RANDOM, RESULTS
from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import estimate
from benchmarks.kit.words import markdown_table

PLACES = {
    "random": f"{RANDOM} random settings",
    "near": f"{3 * NEAR} settings beside the three best",
    "recommended": "the recommended setting",
}
KINDS = ("a new evaluation, raw", "a new evaluation, calibrated", "the mean of many evaluations")


def section() -> list[str]:
    """Return the part of the page about forecasts."""
    records = list(read_lines(RESULTS))
    if not records:
        return []
    rows = []
    for place, words in PLACES.items():
        for kind, name in enumerate(KINDS):
            held = np.array([r["forecasts"][place][kind] for r in records])
            cells = [estimate(column) for column in held.T]
            rows.append([words, name, *(f"{c.mean:.0%} ({c.low:.0%}–{c.high:.0%})" for c in cells)])
    noisy = []
    for noise in NOISES:
        group = [r["forecasts"] for r in records if r["noise"] == noise]
        if group:
            held = [estimate([r[place][1][1] for r in group]) for place in ("random", "near")]
            cells = [f"{c.mean:.0%} ({c.low:.0%}–{c.high:.0%})" for c in held]
            noisy.append([noise, str(len(group)), *cells])
    return [
        "## Forecasts of settings",
        "",
        f"`calibrant.forecast` after {len(records)} searches on held-out functions, with and "
        "without noise: how often intervals held, with 95 % intervals over searches.",
        "",
        markdown_table(["settings", "interval of", *(f"{p:.0%}" for p in LEVELS)], rows, 2),
        "",
        "80 % intervals of new evaluations, calibrated, by noise:",
        "",
        markdown_table(["noise", "searches", "random settings", "beside the best"], noisy),
        "",
    ]
