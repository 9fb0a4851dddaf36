"""Search spaces written as text: ``1e-5..1e-1:log``, ``1..8``, ``relu,tanh``.

Text that looks like a range but is written otherwise is refused, and what may well have been meant
otherwise is a warning: a typing error must not become a search over the wrong values.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.studies.structure import (
    Ordered,
    Parameters,
    Permutation,
    Structure,
    When,
    checked_conditions,
    condition_words,
    ordered,
    orders,
    permutation,
    when,
)

_SHOWN = 12  # choices that are listed in words
_CONDITION = re.compile(r"\s+if\s+")
_END = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# Ranges as others write them: 1e-4-1e-1, 1e-4:1e-1, 1 to 8, 1...8, [0, 1], (0, 1)
_OTHER_RANGE = re.compile(
    rf"\s*({_END})\s*(?:-|–|—|:|;|…|\.\.\.+|\bto\b)\s*({_END})\s*(:log)?\s*"
    rf"|\s*[\[(]\s*({_END})\s*[,;]\s*({_END})\s*[\])]\s*(:log)?\s*"
)
_HELP = (
    "write a range as `1e-5..1e-1`, `1e-5..1e-1:log`, `1..8` or `0..1:0.25` (steps), "
    "and choices as `relu,tanh` or `16,32,64`"
)


def parse_space(space: Mapping[str, Any]) -> Parameters:
    """Return Optuna distributions of parameters given as text, tuples, lists or distributions.

    * ``(low, high)`` or ``(low, high, "log")``: a range, of integers if both ends are integers,
      otherwise of floats
    * ``["relu", "tanh"]``: choices; also as a tuple, unless it starts with two numbers. Three or
      more numbers in order are a scale, as in ``[16, 32, 64]``; other choices are labels
    * :func:`~calibrant.ordered`, :func:`~calibrant.permutation`, :func:`~calibrant.when`
    * ``"1e-5..1e-1:log"``: as on the command line, see :func:`parse_parameter`
    * any Optuna distribution
    """
    if not space:
        raise ValueError("The space is empty: at least one parameter is needed to tune.")
    if isinstance(space, Parameters):
        return space
    distributions: dict[str, BaseDistribution] = {}
    in_order: set[str] = set()
    permutations: dict[str, tuple[Any, ...]] = {}
    conditions: dict[str, Mapping[str, tuple[Any, ...]]] = {}
    for name, value in ((str(name), value) for name, value in space.items()):
        if isinstance(value, str):
            value = parse_text(name, value)
        if isinstance(value, When):
            conditions[name] = value.conditions
            value = parse_text(name, inner) if isinstance(inner := value.values, str) else inner
        if isinstance(value, Ordered):
            in_order.add(name)
            value = list(value.choices)
        if isinstance(value, Permutation):
            permutations[name] = value.items
            value = orders(value.items)
        distributions[name] = _distribution(name, value)
    declared = checked_conditions(conditions, distributions)
    return Parameters(distributions, Structure(frozenset(in_order), permutations, declared))


def parse_parameter(text: str) -> tuple[str, Any]:
    """Return a parameter written as ``name=values``: its name, and what its space is.

    ``values`` is a range, choices, choices in an order, or a permutation, and may have a condition:
    ``1e-5..1e-1:log``, ``relu,tanh``, ``small,large:ordered``, ``cut,fold,glue:permutation``,
    ``2..12 if booster=tree``.
    """
    name, equals, rest = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][\w.-]*", name.strip()):
        raise ValueError(f"A parameter must be `name=values`, but got {text!r}; {_HELP}.")
    return name.strip(), parse_text(name.strip(), rest.strip())


def parse_text(name: str, text: str) -> BaseDistribution | Ordered | Permutation | When:
    """Return what the space of a parameter is, written as text."""
    values, *conditions = _CONDITION.split(text.strip(), maxsplit=1)
    if conditions:
        return when(parse_text(name, values), _conditions(name, conditions[0]))
    listed, colon, how = text.rpartition(":")
    if colon and how.strip() in ("ordered", "permutation"):
        choices = [_choice(part.strip()) for part in listed.split(",")]
        try:
            return ordered(choices) if how.strip() == "ordered" else permutation(choices)
        except ValueError as error:
            raise ValueError(f"`{name}={text}`: {error}") from None
    return parse_values(name, text)


def _conditions(name: str, text: str) -> dict[str, list[Any]]:
    """Return ``booster=tree,forest and layers=2`` by parameter."""
    found: dict[str, list[Any]] = {}
    for part in re.split(r"\s+and\s+", text.strip()):
        parent, equals, values = (piece.strip() for piece in part.partition("="))
        if not parent or not equals or not values:
            raise ValueError(
                f"A condition must be `parameter=value`, as in `{name}=1..8 if booster=tree`, but "
                f"got {part!r}."
            )
        found[parent] = [_choice(one.strip()) for one in values.split(",")]
    return found


def parse_values(name: str, text: str) -> BaseDistribution:
    """Return the distribution of ``low..high``, ``…:log``, ``…:step``, or choices."""
    if other := _OTHER_RANGE.fullmatch(text):
        low, high, log = (part or "" for part in other.groups()[0 if other[1] else 3 :][:3])
        raise ValueError(
            f"`{name}={text}` looks like a range, but a range is written with two dots: "
            f"`{name}={low}..{high}{log}`."
        )
    low, dots, rest = text.partition("..")
    if not dots or not _looks_numeric(low) or not rest:  # `../a,../b` are choices
        return _listed(name, text)
    high, _, how = rest.partition(":")
    ends = [_number(name, low, text), _number(name, high, text)]
    if how in ("", "log"):
        return _doubted(name, text, _range(name, (*ends,), log=how == "log"))
    step = _value(how.strip())
    if not _is_number(step) or not math.isfinite(step):
        close = "; `:log` may be meant" if sorted(how.lower()) == sorted("log") else ""
        raise ValueError(
            f"A range may end in `:log` or in a step such as `:0.1`, but `{name}` ends in "
            f"`:{how}`{close}."
        )
    if not step > 0:
        raise ValueError(f"`step > 0` must hold for `{name}`, but got {how!r}.")
    return _range(name, (*ends,), step=step)


def _listed(name: str, text: str) -> CategoricalDistribution:
    """Return the choices of a list."""
    low, dots, high = text.partition("..")
    if dots and _is_number(_value((low or high).strip())) and not (low and high):
        raise ValueError(f"`{name}={text}` is a range without one of its ends; {_HELP}.")
    choices = [_choice(part.strip()) for part in text.split(",")]
    if not text or any(choice == "" for choice in choices):
        raise ValueError(f"`{name}` has an empty choice in {text!r}; {_HELP}.")
    if len(choices) == 1 and _is_number(choices[0]):
        raise ValueError(
            f"`{name}={text}` is a single value, which leaves nothing to choose; write a range "
            f"such as `{name}=1..{text}`, or put {text} into the command itself."
        )
    if len(choices) == 1:
        _warn(f"`{name}={text}` is a single value: `{name}` will not be searched over.")
    elif len(choices) > 2 and all(map(_is_number, choices)) and not is_ordered(choices):
        inorder = ",".join(map(str, sorted(choices)))
        _warn(
            f"`{name}={text}` are labels without an order; for a scale write them in order: "
            f"`{name}={inorder}`."
        )
    return _choices(name, choices)


def _doubted(name: str, text: str, distribution: BaseDistribution) -> BaseDistribution:
    """Return a distribution, with a warning if another one may well have been meant."""
    if isinstance(distribution, IntDistribution) and distribution.high - distribution.low == 1:
        low, high = distribution.low, distribution.high
        _warn(
            f"`{name}={text}` means the integers {low} and {high}, nothing in between; for any "
            f"number from {low} to {high} write `{name}={low}.0..{high}`."
        )
    return distribution


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)


def is_ordered(choices: Sequence[Any]) -> bool:
    """Whether choices are three or more numbers in increasing or decreasing order: a scale."""
    if len(choices) < 3 or not all(map(_is_number, choices)):
        return False
    pairs = list(itertools.pairwise(choices))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def describe(distribution: BaseDistribution) -> str:
    """Return the values of a parameter in words."""
    match distribution:
        case CategoricalDistribution():
            choices = distribution.choices
            few = choices if len(choices) <= _SHOWN else choices[: _SHOWN // 2]
            more = "" if len(few) == len(choices) else f", … ({len(choices)} choices)"
            in_order = ", in this order" if is_ordered(choices) else ""
            return f"one of {', '.join(map(repr, few))}{more}{in_order}"
        case FloatDistribution() | IntDistribution():
            kind = "an integer" if isinstance(distribution, IntDistribution) else "a number"
            step = distribution.step
            steps = f" in steps of {step:g}" if step not in (None, 1) else ""
            scale = ", on a log scale" if distribution.log else ""
            return f"{kind} from {distribution.low:g} to {distribution.high:g}{steps}{scale}"
    return repr(distribution)


def describe_all(parameters: Parameters) -> dict[str, str]:
    """Return what each parameter is in words, with what else is known of it."""
    known, words = parameters.structure, {}
    for name, distribution in parameters.items():
        text = describe(distribution)
        if name in known.permutations:
            text = f"an order of {', '.join(map(str, known.permutations[name]))}"
        if name in known.ordered and not text.endswith("in this order"):
            text += ", in this order"
        if name in known.conditions:
            text += f", if {condition_words(known.conditions[name])}"
        words[name] = text
    return words


def _distribution(name: str, value: Any) -> BaseDistribution:
    if isinstance(value, BaseDistribution):
        return value
    if isinstance(value, str):
        return parse_values(name, value)
    if isinstance(value, tuple) and len(value) > 1 and all(map(_is_number, value[:2])):
        if len(value) == 2:
            return _range(name, value)
        if len(value) == 3 and value[2] == "log":
            return _range(name, value[:2], log=True)
        raise ValueError(
            f"`{name}` starts like a range but is not one: {value!r}; write `(low, high)`, "
            '`(low, high, "log")`, or choices as a list.'
        )
    if isinstance(value, Sequence):
        return _choices(name, list(value))
    raise TypeError(f"`{name}` is neither a range nor choices: {value!r}; {_HELP}.")


def _range(
    name: str, ends: tuple[float, ...], log: bool = False, step: float | None = None
) -> BaseDistribution:
    low, high = ends = tuple(_plain(end) for end in ends)
    if not all(math.isfinite(end) for end in ends):
        raise ValueError(f"Both ends of `{name}` must be finite, but got {low}..{high}.")
    if low > high:
        raise ValueError(f"`low <= high` must hold for `{name}`, but got {low}..{high}.")
    if log and not low > 0:
        raise ValueError(
            f"A log range must start above 0, but `{name}` starts at {low}; leave out `:log`."
        )
    try:
        if all(isinstance(end, int) for end in ends) and (step is None or isinstance(step, int)):
            return IntDistribution(int(low), int(high), log=log, step=int(step or 1))
        return FloatDistribution(float(low), float(high), log=log, step=step)
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from error


def _choices(name: str, choices: list[Any]) -> CategoricalDistribution:
    if not choices:
        raise ValueError(f"`{name}` has no choices; {_HELP}.")
    choices = [c.item() if isinstance(c, np.generic) else c for c in choices]
    known: dict[Any, Any] = {}
    for choice in choices:
        key = choice if choice is None or isinstance(choice, (Real, str)) else repr(choice)
        if key in known:  # 1, 1.0 and True are equal, and the same choice to Optuna
            raise ValueError(
                f"The choices of `{name}` must differ, but {known[key]!r} and {choice!r} are equal."
            )
        known[key] = choice
    return CategoricalDistribution(choices)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: float) -> float:
    """Return a number, such as NumPy's, as a Python int or float."""
    return int(value) if isinstance(value, Integral) else float(value)


def _number(name: str, text: str, whole: str) -> float:
    value = _value(text.strip())
    if not _is_number(value) or value != value or abs(value) == float("inf"):
        raise ValueError(f"`{name}` has an end that is not a number in {whole!r}; {_HELP}.")
    return float(value) if isinstance(value, float) else int(value)


def _looks_numeric(text: str) -> bool:
    return "/" not in text and text.strip() != ""


def _value(text: str) -> Any:
    """Return an integer, a float or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _choice(text: str) -> Any:
    """Return a number if it prints as it was written, otherwise the text, such as 007 or 1e5."""
    value = _value(text)
    return value if str(value) == text else text
