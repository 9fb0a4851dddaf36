"""What a run ends with: the result, whether to trust it, what failed, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from optuna.study import Study
from optuna.trial import TrialState

from calibrant.cli.terminal import console, fail, say
from calibrant.core.words import count, interval, number, percent, shortened
from calibrant.decisions.belief import believe
from calibrant.decisions.outlook import outlook
from calibrant.decisions.recommend import recommend_of
from calibrant.decisions.recommendation import Recommendation
from calibrant.decisions.stopping import StopWhen
from calibrant.decisions.words import setting_text
from calibrant.evaluation.verdict import Tone, verdict
from calibrant.reporting import report as write_report
from calibrant.studies.evaluations import cut_off
from calibrant.studies.review import FEASIBLE, Review, review
from calibrant.studies.runner import ERROR_KEY
from calibrant.studies.shown import COVERAGE

_REASONS = 3  # of failures that are printed
_COLOURS = {Tone.GOOD: "green", Tone.CAUTION: "yellow", Tone.BAD: "red", Tone.UNKNOWN: ""}


def finish(study: Study, report: Path | None, title: str, stop: StopWhen | None = None) -> None:
    """Print the result of a study and write its report, or fail if there is no result."""
    try:
        _print_result(study, stop)
    except ValueError as error:
        fail(str(error))
    if report is not None:
        console.print(f"Report: {write_report(study, report, title)}")


def _print_result(study: Study, stop: StopWhen | None = None) -> None:
    """Print the best setting, what came true of what was said, why trials failed, and the outlook.

    Args:
        study: with a trial that has a finite value.
        stop: what was to stop it; the outlook is about the same improvement.

    Raises:
        ValueError: if no trial has a finite value.
    """
    found = review(study)
    console.print(f"Best: {number(found.best_value, 6)} in trial {found.best_number}", style="bold")
    settings = ", ".join(f"{name}={value!r}" for name, value in found.best_params.items())
    if settings:
        console.print(f"  {settings}", soft_wrap=True)
    _print_recommendation(study, found)
    held = verdict(int(found.held.sum()), int(found.held.size), COVERAGE)
    if held.total:
        say(held.sentence, _COLOURS[held.tone])
    for kind in found.statements:
        if kind.kind == FEASIBLE:
            say(str(kind))
    _print_failures(study)
    asked = StopWhen() if stop is None else stop
    if asked.reason is None:  # else it has been said already
        with suppress(ValueError):  # fewer than five trials say nothing about the next ones
            say(outlook(study, asked.trials, asked.delta).sentences()[1])


def _print_recommendation(study: Study, found: Review) -> None:
    """Print which setting to use, if it is another one, and what an evaluation of it gives."""
    try:
        belief = believe(study)
    except ValueError:  # nothing to choose, so nothing to recommend
        return
    advice = recommend_of(belief)
    assert isinstance(advice, Recommendation)  # of one objective, as reviews are
    space, quantity = belief.space, belief.objectives[0]
    x = space.row(space.existing(space.to_internal(advice.params, outside=True)))
    ends = quantity.outcome(x[None]).interval(COVERAGE)
    low, high = sorted(quantity.sign * float(end[0]) for end in ends)
    again = f"if evaluated again: {interval(low, high)} (calibrated {percent(COVERAGE)} interval)"
    if found.best_number in advice.candidates[0].trials:
        say(f"  {advice.reason if advice.is_exact else again}")
    else:
        say(f"Recommended instead: {setting_text(advice.params)}")
        say(f"  {number(advice.value)} on average; {again}")
    for warning in advice.warnings:
        say(f"  {warning}")


def _print_failures(study: Study) -> None:
    gone = cut_off(study)
    failed = [
        str(trial.user_attrs.get(ERROR_KEY, "no finite value"))
        for trial in study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        if trial.number not in gone
    ]
    if not failed:
        return
    console.print(f"{count(len(failed), 'trial')} failed:")
    reasons = Counter(shortened(reason, 100) for reason in failed).most_common()
    for reason, times in reasons[:_REASONS]:
        say(f"  {times} × {reason}")
    if len(reasons) > _REASONS:
        console.print(f"  and {len(reasons) - _REASONS} other reasons: see the report")


def print_next(commands: Sequence[tuple[str, str]]) -> None:
    """Print the commands with which to go on."""
    widest = max(len(purpose) for purpose, _ in commands)
    for purpose, command in commands:
        console.print(f"{purpose + ':':<{widest + 1}} {command}", soft_wrap=True)
