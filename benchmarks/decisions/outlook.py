"""How true an outlook is, on tasks that had no part in it.

    python -m benchmarks.decisions.outlook    # the page, from stored searches

Two sets of searches on the peers' held-out tasks: calibrant's of 70 trials
(:mod:`~benchmarks.decisions.searches`), and those of 30 trials by all systems, from the peers'
results. An outlook is taken every five trials and compared with what came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.decisions import searches
from benchmarks.decisions.learning import Curve, curve_of, draws_compared, learning_on, whole
from benchmarks.kit.words import markdown_table
from benchmarks.peers import run
from benchmarks.peers.suite import HELD_OUT, TASKS
from calibrant.decisions.gains import exceedance, gain_quantiles

EARLIEST, EVERY = 10, 5  # trials: the first look, and from one to the next
HORIZONS = (5, 10, 20)
DELTA = 0.1  # units: the improvement asked about by default
BINS = {
    0.05: (0.025, 0.075),
    0.1: (0.075, 0.15),
    0.2: (0.15, 0.3),
    0.5: (0.4, 0.6),
    0.8: (0.7, 0.9),
}
LEVELS = np.arange(1, 20) / 20
GOAL = 0.05  # stated and happened may differ by so much
OFF, CHANCE = "✗", "(✗)"  # off by more; off by more, but what happened may have by chance
_DRAWS = 2000


class Look(NamedTuple):
    """An outlook, and what came."""

    search: int  # which one
    curve: Curve
    trials: int  # finished when it was taken
    stated: np.ndarray  # P(gain > DELTA), one per horizon
    came: np.ndarray  # whether it did; NaN where the search ended before
    at_all: np.ndarray  # P(any gain)
    came_at_all: np.ndarray
    quantiles: np.ndarray  # (horizons, levels) of the gain, in units
    gains: np.ndarray  # in units; NaN


def long_searches() -> Iterator[Curve]:
    """Yield calibrant's held-out searches of 70 trials."""
    for r in searches.load("judge"):
        yield curve_of(r)


def short_searches() -> Iterator[Curve]:
    """Yield all systems' held-out searches of 30 trials, from the peers.

    These have mean outcomes; where outcomes are noisy, a search saw others, so they are left out.
    """
    for r in run.load():
        task = TASKS[r["task"]]
        if r["task"] in HELD_OUT and not r["error"] and not task.noise and r["budget"] == 30:
            yield Curve(
                r["rival"], r["task"], np.array(r["values"]), len(task.space), whole(r["task"])
            )


def looks(curves: Iterator[Curve]) -> Iterator[Look]:
    """Yield the outlooks of searches."""
    for number, curve in enumerate(curves):
        best = np.minimum.accumulate(curve.y)
        for n in range(EARLIEST, curve.y.size, EVERY):
            now = curve.progress(n)
            later = np.array([n - 1 + k for k in HORIZONS])
            after = np.where(
                later < curve.y.size, best[np.minimum(later, curve.y.size - 1)], np.nan
            )
            gains = (now.best - after) / now.unit if now.unit > 0.0 else np.full(3, np.nan)
            stated = exceedance(now, HORIZONS, [0.0, DELTA])
            known = np.where(np.isnan(gains), np.nan, 1.0)
            yield Look(
                number, curve, n, stated[:, 1], known * (gains > DELTA), stated[:, 0],
                known * (gains > 0.0), gain_quantiles(now, HORIZONS, LEVELS), gains,
            )  # fmt: skip


@cache
def judged(what: str) -> list[Look]:
    """Return the outlooks of the "long" or the "short" searches."""
    return list(looks(long_searches() if what == "long" else short_searches()))


def reliability(found: list[Look], horizon: int, at_all: bool = False) -> list[str]:
    """Return stated and happened, with a 95 % interval over searches, for each of ``BINS``."""
    h = HORIZONS.index(horizon)
    rows = [
        (x.search, (x.at_all if at_all else x.stated)[h], (x.came_at_all if at_all else x.came)[h])
        for x in found
    ]
    return stated_and_happened(np.array([row for row in rows if not np.isnan(row[2])]))


def stated_and_happened(statements: np.ndarray) -> list[str]:
    """Return a cell for each of ``BINS``; rows are search, probability, and what came (1, 0)."""
    data, cells = statements.reshape(-1, 3), []
    for low, high in BINS.values():
        here = data[(data[:, 1] >= low) & (data[:, 1] < high)]
        if len(here) < 20:
            cells.append("–")
            continue
        stated, came = here[:, 1].mean(), here[:, 2].mean()
        least, most = _over_searches(here[:, 0], here[:, 2])
        by_chance = least <= stated <= most
        mark = "" if abs(stated - came) <= GOAL else f" {CHANCE if by_chance else OFF}"
        cells.append(f"{stated:.0%} → {came:.0%} ({least:.0%}–{most:.0%}){mark}")
    return cells


def _over_searches(search: np.ndarray, came: np.ndarray) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of a share; outlooks of a search belong together."""
    _, place = np.unique(search, return_inverse=True)
    total, count = np.bincount(place, came), np.bincount(place)
    drawn = np.random.default_rng(0).integers(total.size, size=(_DRAWS, total.size))
    low, high = np.quantile(total[drawn].sum(axis=1) / count[drawn].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def fan_row(found: list[Look], horizon: int) -> list[str]:
    """Return coverage of 80 % intervals, and the CRPS beside two simple forecasts."""
    h = HORIZONS.index(horizon)
    known = [x for x in found if not np.isnan(x.gains[h])]
    gains, quantiles = (
        np.array([x.gains[h] for x in known]),
        np.array([x.quantiles[h] for x in known]),
    )
    held = (gains >= quantiles[:, 1]) & (gains <= quantiles[:, -2])
    stated = np.array([_inside(x, h) for x in known])
    low, high = _over_searches(np.array([x.search for x in known]), held.astype(float))
    usual = np.quantile(gains, LEVELS)  # of all searches, whatever they look like
    return [
        str(horizon),
        str(len(known)),
        f"{stated.mean():.0%}",
        f"{held.mean():.0%} ({low:.0%} to {high:.0%})",
        f"{_crps(gains, quantiles):.3f}",
        f"{_crps(gains, np.broadcast_to(usual, quantiles.shape)):.3f}",
        f"{gains.mean():.3f}",
    ]


def _inside(look: Look, h: int) -> float:
    """Return the probability that a forecast itself gives to its interval from 10 to 90 %.

    It is 80 % only where a gain is almost certain. No gain at all has a probability of its own: an
    interval that begins there leaves out nothing below, and one that ends there the gains alone.
    """
    above = 1.0 - LEVELS[-2] if look.quantiles[h, -2] > 0.0 else look.at_all[h]
    below = LEVELS[1] if look.quantiles[h, 1] > 0.0 else 0.0
    return float(1.0 - above - below)


def _crps(y: np.ndarray, quantiles: np.ndarray) -> float:
    error = y[:, None] - quantiles
    return float(2.0 * np.mean(np.maximum(LEVELS * error, (LEVELS - 1.0) * error)))


GROUPS: dict[str, Callable[[Look], bool]] = {
    "all": lambda x: True,
    "up to 4 dimensions": lambda x: x.curve.dim <= 4,
    "5 to 20 dimensions": lambda x: x.curve.dim > 4,
    "noisy": lambda x: _is_noisy(x.curve.task),
    "without noise": lambda x: not _is_noisy(x.curve.task),
    "after 10 to 25 trials": lambda x: x.trials <= 25,
    "after 30 to 65 trials": lambda x: x.trials > 25,
}


def _is_noisy(task: str) -> bool:
    return TASKS[task].noise > 0.0 or task.startswith(("mlp", "network"))


def section() -> list[str]:
    """Return the lines of the page about outlooks."""
    long, short = judged("long"), judged("short")
    head = ["trials ahead", *(f"about {p:.0%}" for p in BINS)]
    text = [
        "## Outlook",
        "",
        "Is it worth going on? Stated: the probability that the best value improves by at least a "
        "tenth of the interquartile range of outcomes so far. Happened: how often it did, with a "
        "95 % interval over searches. Where the two differ by more than the 5 points that were the "
        f"goal, {OFF} marks that the interval leaves out what was stated, and {CHANCE} that the "
        "difference may be chance. Searches on these tasks had been looked at six times before "
        "the last fit. What was changed was decided on tasks left out in turn, not on these, and "
        "the long searches below were run anew, from other first points. Their outlooks were "
        "looked at once, their stops twice (see there). So the tasks are not quite unseen, and "
        "the short searches are those looked at before. "
        f"{len(searches.SEEDS)} long searches of each task were planned; the command goes on where "
        "it stopped.",
        "",
        f"**{_count(long)} searches of 70 trials by calibrant on {_tasks(long)} held-out tasks**",
        "",
        markdown_table(head, [[str(h), *reliability(long, h)] for h in HORIZONS]),
        "",
        "Any improvement, however small:",
        "",
        markdown_table(head, [[str(h), *reliability(long, h, at_all=True)] for h in HORIZONS]),
        "",
        f"**{_count(short)} searches of 30 trials by {len({x.curve.sampler for x in short})} "
        f"systems on {_tasks(short)} held-out tasks without added noise**",
        "",
        markdown_table(head, [[str(h), *reliability(short, h)] for h in HORIZONS]),
        "",
        f"Goal: every stated probability within 5 points of what happened. {_goal(short)} in the "
        f"searches of 30 trials; {_goal(long).lower()} in those of 70. Any improvement, however "
        f"small: {_goal(long, at_all=True).lower()}.",
        "",
        "By kind, 10 trials ahead:",
        "",
    ]
    rows = []
    for name, belongs in GROUPS.items():
        mine = [x for x in long if belongs(x)]
        rows.append([name, *reliability(mine, 10)])
    for sampler in ("random", "optuna-tpe", "optuna-gp", "optuna-cma", "calibrant"):
        mine = [x for x in short if x.curve.sampler == sampler]
        rows.append([f"30 trials, {sampler}", *reliability(mine, 10)])
    text += [
        markdown_table(["searches", *head[1:]], rows),
        "",
        "The fan: intervals of the best value from its 10 % to its 90 % quantile, and the CRPS in "
        "units of the interquartile range. No gain at all has a probability of its own, mostly of "
        "more than 10 %; the interval then leaves out only the 10 % of larger gains. Stated: the "
        "probability that the forecasts themselves give to their intervals. Beside the CRPS, that "
        "of a forecast that is the same for all searches (the gains of all of them, known in "
        "hindsight) and that of no gain at all (the mean gain).",
        "",
        markdown_table(
            [
                "trials ahead",
                "outlooks",
                "stated",
                "held (95 %)",
                "CRPS",
                "same for all",
                "no gain",
            ],
            [fan_row(long, h) for h in HORIZONS],
        ),
        "",
        "What it is learned from: the outcomes of a search alone, or draws of the minimum from "
        "calibrant's model? Log loss on tasks left out in turn, from about 800 moments of 100 "
        "searches on the suite and other kinds of tasks, in which the model was asked:",
        "",
        markdown_table(
            ["features", "log loss"], [[name, f"{loss:.3f}"] for name, loss in draws_compared()]
        ),
        "",
        "Draws alone are less true, and add little to the outcomes for a fit of the model at each "
        "look: the outlook uses outcomes alone.",
        "",
        "Does it help to go on learning inside a search, from which of its outlooks of one trial "
        "came true? Log loss on 120 long searches of the suite and other kinds, tasks left out, "
        "when that record shifts the logits, by the prior variance of the shift: "
        + ", ".join(f"{doubt:g}: {loss:.4f}" for doubt, loss in learning_on().items())
        + ". What a search has shown is in the features already; no shift is used.",
        "",
    ]
    return text


def _goal(found: list[Look], at_all: bool = False) -> str:
    cells = [cell for horizon in HORIZONS for cell in reliability(found, horizon, at_all)]
    cells = [cell for cell in cells if cell != "–"]
    off, chance = (sum(cell.endswith(mark) for cell in cells) for mark in (OFF, CHANCE))
    if not off + chance:
        return f"Met in all {len(cells)} cases"
    return f"Missed in {off + chance} of {len(cells)} cases ({off} beyond chance)"


def _count(found: list[Look]) -> int:
    return len({x.search for x in found})


def _tasks(found: list[Look]) -> int:
    return len({x.curve.task for x in found})


if __name__ == "__main__":
    from benchmarks.decisions.tables import write

    write()
