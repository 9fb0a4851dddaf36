"""Rules for stopping: how often they stop too early, and what they save.

    python -m benchmarks.decisions.stopping          # the page, from stored searches
    python -m benchmarks.decisions.stopping check    # on tasks to learn from, left out in turn

A stop is wrong if the next trials would have improved the best value by at least the delta asked
about. Rules look after every trial from the tenth on, as `StopWhen` does; a search that is never
stopped saves nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from benchmarks.decisions import kinds, searches
from benchmarks.decisions.learning import Curve, curve_of, curves, fit, folds, states
from benchmarks.decisions.outlook import DELTA, EARLIEST, long_searches, short_searches
from benchmarks.kit.words import markdown_table
from calibrant.decisions.gains import exceedance, stop_risk
from calibrant.decisions.outlook import LATELY, LEAST_OUTCOMES
from calibrant.decisions.progress import Progress

LEVEL, MOST = 0.05, 0.08  # the stated rate of wrong stops, and the goal for its upper end
LONG, AHEAD = searches.BUDGETS["judge"], 20
LEVELS = np.linspace(0.002, 0.5, 250)
RATES = (0.02, 0.05, 0.1, 0.2)  # of wrong stops, that a user may ask for
THIRD = 1.0 / 3.0  # of the trials: the goal for what is saved
PATIENCE = (5, 10, 15, 20, 30)  # trials without an improvement of delta
HEAD = ["rule", "stopped", "wrong stops (95 %)", "trials saved", "regret"]
SWEEP = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)


class Stop(NamedTuple):
    """What became of a search under a rule."""

    wrong: bool | None  # None: never stopped
    saved: float  # share of the trials
    regret: float  # how much better the whole search did, in units at the stop


# Where the search stands, the search so far, the trials looked ahead -> whether to stop.
Rule = Callable[[Progress, Curve, int], bool]


def ours(level: float) -> Rule:
    """Stop as `StopWhen` does: when the risk that it is wrong is below a level."""

    def rule(now: Progress, so_far: Curve, ahead: int) -> bool:
        return stop_risk(stated(so_far, ahead), so_far.chosen) < level

    return rule


def mean_below(level: float, lately: int = LATELY) -> Rule:
    """Stop when an improvement by delta has been improbable, on average over the latest looks."""

    def rule(now: Progress, so_far: Curve, ahead: int) -> bool:
        return stated(so_far, ahead, lately) < level

    return rule


def stated(so_far: Curve, ahead: int, lately: int = LATELY) -> float:
    """Return the mean probability of an improvement by delta after each of the latest trials."""
    return _shipped(so_far.y.tobytes(), so_far.chosen, so_far.dim, so_far.whole, ahead, lately)


@cache
def _shipped(y: bytes, chosen: bool, dim: int, whole: float, ahead: int, lately: int) -> float:
    """Return the same, once for all levels that it is compared with."""
    so_far = Curve("calibrant" if chosen else "another", "", np.frombuffer(y), dim, whole)
    count = so_far.y.size
    delta, found = DELTA * so_far.progress(count).unit, []
    for n in range(max(count - lately + 1, LEAST_OUTCOMES), count + 1):
        now = so_far.progress(n)
        gain = delta / now.unit if now.unit > 0.0 else 0.0
        found.append(exceedance(now, [ahead], [gain])[0, 0])
    return float(np.mean(found))


def patience(most: int) -> Rule:
    """Stop after so many trials that brought less than delta."""

    def rule(now: Progress, so_far: Curve, ahead: int) -> bool:
        before = so_far.y[:-most].min() if so_far.y.size > most else np.inf
        return bool(before - now.best < DELTA * now.unit)

    return rule


def follow(curves: Iterable[Curve], rule: Rule | None, ahead: int) -> list[Stop]:
    """Return what a rule does on searches; without one, an oracle that knows what comes."""
    return [_follow(curve, rule, ahead) for curve in curves]


def _follow(curve: Curve, rule: Rule | None, ahead: int) -> Stop:
    best = np.minimum.accumulate(curve.y)
    for n in range(EARLIEST, curve.y.size - ahead + 1):
        so_far = curve._replace(y=curve.y[:n])
        now = so_far.progress(n)
        if now.unit <= 0.0:
            continue
        gain = (now.best - best[n - 1 + ahead]) / now.unit
        if gain <= DELTA if rule is None else rule(now, so_far, ahead):
            left = (now.best - best[-1]) / now.unit
            return Stop(bool(gain > DELTA), 1.0 - n / curve.y.size, float(left))
    return Stop(None, 0.0, 0.0)


def row(name: str, stops: list[Stop]) -> list[str]:
    """Return a line of the table."""
    stopped = [s for s in stops if s.wrong is not None]
    wrong = sum(bool(s.wrong) for s in stopped)
    saved, regret = (np.mean([getattr(s, k) for s in stops]) for k in ("saved", "regret"))
    rate = _share(wrong, len(stopped)) if stopped else "–"
    return [name, f"{len(stopped)} of {len(stops)}", rate, f"{saved:.0%}", f"{regret:.3f}"]


def _share(wrong: int, stopped: int) -> str:
    ends = binomtest(wrong, stopped).proportion_ci()
    return f"{wrong / stopped:.1%} ({ends.low:.1%}–{ends.high:.1%})"


def at_equal_error(
    curves: list[Curve], rules: dict[float, Rule], ahead: int
) -> tuple[float, list[Stop]]:
    """Return the setting of a rule that saves most with at most the stated rate of wrong stops."""
    return _best({setting: follow(curves, rule, ahead) for setting, rule in rules.items()})


def _best(found: dict[float, list[Stop]]) -> tuple[float, list[Stop]]:
    def merit(setting: float) -> tuple[bool, float]:
        stopped = [s for s in found[setting] if s.wrong is not None]
        rate = np.mean([s.wrong for s in stopped]) if stopped else 0.0
        return bool(rate <= LEVEL), float(np.mean([s.saved for s in found[setting]]))

    best = max(found, key=merit)
    return best, found[best]


def table(curves: list[Curve], ahead: int) -> str:
    """Return the table of rules that need only the outcomes."""
    rows = [row(f"calibrant, risk below {p:.0%}", follow(curves, ours(p), ahead)) for p in RATES]
    for name, lately in (("the mean of ten outlooks", LATELY), ("the latest outlook alone", 1)):
        stops = follow(curves, mean_below(LEVEL, lately), ahead)
        rows.append(row(f"{name}, below {LEVEL:.0%}", stops))
    rows += [
        row(f"patience {p}", follow(curves, patience(p), ahead))
        for p in PATIENCE
        if p < 30 or ahead == 20
    ]
    rows.append(row("oracle", follow(curves, None, ahead)))
    setting, stops = at_equal_error(curves, {p: ours(p) for p in SWEEP}, ahead)
    rows.append(row(f"at most 5 % wrong: calibrant, risk below {setting:.0%}", stops))
    setting, stops = at_equal_error(curves, {float(p): patience(p) for p in range(5, 45, 5)}, ahead)
    rows.append(row(f"at most 5 % wrong: patience {setting:.0f}", stops))
    return markdown_table(HEAD, rows)


def model_rules() -> list[str]:
    """Return the lines about rules that need a model, on the searches in which they were asked."""
    asked = [r for r in searches.load("judge") if "rules" in r]
    if not asked:
        return []
    rows = [
        row(f"calibrant, risk below {p:.0%}", _replayed(asked, _ours_at(p))) for p in (0.05, 0.1)
    ]
    rows += [row(name, _replayed(asked, stops_at)) for name, stops_at in MODEL_RULES.items()]
    for name, family in FAMILIES.items():
        setting, stops = _best({key: _replayed(asked, rule) for key, rule in family.items()})
        rows.append(row(f"at most 5 % wrong: {name.format(setting)}", stops))
    looks = ", ".join(map(str, searches.RULES_AT))
    return [
        f"Rules that need a model were asked in {len(asked)} of these searches, after {looks} "
        "trials, and calibrant's rule is counted at the same looks: Optuna's terminator with its "
        "regret bound, EMMR with its default level, and the probabilistic regret bound of Wilson "
        "(2024) on calibrant's joint draws. The last lines choose the setting of each in "
        "hindsight, as above; where none had at most 5 % of wrong stops, it is the one that saves "
        "most.",
        "",
        markdown_table(HEAD, rows),
        "",
    ]


# What a rule that needs a model went by after some trials, the improvement asked about, the search
# so far -> whether to stop.
ModelRule = Callable[[dict[str, Any], float, Curve], bool]


def _ours_at(level: float) -> ModelRule:
    return lambda values, delta, so_far: stop_risk(stated(so_far, AHEAD), so_far.chosen) < level


def _regret(share: float) -> ModelRule:
    return lambda values, delta, so_far: values["regret"] < share * delta


def _emmr(share: float) -> ModelRule:
    return lambda values, delta, so_far: values["emmr"] < share * values["median"]


def _wilson(level: float) -> ModelRule:
    place = searches.LEFT.index(level)
    return lambda values, delta, so_far: values["left"][place] < delta


MODEL_RULES = {
    "Optuna: regret bound below delta": _regret(1.0),
    "Optuna: EMMR below its median": _emmr(1.0),
    "Wilson: minimum within delta, 95 %": _wilson(0.95),
    "Wilson: minimum within delta, 50 %": _wilson(0.5),
}
_SHARES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FAMILIES: dict[str, dict[float, ModelRule]] = {
    "calibrant, risk below {:.0%}": {level: _ours_at(level) for level in SWEEP},
    "Optuna: regret bound below {:g} delta": {share: _regret(share) for share in _SHARES},
    "Optuna: EMMR below {:g} of its median": {share: _emmr(share) for share in _SHARES},
    "Wilson: minimum within delta, {:g}": {level: _wilson(level) for level in searches.LEFT},
}


def _replayed(asked: list[dict[str, Any]], stops_at: ModelRule) -> list[Stop]:
    """Return what a rule does on searches, from what it was told in them."""
    stops = []
    for r in asked:
        curve = curve_of(r)
        values = {int(n): v for n, v in r["rules"].items()}
        stops.append(_follow(curve, partial(_at_looks, stops_at, values), 20))
    return stops


def _at_looks(
    stops_at: ModelRule, values: dict[int, Any], now: Progress, so_far: Curve, ahead: int
) -> bool:
    """Ask a rule where it was told something."""
    n = so_far.y.size
    return n in values and stops_at(values[n], DELTA * now.unit, so_far)


def section() -> list[str]:
    """Return the lines of the page about stopping."""
    long, short = list(long_searches()), list(short_searches())
    stops = follow(long, ours(LEVEL), 20)
    stopped = [s for s in stops if s.wrong is not None]
    wrong = sum(bool(s.wrong) for s in stopped)
    high = binomtest(wrong, len(stopped)).proportion_ci().high if stopped else 1.0
    saved = float(np.mean([s.saved for s in stops]))
    met = wrong <= LEVEL * len(stopped) and high <= MOST, saved >= THIRD
    short_stops = [s for s in follow(short, ours(LEVEL), 10) if s.wrong is not None]
    short_wrong = sum(bool(s.wrong) for s in short_stops)
    return [
        "## Stopping",
        "",
        "A rule looks after every trial from the tenth on, as `StopWhen` does. A stop is wrong "
        "where the next 20 (or 10) trials would have improved the best value by at least a tenth "
        "of the interquartile range. calibrant stops when the risk that this is wrong is below the"
        " level asked for. The risk goes by the mean of the latest ten outlooks: it is the share "
        "of other searches, stopped where that mean first fell so low, in which an improvement "
        "came. It was counted on 3,800 searches of 70 trials on tasks to learn from, with three "
        "groups of kinds of tasks left out in turn: the suite, functions and valleys, landscapes "
        "and tables (`python -m benchmarks.decisions.stopping check`). Of those stopped by a mean "
        "below 5 %, which was the rule before, 1.9, 2.1 and 5.9 % were stopped wrongly, and 25, 13"
        " and 22 % of the trials saved; of all stops together, 5 % are wrong below 6.2 %. A mean "
        "of five with a risk of its own saved no more. Boosted trees that also know earlier looks "
        "and what the model believed of its suggestions saved about 4 points more: too little for "
        "a model that cannot be a table. The risk was learned for a tenth of the range within 20 "
        "trials. Saved: share of all trials of the search. Regret: how much better the whole "
        "search did, in interquartile ranges. The oracle knows what comes. The last two lines "
        "choose, in hindsight, the setting that saves most with at most 5 % of wrong stops. The "
        "searches of 70 trials are new, from first points that were not looked at before; their "
        "tasks had been looked at six times, with other searches. They were looked at once before "
        "the risk was what it is: by a risk counted with single tasks left out, 168 of the 360 "
        "were stopped at 5 %, 6.0% of them wrongly (2.9%–10.7%), and 26% of the trials saved. "
        "Held-out tasks are of other kinds than those to learn from, so it was then counted with "
        "whole kinds left out, which is more careful. The searches of 30 trials are those looked "
        "at before, and since then 95 more by BoTorch and HEBO.",
        "",
        f"**{len(long)} searches of 70 trials by calibrant, held-out tasks, 20 trials ahead**",
        "",
        table(long, 20),
        "",
        f"Goals at the stated 5 %: wrong stops at most 5 %, upper end at most 8 %: "
        f"{'met' if met[0] else 'missed'} ({wrong} of {len(stopped)}, upper end {high:.1%}); a "
        f"third of the trials saved: {'met' if met[1] else 'missed'} ({saved:.0%}).",
        "",
        f"**{len(short)} searches of 30 trials by {len({one.sampler for one in short})} systems, "
        "held-out tasks, 10 trials ahead**",
        "",
        table(short, 10),
        "",
        f"Here {short_wrong} of {len(short_stops)} stops at 5 % were wrong: "
        f"{_share(short_wrong, len(short_stops))}.",
        "",
        *model_rules(),
    ]


class Told(NamedTuple):
    """What a search was told along the way, and what came: an entry for each look."""

    trials: np.ndarray
    stated: np.ndarray  # the mean over the latest looks
    gains: np.ndarray  # within the trials looked ahead, in units at the look
    left: np.ndarray  # to gain in the whole search, in these units

    def below(self, level: float, count: int) -> Stop:
        """Return what becomes of the search if it stops below a level."""
        low = np.flatnonzero(self.stated < level)
        if not low.size:
            return Stop(None, 0.0, 0.0)
        i = low[0]
        saved = 1.0 - self.trials[i] / count
        return Stop(bool(self.gains[i] > DELTA), float(saved), float(self.left[i]))


def check() -> None:
    """Print what stops by some means of outlooks, on tasks that had no part in the fit.

    And below which mean to stop, so that at most a given share of stops is wrong: the numbers
    ``STOP_BELOW`` of ``decisions/gains.py``.
    """
    for chosen in (True, False):
        told_of = left_out(chosen)
        for lately in (1, 5, LATELY):
            told = told_of(lately)
            print(f"{len(told)} searches by {'calibrant' if chosen else 'others'}")
            for level in SWEEP:
                stops = [one.below(level, LONG) for one in told]
                print(f"mean of {lately}:", *row(f"below {level:.0%}", stops), sep="  ", flush=True)
            print("promised, below, and then")
            for rate, level in thresholds(told).items():
                stops = [one.below(level, LONG) for one in told]
                print(f"{rate:.0%}  {level:.4f}", *row("", stops)[1:], sep="  ", flush=True)


def left_out(chosen: bool) -> Callable[[int], list[Told]]:
    """Return what is told along long searches by calibrant or others, for some mean of outlooks.

    Each is told by a table that was fitted without its tasks.
    """
    data = states()
    own = data.rows(data.chosen == chosen)
    # By others there are too few searches to do without whole kinds of tasks.
    part = {t: _kinds_of(t) for t in own.tasks.tolist()} if chosen else folds(own.tasks)
    fold = np.array([part[task] for task in own.tasks.tolist()])
    tables = {k: fit(own.rows(fold != k)) for k in set(part.values())}
    long = [c._replace(y=c.y[:LONG]) for c in curves() if c.y.size >= LONG]
    mine = [c for c in long if c.chosen == chosen and c.task in part and np.isfinite(c.y).all()]
    return lambda lately: [told_along(c, tables[part[c.task]], lately) for c in mine]


def _kinds_of(task: str) -> int:
    """Return which kinds of tasks one belongs to: the suite, functions and valleys, or drawn ones.

    See :mod:`~benchmarks.decisions.kinds` for the numbers.
    """
    if not task.startswith("kind "):
        return 0
    number = int(task[5:])
    place = number % 3 if number < kinds.FIRST_OF_FIVE else number % 5
    return 1 if place in (0, 3) else 2


def thresholds(told: list[Told]) -> dict[float, float]:
    """Return the largest means below which to stop, for some shares of stops that may be wrong.

    The first time that a mean is below a level, it is so by chance more often than at any time:
    levels are counted on these first times. One wrong stop more than there were must be allowed.
    """
    shares = []
    for level in LEVELS:
        wrong = [stop.wrong for one in told if (stop := one.below(level, LONG)).wrong is not None]
        shares.append((sum(wrong) + 1) / (len(wrong) + 1))
    found = {}
    for rate in RATES:
        kept = [level for level, share in zip(LEVELS, shares, strict=True) if share <= rate]
        found[rate] = float(max(kept, default=0.0))
    return found


def told_along(curve: Curve, table: np.ndarray, lately: int) -> Told:
    """Return what :func:`stated` says after each number of trials, by a table."""
    last = curve.y.size - AHEAD
    seen = {n: curve.progress(n) for n in range(LEAST_OUTCOMES, last + 1)}
    parts: dict[int, list[float]] = {n: [] for n in range(EARLIEST, last + 1)}
    for m, now in seen.items():
        later = list(range(max(m, EARLIEST), min(m + lately, last + 1)))
        gains = [DELTA * seen[n].unit / now.unit if now.unit > 0.0 else 0.0 for n in later]
        if later:
            for n, p in zip(later, exceedance(now, [AHEAD], gains, table)[0], strict=True):
                parts[n].append(float(p))
    known = [n for n in parts if seen[n].unit > 0.0]
    best = np.minimum.accumulate(curve.y)
    rows = [
        (
            n,
            np.mean(parts[n]),
            (seen[n].best - best[n - 1 + AHEAD]) / seen[n].unit,
            (seen[n].best - best[-1]) / seen[n].unit,
        )
        for n in known
    ]
    return Told(*np.array(rows).reshape(-1, 4).T)


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check()
    else:
        from benchmarks.decisions.tables import write

        write()
