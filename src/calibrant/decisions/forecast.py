"""What settings would give: calibrated forecasts in the user's sign and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.core.words import interval, percent
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.words import html_table, setting_text
from calibrant.forecasts.base import Forecast
from calibrant.studies.shown import COVERAGE


@dataclass(frozen=True)
class Outcomes:
    """The distribution of an objective or a constraint at one setting or several.

    Numbers come back for one setting, arrays with one entry per setting for several.

    Args:
        name: of the constraint; "value", or "value 0", "value 1", … of several objectives.
        minimised: the distribution, with the sign in which the quantity is minimised.
        sign: what turns that into the user's.
    """

    name: str
    minimised: Forecast
    sign: float = 1.0

    @property
    def mean(self) -> FloatArray:
        """The expected value."""
        return np.asarray(self.sign * self.minimised.mean())[()]

    @property
    def std(self) -> FloatArray:
        """The standard deviation."""
        return np.asarray(self.minimised.std())[()]

    @property
    def median(self) -> FloatArray:
        """The value that is as likely to be exceeded as not."""
        return self.quantile(0.5)

    def quantile(self, p: float) -> FloatArray:
        """Return the value that the outcome stays below with probability p."""
        level = p if self.sign > 0.0 else 1.0 - p
        return np.asarray(self.sign * self.minimised.quantile(level))[()]

    def interval(self, coverage: float = 0.8) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the central interval that holds the outcome with this probability."""
        ends = self.minimised.interval(coverage)
        low, high = ends if self.sign > 0.0 else ends[::-1]
        return np.asarray(self.sign * low)[()], np.asarray(self.sign * high)[()]

    def probability_below(self, value: ArrayLike) -> FloatArray:
        """Return the probability that the outcome is at most a value."""
        return self._chance(value, self.sign)

    def probability_above(self, value: ArrayLike) -> FloatArray:
        """Return the probability that the outcome is above a value."""
        return self._chance(value, -self.sign)

    def _chance(self, value: ArrayLike, side: float) -> FloatArray:
        """Return the probability on one side of a value, to its digits however small it is."""
        score = self.minimised.score(self.sign * np.asarray(value, dtype=float))
        return np.asarray(ndtr(side * score))[()]


@dataclass(frozen=True)
class SettingForecast:
    """What one setting or several would give.

    With a single objective, :attr:`mean`, :attr:`median`, :meth:`interval`, :meth:`quantile`,
    :meth:`probability_below` and :meth:`probability_above` are those of a new evaluation.

    Args:
        settings: as they were asked for.
        objectives: what a new evaluation would give, noise included; one per objective.
        expected: the mean that many evaluations would have, one per objective.
        constraints: what a new evaluation would report, by name; met at 0 or below.
    """

    settings: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    objectives: tuple[Outcomes, ...]
    expected: tuple[Outcomes, ...]
    constraints: Mapping[str, Outcomes]

    @property
    def mean(self) -> FloatArray:
        """The expected value of a new evaluation."""
        return self._only.mean

    @property
    def median(self) -> FloatArray:
        """The value that a new evaluation is as likely to exceed as not."""
        return self._only.median

    def quantile(self, p: float) -> FloatArray:
        """Return the value that a new evaluation stays below with probability p."""
        return self._only.quantile(p)

    def interval(self, coverage: float = 0.8) -> tuple[FloatArray, FloatArray]:
        """Return the central interval that holds a new evaluation with this probability."""
        return self._only.interval(coverage)

    def probability_below(self, value: ArrayLike) -> FloatArray:
        """Return the probability that a new evaluation is at most a value."""
        return self._only.probability_below(value)

    def probability_above(self, value: ArrayLike) -> FloatArray:
        """Return the probability that a new evaluation is above a value."""
        return self._only.probability_above(value)

    def constraint(self, name: str) -> Outcomes:
        """Return the forecast of a constraint."""
        if name not in self.constraints:
            known = ", ".join(map(repr, self.constraints)) or "none at all"
            raise ValueError(
                f"The study must have a constraint of that name, but got {name!r}; it has {known}."
            )
        return self.constraints[name]

    @property
    def feasible(self) -> FloatArray:
        """The probability that an evaluation meets all constraints."""
        chances = [constraint.probability_below(0.0) for constraint in self.constraints.values()]
        shape = np.shape(self.objectives[0].mean)
        return np.prod(chances, axis=0) if chances else np.ones(shape)[()]

    def sentences(self) -> list[str]:
        """Return the forecast in words, a sentence per setting."""
        said = [[f"{what} {words}" for words in texts] for what, texts in self._words().items()]
        rows = zip(self._setting_texts(), *said, strict=True)
        return [f"{setting}: {'; '.join(row)}." for setting, *row in rows]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        words = self._words()
        rows = [list(row) for row in zip(self._setting_texts(), *words.values(), strict=True)]
        return html_table([], ["setting", *words], rows)

    def _setting_texts(self) -> list[str]:
        settings = [self.settings] if isinstance(self.settings, Mapping) else self.settings
        return [setting_text(setting) for setting in settings]

    def _words(self) -> dict[str, list[str]]:
        """Return what is said of each quantity, a text per setting."""
        coverage = percent(COVERAGE)
        said = {f"{one.name}, {coverage} interval": _intervals(one) for one in self.objectives}
        for name, limit in self.constraints.items():
            met = np.atleast_1d(limit.probability_below(0.0)).tolist()
            said[f"{name} met"] = [percent(chance) for chance in met]
        return said

    @property
    def _only(self) -> Outcomes:
        if len(self.objectives) > 1:
            raise ValueError(
                f"A single objective is needed, but the study has {len(self.objectives)}; "
                "ask `objectives[0]`, `objectives[1]`, …"
            )
        return self.objectives[0]


def _intervals(outcomes: Outcomes) -> list[str]:
    low, high = (np.atleast_1d(end).tolist() for end in outcomes.interval(COVERAGE))
    return [interval(*ends) for ends in zip(low, high, strict=True)]


def forecast(
    study: Study, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> SettingForecast:
    """Forecast what settings would give, in the study's own sign and units.

    >>> import optuna, calibrant
    >>> study = optuna.create_study(direction="maximize")
    >>> study.optimize(lambda trial: -(trial.suggest_float("x", -5, 5) - 1) ** 2, n_trials=25)
    >>> asked = calibrant.forecast(study, {"x": 1.2})
    >>> low, high = asked.interval(0.8)
    >>> chance = asked.probability_above(study.best_value)

    It works on any study with finished trials, whichever sampler made them: the default model is
    fitted to them, and recalibrated by how well it forecasts each outcome from the others.

    Args:
        study: an Optuna study.
        params: a setting as the objective sees it, or several. Parameters that do not exist in a
            setting may be left out.

    Raises:
        ValueError: where fewer than two trials have finished, where a parameter is unknown or
            missing, and where a value is outside its range.
    """
    return forecast_of(believe(study), params)


def forecast_of(
    belief: StudyBelief, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> SettingForecast:
    """Forecast as :func:`forecast` does, from what is believed about a study."""
    one = isinstance(params, Mapping)
    settings = list(params) if isinstance(params, Sequence) else [params]
    for setting in settings:
        validate.like("params", setting, Mapping, "{'x': 0.5}, or a list of these")
    if not settings:
        raise ValueError("At least one setting is needed, but got none; pass a dictionary.")
    if len(belief.history.Y) < 2:  # one outcome has no spread: any interval would be a guess
        raise ValueError(
            "A forecast needs two finished trials with a finite value, but the study has one: "
            "evaluate another setting first."
        )
    X = belief.points(settings)

    def outcomes(quantity: Quantity, forecasts: Forecast) -> Outcomes:
        return Outcomes(quantity.name, forecasts[0] if one else forecasts, quantity.sign)

    return SettingForecast(
        params,
        tuple(outcomes(q, q.outcome(X)) for q in belief.objectives),
        tuple(outcomes(q, q.expected(X)) for q in belief.objectives),
        {q.name: outcomes(q, q.outcome(X)) for q in belief.constraints},
    )
