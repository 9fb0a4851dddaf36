"""Is it worth going on? What a study's best value will be after more trials.

    study ──▶ outcomes in order ──▶ progress (a few numbers without units) ──▶ gains (learned)
          ──▶ outlook: probabilities and a fan, in the user's sign and units

Only the outcomes are read, so that an outlook takes milliseconds and works on any study, whoever
sampled it. It is about the best value as observed: under noise, luck counts as a gain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.core.words import count, number, percent
from calibrant.decisions.gains import exceedance, expected_gains, gain_quantiles, stop_risk
from calibrant.decisions.progress import Progress, progress
from calibrant.decisions.words import html_table, paragraphs
from calibrant.studies.archive import Archive, Record
from calibrant.studies.suggestions import signs

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # of the fan: from best to worst
TRIALS = 20  # to look ahead, unless said
MOST_TRIALS = 100  # to look ahead: searches that it was learned from were no longer
LEAST_OUTCOMES = 5  # fewer say nothing about a search
LATELY = 10  # looks, one after each of the latest trials: the lowest of many is low by chance
WORTH_HAVING = 0.1  # of the unit: the improvement asked about, unless said
_NEARLY_ALL = 0.9  # of what is expected to be gained


@dataclass(frozen=True)
class Outlook:
    """What the next trials of a study are expected to bring.

    Args:
        so_far: the best value after each finished trial.
        trials: how many more are looked ahead.
        delta: the improvement asked about.
        probability: that the best value improves by at least ``delta`` within ``trials``.
        lately: the mean of that probability after each of the latest ten trials.
        levels: the levels of the fan's quantiles.
        fan: the best value after 1, 2, … trials, (trials, levels); the first columns are better.
        gains: by how much it is expected to improve within 1, 2, … trials.
        unit: the interquartile range of outcomes so far, which gains are measured by.
    """

    so_far: FloatArray
    trials: int
    delta: float
    probability: float
    lately: float
    levels: FloatArray
    fan: FloatArray
    gains: FloatArray
    unit: float
    _now: Progress = field(repr=False)

    @property
    def best(self) -> float:
        """The best value so far."""
        return float(self.so_far[-1])

    @property
    def finished(self) -> int:
        """How many trials have finished."""
        return self.so_far.size

    def chance(self, delta: float, trials: int | None = None) -> float:
        """Return the probability of improving by at least ``delta``, within fewer trials if given.

        With 0, of any improvement, however small: that is stated less truly.
        """
        validate.not_negative("delta", delta)
        trials = self.trials if trials is None else validate.at_least("trials", trials, 1)
        return _chance(self._now, delta, min(trials, MOST_TRIALS))

    @property
    def risk(self) -> float:
        """The probability that to stop now is wrong: that an improvement by ``delta`` is missed.

        A search is stopped where ``lately`` is low for the first time, and there it is low by
        chance more often than elsewhere. So this is the share of other searches, stopped where it
        first fell so low, in which an improvement came. It was counted for the defaults, a tenth
        of the range within 20 trials; for others it is a guide.
        """
        return stop_risk(self.lately, self._now.chosen)

    @property
    def trials_needed(self) -> int:
        """The trials that bring 90 % of what is expected to be gained within all of them."""
        return 1 + int(np.argmax(self.gains >= _NEARLY_ALL * self.gains[-1]))

    def sentences(self) -> list[str]:
        """Return the outlook in words."""
        best = f"Best so far: {number(self.best)}, after {count(self.finished, 'trial')}."
        within = f"Within {count(self.trials, 'more trial')} the best value improves"
        if not self.unit > 0.0:  # nothing is known of sizes
            return [
                best,
                f"{within} with a probability of {percent(self.probability)}.",
                "By how much cannot be said: all trials so far count the same. Trials that failed, "
                "were pruned or broke a constraint count as the worst value.",
            ]
        at = {p: column for column, p in enumerate(self.levels.tolist())}
        middle, good = (number(float(self.fan[-1, at[p]])) for p in (0.5, 0.1))
        return [
            best,
            f"{within} by at least {number(self.delta)} with a probability of "
            f"{percent(self.probability)}.",
            f"It is then {middle} in the median case, and {good} or better in one case of ten. "
            f"Of the expected gain, 90 % comes within {count(self.trials_needed, 'trial')}.",
        ]

    def _repr_html_(self) -> str:
        if not self.unit > 0.0:
            return paragraphs(self.sentences())
        head = ["trials", *(f"{100.0 * p:g} %" for p in self.levels)]
        shown = sorted({1, self.trials_needed, self.trials})
        rows = [[str(k), *(number(float(x)) for x in self.fan[k - 1])] for k in shown]
        return html_table(self.sentences(), head, rows)

    def figure(self) -> Any:
        """Draw the best value so far and the fan (:func:`calibrant.figures.fan`)."""
        from calibrant.evaluation.figures import fan  # loads plotly

        return fan(self.so_far, self.fan, self.levels, self.delta)

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def outlook(study: Study, trials: int = TRIALS, delta: float | None = None) -> Outlook:
    """Return what more trials of a study are expected to bring, with calibrated probabilities.

    >>> import calibrant
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=15, seed=0)
    >>> ahead = calibrant.outlook(study, trials=10, delta=0.1)
    >>> ahead.probability < 0.5
    True

    The probabilities were learned from thousands of other searches; ``benchmarks/decisions`` has
    how often they came true.

    Args:
        study: a study with one objective, made by any sampler.
        trials: how many more trials to look ahead, at most 100.
        delta: the improvement to ask about, in units of the objective; by default a tenth of the
            interquartile range of outcomes so far.

    Raises:
        ValueError: if the study has several objectives, or fewer than five trials have finished,
            or none of them with a value that meets all constraints.
    """
    if not 1 <= validate.whole("trials", trials) <= MOST_TRIALS:
        raise ValueError(f"`1 <= trials <= {MOST_TRIALS}` must hold, but got trials={trials}.")
    if delta is not None:
        validate.not_negative("delta", delta)
    (sign,), seen = signs(_single(study)), outcomes(study)
    now = seen.progress(seen.y.size)
    asked = WORTH_HAVING * now.unit if delta is None else float(delta)
    ahead = np.arange(1, trials + 1)
    with np.errstate(over="ignore"):  # beside 1e308, a gain may be none
        fan = now.best - now.unit * gain_quantiles(now, ahead, 1.0 - np.array(LEVELS))
        gains = now.unit * expected_gains(now, ahead)
    return Outlook(
        so_far=sign * np.minimum.accumulate(seen.y),
        trials=trials,
        delta=asked,
        probability=_chance(now, asked, trials),
        lately=lately(seen, asked, trials),
        levels=np.array(LEVELS),
        fan=sign * np.maximum(fan, -np.finfo(float).max),
        gains=gains,
        unit=now.unit,
        _now=now,
    )


def lately(seen: Seen, delta: float, trials: int) -> float:
    """Return the mean probability of an improvement by ``delta`` after each of the latest trials.

    A rule that looks after every trial, and stops at the first low probability, stops where it is
    low by chance. ``python -m benchmarks.decisions.stopping check`` counts what the mean changes on
    tasks left out in turn.
    """
    count = seen.y.size
    counts = range(max(count - LATELY + 1, LEAST_OUTCOMES), count + 1)
    return float(np.mean([_chance(seen.progress(n), delta, trials) for n in counts]))


def _chance(now: Progress, delta: float, trials: int) -> float:
    # Where all outcomes are equal, nothing is known about the size of gains: any may be enough.
    gain = delta / now.unit if now.unit > 0.0 else 0.0
    return float(exceedance(now, [trials], [gain])[0, 0])


def _single(study: Study) -> Study:
    if len(study.directions) != 1:
        raise ValueError(
            f"An outlook needs a single objective, but the study has {len(study.directions)}; look "
            "at one of them in a study of its own, or at a weighted sum."
        )
    return study


class Seen(NamedTuple):
    """What an outlook knows of a study.

    Args:
        y: the outcomes to be minimised, in order.
        dim: the number of parameters.
        forecast: of each trial, whether calibrant chose it by a model.
        whole: the share of parameters that take some values only: whole numbers, steps, labels.
        lost: of each trial, whether it gained nothing, and counts as the worst.
    """

    y: FloatArray
    dim: int
    forecast: tuple[bool, ...]
    whole: float = 0.0
    lost: tuple[bool, ...] = ()

    def progress(self, count: int) -> Progress:
        """Return where the search stood after so many trials."""
        y, lost = self.y[:count], np.array(self.lost[:count], dtype=bool)
        if lost.any() and not lost.all():  # the worst so far, not of all time
            y = np.where(lost, y[~lost].max(), y)
        return progress(y, self.dim, self.chosen_before(count), self.whole)

    def chosen_before(self, count: int) -> bool:
        """Whether calibrant chose one of the latest of the first ``count`` trials."""
        return any(self.forecast[max(count - LEAST_OUTCOMES, 0) : count])


def outcomes(study: Study) -> Seen:
    """Return what an outlook of a study of one objective is made from.

    A trial that failed, was pruned or breaks a constraint gained nothing: it counts as the worst.

    Raises:
        ValueError: if fewer than five trials have finished, or none of them with a value that
            meets all constraints.
    """
    archive = Archive()
    archive.update(study)
    values = np.array([_value(record) for record in archive.records.values()])
    known = values[np.isfinite(values)]
    if not known.size:
        raise ValueError(
            "An outlook needs a finished trial with a finite value that meets all constraints, but "
            "the study has none."
        )
    if values.size < LEAST_OUTCOMES:
        raise ValueError(
            f"An outlook needs {LEAST_OUTCOMES} finished trials, but the study has {values.size}."
        )
    y = np.where(np.isfinite(values), values, known.max())
    forecast = tuple(bool(record.forecasts) for record in archive.records.values())
    space = archive.search_space()
    some_only = [not _continuous(distribution) for distribution in space.values()]
    whole = float(np.mean(some_only)) if space else 0.0
    return Seen(y, len(space), forecast, whole, tuple((~np.isfinite(values)).tolist()))


def _continuous(distribution: BaseDistribution) -> bool:
    return isinstance(distribution, FloatDistribution) and distribution.step is None


def _value(record: Record) -> float:
    usable = record.values is not None and record.met
    return record.value if usable else float("nan")
