"""What did I get? The best setting, its value, and how far it is from the start."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calibrant.core.words import count, interval, number, percent, resolved, shortened
from calibrant.decisions.recommendation import Recommendation
from calibrant.reporting import over_trials
from calibrant.reporting.findings import Findings, Row
from calibrant.reporting.html import Html, breakable, join, table, tag
from calibrant.reporting.page import Section, copyable, folded, lead, paragraphs, scrolling
from calibrant.reporting.svg import Axis, Plot, Size, figure, within
from calibrant.studies.coordinates import is_value
from calibrant.studies.program import filled
from calibrant.studies.shown import COVERAGE

_FRONT = 40  # settings of a front that are listed
_START = 5  # first outcomes: the initial design, as a rule


def section(found: Findings) -> Section:
    """Return the answer."""
    return Section("got", "What did I get?", _body(found))


def _body(found: Findings) -> Html:
    if not found.best:
        return paragraphs(_nothing(found))
    if not found.single:
        return _front(found)
    (best,) = found.best
    advice = found.recommendation
    if advice is None:  # nothing to choose
        return join([lead(_observed(found, best)), _setting(found, best.params)])
    setting = {**best.params, **advice.params}  # with parameters that have a single value
    known = {name: value for name, value in setting.items() if name in found.names}
    return join(
        [
            _expected(found, best, advice),
            paragraphs(" ".join([advice.reason, *advice.warnings])),
            _setting(found, rounded(found, known)),
            _rivals(found, advice),
            over_trials.progress(found),
        ]
    )


def _nothing(found: Findings) -> str:
    if not found.rows:
        return "Nothing yet: the study has no trials."
    waiting, failed = len(found.in_state("running", "waiting")), len(found.in_state("failed"))
    words = [f"Nothing yet: none of {count(len(found.rows), 'trial')} has a finite value."]
    if failed:
        words.append(f"{failed} failed: the reasons are below.")
    if waiting:
        words.append(f"{waiting} are still to come.")
    return " ".join(words)


def _expected(found: Findings, best: Row, advice: Recommendation) -> Html:
    """Return the recommended setting's worth, and apart from it the best that was observed."""
    if advice.is_exact and best.number in advice.candidates[0].trials:
        return lead(_observed(found, best))  # it would give the same again
    again = forecast_of(found, advice)
    value = resolved(advice.value, again[1] - again[0])
    return lead(
        ("Recommended setting gives", value, f"on average: {interval(*advice.interval)}"),
        ("If evaluated again", interval(*again), f"calibrated {percent(COVERAGE)} interval"),
        _observed(found, best),
    )


def _observed(found: Findings, best: Row) -> tuple[str, str, str]:
    return f"Best observed, in trial {best.number}", number(best.value, 6), _gain(found)


def forecast_of(found: Findings, advice: Recommendation) -> tuple[float, float]:
    """Return the calibrated interval of another evaluation of the recommended setting."""
    assert found.belief is not None
    quantity = found.belief.objectives[0]
    ends = quantity.outcome(found.point(advice.params)[None]).interval(COVERAGE)
    low, high = sorted(quantity.sign * float(np.squeeze(end)) for end in ends)
    return low, high


def rounded(found: Findings, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting with as few digits as change its forecast by less than matters.

    That is a twentieth of the forecast's 80 % interval, tried on the whole setting at once.
    """
    belief = found.belief
    assert belief is not None
    quantity = belief.objectives[0]
    for digits in range(2, 8):
        short = {
            name: float(f"{value:.{digits}g}") if isinstance(value, float) else value
            for name, value in params.items()
        }
        if not _allowed(found, short):
            continue
        X = np.stack([found.point(params), found.point(short)])
        forecast = quantity.outcome(X)
        middle = np.asarray(forecast.quantile(0.5))
        low, high = (np.asarray(end) for end in forecast.interval(COVERAGE))
        if abs(middle[1] - middle[0]) <= 0.05 * (high[0] - low[0]):
            return short
    return dict(params)


def _allowed(found: Findings, params: Mapping[str, Any]) -> bool:
    """Whether all values are ones that their parameters may have."""
    for name, value in params.items():
        distribution = found.distributions.get(name)
        if not isinstance(value, float) or distribution is None:
            continue
        if not is_value(distribution, value):
            return False
    return True


def _rivals(found: Findings, advice: Recommendation) -> Html:
    """List the settings that may be as good."""
    others = [one for one in advice.candidates[1:] if one.probability_best >= 0.01]
    if not others:
        return Html("")
    names = [name for name in found.names if name in advice.params]
    rows = [
        [", ".join(map(str, one.trials)), percent(one.probability_best), number(one.value),
         interval(*one.interval), *(_value(one.params.get(name, "")) for name in names)]
        for one in advice.candidates
    ]  # fmt: skip
    head = ["trial", "chance to be best", "average", "80 % interval", *map(shortened, names)]
    text = (
        f"With a probability of {percent(advice.candidates[0].probability_best)}, the recommended "
        f"setting is the best of those tried; the expected loss against the best of them is "
        f"{number(advice.expected_loss, 2)}."
    )
    listed = scrolling(table(head, rows, class_="nowrap"), "The settings that may be best")
    return folded("Which other settings may be as good?", paragraphs(text), listed)


def _gain(found: Findings) -> str:
    """Return how far the best is from where the search began."""
    review = found.review
    assert review is not None
    if review.values.size <= _START:
        return ""
    start = float(review.best_so_far[_START - 1])
    if math.isnan(start):  # none of them met the constraints
        return ""
    return f"best of the first {_START}: {number(start)}"


def _setting(found: Findings, params: Mapping[str, Any]) -> Html:
    if not params:
        return paragraphs("The study has no parameters.")
    rows = [(breakable(shortened(name)), _value(value)) for name, value in params.items()]
    listed = scrolling(table(["parameter", "value"], rows, class_="settings"), "The setting")
    return join([listed, copyable("setting", _as_command(found, params))])


def _as_command(found: Findings, params: Mapping[str, Any]) -> str:
    """Return a setting as it is used: the program's command, or a Python dict."""
    if not found.job.program:
        return repr(dict(params))
    return shlex.join(filled(found.job.program, params))


def _front(found: Findings) -> Html:
    objectives = [f"objective {k}" for k in range(len(found.maximised))]
    names = found.study.metric_names or objectives
    head = ["trial", *names, *(shortened(name) for name in found.names)]
    rows = [
        [str(row.number), *(number(v, 6) for v in row.values),
         *(_value(row.params[name]) if name in row.params else "" for name in found.names)]
        for row in found.best[:_FRONT]
    ]  # fmt: skip
    more = f" The first {_FRONT} are listed." if len(found.best) > _FRONT else ""
    text = (
        f"{count(len(found.best), 'trial')} of {len(found.finished)} on the front: for each of "
        f"them, no other is at least as good in every objective and better in one.{more}"
    )
    listed = scrolling(table(head, rows, class_="nowrap"), "The front", tall=len(rows) > 12)
    drawn, heading = _front_figure(found, names), tag("h3", "The settings on the front")
    return join([tag("p", text), drawn, heading, listed, over_trials.volume(found)])


def _front_figure(found: Findings, names: Sequence[str]) -> Html:
    """Draw the first two objectives of all trials, and those on the front."""
    every = np.array([row.values[:2] for row in found.finished])
    best = np.array([row.values[:2] for row in found.best])
    axes = [Axis(*within(every[:, k]), _goal(found, names, k)) for k in (0, 1)]
    tips = [f"trial {row.number}: {', '.join(map(number, row.values))}" for row in found.best]

    def draw(size: Size) -> Plot:
        plot = Plot(size, *axes)
        plot.dots(every[:, 0], every[:, 1], "quiet", width=5)
        if len(names) == 2:
            order = np.argsort(best[:, 0], kind="stable")
            plot.steps(best[order, 0], best[order, 1], "accent thin")
        plot.dots(best[:, 0], best[:, 1], "accent", tips, 7)
        return plot

    caption = "Every trial (dots); those on the front are in colour."
    if len(names) > 2:
        caption += f" The first two of {len(names)} objectives are drawn."
    described = f"{count(len(found.best), 'trial')} of {len(found.finished)} lie on the front."
    return figure(draw, described, caption)


def _goal(found: Findings, names: Sequence[str], k: int) -> str:
    return f"{names[k]} ({'higher' if found.maximised[k] else 'lower'} is better)"


def _value(value: Any) -> str:
    return number(value, 5) if isinstance(value, float) else shortened(str(value))
