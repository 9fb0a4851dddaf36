"""Search spaces in Hydra's own grammar: ``choice(a, b)``, ``range(1, 9)``, ``interval(0, 1)``.

A text means the same values here as in Hydra's documentation: ``range`` ends before its stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    ChoiceSweep,
    IntervalSweep,
    Override,
    QuotedString,
    RangeSweep,
    Transformer,
)
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.studies.space_text import parse_space

_TAGS = {"log"}


@dataclass(frozen=True)
class SweepSpace:
    """What a sweep chooses, and what it leaves as it was given.

    Args:
        distributions: by name, the parameters to choose.
        keys: by name, what stands before ``=`` in their overrides: ``+x`` for one that is added.
        words: by name, the text of each choice in Hydra's grammar; numbers need none.
        fixed: overrides that are the same in every job.
    """

    distributions: dict[str, BaseDistribution]
    keys: dict[str, str]
    words: dict[str, dict[Any, str]]
    fixed: tuple[str, ...]

    def overrides(self, params: Mapping[str, Any]) -> list[str]:
        """Return the overrides of the job with these parameters."""
        chosen = [f"{self.keys[name]}={self._word(name, params[name])}" for name in self.keys]
        return [*chosen, *self.fixed]

    def example(self) -> dict[str, Any]:
        """Return one setting: the first of all choices, the lower end of all ranges."""
        return {
            name: getattr(one, "choices", (getattr(one, "low", None),))[0]
            for name, one in self.distributions.items()
        }

    def _word(self, name: str, value: Any) -> str:
        return self.words[name][value] if name in self.words else repr(value)


def parse(lines: Sequence[str], loader: ConfigLoader | None = None) -> SweepSpace:
    """Return the space of overrides such as ``lr=tag(log, interval(1e-5, 1e-1))``.

    Where a name is given twice, the last one counts: the command line comes after the YAML.

    Args:
        lines: the overrides, with or without something to choose.
        loader: Hydra's, to look up what ``glob(*)`` stands for.

    Raises:
        ValueError: if there is nothing to choose, or a sweep that no search can take.
    """
    last: dict[str, Override] = {}
    for override in OverridesParser.create(config_loader=loader).parse_overrides(list(lines)):
        name = override.get_key_element().lstrip("+~")
        last.pop(name, None)  # the order is that of the last mention
        last[name] = override
    swept = {name: one for name, one in last.items() if one.is_sweep_override()}
    if not swept:
        raise ValueError(
            "There is nothing to choose: give at least one parameter such as "
            "`lr=tag(log,interval(1e-5,1e-1))`, `layers=range(1,9)` or `optimizer=sgd,adam`, on "
            "the command line or under `hydra.sweeper.params`."
        )
    parsed = {name: _parameter(name, override) for name, override in swept.items()}
    return SweepSpace(
        distributions={name: distribution for name, (distribution, _) in parsed.items()},
        keys={name: override.get_key_element() for name, override in swept.items()},
        words={name: words for name, (_, words) in parsed.items() if words},
        fixed=tuple(str(one.input_line) for name, one in last.items() if name not in swept),
    )


def _parameter(name: str, override: Override) -> tuple[BaseDistribution, dict[Any, str]]:
    """Return the distribution of a parameter and, of choices, their texts."""
    sweep = override.value()
    if unknown := set(getattr(sweep, "tags", ())) - _TAGS:
        raise ValueError(
            f"The only tag is `log`, as in `tag(log, interval(1e-5, 1e-1))`, but `{name}` has "
            f"{', '.join(sorted(map(repr, unknown)))}."
        )
    log = "log" in getattr(sweep, "tags", ())
    try:
        if isinstance(sweep, IntervalSweep):
            return _interval(sweep, log), {}
        if log:
            raise ValueError("`log` goes with an interval, as in `tag(log, interval(1, 100))`.")
        if isinstance(sweep, RangeSweep):
            return _range(sweep), {}
        # In the order written, also where that is to be shuffled: a study keeps the order.
        listed = sweep.list if isinstance(sweep, ChoiceSweep) else override.sweep_iterator()
        choices = [_choice(value) for value in listed]
        parse_space({name: [value for value, _ in choices]})  # refuses what it cannot search
        return CategoricalDistribution([value for value, _ in choices]), dict(choices)
    except ValueError as error:
        raise ValueError(f"`{override.input_line}`: {error}") from None


def _interval(sweep: IntervalSweep, log: bool) -> BaseDistribution:
    low, high = sweep.start, sweep.end
    assert low is not None
    assert high is not None
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _range(sweep: RangeSweep) -> BaseDistribution:
    """Return a range without its stop, upwards also where it is written downwards."""
    values = sweep.range()
    if isinstance(values, range):
        if not values:
            raise ValueError("the range is empty: its stop is not one of its values.")
        return IntDistribution(min(values), max(values), step=abs(values.step))
    listed = list(values)
    if not listed:
        raise ValueError("the range is empty: its stop is not one of its values.")
    return FloatDistribution(min(listed), max(listed), step=abs(float(sweep.step)))


def _choice(value: Any) -> tuple[Any, str]:
    """Return a choice as a study keeps it, and as Hydra reads it."""
    text = Transformer.str(value)
    if isinstance(value, QuotedString):
        return value.text, text
    return (value if isinstance(value, bool | int | float | str | None) else text), text
