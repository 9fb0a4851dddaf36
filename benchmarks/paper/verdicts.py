"""One plain sentence under each table: what the numbers in it say about the paper's claim.

A method is ahead of another where the bootstrap interval of the mean difference excludes zero *and*
the paired test is significant at 5 % after Holm's correction for all comparisons of the section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.kit.statistics import Estimate, estimate, holm, paired_p
from benchmarks.kit.words import interval
from benchmarks.paper.experiments import CALIBRATED, ISOTONIC, LITERAL, OURS, RAW
from benchmarks.paper.metrics import area, calibration
from benchmarks.paper.records import Runs
from benchmarks.paper.search import Record

_ENOUGH = 6  # repetitions: with fewer, no two-sided paired test can reach 5 %


class Difference(NamedTuple):
    """A method less another, over the repetitions that both have run."""

    title: str
    repetitions: int
    size: Estimate
    p: float


def differences(
    runs: Mapping[str, Runs],
    method: str = CALIBRATED,
    others: Sequence[str] = (RAW,),
    measure: Callable[[Record], float] = area,
) -> list[Difference]:
    """Return how a method differs from others in each block; the same searches count once."""
    found: dict[tuple[int, ...], Difference] = {}
    for title, part in runs.items():
        for other in others:
            if method not in part or other not in part:
                continue
            seeds = sorted(part[method].keys() & part[other].keys())
            if not seeds:
                continue
            ours, theirs = ([measure(part[which][s]) for s in seeds] for which in (method, other))
            change = [a - b for a, b in zip(ours, theirs, strict=True)]
            name = title if len(others) == 1 else f"{title} against {other}"
            same = tuple(id(part[which][s]) for which in (method, other) for s in seeds)
            found.setdefault(
                same, Difference(name, len(seeds), estimate(change), paired_p(ours, theirs))
            )
    return list(found.values())


def judged(found: Iterable[Difference]) -> tuple[list[str], list[str], list[str]]:
    """Return the titles where a method has less, where it has more, and where neither is shown."""
    found = list(found)
    less, more, neither = [], [], []
    for difference, p in zip(found, holm([one.p for one in found]), strict=True):
        if p < 0.05 and difference.size.high < 0.0:
            less.append(difference.title)
        elif p < 0.05 and difference.size.low > 0.0:
            more.append(difference.title)
        else:
            neither.append(difference.title)
    return less, more, neither


def verdict(
    runs: Mapping[str, Runs], method: str = CALIBRATED, others: Sequence[str] = (RAW,)
) -> str:
    """Return the verdict on the claim that calibration lowers the area under the curve."""
    found = differences(runs, method, others)
    if few := _too_few(found):
        return few
    return _said(*judged(found), "ahead", "behind")


def both_verdicts(
    runs: Mapping[str, Runs], name: str = "Location and scale", others: Sequence[str] = (RAW,)
) -> str:
    """Return the verdicts on the paper's algorithms and on *calibrated*."""
    literal = literal_of(runs)
    said = [verdict(runs, method, others) for method in (literal, CALIBRATED)]
    return f"{literal}: {said[0]} {name}: {said[1]}"


def literal_of(runs: Mapping[str, Runs]) -> str:
    """Return what the paper's algorithms are called here: their name, or that of a variant."""
    labels = (label for part in runs.values() for label in part)
    return next((label for label in labels if label.startswith(LITERAL)), LITERAL)


def calibration_verdict(runs: Mapping[str, Runs]) -> str:
    """Return the verdict on the claim that forecasts are better calibrated.

    Raw and calibrated forecasts are of the same points and outcomes, those of the method's own
    searches: pairs.
    """
    said = []
    for method in (literal_of(runs), CALIBRATED, ISOTONIC, OURS):
        found = calibration_changes(runs, method)
        if found and not _too_few(found):
            name = "Location and scale" if method == CALIBRATED else method
            said.append(f"{name}: {_said(*judged(found), 'lower', 'higher')}")
    if not said:
        return ""
    return "Calibration error, calibrated against raw forecasts of the same points: " + " ".join(
        said
    )


def calibration_changes(runs: Mapping[str, Runs], method: str) -> list[Difference]:
    """Return how calibration changes the calibration score of a method's own forecasts."""
    found: dict[tuple[int, ...], Difference] = {}
    for title, part in runs.items():
        if records := list(part.get(method, {}).values()):
            after, before = (
                [calibration(record, which) for record in records]
                for which in ("calibrated", "raw")
            )
            change = [a - b for a, b in zip(after, before, strict=True)]
            found.setdefault(
                tuple(map(id, records)),
                Difference(title, len(records), estimate(change), paired_p(after, before)),
            )
    return list(found.values())


def none_verdict(runs: Mapping[str, Runs]) -> str:
    """Return the verdict where the paper itself reports no improvement."""
    found = [*differences(runs, LITERAL), *differences(runs)]
    less, more, _ = judged(found)
    if less or more:
        return both_verdicts(runs)
    sizes = "; ".join(f"{interval(one.size)} in {one.repetitions} repetitions" for one in found)
    return f"**Reproduced**, as far as it goes: the paper shows no improvement, nor do we: {sizes}."


def tally(runs: Mapping[str, Runs], others: Sequence[str]) -> str:
    """Return how often calibration is ahead of, behind or level with some other methods."""
    said = []
    for method, name in ((LITERAL, LITERAL), (CALIBRATED, "location and scale")):
        found = differences(runs, method, others)
        if found and not _too_few(found):
            ahead, behind, _ = judged(found)
            said.append(f"{name} is ahead in {len(ahead)} and behind in {len(behind)}")
    if not said:
        return ""
    return (
        f"Of {len(found)} comparisons with {' · '.join(others)}, {', '.join(said)}; in the others "
        "nothing can be shown."
    )


def _too_few(found: Sequence[Difference]) -> str:
    fewest = min((one.repetitions for one in found), default=0)
    if fewest >= _ENOUGH:
        return ""
    return f"**No verdict** from {fewest} repetitions: with fewer than {_ENOUGH} no test can tell."


def _said(less: list[str], more: list[str], neither: list[str], good: str, bad: str) -> str:
    rest = []
    if more:
        rest.append(f"{bad} in {_listed(more)}")
    if neither:
        rest.append(f"no difference can be shown in {_listed(neither)}")
    if less and not rest:
        return f"**Reproduced**: {good} in {_listed(less)}."
    if less:
        return f"**Reproduced only with** {_listed(less)}; {'; '.join(rest)}."
    return f"**Not reproduced**: {'; '.join(rest)}."


def _listed(titles: Sequence[str]) -> str:
    return f"{len(titles)} settings" if len(titles) > 6 else " · ".join(titles)
