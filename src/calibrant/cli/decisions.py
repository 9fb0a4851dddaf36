"""``calibrant forecast`` and ``calibrant recommend``: what a study says about settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import console, fail
from calibrant.core.words import interval, number, percent
from calibrant.decisions.belief import believe
from calibrant.decisions.forecast import Outcomes, forecast_of
from calibrant.decisions.recommend import recommend as recommend_for
from calibrant.studies.loading import load_study

_COVERAGE = 0.8  # of the intervals printed


def forecast(
    storage: Storage,
    settings: Annotated[
        list[str],
        typer.Option("--set", help="A parameter of the setting, as lr=0.01; give each of them."),
    ],
    study: StudyName = None,
) -> None:
    """Forecast what a setting would give, from the trials of a study.

    calibrant forecast study.db --set lr=0.01 --set layers=3
    """
    try:
        belief = believe(load_study(storage, study))
        setting = parse_setting(settings, belief.space.distributions)
        found = forecast_of(belief, setting)
    except (ValueError, TypeError) as error:
        fail(str(error))
    for outcome, expected, quantity in zip(
        found.objectives, found.expected, belief.objectives, strict=True
    ):
        console.print(f"{outcome.name}: {_described(outcome)}")
        console.print(f"  on average, over many evaluations: {_described(expected)}")
        best = float(quantity.sign * quantity.y.min())
        better = outcome.probability_below if quantity.sign > 0.0 else outcome.probability_above
        chance = percent(float(better(best)))
        console.print(f"  better than the best value so far, {number(best)}: {chance}")
    for constraint in found.constraints.values():
        met = percent(float(constraint.probability_below(0.0)))
        console.print(f"{constraint.name}: {_described(constraint)}; met with probability {met}")
    if len(found.constraints) > 1:
        console.print(f"all constraints met with probability {percent(float(found.feasible))}")


def recommend(
    storage: Storage,
    study: StudyName = None,
    min_feasible: Annotated[
        float | None,
        typer.Option(help="Only settings that meet all constraints with this probability."),
    ] = None,
    noisy: Annotated[
        bool | None,
        typer.Option(
            "--noisy/--noise-free",
            help="Whether evaluations are noisy: two of one setting can differ. By default it is "
            "judged from the trials.",
        ),
    ] = None,
) -> None:
    """Say which setting to use, what it gives, and whether to measure again first."""
    try:
        found = recommend_for(load_study(storage, study), min_feasible=min_feasible, noisy=noisy)
    except ValueError as error:
        fail(str(error))
    console.print(str(found))


def parse_setting(
    texts: list[str], distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Return the parameters written as ``name=value``, with values of the kind that they have."""
    setting: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"A parameter must be written `name=value`, but got {text!r}.")
        if name in setting:
            raise ValueError(f"The parameter `{name}` is given twice.")
        setting[name] = _value(name, value, distributions.get(name))
    return setting


def _value(name: str, text: str, distribution: BaseDistribution | None) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return next((choice for choice in distribution.choices if str(choice) == text), text)
    if distribution is None:  # the belief says which parameters there are
        return text
    try:
        return int(text) if isinstance(distribution, IntDistribution) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(distribution, IntDistribution) else "a number"
        raise ValueError(f"`{name}` must be {kind}, but got {text!r}.") from None


def _described(outcome: Outcomes) -> str:
    low, high = (float(end) for end in outcome.interval(_COVERAGE))
    middle = number(float(outcome.median))
    return f"{middle} ({percent(_COVERAGE)} interval {interval(low, high)})"
