"""What is recommended, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.core.typing import FloatArray
from calibrant.core.words import count, interval, number, percent, resolved
from calibrant.decisions.words import html_table, setting_text

COVERAGE = 0.8  # of the intervals given
TAIL = 0.1  # on each side of them


@dataclass(frozen=True)
class Candidate:
    """A setting that was evaluated, and what is believed of it.

    Args:
        params: the setting.
        trials: the numbers of the trials that evaluated it.
        observed: the mean of their values; of values with stds the surer ones count more.
        value: what many evaluations are expected to give on average.
        interval: the 80 % interval of that.
        probability_best: that it is the best of all settings evaluated.
        feasible: the probability that an evaluation meets all constraints.
        error: the standard error of ``observed``; None of a single value without a std.
    """

    params: dict[str, Any]
    trials: tuple[int, ...]
    observed: float
    value: float
    interval: tuple[float, float]
    probability_best: float
    feasible: float
    error: float | None = None

    def observed_words(self) -> str:
        """Return what was observed, with its standard error where that is known."""
        if self.error is None:
            return number(self.observed)
        return f"{resolved(self.observed, self.error)} ± {number(self.error, 2)}"


@dataclass(frozen=True)
class Repeat:
    """Which settings to evaluate again to be surer of the choice, and how often each.

    Args:
        settings: to be evaluated again, all of them: one alone gains nothing.
        times: how often each.
    """

    settings: tuple[dict[str, Any], ...]
    times: int
    _promised: float = field(repr=False)  # by the model; not stated, as it did not always come


@dataclass(frozen=True)
class Recommendation:
    """The setting to use, with what speaks for it.

    Args:
        candidates: the recommended setting first, then the others most likely to be best.
        expected_loss: how much better the best of all settings evaluated is expected to be.
        noise: the std of evaluations of the recommended setting around their mean.
        by: "observation" or "posterior": what it was chosen by.
        reason: why.
        warnings: what to be careful about.
        repeat: what to evaluate again first; None where that is not worth it.
    """

    candidates: tuple[Candidate, ...]
    expected_loss: float
    noise: float
    by: str
    reason: str
    warnings: tuple[str, ...]
    repeat: Repeat | None

    @property
    def params(self) -> dict[str, Any]:
        """The setting to use."""
        return self.candidates[0].params

    @property
    def value(self) -> float:
        """What it gives on average."""
        return self.candidates[0].value

    @property
    def interval(self) -> tuple[float, float]:
        """The 80 % interval of that."""
        return self.candidates[0].interval

    @property
    def is_exact(self) -> bool:
        """Whether evaluations are taken to have no noise: its setting would give the same again."""
        return self.noise == 0.0

    def sentences(self) -> list[str]:
        """Return the recommendation in words."""
        best = self.candidates[0]
        use = f"Use {setting_text(best.params)}."
        low, high = best.interval
        if low == high:  # it is known what it gives, and another evaluation would tell nothing
            return [f"{use} It gives {number(best.value)}.", self.reason, *self.warnings]
        said = [
            use,
            f"On average it gives {number(best.value)} "
            f"({percent(COVERAGE)} interval {interval(*best.interval)}). With a probability of "
            f"{percent(best.probability_best)} it is the best of the settings tried; the expected "
            f"loss against the best of them is {number(self.expected_loss)}.",
            *_pooled_words(best),
            self.reason,
            *self.warnings,
        ]
        said.append(self.repeat_words())
        return said

    def repeat_words(self) -> str:
        """Return whether to evaluate settings again before one is used."""
        if self.repeat is None:
            return "It is not worth evaluating a setting again to be surer of the choice."
        times = count(self.repeat.times, "more time") if self.repeat.times > 1 else "once more"
        return (
            f"To be surer, evaluate each of the {len(self.repeat.settings)} settings most likely "
            f"to be best {times}, and ask again. That does not always lead to a better choice: "
            "on some tasks it did, on others not."
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        head = [
            "setting",
            "trials",
            "observed",
            "expected",
            f"{percent(COVERAGE)} interval",
            "P(best)",
        ]
        rows = [
            [
                setting_text(one.params),
                ", ".join(map(str, one.trials)),
                one.observed_words(),
                number(one.value),
                interval(*one.interval),
                percent(one.probability_best),
            ]
            for one in self.candidates
        ]
        return html_table(self.sentences(), head, rows)


def _pooled_words(best: Candidate) -> list[str]:
    if best.error is None:
        return []
    times = count(len(best.trials), "evaluation")
    return [f"Observed: {best.observed_words()} (standard error) in {times}."]


@dataclass(frozen=True)
class FrontSetting:
    """A setting on the front of several objectives.

    Args:
        params: the setting.
        trials: the numbers of the trials that evaluated it.
        values: what each objective is expected to be on average.
        intervals: the 80 % intervals of these.
        probability_on_front: that no other setting evaluated is better in all objectives.
        feasible: the probability that an evaluation meets all constraints.
    """

    params: dict[str, Any]
    trials: tuple[int, ...]
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    probability_on_front: float
    feasible: float


@dataclass(frozen=True)
class Front:
    """The settings among which the user chooses, of several objectives; in order of the first.

    Args:
        settings: those that no other is expected to be better than in all objectives.
        warnings: what to be careful about.
    """

    settings: tuple[FrontSetting, ...]
    warnings: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the front in words."""
        return [
            f"{count(len(self.settings), 'setting')} on the front of the "
            f"{len(self.settings[0].values)} objectives, by what is expected of each.",
            *self.warnings,
        ]

    def __str__(self) -> str:
        lines = []
        for one in self.settings:
            values = ", ".join(
                f"{number(value)} ({interval(*ends)})"
                for value, ends in zip(one.values, one.intervals, strict=True)
            )
            chance = percent(one.probability_on_front)
            lines.append(f"{setting_text(one.params)}: {values}; on the front {chance}")
        return "\n".join([*self.sentences(), *lines])

    def _repr_html_(self) -> str:
        count = len(self.settings[0].values)
        head = ["setting", *(f"value {i}" for i in range(count)), "P(on the front)"]
        rows = []
        for one in self.settings:
            values = [
                f"{number(value)} ({interval(*ends)})"
                for value, ends in zip(one.values, one.intervals, strict=True)
            ]
            rows.append([setting_text(one.params), *values, percent(one.probability_on_front)])
        return html_table(self.sentences(), head, rows)


def in_user_sign(ends: FloatArray, sign: float) -> tuple[float, float]:
    """Return the ends of an interval of minimised values as the user's."""
    low, high = sorted((sign * ends).tolist())
    return float(low), float(high)
