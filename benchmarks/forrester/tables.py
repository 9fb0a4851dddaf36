"""Write README.md from the results: `python -m benchmarks.forrester.tables`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from benchmarks.forrester import draw
from benchmarks.forrester.problem import EVALUATIONS, FOUND, LEVELS, MODELS, WAYS
from benchmarks.forrester.run import SEEDS, STEP, load
from benchmarks.kit.statistics import holm, mcnemar
from benchmarks.kit.words import markdown_table, p_equation

PAGE = Path(__file__).parent / "README.md"
BUDGETS = (15, EVALUATIONS)
MODEL_NAMES = {
    "rbf": "the paper's model",
    "process": "one process",
    "default": "the default model",
}
MODELS_ARE = {
    "rbf": "RBF kernel, standardised outcomes, hyper-parameters by maximum likelihood",
    "process": "`GaussianProcess()`: Matérn kernel, Yeo–Johnson on the outcomes, priors",
    "default": "what calibrant searches with by default: three kernels in turns, each with a "
    "learned level",
}
WAY_NAMES = {
    "raw": "raw",
    "default": "default",
    "limited": "limited",
    "limited-refit": "limited, refitted",
    "symmetric": "symmetric",
    "loo-refit": "leave-one-out, refitted",
    "series": "time-series",
    "series-refit": "time-series, refitted",
    "online-scores": "online scores",
    "leader": "leader",
    "online": "online recalibrator",
}
WAYS_ARE = {
    "raw": "the model is trusted",
    "default": "`ScaleRecalibrator()` on leave-one-out scores in closed form: calibrant's default",
    "limited": "`GaussianRecalibrator(strength=10, limit=2.5)` on the same: the default for a bound "
    "when these searches were first made",
    "limited-refit": "the same with a fit for each outcome left out, `CalibrationSet(refit=True)`",
    "symmetric": "`GaussianRecalibrator(strength=5)`, which counts scores up to 10, on leave-one-out "
    "scores without their signs: spread and no shift",
    "loo-refit": "`GaussianRecalibrator(strength=10)`, with a fit for each outcome left out: what the paper does",
    "series": "it, on one-step-ahead scores from the third outcome on",
    "series-refit": "it, with a fit for each of them",
    "online-scores": "it, on the forecasts of the points that the search chose",
    "leader": "`LeaderRecalibrator()` on leave-one-out scores",
    "online": "`OnlineRecalibrator(rate=0.05)` on the forecasts of the points that the search chose",
}
ROWS = [(model, level) for model in MODELS for level in LEVELS]
CALIBRATED = [way for way in WAYS if way != "raw"]

Search = tuple[str, float, str]  # model, level, way
Found = dict[Search, np.ndarray]  # for each seed, whether the minimum was found


def main() -> None:
    results = load()
    parts = [introduction(), picture(results), columns()]
    parts += [table(results, budget) for budget in BUDGETS]
    parts += [boldness(results), afterthoughts()]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(PAGE)


def introduction() -> str:
    return f"""# Forrester: is a stuck search freed?

The paper's first figure: the function (6x − 2)² sin(12x − 4) on [0, 1], to be minimised, from three
points that miss [0.6, 0.9], where the minimum is (−6.02 at 0.757). A search that trusts its model
too much stays at the other local minimum, −0.99 at 0.143. The next point is where a low quantile of
the forecast is lowest: of level 0.0228 (mean − 2 std) or 0.1 (mean − 1.28 std). A search has found
the minimum when a value is below −{-FOUND}.

Regenerate with `python -m benchmarks.forrester.run` (about twenty minutes on one core;
finished searches are kept), then `python -m benchmarks.forrester.draw` (needs Chrome or Chromium) and
`python -m benchmarks.forrester.tables`. Raw results: `results/searches.jsonl`, one line a search.
This page is written by `tables.py`.
"""


def picture(results: list[dict]) -> str:
    seed = draw.chosen_seed(results)
    raw, calibrated = (outcomes(results, EVALUATIONS)[*draw.SEARCH, w] for w in ("raw", draw.WAY))
    freed, lost = int(np.sum(calibrated & ~raw)), int(np.sum(raw & ~calibrated))
    return f"""## One search, with and without calibration

![Eight panels: raw and calibrated forecasts at steps 4, 9, 11 and 14](forrester.png)

The paper's model at level {draw.SEARCH[1]}, so that the acquisition is the lower end of the
80 % interval. Calibrated here means *{WAY_NAMES[draw.WAY]}*, as in the paper, and not the
library's default. The start was chosen by rule, to show the effect: it is the first seed ({seed}) from
which raw does not find the minimum in {EVALUATIONS} evaluations and calibrated does in
{draw.STEPS[-1]}. Of all {raw.size} starts, raw finds it from {int(raw.sum())}, and calibration
frees {freed} of the other {int(np.sum(~raw))} but loses {lost} that raw had found. Step 4 is the
choice of the fourth point, knowing the three of the start. "std ×" is what recalibration
multiplies the model's std by; it may shift the forecast too. "best" is the lowest value so far.
"""


def columns() -> str:
    lines = [
        "## All starts",
        "",
        f"{len(SEEDS)} starts of three uniform points each, drawn again until none lies in",
        "[0.6, 0.9]; all columns have the same starts. Cells: share of searches that found the",
        "minimum, with its 95 % interval (Wilson), and the p-value of the difference to raw",
        "(exact McNemar test: binomial on the starts where only one of the two found it). ▲ better",
        "and ▼ worse than raw at 5 %, after Holm's correction for all comparisons of the table.",
        "",
        "Models:",
        "",
        *(f"- *{MODEL_NAMES[name]}*: {text}." for name, text in MODELS_ARE.items()),
        "",
        "Recalibrators, and the outcomes they learn from:",
        "",
        *(f"- *{WAY_NAMES[name]}*: {text}." for name, text in WAYS_ARE.items()),
        "",
        "With every setting: `results/settings.json`.",
        "",
    ]
    return "\n".join(lines)


def table(results: list[dict], budget: int) -> str:
    found = outcomes(results, budget)
    p = {
        (*row, way): mcnemar(found[*row, way], found[*row, "raw"])
        for row in ROWS
        for way in CALIBRATED
    }
    marks = {
        search: "▲" if found[search].sum() > found[*search[:2], "raw"].sum() else "▼"
        for search, corrected in zip(p, holm(list(p.values())), strict=True)
        if corrected <= 0.05
    }
    rows = []
    for row in ROWS:
        cells = [share(found[*row, "raw"])]
        for way in CALIBRATED:
            mark = f" **{marks[*row, way]}**" if (*row, way) in marks else ""
            cells.append(f"{share(found[*row, way])}<br>{p_equation(p[*row, way])}{mark}")
        rows.append((MODEL_NAMES[row[0]], str(row[1]), *cells))
    title = f"### Found within {budget} evaluations"
    return "\n".join([title, "", text_table(rows), "", finding(found, marks), ""])


def text_table(rows: list[tuple[str, ...]]) -> str:
    head = ("model", "level", *WAY_NAMES.values())
    return markdown_table(head, rows, text_columns=len(head))


def boldness(results: list[dict]) -> str:
    lines = [
        "## Was it calibration that freed them?",
        "",
        f"First figure: at step {STEP} the bound was the model's mean less k of its std, in the",
        "median (8.2 is the most that the library allows). Second: the share of chosen points with",
        "a value below their bound. If forecasts were calibrated at the points chosen, it would be",
        "the level. Searches end when they have found the minimum: those that are stuck weigh most.",
        "",
    ]
    below: dict[Search, float] = {}
    rows = []
    for row in ROWS:
        cells = []
        for way in WAYS:
            runs = [r for r in results if (r["model"], r["level"], r["way"]) == (*row, way)]
            k = np.median([r["k"] for r in runs if r["k"] is not None])
            chosen = sum(len(r["x"]) - 3 for r in runs)
            below[*row, way] = sum(r["below"] for r in runs) / chosen
            cells.append(f"{k:.2f} · {below[*row, way]:.1%}")
        rows.append((MODEL_NAMES[row[0]], str(row[1]), *cells))
    raw, default = (
        ", ".join(f"{below[*row, way]:.0%}" for row in ROWS) for way in ("raw", "default")
    )
    nearest = [min(WAYS, key=lambda way: abs(below[*row, way] - row[1])) for row in ROWS]
    return "\n".join(
        [
            *lines,
            text_table(rows),
            "",
            f"Row by row, {raw} of the raw values and {default} of those with the default "
            f"recalibration were below their bound; nearest to the level came "
            f"{', '.join(f'*{WAY_NAMES[way]}*' for way in nearest)}.",
            "",
        ]
    )


def afterthoughts() -> str:
    """Return which choices the results have influenced; the figures here are not in results/."""
    return """## What was chosen after looking

Not everything here was fixed before the results on these 100 starts were seen, and Holm's
correction counts only the comparisons shown. What this section says is from searches of earlier
versions, which are not kept in `results/`.

- *time-series, refitted* began as `first=1`, which found the minimum more often than what is shown.
  It was replaced by `first=2` because its k was 8.2, the most allowed, with the paper's model: a
  model fitted to one outcome has almost no std, and a single score (331 from one of the starts)
  outweighs all others. `first=3` found it less often. None of them was tried on other starts.
- *online scores* was added after it had done well on these starts at level 0.1, with strength 3;
  with strength 10 it did as well on 100 other starts (seeds 100 to 199).
- *symmetric* was added after it had done better than the default on these starts and on 100 others.
  Also tried, and not shown: symmetric online scores, strength 3 of both, the online recalibrator
  with rate 0.1.
- *limited, refitted* and the default model were added when it was known that the default model gets
  stuck at level 0.1, and that scores counted up to 10 with refits free it.
- The picture's recalibration and level were chosen when the table was known, so that there is
  something to see; its start then follows from the rule.
"""


def finding(found: Found, marks: dict[Search, str]) -> str:
    """Return what the table says, for and against calibration."""
    better, worse = ([search for search in marks if marks[search] == mark] for mark in "▲▼")
    gains = [found[*row, "default"].mean() - found[*row, "raw"].mean() for row in ROWS]
    changes = ", ".join(f"{100 * gain:+.0f}".replace("-", "−") for gain in gains)
    bold = ", ".join(
        f"{found[model, LEVELS[0], 'raw'].mean():.0%} ({MODEL_NAMES[model]})" for model in MODELS
    )
    return (
        f"Calibration found the minimum more often than raw in {listed(better)}, **less often** in "
        f"{listed(worse)}, and in the other {len(ROWS) * len(CALIBRATED) - len(marks)} of "
        f"{len(ROWS) * len(CALIBRATED)} comparisons no difference stands after the correction. The "
        f"default recalibration changed the share, row by row, by {changes} points. Without any "
        f"calibration, the level {LEVELS[0]}, which explores more, found the minimum in {bold} of searches."
    )


def listed(searches: list[Search]) -> str:
    if not searches:
        return "no comparison"
    cases = [
        f"{WAY_NAMES[way]} with {MODEL_NAMES[model]} at {level}" for model, level, way in searches
    ]
    return f"{len(searches)} ({'; '.join(cases)})"


def outcomes(results: list[dict], budget: int) -> Found:
    """Return, for each kind of search, whether each seed's found the minimum in time."""
    found = {(*row, way): np.zeros(len(SEEDS), dtype=bool) for row in ROWS for way in WAYS}
    for r in results:
        found[r["model"], r["level"], r["way"]][r["seed"]] = min(r["y"][:budget]) < FOUND
    return found


def share(found: np.ndarray) -> str:
    test = binomtest(int(found.sum()), found.size)
    low, high = test.proportion_ci(method="wilson")
    return f"{found.mean():.0%} ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    main()
