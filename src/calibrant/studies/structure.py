"""What is known of parameters beyond their values: orders, permutations, and conditions.

Optuna knows numbers and categories. An ordinal and a permutation are categories to it, so that any
storage, dashboard and report shows them as they are; what else is known of them is kept beside it,
in the study, for everybody who reads that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.study import Study

from calibrant.studies import optuna_private

STRUCTURE = "calibrant:structure"  # attribute of a study
MOST_ITEMS = 6  # of a permutation: 720 orders, all of which are looked at
_SEPARATOR = ","


@dataclass(frozen=True)
class Ordered:
    """Choices in an order."""

    choices: tuple[Any, ...]


@dataclass(frozen=True)
class Permutation:
    """All orders of a few items."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class When:
    """Values of a parameter that exists only where others have some values."""

    values: Any
    conditions: Mapping[str, tuple[Any, ...]]


def ordered(*choices: Any) -> Ordered:
    """Return choices in an order: small, medium and large rather than three labels.

    >>> import calibrant
    >>> sizes = calibrant.ordered("small", "medium", "large")
    >>> loss = {"small": 3.0, "medium": 1.0, "large": 2.0}
    >>> study = calibrant.minimize(lambda p: loss[p["size"]], {"size": sizes}, n_trials=3, seed=0)
    >>> study.best_params
    {'size': 'medium'}

    On the command line: ``-p size=small,medium,large:ordered``.
    """
    if len(choices) == 1 and not isinstance(choices[0], str) and isinstance(choices[0], Iterable):
        choices = tuple(choices[0])
    if len(choices) < 2:
        raise ValueError(f"An order needs at least two choices, but got {choices}.")
    return Ordered(tuple(choices))


def permutation(*items: Any) -> Permutation:
    """Return all orders of two to six items, of which one is to be found.

    The objective is given a tuple; the study shows it as text, such as ``"fold,cut,glue"``. Two
    orders are the more alike the more pairs of items have the same one first in both.

    >>> import calibrant
    >>> steps = calibrant.permutation("cut", "fold", "glue")
    >>> study = calibrant.minimize(
    ...     lambda p: p["steps"].index("cut"), {"steps": steps}, n_trials=6, seed=0
    ... )
    >>> study.best_value
    0.0

    On the command line: ``-p steps=cut,fold,glue:permutation``.
    """
    if len(items) == 1 and not isinstance(items[0], str) and isinstance(items[0], Iterable):
        items = tuple(items[0])
    texts = [str(item) for item in items]
    if not 2 <= len(items) <= MOST_ITEMS:
        raise ValueError(
            f"A permutation is of 2 to {MOST_ITEMS} items, but got {len(items)}; of more, give "
            "each item a number to sort by, as a parameter of its own."
        )
    if len(set(texts)) < len(texts) or any(_SEPARATOR in text or not text for text in texts):
        raise ValueError(
            f"The items of a permutation must differ, and have no comma, but got {items}."
        )
    return Permutation(tuple(items))


def when(values: Any, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> When:
    """Return values of a parameter that exists only where others have some values.

    >>> import calibrant
    >>> space = {
    ...     "booster": ["tree", "linear"],
    ...     "depth": calibrant.when((2, 12), booster="tree"),
    ... }
    >>> def objective(p):
    ...     return abs(p["depth"] - 5) if p["booster"] == "tree" else 3.0
    >>> study = calibrant.minimize(objective, space, n_trials=12, seed=0)
    >>> study.best_params["booster"]
    'tree'

    On the command line: ``-p "depth=2..12 if booster=tree"``.

    Args:
        values: as for any parameter: a range, choices, text, a distribution.
        conditions: by parameter, the value or the list of values with which this one exists; only
            needed for names that Python does not take for ``named`` ones.
        named: the same. All of them must hold.
    """
    every = {**(conditions or {}), **named}
    if not every:
        raise ValueError('A condition is needed, as in when((2, 12), booster="tree").')
    if isinstance(values, When):
        raise TypeError("Give all conditions to one `when`: when(values, a=1, b=2).")
    return When(
        values,
        {
            name: tuple(one) if isinstance(one, list | tuple | set | frozenset) else (one,)
            for name, one in every.items()
        },
    )


@dataclass(frozen=True)
class Structure:
    """What is known of the parameters of a study beyond their values.

    Args:
        ordered: the parameters whose choices have an order.
        permutations: by name, the items.
        conditions: by name, for each other parameter the values with which it exists. Parents come
            before their children.
    """

    ordered: frozenset[str] = frozenset()
    permutations: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ordered or self.permutations or self.conditions)

    def parents_first(self, names: Sequence[str]) -> list[str]:
        """Return names in an order in which a parameter comes after those it depends on."""
        children = [name for name in self.conditions if name in names]
        return [*(name for name in names if name not in self.conditions), *children]

    def exists(self, name: str, setting: Mapping[str, Any]) -> bool:
        """Whether a parameter exists beside the others of a setting."""
        return all(
            parent in setting and setting[parent] in values
            for parent, values in self.conditions.get(name, {}).items()
        )

    def decoded(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return a setting as an objective sees it: permutations as tuples."""
        found = dict(setting)
        for name, items in self.permutations.items():
            if name in found:
                named = {str(item): item for item in items}
                found[name] = tuple(named[text] for text in found[name].split(_SEPARATOR))
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "ordered": sorted(self.ordered),
            "permutations": {name: list(items) for name, items in self.permutations.items()},
            "conditions": {  # a list, as not every storage keeps the order of an object
                name: [[parent, list(values)] for parent, values in parents.items()]
                for name, parents in self.conditions.items()
            },
            "order": list(self.conditions),
        }

    @classmethod
    def from_json(cls, noted: Any) -> Structure:
        """Return what :meth:`to_json` has written; what cannot be read is nothing."""
        try:
            return cls(
                frozenset(map(str, noted["ordered"])),
                {str(name): tuple(items) for name, items in noted["permutations"].items()},
                {
                    str(name): {str(p): tuple(values) for p, values in noted["conditions"][name]}
                    for name in noted["order"]
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()


NOTHING = Structure()  # is known


class Parameters(dict[str, BaseDistribution]):
    """Distributions by name, with what else is known of them."""

    def __init__(
        self, distributions: Mapping[str, BaseDistribution], structure: Structure | None = None
    ) -> None:
        super().__init__(distributions)
        self.structure = structure or NOTHING


def structure_of(study: Study) -> Structure:
    """Return what is known of the parameters of a study beyond their values."""
    noted = optuna_private.study_note(study, STRUCTURE)
    return NOTHING if noted is None else Structure.from_json(noted)


def keep(study: Study, structure: Structure) -> None:
    """Keep with a study what is known of its parameters.

    Raises:
        ValueError: where the study has trials that were made with something else in mind.
    """
    if not structure or (known := structure_of(study)) == structure:
        return
    if known and optuna_private.every_trial(study):
        raise ValueError(
            f"The stored study `{study.study_name}` has other conditions, orders or permutations: "
            f"{_words(known)}, and not {_words(structure)}; choose another name or storage."
        )
    optuna_private.note_study(study, STRUCTURE, structure.to_json())


def _words(structure: Structure) -> str:
    parts = [f"{name} in order" for name in sorted(structure.ordered)]
    parts += [f"{name} of {', '.join(map(str, i))}" for name, i in structure.permutations.items()]
    parts += [f"{name} if {condition_words(c)}" for name, c in structure.conditions.items()]
    return "; ".join(parts)


def condition_words(conditions: Mapping[str, Sequence[Any]]) -> str:
    """Return conditions in words, as the command line takes them."""
    return " and ".join(
        f"{parent}={_SEPARATOR.join(map(str, values))}" for parent, values in conditions.items()
    )


def orders(items: Sequence[Any]) -> CategoricalDistribution:
    """Return all orders of some items as choices, in the order in which they are counted."""
    texts = (_SEPARATOR.join(map(str, one)) for one in itertools.permutations(items))
    return CategoricalDistribution(list(texts))


def checked_conditions(
    conditions: Mapping[str, Mapping[str, tuple[Any, ...]]],
    distributions: Mapping[str, BaseDistribution],
) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return conditions, parents before their children, each value as its parameter has it.

    Raises:
        ValueError: for a parameter that does not exist, values that it cannot have, and parameters
            that wait for each other.
    """
    read = {
        name: {parent: _of(name, parent, values, distributions) for parent, values in each.items()}
        for name, each in conditions.items()
    }
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    while len(found) < len(read):
        ready = [
            name
            for name, each in read.items()
            if name not in found and all(p not in read or p in found for p in each)
        ]
        if not ready:
            circle = ", ".join(sorted(read.keys() - found.keys()))
            raise ValueError(f"The conditions of {circle} wait for each other: none comes first.")
        found |= {name: read[name] for name in ready}
    return found


def _of(
    name: str,
    parent: str,
    values: tuple[Any, ...],
    distributions: Mapping[str, BaseDistribution],
) -> tuple[Any, ...]:
    """Return the values of a condition, each of which must be one of the parent's."""
    if parent not in distributions:
        raise ValueError(
            f"`{name}` exists where `{parent}` has some value, but the parameters are "
            f"{', '.join(sorted(distributions))}."
        )
    distribution = distributions[parent]
    match distribution:
        case CategoricalDistribution():
            known: Sequence[Any] = distribution.choices
        case IntDistribution(log=False) if distribution.high - distribution.low <= 255:
            known = range(distribution.low, distribution.high + 1, distribution.step)
        case _:
            raise ValueError(
                f"`{name}` can depend on a parameter with choices, or a short range of integers, "
                f"but `{parent}` is neither."
            )
    named = {str(value): value for value in known}
    for value in values:
        if str(value) not in named:
            listed = ", ".join(list(named)[:20])
            raise ValueError(
                f"`{name}` exists where `{parent}` is {value!r}, but that is one of {listed}."
            )
    return tuple(named[str(value)] for value in values)
