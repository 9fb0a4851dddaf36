"""Write README.md from the raw results: `python -m benchmarks.speed.tables`."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.words import markdown_table

HERE = Path(__file__).parent
SYSTEMS = ("calibrant", "calibrant uncalibrated", "Optuna GPSampler", "BoTorch log-EI")
RIVALS = SYSTEMS[2:]

TEXT = """# Speed of one ask

Median CPU milliseconds of one ask after n tells, through an Optuna study: Hartmann's function in 6 dimensions,
n random trials, then asks and tells in turn; one thread, each measurement in a process of its own, all in the same
run. Three seeds up to n = 500, one above; the first ask of a process, which loads libraries and fits from
scratch, is listed apart. All systems with default settings.

{asks}

{verdict}

## What a refit costs

Between refits a step appends rows to a factor. Hyper-parameters of each of the three kernels that take turns are fitted
again when the number of outcomes has grown by 5 % since its last fit: afresh up to 100 outcomes, then from where they were
(on 250 outcomes at most). Up to some 60 outcomes that is at every ask. A refit of one kernel, spread over 5 % of n asks, adds:

{refits}

{growth}

## What calibration costs

The same history, chosen from in turns with and without recalibration (medians of {repetitions} each; the interval is
a bootstrap of the ratio):

{overhead}

{overhead_verdict}

## Loading

`import calibrant` takes {package:.2f} s beyond numpy, scipy and optuna themselves ({below:.2f} s); the sampler, loaded
when it is first used, {sampler:.2f} s more. Medians of seven fresh processes.

## Again

```
make speed
```

runs what is missing in `results/speed.jsonl` and writes this page. Delete the file to measure anew.
"""


def main() -> None:
    rows = list(read_lines(HERE / "results" / "speed.jsonl"))
    asks = [row for row in rows if row["part"] == "ask"]
    sizes = sorted({row["n"] for row in asks})
    median = {
        (system, n): 1e3 * np.median(every(asks, system, n)) for system in SYSTEMS for n in sizes
    }
    loading = [row for row in rows if row["part"] == "import"]
    overhead_rows = [row for row in rows if row["part"] == "overhead"]
    ratios = [overhead_ratio(row) for row in overhead_rows]
    page = TEXT.format(
        asks=ask_table(asks, sizes, median),
        verdict=verdict(sizes, median),
        refits=refit_table([row for row in rows if row["part"] == "refit"], median),
        growth=growth(sizes, median),
        repetitions=" or ".join(
            sorted({str(len(r["calibrated"])) for r in overhead_rows}, key=int)
        ),
        overhead=overhead_table(overhead_rows, ratios),
        overhead_verdict=overhead_verdict(ratios),
        **{
            key: float(np.median([row[key] for row in loading]))
            for key in ("package", "below", "sampler")
        },
    )
    (HERE / "README.md").write_text(page, encoding="utf-8")


def every(asks: list[dict], system: str, n: int) -> list[float]:
    chosen = [row for row in asks if row["system"] == system and row["n"] == n]
    return [second for row in chosen for second in row["seconds"]]


def ask_table(asks: list[dict], sizes: list[int], median: dict) -> str:
    head = ("n", *SYSTEMS, "× GPSampler", "× BoTorch", "first ask", "peak MB")
    rows = []
    for n in sizes:
        ours = [row for row in asks if row["system"] == "calibrant" and row["n"] == n]
        cells = [f"{median[system, n]:.1f}" for system in SYSTEMS]
        cells += [f"{median[rival, n] / median['calibrant', n]:.1f}" for rival in RIVALS]
        cells.append(f"{1e3 * np.median([row['first'] for row in ours]):.0f}")
        peaks = [
            max(row["peak_mb"] for row in asks if row["system"] == system and row["n"] == n)
            for system in ("calibrant", "Optuna GPSampler", "BoTorch log-EI")
        ]
        cells.append(" / ".join(f"{peak:.0f}" for peak in peaks))
        rows.append((str(n), *cells))
    note = "First ask: calibrant's, in ms. Peak memory: calibrant / GPSampler / BoTorch."
    return f"{markdown_table(head, rows, text_columns=0)}\n\n{note}"


def verdict(sizes: list[int], median: dict) -> str:
    small = [median["Optuna GPSampler", n] / median["calibrant", n] for n in sizes if n <= 500]
    said = "is reached at every" if min(small) >= 10 else "is **not** reached at every"
    return (
        f"The goal, ten times faster than Optuna's GPSampler, {said} n ≤ 500: "
        f"{min(small):.0f} to {max(small):.0f} times."
    )


def refit_table(refits: list[dict], median: dict) -> str:
    head = ("n", "a refit, ms", "asks that share it", "ms an ask", "in all, ms")
    rows = []
    for row in refits:
        n, cost = row["n"], 1e3 * np.median(row["seconds"])
        shared = max(1, int(0.05 * n))
        total = median["calibrant", n] + cost / shared
        rows.append((str(n), f"{cost:.0f}", str(shared), f"{cost / shared:.1f}", f"{total:.1f}"))
    return markdown_table(head, rows, text_columns=0)


def growth(sizes: list[int], median: dict) -> str:
    steps = [
        np.log(median["calibrant", b] / median["calibrant", a]) / np.log(b / a)
        for a, b in itertools.pairwise(sizes)
        if a >= 200
    ]
    within = "no steeper than n²" if max(steps) <= 2.0 else "steeper than n² somewhere"
    exponents = ", ".join(f"{step:.1f}" for step in steps)
    return f"Between refits the time grows {within}: exponents {exponents} from n = 200 on."


def overhead_ratio(row: dict) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    with_, without = np.array(row["calibrated"]), np.array(row["uncalibrated"])
    draws = rng.integers(with_.size, size=(2000, with_.size))
    ratio = np.median(with_[draws], axis=1) / np.median(without[draws], axis=1)
    low, high = np.quantile(ratio, [0.025, 0.975])
    return float(np.median(with_) / np.median(without)), float(low), float(high)


def overhead_table(rows: list[dict], ratios: list[tuple[float, float, float]]) -> str:
    head = ("n", "calibrated, ms", "uncalibrated, ms", "ratio", "95 % interval")
    cells = []
    for row, (ratio, low, high) in zip(rows, ratios, strict=True):
        with_, without = (1e3 * np.median(row[key]) for key in ("calibrated", "uncalibrated"))
        times = (f"{with_:.2f}", f"{without:.2f}", f"{ratio:.3f}")
        cells.append((str(row["n"]), *times, f"{low:.3f} to {high:.3f}"))
    return markdown_table(head, cells, text_columns=0)


def overhead_verdict(ratios: list[tuple[float, float, float]]) -> str:
    worst = max(ratio for ratio, _, _ in ratios)
    if worst <= 1.1:
        most = max(0.0, worst - 1)
        return f"Calibration adds at most {most:.0%} to an ask at these n; the goal was 10 %."
    return f"Calibration adds up to {worst - 1:.0%} to an ask; the goal of 10 % is missed."


if __name__ == "__main__":
    main()
