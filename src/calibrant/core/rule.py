"""Rules that every point of a search must keep to, and how to find points that do.

Points come from chance where chance finds enough of them. Where it does not, those that break a
linear rule are mended, and from the points that were found others are reached in steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.core.planes import Planes
from calibrant.core.typing import FloatArray

if TYPE_CHECKING:
    from calibrant.core.cube import Cube

_ROUNDS = 3  # of as many draws as points are wanted, before those found are walked from
_WALKS = 8  # rounds of steps from points that were found
_SHORTER = (1.0, 0.5, 0.2, 0.05)  # shares of a step, the first that keeps to the rule is made
_FIRST = 40  # rounds of draws in search of a first point
_DRAWN = 512  # points in each


class NothingToTry(ValueError):
    """No point of a space keeps to its rules."""


@dataclass(frozen=True, eq=False)
class Rule:
    """What a point must keep to.

    Args:
        holds: tells which of some points of the cube, (m, dim), keep to it.
        words: the rule as its author wrote it.
        planes: its linear part, if it has one.
        linear: whether that is all of it.
    """

    holds: Callable[[FloatArray], NDArray[np.bool_]]
    words: str = "the rule"
    planes: Planes | None = None
    linear: bool = False

    def mend(
        self, cube: Cube, X: FloatArray, rng: np.random.Generator | None = None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return points, mended where they broke a linear rule, and which keep to the rule now."""
        good = self.holds(X)
        if self.planes is None or (good.all() and not self.planes.equal.any()):
            return X, good
        # Sums that are equal up to rounding are made so as far as floats can be.
        X, bad = X.copy(), np.flatnonzero(~good | self.planes.equal.any())
        X[bad] = cube.snap(self.planes.mend(X[bad], rng))
        good[bad] = self.holds(X[bad])
        return X, good


def answered(words: str, function: Callable[..., object], *arguments: object) -> bool:
    """Return what a rule of the user's says, which must be True or False.

    Raises:
        ValueError: where the rule raises an error.
        TypeError: where it returns anything else.
    """
    try:
        answer = function(*arguments)
    except Exception as error:
        raise ValueError(
            f"{words} must return True or False, but raised {error!r} for {arguments[0]}."
        ) from error
    if not isinstance(answer, bool | np.bool_):
        raise TypeError(
            f"{words} must return True or False, but returned {answer!r} for {arguments[0]}."
        )
    return bool(answer)


def rule_of(function: Callable[[FloatArray], bool], words: str = "`such_that`") -> Rule:
    """Return the rule that a function of a single point tells.

    Raises:
        TypeError: where it is not a function.
    """
    if not callable(function):
        raise TypeError(f"{words} must be a function of a point, but got {function!r}.")
    return Rule(lambda X: np.array([answered(words, function, x) for x in X], dtype=bool), words)


def scatter(cube: Cube, count: int, rng: np.random.Generator) -> FloatArray:
    """Return points of a cube that keep to its rule, as evenly spread as can be.

    Raises:
        NothingToTry: where none is found.
    """
    rule = cube.rule
    assert rule is not None
    bare, found = replace(cube, rule=None), np.empty((0, cube.dim))
    for _ in range(_ROUNDS):
        X, good = rule.mend(bare, bare.spread(count, rng), rng)
        found = np.concatenate([found, X[good]])
        if len(found) >= count:
            return found[:count]
    if not len(found):
        found = first_point(cube)[None]
    for _ in range(_WALKS):
        found = np.concatenate([found, _stepped(bare, rule, found, count - len(found), rng)])
        if len(found) >= count:
            break
    return found


def first_point(cube: Cube) -> FloatArray:
    """Return a point that keeps to the rule of a cube; the same one each time.

    Raises:
        NothingToTry: where none is found.
    """
    rule = cube.rule
    assert rule is not None
    bare, rng = replace(cube, rule=None), np.random.default_rng(0)
    for number in range(_FIRST):
        X = bare.spread(_DRAWN, rng)
        if number == 1 and rule.planes is not None:  # chance has failed: is there such a point?
            anchor = rule.planes.anchor(cube.dim)
            if anchor is None:
                raise NothingToTry(f"No setting keeps to {rule.words}.")
            columns = list(rule.planes.scales)
            X[:, columns] = anchor[columns]
            X = bare.snap(X)
        X, good = rule.mend(bare, X, rng)
        if good.any():
            return np.asarray(X[good][0])
    raise NothingToTry(
        f"None of {_FIRST * _DRAWN:,} settings that were tried keeps to {rule.words}; if there are "
        "some, choose ranges closer to them, or write linear rules as text, which are searched for."
    )


def _stepped(
    bare: Cube, rule: Rule, found: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Return points a step away from some that were found, shorter where a rule says so."""
    centres = found[rng.integers(len(found), size=count)]
    width = np.exp(rng.uniform(np.log(0.01), np.log(0.5), (count, 1)))
    moves = rng.random(centres.shape) < max(0.3, 2.0 / bare.dim)
    step = width * moves * rng.standard_normal(centres.shape)
    reached = np.empty((0, bare.dim))
    for share in _SHORTER:
        X, good = rule.mend(bare, bare.snap(centres + share * step), rng)
        reached = np.concatenate([reached, X[good]])
        centres, step = centres[~good], step[~good]
        if not len(centres):
            break
    return reached
