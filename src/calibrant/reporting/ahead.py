"""What next? Whether to stop or to go on, and with which settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from calibrant.core.words import count, interval, number, percent, shortened
from calibrant.decisions.outlook import LEAST_OUTCOMES, Outlook
from calibrant.decisions.suggest import Proposal, suggest
from calibrant.reporting.findings import Findings
from calibrant.reporting.html import Html, breakable, join, table, tag
from calibrant.reporting.page import Section, copyable, folded, lead, paragraphs, scrolling
from calibrant.reporting.svg import Axis, Plot, Size, figure, within
from calibrant.search.defaults import N_STARTUP_TRIALS

_SUGGESTED = 3  # settings that are listed
_WORTH = 0.5, 0.1  # probabilities of an improvement: above it is likely, below it hardly comes
_PAST = 3  # what is drawn of the past, as a multiple of the trials ahead
_MANY = 2000  # outcomes, above which suggestions take longer than a page should


def section(found: Findings) -> Section:
    """Return the answer."""
    return Section("next", "What next?", _body(found))


def _body(found: Findings) -> Html:
    parts = []
    if coming := found.in_state("running", "waiting"):
        parts.append(paragraphs(f"{count(len(coming), 'trial')} still to come."))
    ahead = found.outlook
    if ahead is not None:
        parts.append(_judgement(ahead))
        if ahead.unit > 0.0:
            parts += [_facts(ahead), _fan(found, ahead)]
        else:
            parts.append(paragraphs(ahead.sentences()[-1]))
    parts += [_repeat(found), _suggestions(found)]
    if found.job.command:
        parts.append(tag("h3", "To go on"))
        parts.append(copyable("again", shlex.join(found.job.command)))
    if ahead is None and found.single and len(found.finished) < LEAST_OUTCOMES:
        parts.append(paragraphs("Evaluate a few settings first: five are enough for an outlook."))
    return join(parts) or paragraphs("There is nothing to say yet.")


def _judgement(ahead: Outlook) -> Html:
    likely, hardly = _WORTH
    if ahead.probability >= likely:
        tone, words = "good", "Going on is worth it."
    elif ahead.probability >= hardly:
        tone, words = "caution", "Going on may still help."
    else:
        tone, words = "unknown", "Stopping is reasonable."
    text = (
        f" Within {count(ahead.trials, 'more trial')} the best value improves by at least "
        f"{number(ahead.delta, 2)} with a probability of {percent(ahead.probability)}, and by any "
        f"amount with {percent(ahead.chance(0.0))}."
        if ahead.unit > 0.0
        else f" {ahead.sentences()[1]}"
    )
    return tag("p", tag("b", words), text, class_=f"verdict {tone}")


def _facts(ahead: Outlook) -> Html:
    at = {p: column for column, p in enumerate(ahead.levels.tolist())}
    middle, good = (float(ahead.fan[-1, at[p]]) for p in (0.5, 0.1))
    return lead(
        ("Best so far", number(ahead.best), f"after {count(ahead.finished, 'trial')}"),
        (f"After {ahead.trials} more", number(middle), f"median; one in ten: {number(good)}"),
        ("Expected gain", number(float(ahead.gains[-1]), 2),
         f"90 % of it within {count(ahead.trials_needed, 'trial')}"),
    )  # fmt: skip


def _fan(found: Findings, ahead: Outlook) -> Html:
    """Draw the best so far, and how it is expected to go on."""
    first = max(1, ahead.finished - _PAST * ahead.trials)
    past, so_far = np.arange(first, ahead.finished + 1), ahead.so_far[first - 1 :]
    future = np.arange(ahead.finished, ahead.finished + ahead.trials + 1)
    start = np.full((1, ahead.levels.size), ahead.best)
    fan = np.concatenate([start, ahead.fan])
    # The whole fan, and what is not far beyond it of the second half of the past.
    low, high = within(so_far[-max(so_far.size // 2, 10) :])
    margin = 0.06 * float(np.ptp(fan))
    low, high = min(low, float(fan.min()) - margin), max(high, float(fan.max()) + margin)
    at = {p: column for column, p in enumerate(ahead.levels.tolist())}
    x = Axis(float(first), float(future[-1]), "trials finished", whole=True)

    def draw(size: Size) -> Plot:
        plot = Plot(size, x, Axis(low, high, "best value"))
        for outer in ((0.05, 0.95), (0.1, 0.9), (0.25, 0.75)):
            plot.band(future, fan[:, at[outer[0]]], fan[:, at[outer[1]]], "l2")
        plot.steps(past, so_far, "")
        plot.line(future, fan[:, at[0.5]], "accent")
        rise = 8.0 if found.maximised[0] else -16.0
        plot.label(x.high, float(fan[-1, at[0.5]]), "median", "accent", "end", rise)
        plot.label(float(past[-1]), ahead.best, "now", "", "end", -8.0 - rise)
        return plot

    caption = (
        "The best value so far, and a forecast of it after more trials. Of searches that went like "
        "this one, 50 % stay in the darkest band, 80 % and 90 % in the lighter ones."
    )
    return figure(draw, "The best value so far and a fan of how it may go on.", caption)


def _repeat(found: Findings) -> Html:
    """Say whether a setting should be measured again."""
    advice = found.recommendation
    if advice is None or advice.is_exact or len(found.finished) < LEAST_OUTCOMES:
        return Html("")
    return paragraphs(advice.repeat_words())


def _suggestions(found: Findings) -> Html:
    """List the next settings, from the model; first points of a design need none."""
    belief = found.belief
    if belief is None or not N_STARTUP_TRIALS <= len(belief.numbers) <= _MANY:
        return Html("")
    try:
        proposals = suggest(found.study, _SUGGESTED, seed=0)
    except ValueError:  # all settings have been tried
        return paragraphs("All settings of the space have been tried.")
    names = [name for name in found.names if any(name in p.params for p in proposals)]
    # A column each: three fit on a telephone, however many parameters there are.
    head = ["", *(f"setting {k}" for k in range(1, len(proposals) + 1))]
    rows: list[list[str]] = [
        [breakable(shortened(name)), *(_value(p, name) for p in proposals)] for name in names
    ]
    rows += _forecasts(proposals) if found.single else []
    listed = scrolling(table(head, rows, class_="settings"), "The next settings")
    settings = "\n".join(repr(p.params) for p in proposals)
    return join(
        [
            tag("h3", "The next settings to try"),
            paragraphs("They are chosen together, so that they differ from each other."),
            listed,
            folded("As Python dictionaries", copyable("proposals", settings)),
        ]
    )


def _forecasts(proposals: Sequence[Proposal]) -> list[list[str]]:
    rows = [["80 % forecast"], ["chance of a better value"]]
    if any(proposal.feasible < 1.0 for proposal in proposals):
        rows.append(["chance to meet all constraints"])
    for proposal in proposals:
        assert proposal.interval is not None
        assert proposal.improves is not None
        rows[0].append(interval(*proposal.interval))
        rows[1].append(percent(proposal.improves))
        if len(rows) > 2:
            rows[2].append(percent(proposal.feasible))
    return rows


def _value(proposal: Proposal, name: str) -> str:
    value = proposal.params.get(name, "")
    return number(value) if isinstance(value, float) else breakable(shortened(str(value)))
