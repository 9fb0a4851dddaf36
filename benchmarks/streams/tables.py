"""Write benchmarks/streams/README.md from the results: `python -m benchmarks.streams.tables`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.words import markdown_table, p_value
from benchmarks.streams import delays
from benchmarks.streams.methods import LEVELS, METHODS
from benchmarks.streams.run import RATES, RESULTS
from benchmarks.streams.streams import STREAMS
from calibrant import OnlineRecalibrator
from calibrant.recalibration.guarantee import exact_rate

PAGE = Path(__file__).parent / "README.md"


def main() -> None:
    PAGE.write_text(
        "\n".join([introduction(), coverage(), late(), sharpness(), real(), throughput()]) + "\n",
        encoding="utf-8",
    )
    print(PAGE)


def introduction() -> str:
    return """# Streams: which methods keep the promised coverage?

Regenerate with `make bench` (about an hour on one core; finished runs are kept). Raw results:
`results/*.jsonl`, one line a run. This page is written by `tables.py`.
"""


def coverage() -> str:
    results = load("coverage.jsonl")
    lines = [
        "## Coverage of 99 levels, T = 20,000",
        "",
        "The raw forecast is N(0, 1). Streams: *i.i.d.* outcomes twice as wide; *drifting* (std from",
        "half to three times the forecast one, mean swinging); *switching* between three regimes every",
        "500 outcomes; *adversarial*: it sees the quantiles just played and the counts so far, and picks",
        "the place that leaves some level as far off as possible. A referee counts outcomes at or below",
        "the played quantiles. The figure is the worst level's |hits − p·T|, divided by max(1, 1/rate):",
        "**1.00 or less keeps the promise** |coverage − p| ≤ max(1, 1/rate)/T. First *at T*, then the",
        "largest *at any time* up to T; the worst over repetitions (30 for calibrant online, 5 for the others,",
        "1 for MAPIE, which is slow and gets T = 5,000). Crossings: share of steps at which some",
        "played quantile was below the one of a lower level (under 0.1 %, which rounding of Φ⁻¹ can do, is none).",
        "",
    ]
    rows = []
    for method in METHODS:
        for rate in (*RATES, None):
            chosen = [r for r in results if r["method"] == method and r["rate"] == rate]
            if not chosen:
                continue
            allowed = max(1.0, 1.0 / rate) if rate else 100.0
            cells = []
            for stream in STREAMS:
                runs = [r for r in chosen if r["stream"] == stream]
                at_end = max(r["surplus_at_end"] for r in runs) / allowed
                any_time = max(r["surplus_at_any_time"] for r in runs) / allowed
                cells.append(f"{mark(at_end)} · {mark(any_time)}")
            crossings = np.mean([r["crossing_steps"] / r["steps"] for r in chosen])
            cells.append("none" if crossings < 1e-3 else f"{crossings:.0%}")
            rows.append((method, str(rate or "–"), *cells))
    ours = [r for r in results if r["method"].startswith("calibrant")]
    exact = [r for r in ours if r["rate"] != 1.0]
    kept = all(r["surplus_at_any_time"] <= 1 / r["rate"] + 1e-6 for r in exact)
    crossed = sum(r["crossing_steps"] for r in ours)
    guarantee = OnlineRecalibrator(LEVELS, 1.0).guarantee
    fast = [r for r in ours if r["rate"] == 1.0]
    worst = max(r["surplus_at_any_time"] for r in fast)
    at_end = max(r["surplus_at_end"] for r in fast)
    lines += [
        text_table(("method", "rate", *STREAMS, "crossings"), rows),
        "",
        f"- calibrant, rates 0.01 to 0.2: the promise {'held' if kept else 'was BROKEN'} at T and at "
        f"every time before, in all {len(exact)} runs, with {crossed or 'no'} crossing steps. For rates "
        "up to 0.199 with 99 levels it is proven (docs/theory.md).",
        f"- calibrant, rate 1: at T the worst surplus was {at_end:g}, at any time {worst:.2f}. With "
        f"99 levels that must not cross we know of no method that stays within 1 at all times; the "
        f"proven bound at this rate is {guarantee:.2f}.",
        "- *Plain lazy projection* (isotonic play without our third rule) goes over the bound of a "
        "single level: projection holds levels back. *Clipped state* and *sorted afterwards* lose the "
        "guarantee altogether (their surplus grows with T). *ACI per level* keeps each level's promise, but its levels cross. "
        "*crepes* assumes exchangeable data, has no rate, and is measured against 100; *MAPIE* clips "
        "its state. TorchUQ could not be installed: it is not on the package index.",
        "",
    ]
    return "\n".join(lines)


def late() -> str:
    results = load("delays.jsonl")
    online = OnlineRecalibrator(LEVELS, delays.RATE)
    single = max(1.0, 1.0 / delays.RATE)
    rows, ours_kept = [], True
    for method in delays.METHODS:
        for delay in delays.DELAYS:
            mine = [r for r in results if (r["method"], r["delay"]) == (method, delay)]
            if not mine:
                continue
            proven = online.guarantee_with_delay(delay)
            line = single + delay * float(LEVELS.max())
            cells = []
            for stream in delays.ARRIVALS:
                runs = [r for r in mine if r["stream"] == stream]
                if not runs:
                    cells.append("–")
                    continue
                worst = max(runs, key=lambda r: r["surplus_at_any_time"])
                surplus = worst["surplus_at_any_time"]
                figure = f"{surplus:.1f}" if surplus <= line + 1e-6 else f"**{surplus:.1f}**"
                cells.append(f"{figure} at {worst['worst_level']:g}")
                if method in ("calibrant online", "calibrant chain"):
                    ours_kept &= surplus <= proven + 1e-6
            crossings = np.mean([r["crossing_steps"] for r in mine]) / delays.STEPS
            crossed = "none" if crossings < 1e-3 else f"{crossings:.0%}"
            rows.append((method, str(delay), f"{line:.1f}", f"{proven:.1f}", *cells, crossed))
    exact = ", ".join(f"{exact_rate(tuple(LEVELS.tolist()), delay):.2g}" for delay in delays.DELAYS)
    runs = len(delays.SEEDS)
    return "\n".join([
        f"## Late outcomes, T = {delays.STEPS:,}",
        "",
        f"Rate {delays.RATE}. At most D forecasts wait for their outcomes when another is shown; a",
        "random one of them arrives, or, *in batches*, all of them at once. Figures: the largest",
        "|hits − p·T| of any level at any time, over all forecasts shown, those that wait included, and",
        f"the level where it was; the worst of {runs} repetitions. *Single level* is what a level alone",
        "would keep, max(1, 1/rate) + D·max(p, 1 − p); above it a figure is **bold**. *Proven* is",
        "`guarantee_with_delay(D)` for 99 levels that do not cross: the same for rates up to",
        f"{exact} at these delays, and",
        "larger for larger rates. All methods but *counted on today's* count an outcome on the",
        "quantiles that were shown for it (`issue` and `observe`).",
        "",
        text_table(
            ("method", "D", "single level", "proven", *delays.ARRIVALS, "crossings"), rows
        ),
        "",
        f"- calibrant with `issue` and `observe`: the proven bound {'held' if ours_kept else 'was BROKEN'}"
        " in all runs, without crossings.",
        "- *Counted on today's*, the same recalibrator where what was shown is forgotten, loses the"
        " promise as soon as an outcome is late. *Plain lazy projection* and *ACI per level* count on"
        " what was shown, too. *ACI* stays below the line of a single level, but its levels cross;"
        " *plain lazy projection*, whose levels do not cross, may go over that line (a little: **bold**)."
        " *DtACI* promises nothing for a fixed level, late outcomes or not.",
        "",
    ])  # fmt: skip


def sharpness() -> str:
    results = load("coverage.jsonl")
    lines = [
        "## Sharpness beside it",
        "",
        "Twice the mean pinball loss over the 99 levels, which tends to the CRPS (infinite quantiles",
        "read at ±8.2); mean over repetitions. Coverage promised for less sharpness is no bargain:",
        "large rates pay for their promise. A chain (location and scale first, then online) is as sharp",
        "as adaptive conformal inference here (rates up to 0.2), and does not cross.",
        "",
    ]
    rows = []
    for method in METHODS:
        for rate in (*RATES, None):
            chosen = [r for r in results if r["method"] == method and r["rate"] == rate]
            if chosen:
                cells = [
                    f"{np.mean([r['twice_mean_pinball'] for r in chosen if r['stream'] == s]):.3f}"
                    for s in STREAMS
                ]
                rows.append((method, str(rate or "–"), *cells))
    return "\n".join([*lines, text_table(("method", "rate", *STREAMS), rows), ""])


def real() -> str:
    lines = [
        "## Real streams",
        "",
        "Series that ship with statsmodels, forecast one step ahead by an autoregression fitted once to",
        "the first part, as N(mean, std²). Calibration score: m = 20 levels, lower is better. CRPS:",
        "difference of means, calibrated − raw, in percent of raw, with a 95 % interval (moving-block",
        "bootstrap, blocks of 12, 2,000 draws) and a two-sided p-value (signs of block means flipped).",
        "∞: share of steps at which an end of the 80 % interval was infinite.",
        "",
    ]
    head = (
        "stream (T)", "recalibrator", "calibration score", "80 % coverage", "CRPS change", "p", "∞",
    )  # fmt: skip
    rows, worse = [], []
    for r in load("real.jsonl"):
        raw, new = r["raw"], r["calibrated"]
        change, low, high, p = paired(np.array(r["crps_calibrated"]), np.array(r["crps_raw"]))
        if new["CRPS"] > raw["CRPS"]:
            worse.append(f"{r['recalibrator']} on {r['stream']} ({change:+.1%})")
        rows.append(
            (
                f"{r['stream']} ({r['outcomes']})",
                r["recalibrator"],
                f"{raw['calibration score']:.4f} → {new['calibration score']:.4f}",
                f"{raw['80% coverage']:.1%} → {new['80% coverage']:.1%}",
                f"{change:+.1%} [{low:+.1%}, {high:+.1%}]",
                p_value(p),
                f"{r['infinite_80']:.1%}",
            )
        )
    not_better = [
        f"{r['recalibrator']} on {r['stream']}"
        for r in load("real.jsonl")
        if r["calibrated"]["calibration score"] >= r["raw"]["calibration score"]
    ]
    lines += [
        text_table(head, rows),
        "",
        f"The calibration error went down in all {len(load('real.jsonl'))} cases but "
        f"{len(not_better)}: {'; '.join(not_better)}. "
        f"The CRPS did **not** improve for: {'; '.join(worse)}.",
        "",
    ]
    return "\n".join(lines)


def throughput() -> str:
    lines = [
        "## Throughput",
        "",
        "Updates per CPU second, one thread, each update leaving the next forecast ready to be read;",
        "median of seven batches, after 0, 1,000 and 100,000 earlier outcomes. Flat in T is the goal.",
        "",
    ]
    rows = []
    results = load("throughput.jsonl")
    for method, levels in dict.fromkeys((r["method"], r["levels"]) for r in results):
        by_past = {
            r["past"]: f"{r['updates_per_cpu_second']:,.0f}"
            for r in results
            if (r["method"], r["levels"]) == (method, levels)
        }
        cells = (by_past.get(past, "–") for past in (0, 1_000, 100_000))
        rows.append((method, str(levels or "all"), *cells))
    lines += [
        text_table(("method", "levels", "after 0", "after 1,000", "after 100,000"), rows),
        "",
        "`observe` also works out the 99 quantiles that it counts on. ACI keeps all past scores sorted; crepes is fitted anew to all residuals at each outcome, as a",
        "stream would need it (the coverage table refits every 100 outcomes, to finish).",
    ]
    return "\n".join(lines)


def paired(new: np.ndarray, old: np.ndarray, block: int = 12) -> tuple[float, float, float, float]:
    """Return the relative change of the mean, its bootstrap interval and a permutation p-value."""
    rng = np.random.default_rng(0)
    difference = (new - old) / old.mean()
    starts = rng.integers(0, difference.size - block + 1, (2000, difference.size // block))
    resampled = difference[starts[..., None] + np.arange(block)].mean(axis=(1, 2))
    low, high = np.quantile(resampled, [0.025, 0.975])
    usable = difference[: difference.size // block * block].reshape(-1, block).mean(axis=1)
    flipped = (rng.choice([-1.0, 1.0], (9999, usable.size)) * usable).mean(axis=1)
    p = (1 + np.sum(np.abs(flipped) >= abs(usable.mean()))) / 10_000
    return float(difference.mean()), float(low), float(high), float(p)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(head, rows, text_columns=len(head))


def mark(value: float) -> str:
    return f"{value:.2f}" if value <= 1.0 + 1e-6 else f"**{value:.2f}**"


def load(name: str) -> list[dict]:
    return list(read_lines(RESULTS / name))


if __name__ == "__main__":
    main()
