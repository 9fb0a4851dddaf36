"""Numbers and comparisons in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant.paper.experiments import CALIBRATED, RAW
from calibrant.paper.metrics import Comparison, Estimate, calibration, compare, estimate
from calibrant.paper.search import Record

Runs = Mapping[str, Mapping[int, Record]]  # label -> seed -> record

_ENOUGH = 5  # repetitions; with fewer no paired test can be significant


def number(value: float, digits: int = 3) -> str:
    """Return a number with a proper minus."""
    text = f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def interval(value: Estimate, digits: int = 3) -> str:
    """Return a mean with its interval."""
    low, high = number(value.low, digits), number(value.high, digits)
    return f"{number(value.mean, digits)} ({low} to {high})"


def p_value(p: float) -> str:
    """Return a p-value to three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _judge(comparison: Comparison) -> str:
    """Return whether calibration came out ahead, behind, or neither."""
    if comparison.difference.high < 0.0:
        return "ahead"
    return "behind" if comparison.difference.low > 0.0 else "level"


def verdict(runs: Mapping[str, Runs], others: Sequence[str] = (RAW,)) -> str:
    """Return the verdict on the claim that calibration is better than some other methods."""
    pairs = [(title, part, other) for title, part in runs.items() for other in others]
    fewest = min(
        len(part[CALIBRATED].keys() & part.get(other, {}).keys()) for _, part, other in pairs
    )
    if fewest < _ENOUGH:
        return f"**No verdict**: {fewest} of {_ENOUGH} repetitions that the least claim takes."
    judged: dict[str, list[str]] = {"ahead": [], "behind": [], "level": []}
    for title, part, other in pairs:
        name = title if len(others) == 1 else f"{title} against {other}"
        judged[_judge(compare(part[CALIBRATED], part[other]))].append(name)
    ahead, behind, level = judged.values()
    if len(ahead) == len(pairs):
        return "**Reproduced**: calibration is ahead in area, with an interval that excludes zero."
    rest = []
    if behind:
        rest.append(f"it is behind in {_listed(behind)}")
    if level:
        rest.append(f"no difference can be shown in {_listed(level)}")
    if ahead:
        return f"**Reproduced only with** {_listed(ahead)}; {'; '.join(rest)}."
    return f"**Not reproduced**: {'; '.join(rest)}."


def calibration_verdict(runs: Mapping[str, Runs]) -> str:
    """Return the verdict on the claim that forecasts are better calibrated."""
    lower: list[str] = []
    higher: list[str] = []
    level: list[str] = []
    for title, part in runs.items():
        seeds = sorted(part[CALIBRATED].keys() & part[RAW].keys())
        change = estimate(
            [
                calibration(part[CALIBRATED][s], "calibrated") - calibration(part[RAW][s], "raw")
                for s in seeds
            ]
        )
        (lower if change.high < 0.0 else higher if change.low > 0.0 else level).append(title)
    said = [
        f"{word} in {_listed(titles)}"
        for word, titles in (("lower", lower), ("higher", higher), ("not clearly changed", level))
        if titles
    ]
    start = "Reproduced" if len(lower) == len(runs) else "Reproduced only in part"
    return f"Calibration error: **{start if lower else 'Not reproduced'}**: {'; '.join(said)}."


def none_verdict(runs: Mapping[str, Runs]) -> str:
    """Return the verdict on the paper's report that calibration brings nothing here."""
    judged = {_judge(compare(part[CALIBRATED], part[RAW])) for part in runs.values()}
    if min(_shared(part) for part in runs.values()) < _ENOUGH or judged != {"level"}:
        return verdict(runs)
    return "**Reproduced**: as in the paper, no improvement can be shown."


def _shared(part: Runs) -> int:
    return len(part[CALIBRATED].keys() & part[RAW].keys())


def tally(runs: Mapping[str, Runs], others: Sequence[str]) -> str:
    """Return how often calibration is ahead of, behind or level with some other methods."""
    judged = [
        _judge(compare(part[CALIBRATED], part[other])) for part in runs.values() for other in others
    ]
    ahead, behind = judged.count("ahead"), judged.count("behind")
    return (
        f"Of {len(judged)} comparisons with {_listed(others)}, calibration is ahead in {ahead} and "
        f"behind in {behind}, by intervals that exclude zero; in the others nothing can be shown."
    )


def _listed(titles: Sequence[str]) -> str:
    return f"{len(titles)} settings" if len(titles) > 6 else " · ".join(titles)
