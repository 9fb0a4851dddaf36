"""What a run ends with: the result, whether to trust it, what failed, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from optuna.study import Study
from optuna.trial import TrialState

from calibrant.cli.terminal import console, say
from calibrant.core.words import count, interval, number, percent, shortened
from calibrant.decisions.belief import believe
from calibrant.evaluation.verdict import Tone, verdict
from calibrant.studies.archive import cut_off
from calibrant.studies.review import Review, review
from calibrant.studies.runner import ERROR_KEY
from calibrant.studies.shown import COVERAGE

_REASONS = 3  # of failures that are printed
_COLOURS = {Tone.GOOD: "green", Tone.CAUTION: "yellow", Tone.BAD: "red", Tone.UNKNOWN: ""}


def print_result(study: Study) -> None:
    """Print the best setting, the verdict on the intervals, and why trials failed.

    Raises:
        ValueError: if no trial has a finite value.
    """
    found = review(study)
    console.print(f"Best: {number(found.best_value, 6)} in trial {found.best_number}", style="bold")
    settings = ", ".join(f"{name}={value!r}" for name, value in found.best_params.items())
    if settings:
        console.print(f"  {settings}", soft_wrap=True)
    _print_again(study, found)
    held = verdict(int(found.held.sum()), int(found.held.size), COVERAGE)
    if held.total:
        say(held.sentence, _COLOURS[held.tone])
    _print_failures(study)


def _print_again(study: Study, found: Review) -> None:
    """Print what another evaluation of the best setting would give."""
    try:
        belief = believe(study)
    except ValueError:  # nothing to choose, so nothing to forecast
        return
    space, quantity = belief.space, belief.objectives[0]
    x = space.row(space.existing(space.to_internal(found.best_params, outside=True)))
    ends = quantity.outcome(x[None]).interval(COVERAGE)
    low, high = sorted(quantity.sign * float(end[0]) for end in ends)
    console.print(
        f"  if evaluated again: {interval(low, high)} (calibrated {percent(COVERAGE)} interval)"
    )


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
