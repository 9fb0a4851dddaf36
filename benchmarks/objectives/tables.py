"""The page of searches with several objectives: python -m benchmarks.objectives.tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.statistics import holm, paired_p
from benchmarks.kit.words import markdown_table, number, p_value
from benchmarks.objectives import choices
from benchmarks.objectives.problems import CHOICES, HELD_OUT, best_volumes
from benchmarks.objectives.run import FIRST, PLANNED, REPETITIONS, TRIALS, results

SYSTEMS = tuple(PLANNED)
_CLOSEST = 1e-5  # share missing: nearer than the fronts are known

# (system, problem, seed) → log10 of the share missing: at the end, and on average from the first
# suggestion on
Scores = dict[tuple[str, str, int], tuple[float, float]]


def score(run: Mapping[str, Any]) -> tuple[float, float]:
    """Return the log10 of the share of the front's volume that is missing: last, and on average."""
    share = 1.0 - np.array(run["volumes"]) / best_volumes()[run["problem"]]
    missing = np.log10(np.maximum(share, _CLOSEST))
    return float(missing[-1]), float(missing[FIRST:].mean())


def table(scores: Scores, problems: Iterable[str], systems: Iterable[str]) -> str:
    """Return all systems on some problems, by what is missing at the end."""
    problems = list(problems)
    rows = []
    for system in systems:
        by_problem = [
            [value for (s, p, _), value in scores.items() if (s, p) == (system, problem)]
            for problem in problems
        ]
        if not all(by_problem):
            continue
        final = np.mean([np.mean([end for end, _ in runs]) for runs in by_problem])
        along = np.mean([np.mean([mean for _, mean in runs]) for runs in by_problem])
        worst = [
            np.sort([end for end, _ in runs])[-max(1, len(runs) // 10) :] for runs in by_problem
        ]
        rows.append(
            [
                f"**{system}**" if system == "calibrant" else system,
                str(min(map(len, by_problem))),
                f"{10**final:.4f}",
                f"{10**along:.4f}",
                f"{10 ** np.mean([tenth.mean() for tenth in worst]):.4f}",
            ]
        )
    head = ("", "repetitions", "missing at the end", "on average", "worst tenth")
    return markdown_table(head, rows)


def against(scores: Scores, problems: Iterable[str], ours: str, systems: Iterable[str]) -> str:
    """Return one system beside others, on the runs that both have."""
    problems, found = list(problems), []
    for rival in systems:
        pairs = [
            (problem, scores[ours, problem, seed][0] - value[0])
            for (system, problem, seed), value in scores.items()
            if system == rival and problem in problems and (ours, problem, seed) in scores
        ]
        if rival == ours or len(pairs) < 2:
            continue
        change = np.array([difference for _, difference in pairs])
        worse = [
            problem
            for problem in problems
            if (of := [c for p, c in pairs if p == problem]) and np.mean(of) > 0.0
        ]
        found.append((rival, change, worse))
    corrected = holm([paired_p(change) for _, change, _ in found])
    rows = [
        [
            rival,
            ", ".join(worse) or "none",
            str(change.size),
            number(float(10 ** change.mean()), 2),
            f"{np.mean(change < 0):.0%}",
            p_value(p),
        ]
        for (rival, change, worse), p in zip(found, corrected, strict=True)
    ]
    head = (f"{ours} against", "worse on", "pairs", "ratio", "better in", "p (Holm)")
    return markdown_table(head, rows, 2)


def each(scores: Scores, problems: Iterable[str]) -> str:
    """Return what is missing at the end, problem by problem."""
    rows = []
    for problem in problems:
        ends = [
            [value[0] for (s, p, _), value in scores.items() if (s, p) == (system, problem)]
            for system in SYSTEMS
        ]
        means = [10 ** float(np.mean(values)) if values else np.inf for values in ends]
        rows.append(
            [problem]
            + [
                f"**{m:.4f}**" if m == min(means) else f"{m:.4f}" if np.isfinite(m) else "–"
                for m in means
            ]
        )
    return markdown_table(("missing at the end", *SYSTEMS), rows)


def seconds() -> str:
    """Return the CPU seconds that a run of each system takes, its median."""
    taken = {
        system: [run["seconds"] for (s, _, _), run in results().items() if s == system]
        for system in SYSTEMS
    }
    words = [f"{system} {np.median(t):.1f}" for system, t in taken.items() if t]
    return f"CPU seconds a run of {TRIALS} trials, median: {', '.join(words)}."


def incomplete() -> str:
    """Return which systems have fewer repetitions than planned, of each problem held out."""
    runs = results()
    counts = {
        system: [sum((s, p) == (system, problem) for s, p, _ in runs) for problem in HELD_OUT]
        for system in SYSTEMS
    }
    short = [
        f"{system} {min(of)} to {max(of)}" if min(of) < max(of) else f"{system} {min(of)}"
        for system, of in counts.items()
        if min(of) < PLANNED[system]
    ]
    fewer = [f"{system} {count}" for system, count in PLANNED.items() if count < REPETITIONS]
    planned = (
        f"{REPETITIONS} repetitions of each problem were planned; of systems that take longer, fewer: "
        f"{', '.join(fewer)}."
    )
    if not short:
        return planned
    return (
        f"**Incomplete.** {planned} On the problems held out there are so far: {'; '.join(short)}. A "
        "system that lacks a problem is left out of the first table."
    )


def main() -> None:
    scores = {key: score(run) for key, run in results().items()}
    tried = {key: score(run) for key, run in choices.results().items()}
    parts = [
        HEAD,
        incomplete(),
        "## Held out",
        table(scores, HELD_OUT, SYSTEMS),
        against(scores, HELD_OUT, "calibrant", SYSTEMS),
        each(scores, HELD_OUT),
        "## Used for choices",
        CHOSEN,
        table(tried, CHOICES, choices.SYSTEMS),
        against(tried, CHOICES, "beyond the front by 0.5", choices.SYSTEMS),
    ]
    if any(problem in CHOICES for _, problem, _ in scores):
        parts += ["The comparison on these problems, with its own first points:"]
        parts += [each(scores, CHOICES)]
    parts += [seconds()]
    text = "\n\n".join(part for part in parts if part)
    Path(__file__).with_name("README.md").write_text(text + "\n", encoding="utf-8")


HEAD = f"""\
# Several objectives

How much of the volume that the whole front dominates is still missing after {TRIALS} evaluations? `make objectives` runs what is
missing and rewrites this page; raw results, one JSON line a run: [results](results).

All systems have their default settings (NSGA-II a population of 10, as 50 would be random search), and the same {FIRST} random first
points. *Missing*: the share of the front's hypervolume that a search has not reached, as a geometric mean, at the end and on average
over its own suggestions; *worst tenth*: of the runs of each problem. *Ratio*: what is missing of calibrant's in units of the rival's,
below 1 where calibrant is better. p: Wilcoxon's test on pairs with the same first points. ParEGO is what calibrant did before. Fronts
are known in closed form or from all settings; that of vehicle safety is the best of a long evolution. Forests: error and number of
nodes of 4,000 random forests on handwritten digits."""

CHOSEN = """\
calibrant maximises the expected hypervolume in the models' units, up to a reference point beyond the front so far, by a share of its
extent. These are the ways that were tried, with other first points than those above."""


if __name__ == "__main__":
    main()
