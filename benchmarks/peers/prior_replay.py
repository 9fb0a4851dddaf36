"""How fast intervals depart from their prior: stored searches, replayed with several settings.

    python -m benchmarks.peers.prior_replay    # two core-minutes; then `prior tables`

The searches are those that the prior is fitted to (``prior collect``). Each is shown by a prior
that was fitted to other tasks, and recalibrated online by its own outcomes, as late as they came.
All is in the units of normal scores, so that nothing needs to be searched again. ``INFORMED`` in
``search/defaults.py`` was chosen by this table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_all
from benchmarks.kit.words import markdown_table
from benchmarks.peers.prior import SUITE_RESULTS, WINDOWS, WORKERS, fitted, fold_of_task
from calibrant.forecasts import Normal
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.residual import compose
from calibrant.recalibration import (
    ChainRecalibrator,
    GaussianRecalibrator,
    IdentityRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
)
from calibrant.search.defaults import INFORMED
from calibrant.search.shown import Circumstances

RESULTS = Path(__file__).parent / "results" / "prior" / "replay.jsonl"
ENDS = np.array([0.1, 0.9])


def _chain(strength: float, limit: float = 4.0, rate: float = 0.02) -> ChainRecalibrator:
    return ChainRecalibrator(
        GaussianRecalibrator(strength=strength, limit=limit), OnlineRecalibrator(rate=rate)
    )


SETTINGS: dict[str, Recalibrator] = {
    "the prior alone": IdentityRecalibrator(),
    "online steps alone": OnlineRecalibrator(rate=0.02),
    "**as shown**": INFORMED,
    "trust worth 10 outcomes": _chain(10.0),
    "trust worth 30 outcomes": _chain(30.0),
    "trust worth 50 outcomes": _chain(50.0),
    "scores count up to 2.5": _chain(20.0, limit=2.5),
    "online steps of 0.03": _chain(20.0, rate=0.03),
}


def replayed(row: dict[str, Any], start: Recalibrator, fold: int) -> dict[str, Any]:
    """Return which 80 % intervals of a stored search held, and their interval scores."""
    prior, now, shown = fitted(fold), start, []
    scores = np.clip(row["z"], -10.0, 10.0)  # as far as the prior was fitted
    held, loss = [], []
    for step, known in enumerate(row["known"]):
        if step >= row["workers"]:
            late = step - row["workers"]
            now = now.observe(shown[late], scores[late])
        forecast: Forecast = compose(Normal(0.0, 1.0), prior(Circumstances(*known)))
        shown.append(now.issue(forecast))
        low, high = shown[-1].calibrated.quantile(ENDS)
        z = scores[step]
        held.append(int(low <= z <= high))
        # An infinite end costs as much as one at the furthest score.
        low, high = np.clip([low, high], -10.0, 10.0)
        loss.append(float(high - low + 10.0 * (max(low - z, 0.0) + max(z - high, 0.0))))
    return {"task": row["task"], "workers": row["workers"], "held": held, "loss": loss}


def execute(setting: str, fold: int) -> list[dict[str, Any]]:
    """Replay the searches on the tasks of a fold; their prior has not seen these tasks."""
    rows = list(read_lines(SUITE_RESULTS))
    folds = fold_of_task(rows)
    mine = [r for r in rows if folds[r["task"]] == fold]
    return [{"setting": setting, **replayed(r, SETTINGS[setting], fold)} for r in mine]


def main() -> None:
    found: list[dict[str, Any]] = []
    folds = sorted(set(fold_of_task(list(read_lines(SUITE_RESULTS))).values()))
    run_all(execute, [(s, f) for s in SETTINGS for f in folds], found.extend, os.cpu_count() or 1)
    before = np.mean([np.mean(r["loss"]) for r in found if r["setting"] == "the prior alone"])
    RESULTS.unlink(missing_ok=True)
    for setting in SETTINGS:
        mine = [r for r in found if r["setting"] == setting]
        append(RESULTS, {"setting": setting, **_summary(mine, float(before)), "commit": commit()})


def _summary(mine: list[dict[str, Any]], before: float) -> dict[str, Any]:
    """Return shares held, how much they differ between tasks, and the interval score."""
    tasks = sorted({r["task"] for r in mine})
    by_task = [np.mean([r["held"] for r in mine if r["task"] == task]) for task in tasks]
    held = {w: np.array([r["held"] for r in mine if r["workers"] == w]) for w in WORKERS}
    every = np.vstack(list(held.values()))
    return {
        "held": {f"{w} at a time": round(float(held[w].mean()), 4) for w in WORKERS}
        | {name: round(float(every[:, part].mean()), 4) for name, part in WINDOWS.items()},
        "between_tasks": round(float(np.std(by_task)), 4),
        "score": round(float(np.mean([np.mean(r["loss"]) for r in mine])) / before, 4),
    }


def section() -> list[str]:
    """Return the lines of the page about these settings."""
    rows = list(read_lines(RESULTS))
    if not rows:
        return []
    head = ["setting", *rows[0]["held"], "std between tasks", "interval score"]
    cells = [
        [
            r["setting"],
            *(f"{share:.1%}" for share in r["held"].values()),
            f"{100 * r['between_tasks']:.1f} points",
            f"{r['score']:.3f}",
        ]
        for r in rows
    ]
    return [markdown_table(head, cells, text_columns=1)]


if __name__ == "__main__":
    main()
