"""Which parameters exist when: conditions inferred from trials, or written down beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from optuna.distributions import BaseDistribution

from calibrant.studies.coordinates import Internal, listed, searchable
from calibrant.studies.structure import Structure

_FEW = 16  # a list of at most this many values may be a parent even if no value occurred twice


@dataclass(frozen=True)
class Condition:
    """A parameter exists if its parent has one of these internal values (None: if it has none).

    With ``also``, these conditions must hold as well.
    """

    parent: str
    values: frozenset[float | None]
    also: tuple[Condition, ...] = ()

    @property
    def all_of_it(self) -> tuple[Condition, ...]:
        """The conditions that must all hold."""
        return (self, *self.also)


def conditions(
    distributions: Mapping[str, BaseDistribution], trials: Sequence[Internal]
) -> dict[str, Condition]:
    """Return the conditions under which parameters exist, inferred from trials.

    A parameter is conditional if some trials have it and some do not. Its parent is a parameter
    with listed values, each of which occurs either always or never together with it. A parent must
    exist in all trials, or have a condition itself, found before those of its children. Otherwise
    two branches of an unseen decision would explain each other.
    """
    always = {name for name in distributions if all(name in params for params in trials)}
    never = {name for name in distributions if not any(name in params for params in trials)}
    open_cases = [name for name in distributions if name not in always | never]
    found: dict[str, Condition] = {}
    parents: Set[str] = always
    while parents:
        lists = {name: values for name in parents if (values := listed(distributions[name]))}
        new = {
            child: condition
            for child in open_cases
            if child not in found and (condition := _condition(child, lists, trials))
        }
        found |= new
        parents = new.keys()
    return found


def declared_conditions(
    structure: Structure, distributions: Mapping[str, BaseDistribution]
) -> dict[str, Condition]:
    """Return the conditions that were written down beforehand, of the parameters that there are.

    A parent with a single value has no coordinate, and is left out.
    """
    found: dict[str, Condition] = {}
    searched = searchable(distributions)
    for name, parents in structure.conditions.items():
        each = [
            Condition(parent, frozenset(map(searched[parent].to_internal_repr, values)))
            for parent, values in parents.items()
            if name in searched and parent in searched
        ]
        if each:
            found[name] = replace(each[0], also=tuple(each[1:]))
    return found


def parents_first(found: Mapping[str, Condition]) -> dict[str, Condition]:
    """Return conditions in an order in which a parameter comes after those it depends on."""
    ordered: dict[str, Condition] = {}
    while len(ordered) < len(found):
        ready = {
            name: condition
            for name, condition in found.items()
            if name not in ordered
            and all(o.parent not in found or o.parent in ordered for o in condition.all_of_it)
        }
        if not ready:  # inferred from trials, they may contradict what was written down
            return ordered
        ordered |= ready
    return ordered


def _condition(
    child: str, parents: Mapping[str, list[float]], trials: Sequence[Internal]
) -> Condition | None:
    """Return the condition of a parameter, on the parent with the fewest values that explains it.

    Parent values not seen yet are assumed to go with it; the next trial will show. A long list
    whose values hardly ever occur twice would explain anything, so it cannot be a parent.
    """
    for parent, every in sorted(parents.items(), key=lambda item: (len(item[1]), item[0])):
        present = {params.get(parent) for params in trials if child in params}
        absent = {params.get(parent) for params in trials if child not in params}
        chance = len(every) > _FEW and 2 * len(present | absent) > len(trials)
        if not present & absent and not chance:
            return Condition(parent, frozenset(({*every} | present) - absent))
    return None
