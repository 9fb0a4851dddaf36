"""What recalibrates the intervals that people see: `python -m benchmarks.peers.shown`.

A search does not depend on it, so that its forecasts are made once and every setting is judged on
the same ones. First points differ from those of all other results.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import markdown_table
from benchmarks.peers.suite import SUITE, TASKS
from benchmarks.peers.variants import PAIRS, forecasts, search
from calibrant import GaussianRecalibrator, OnlineRecalibrator
from calibrant.evaluation import metrics
from calibrant.forecasts import Forecast
from calibrant.recalibration import ChainRecalibrator, IdentityRecalibrator, Recalibrator
from calibrant.search.defaults import SHOWN

RESULTS = Path(__file__).parent / "variants" / "shown.jsonl"
SEEDS = (200, 201)


def _both(strength: float, limit: float, rate: float) -> Recalibrator:
    return ChainRecalibrator(GaussianRecalibrator(strength, limit), OnlineRecalibrator(rate=rate))


OWN = "the model's own"
SETTINGS: dict[str, Recalibrator] = {
    OWN: IdentityRecalibrator(),
    "online steps of 0.02 alone": OnlineRecalibrator(rate=0.02),
    "location and scale alone": GaussianRecalibrator(10.0, 4.0),
    "**both, as shown**": SHOWN,
    "trust worth 5 outcomes": _both(5.0, 4.0, 0.02),
    "trust worth 20 outcomes": _both(20.0, 4.0, 0.02),
    "scores count up to 2.5": _both(10.0, 2.5, 0.02),
    "scores count up to 6": _both(10.0, 6.0, 0.02),
    "online steps of 0.01": _both(10.0, 4.0, 0.01),
    "online steps of 0.03": _both(10.0, 4.0, 0.03),
}


def execute(variant: str, task: str, seed: int) -> dict[str, Any]:
    """Return how each setting would have done in one search."""
    made = list(forecasts(search(variant, task, seed)[0]))
    judged = {name: judge(setting, made) for name, setting in SETTINGS.items()}
    return {"variant": variant, "task": task, "seed": seed, "judged": judged, "commit": commit()}


def judge(recalibrator: Recalibrator, made: list[tuple[Forecast, float]]) -> list[float]:
    """Return calibration error, coverage of 80 % intervals, share of infinite ones, and CRPS."""
    pits, held, infinite, crps = [], [], [], []
    for raw, outcome in made:
        forecast = recalibrator.calibrate(raw)
        low, high = forecast.interval(0.8)
        pits.append(float(forecast.cdf(outcome)))
        held.append(low <= outcome <= high)
        infinite.append(np.isinf(high - low))
        crps.append(metrics.crps(forecast, outcome))
        recalibrator = recalibrator.observe(raw, outcome)
    found = (metrics.calibration_score(pits), np.mean(held), np.mean(infinite), np.mean(crps))
    return [float(f"{score:.4g}") for score in found]


def section() -> str:
    """Return the section of the page."""
    lines = load()
    if not lines:
        return f"{HEAD} Not run yet."
    rows = []
    for name in SETTINGS:
        cells = []
        for calibrated, _ in PAIRS.values():
            found = [line["judged"] for line in lines if line["variant"] == calibrated]
            error, held, infinite, _ = np.mean([judged[name] for judged in found], axis=0)
            ratios = [j[name][3] / own for j in found if (own := j[OWN][3]) > 0.0]
            mean, median = np.exp(np.mean(np.log(ratios))), np.median(ratios)
            cells.append(f"{error:.3f} · {held:.0%} · {infinite:.1%} · {mean:.3f} ({median:.3f})")
        rows.append([name, *cells])
    return f"{HEAD}\n\n{markdown_table(['', *PAIRS], rows, text_columns=1 + len(PAIRS))}"


def load() -> list[dict[str, Any]]:
    return list(read_lines(RESULTS))


HEAD = f"""\
## What recalibrates the intervals that are shown

`python -m benchmarks.peers.shown`: the forecasts of {len(SEEDS)} searches a task (all but the live ones) from first points used nowhere
else, as each setting would have shown them. Calibration error a search · 80 % intervals that held · those with an infinite end · CRPS as a
multiple of the model's own, mean of its logarithm over searches (median)."""


def main() -> None:
    done = {(line["variant"], line["task"], line["seed"]) for line in load()}
    missing = [
        run
        for variant, _ in PAIRS.values()
        for task in SUITE
        for seed in SEEDS
        if "live" not in TASKS[task].groups and (run := (variant, task, seed)) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS))


if __name__ == "__main__":
    main()
