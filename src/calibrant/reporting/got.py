"""What did I get? The best setting, its value, and how far it is from the start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core.words import count, interval, number, percent, shortened
from calibrant.reporting import over_trials
from calibrant.reporting.findings import Findings, Row
from calibrant.reporting.html import Html, join, table, tag
from calibrant.reporting.page import Section, copyable, lead, paragraphs, scrolling
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
    return join([_figures(found, best), _setting(found, best.params), over_trials.progress(found)])


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


def _figures(found: Findings, best: Row) -> Html:
    review = found.review
    assert review is not None
    facts = [(f"Best observed, in trial {best.number}", number(best.value, 6), _gain(found))]
    if found.belief is not None:
        forecast = found.belief.objectives[0]
        ends = forecast.outcome(found.point(best.params)[None]).interval(COVERAGE)
        low, high = sorted(forecast.sign * float(np.squeeze(end)) for end in ends)
        note = f"calibrated {percent(COVERAGE)} interval"
        facts.append(("If evaluated again", interval(low, high), note))
    return lead(*facts)


def _gain(found: Findings) -> str:
    """Return how far the best is from where the search began."""
    review = found.review
    assert review is not None
    if review.values.size <= _START:
        return ""
    first = review.values[:_START]
    start = float(first.max() if found.maximised[0] else first.min())
    return f"the best of the first {_START} gave {number(start)}"


def _setting(found: Findings, params: Mapping[str, Any]) -> Html:
    if not params:
        return paragraphs("The study has no parameters.")
    rows = [(shortened(name), _value(value)) for name, value in params.items()]
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
        f"{count(len(found.best), 'trial')} of {len(found.finished)} on the front: no other is at "
        f"least as good in every objective and better in one.{more}"
    )
    return join([tag("p", text), scrolling(table(head, rows), "The front", tall=len(rows) > 12)])


def _value(value: Any) -> str:
    return number(value, 5) if isinstance(value, float) else shortened(str(value))
