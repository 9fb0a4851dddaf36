"""What the page says about each experiment: tables, a figure, and one plain verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from benchmarks.kit.statistics import estimate, sign_test
from benchmarks.kit.words import interval, number, p_value
from benchmarks.paper import charts, metrics
from benchmarks.paper.beyond import write_theorem, write_where
from benchmarks.paper.data import IMAGES
from benchmarks.paper.experiments import (
    ALL,
    CALIBRATED,
    EXPERIMENTS,
    FIGURE_START,
    LITERAL,
    RAW,
    Block,
    Experiment,
)
from benchmarks.paper.metrics import compare
from benchmarks.paper.records import Records, Runs
from benchmarks.paper.search import explore
from benchmarks.paper.section import (
    COSTS,
    Section,
    Table,
    before_after,
    present,
    summary,
)
from benchmarks.paper.texts import text_of
from benchmarks.paper.verdicts import (
    both_verdicts,
    calibration_verdict,
    differences,
    none_verdict,
    tally,
    verdict,
)


def sections(records: Records, names: Collection[str] = tuple(EXPERIMENTS)) -> list[Section]:
    """Return the sections of those experiments that have been run, in the paper's order."""
    found = []
    for name, experiment in EXPERIMENTS.items():
        needed = (RAW,) if name == "theorem1" else (RAW, CALIBRATED)
        if name in names and (runs := _runs(records, experiment, needed)):
            found.append(_WRITERS[name](name, experiment, runs))
    return found


def costs(records: Records) -> Section:
    """Return how many repetitions there are of each experiment, what they cost, and of which code.

    Searches that experiments share count in each, except by commit.
    """
    head = ("experiment", "searches", "repetitions", "planned", "seconds a search", "core-minutes")
    rows, short = [], []
    commits: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}  # by: of networks
    for one in records:
        commit = str(records.of(one.setup)[one.seed]["commit"])
        commits[one.setup.task in IMAGES][commit] += 1
    for name, experiment in EXPERIMENTS.items():
        setups = {setup for block in experiment.blocks for setup in block.rows.values()}
        found = [known for setup in setups if (known := records.of(setup))]
        if not found:
            continue
        counts = sorted({len(known) for known in found})
        seconds = np.array([r["seconds"] for known in found for r in known.values()])
        if counts[0] < experiment.repetitions:
            short.append(f"{name} ({counts[0]} of {experiment.repetitions})")
        few = "" if counts[0] == counts[-1] else f"{counts[0]} to "
        cells = (str(seconds.size), f"{few}{counts[-1]}", str(experiment.repetitions))
        rows.append((name, *cells, number(seconds.mean(), 2), number(seconds.sum() / 60.0, 1)))
    others, networks = (
        ", ".join(f"{name} ({count:,})" for name, count in sorted(counted.items()))
        for counted in commits.values()
    )
    text = f"Every search carries the commit of the code that made it: {others}"
    if networks:
        text += f"; of the networks, which take hours of a GPU, {networks}"
    text += f". {_RAW}"
    if short:
        text += f" Fewer repetitions than planned have: {', '.join(short)}."
    shown = {row[0] for row in rows}
    if absent := [name for name in ALL if name not in shown]:
        text += (
            f" Not run with this code, and so not on this page: {', '.join(absent)}. `make paper` "
            "runs them; what each costs is at the top of experiments.py."
        )
    return Section(COSTS, "What was run", text, [Table(head, rows)])


_RAW = "Raw results, one JSON line a search, packed (`xzcat` prints them): [results](results)."


def _runs(records: Records, experiment: Experiment, needed: Sequence[str]) -> dict[str, Runs]:
    """Return the repetitions of each block that has those rows that are needed."""
    blocks: dict[str, Runs] = {}
    for block in experiment.blocks:
        runs = {label: records.of(setup) for label, setup in block.rows.items()}
        found = {label: seeds for label, seeds in runs.items() if seeds}
        shared = set.intersection(*(set(seeds) for seeds in found.values())) if found else set()
        if not shared or not all(label in found for label in needed):
            continue
        if experiment.pooled:
            found = {
                label: {seed: record for seed, record in seeds.items() if seed in shared}
                for label, seeds in found.items()
            }
        blocks[block.title] = found  # two methods are compared on what both have run
    return blocks


def printed(*place: str) -> Any:
    """Return numbers of the paper by their place in its tables, or None where it has none."""
    text = (resources.files(__package__) / "printed.json").read_text(encoding="utf-8")
    found = json.loads(text)
    for key in place:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


_BASELINES = {
    RAW: "uncalibrated",
    LITERAL: "calibrated",
    "input warping": "input_warping",
    "output warping": "output_warping",
    "Box-Cox": "boxcox",
    "log": "log",
    "bagged ensemble of 5": "bagged_5",
}


def _baselines(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    head = (
        "method", "repetitions", "m, ours", "m, paper", "f, ours", "without ties", "f, paper",
        "a, ours", "a, paper", "a − uncalibrated's", "p", f"a − {LITERAL}'s", "p",
        "calibration score, raw → used", "CRPS, raw → used",
    )  # fmt: skip
    tables = []
    for block in present(experiment, runs):
        part = runs[block.title]
        rows = []
        for label, records in part.items():
            theirs = printed("table1", *block.printed, _BASELINES.get(label, "")) or [None] * 4
            against_raw = compare(records, part[RAW])
            against_ours = compare(records, part[LITERAL])
            found = estimate([float(metrics.curve(r)[-1]) for r in records.values()])
            rows.append(
                (
                    label,
                    str(len(records)),
                    interval(found),
                    "" if theirs[0] is None else f"{number(theirs[0])} (± {theirs[1]:g})",
                    "" if label == LITERAL else number(against_ours.worse_or_tied, 2),
                    "" if label == LITERAL else number(against_ours.worse, 2),
                    "" if theirs[2] is None or label == LITERAL else f"{theirs[2]:g}",
                    number(against_raw.area.mean),
                    "" if theirs[3] is None else number(theirs[3]),
                    "" if label == RAW else interval(against_raw.difference),
                    "" if label == RAW else p_value(against_raw.p),
                    "" if label == LITERAL else interval(against_ours.difference),
                    "" if label == LITERAL else p_value(against_ours.p),
                    before_after(records, metrics.calibration, 2),
                    before_after(records, metrics.crps, 3),
                )
            )
        tables.append(Table(head, rows, block.title))
    others = [label for label in _BASELINES if label not in (RAW, LITERAL)]
    said = " ".join([both_verdicts(runs), tally(runs, others)])
    return Section(name, experiment.title, text_of(name), tables, None, said)


def _pairs(place: str) -> Callable[[str, Experiment, dict[str, Runs]], Section]:
    def write(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
        head = (
            "setting", "method", "repetitions", "f, ours", "better in", "worse in", "f, paper",
            "a calibrated, ours", "a uncalibrated, ours", "a, paper (calibrated, uncalibrated)",
            "difference", "p",
        )  # fmt: skip
        rows = []
        for block in present(experiment, runs):
            part = runs[block.title]
            for label, records in part.items():
                if label == RAW:
                    continue
                theirs = printed(place, *block.printed) if label == CALIBRATED else None
                seen = compare(records, part[RAW])
                rows.append(
                    (
                        block.title,
                        label,
                        str(seen.repetitions),
                        number(seen.better_or_tied, 2),
                        number(seen.better, 2),
                        number(seen.worse, 2),
                        "" if not theirs else f"{theirs[0]:g}",
                        number(seen.area.mean),
                        number(compare(part[RAW], records).area.mean),
                        "" if not theirs else f"{number(theirs[1])}, {number(theirs[2])}",
                        interval(seen.difference),
                        p_value(seen.p),
                    )
                )
        said = both_verdicts(runs, "As the table's own recalibrator has it")
        return Section(name, experiment.title, text_of(name), [Table(head, rows)], None, said)

    return write


def _drawn(
    draw: Callable[[Mapping[str, Runs]], Any],
    *judges: Callable[[Mapping[str, Runs]], str],
    beside: str = RAW,
) -> Callable[[str, Experiment, dict[str, Runs]], Section]:
    def write(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
        said = " ".join(judge(runs) for judge in judges or (both_verdicts,)).strip()
        table = summary(runs, beside)
        return Section(name, experiment.title, text_of(name), [table], draw(runs), said)

    return write


def _against_others(runs: Mapping[str, Runs]) -> str:
    return both_verdicts(runs, others=("conformal BO", "adaptive UCB"))


def _forrester(name: str, experiment: Experiment, runs: dict[str, Runs]) -> Section:
    (part,) = runs.values()
    ends = {
        label: {seed: float(metrics.curve(r)[-1]) for seed, r in records.items()}
        for label, records in part.items()
    }
    stuck = {seed for seed, best in ends[RAW].items() if best > _FOUND}
    said, freed_by = [], {}
    for label in (LITERAL, CALIBRATED):
        still = {seed for seed, best in ends[label].items() if best > _FOUND}
        freed, lost = stuck - still, still - stuck
        freed_by[label] = freed
        p = sign_test(len(freed), len(lost), alternative="greater")
        word = "Reproduced" if p < 0.05 else "Not reproduced"
        method = label if label == LITERAL else "Location and scale"
        (change,) = differences(runs, label)
        said.append(
            f"{method}. By the area: {verdict(runs, label)[:-1]}, "
            f"{interval(change.size)}, p {p_value(change.p)}. By the searches freed: **{word}**: "
            f"of {len(stuck)} searches that got stuck it frees {len(freed)}, and it loses "
            f"{len(lost)} others (one-sided sign test, p {p_value(p)})."
        )
    text = (
        f"{text_of(name)} Of {len(ends[RAW])} uncalibrated searches {len(stuck)} never leave the "
        "local minimum."
    )
    conclusion = " ".join(said)
    if not stuck:  # and so nothing that calibration could have freed
        conclusion = f"No verdict: of {len(ends[RAW])} uncalibrated searches none got stuck."
    both = sorted(freed_by[LITERAL] & freed_by[CALIBRATED]) or sorted(freed_by[CALIBRATED])
    figure = _snapshots(experiment.blocks[0], part, both)
    return Section(name, experiment.title, text, [summary(runs)], figure, conclusion)


def _snapshots(block: Block, part: Runs, seeds: Sequence[int]) -> Any:
    """Draw the first start from which raw stays stuck and calibrated does not.

    Its searches are run again. On another machine, or with another version, they may lead
    elsewhere; then the next start is taken, and after three of them the picture is left as it is.
    """
    for seed in seeds[:3]:
        again = {label: explore(setup, seed) for label, setup in block.rows.items()}
        if all(
            np.allclose(found.y[3:], part[label][seed]["outcomes"], rtol=1e-3, atol=1e-3)
            for label, found in again.items()
        ):
            return charts.snapshots(FIGURE_START, again)
    return None


_FOUND = -5.9  # a lower value has found Forrester's minimum; the local one is −0.986


_WRITERS: dict[str, Callable[[str, Experiment, dict[str, Runs]], Section]] = {
    "table1": _baselines,
    "table2": _pairs("table2"),
    "sensitivity": _pairs("sensitivity"),
    "forrester": _forrester,
    "benchmarks": _drawn(charts.curves, both_verdicts, calibration_verdict),
    "sixhump": _drawn(charts.curves, both_verdicts, calibration_verdict),
    "conformal": _drawn(charts.best_curves, _against_others, beside=LITERAL),
    "annealed": _drawn(charts.best_curves),
    "alpine100": _drawn(charts.curves, both_verdicts, calibration_verdict),
    "lda": _drawn(charts.improvements, both_verdicts, calibration_verdict),
    "lda-live": _drawn(charts.improvements),
    "cifar10": _drawn(charts.improvements, both_verdicts, calibration_verdict),
    "svhn": _drawn(charts.improvements, none_verdict, calibration_verdict),
    "theorem1": write_theorem,
    "where": write_where,
}
