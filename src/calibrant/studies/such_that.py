"""Constraints between parameters: text such as ``a + b <= 1``, or a function of a setting.

Text is read by a parser of its own, which knows numbers, names of parameters, comparisons, ``and``,
``or``, ``not``, ``in`` and a few functions; nothing else is ever run. What is linear in numbers is
recognised, so that settings can be searched for along it.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from calibrant.core.planes import EQUAL
from calibrant.core.rule import answered

Setting = Mapping[str, Any]
_LONGEST = 1000  # characters of a constraint: longer text is no constraint
_HELP = 'write it as "a + b <= 1", with the names of parameters'


@dataclass(frozen=True)
class Linear:
    """``sum of weight · parameter <= bound``, or with ``equal`` the same with =."""

    weights: tuple[tuple[str, float], ...]
    bound: float
    equal: bool = False


@dataclass(frozen=True)
class Constraint:
    """What a setting must keep to.

    Args:
        words: the text, or the name of the function.
        function: of a setting; None: the text says it.
        linear: linear inequalities that together are the constraint; none where it is not linear.
    """

    words: str
    function: Callable[[Setting], bool] | None = field(default=None, compare=False)
    linear: tuple[Linear, ...] = ()

    def holds(self, setting: Setting) -> bool:
        """Return whether a setting keeps to it.

        Text about a parameter that does not exist in the setting holds; what cannot be computed,
        such as a division by zero, does not.
        """
        if self.function is not None:
            return answered(f"The constraint `{self.words}`", self.function, setting)
        try:
            return bool(_compiled(self.words)(setting))
        except _Absent:
            return True
        except (ArithmeticError, ValueError):
            return False


def parse_constraints(
    such_that: Any, distributions: Mapping[str, BaseDistribution], others: Sequence[str] = ()
) -> tuple[Constraint, ...]:
    """Return constraints given as text, as functions, or as several of these.

    Args:
        such_that: what the user gave.
        distributions: the parameters that they may be about.
        others: further names that they may be about, such as columns that come with candidates.

    Raises:
        ValueError: for text that is not a constraint, or about a parameter that does not exist.
        TypeError: for anything else.
    """
    if such_that is None:
        return ()
    if isinstance(such_that, str) or callable(such_that) or isinstance(such_that, Constraint):
        such_that = [such_that]
    if not isinstance(such_that, Sequence):
        raise TypeError(
            f'`such_that` must be text such as "a + b <= 1", a function of a setting, or a list '
            f"of these, but got {such_that!r}."
        )
    constraints: list[Constraint] = []
    for one in such_that:
        if isinstance(one, Constraint):
            constraints.append(one)
        elif isinstance(one, str):
            constraints += _of_text(one, distributions, others)
        elif callable(one):
            constraints.append(Constraint(str(getattr(one, "__name__", one)), one))
        else:
            raise TypeError(
                f"A constraint must be text or a function of a setting, but got {one!r}; {_HELP}."
            )
    return tuple(constraints)


def _of_text(
    text: str, distributions: Mapping[str, BaseDistribution], others: Sequence[str]
) -> list[Constraint]:
    tree = _parsed(text)
    _compiled(text)  # raises for what is not allowed
    known = [*distributions, *others]
    for name in sorted(_names(tree)):
        if name not in known:
            raise ValueError(
                f"`{text}` is about `{name}`, which is not among the parameters "
                f"{', '.join(sorted(known))}."
            )
    if not _names(tree):
        raise ValueError(f"`{text}` is about no parameter; {_HELP}.")
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    numeric = {
        name
        for name, one in distributions.items()
        if isinstance(one, FloatDistribution | IntDistribution)
    }
    return [Constraint(ast.unparse(part), None, _linear(part, numeric)) for part in parts]


class _Absent(Exception):
    """A parameter does not exist in a setting."""


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: math.pow(a, b),  # of floats: an integer could fill the memory
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "log": math.log, "log10": math.log10,
    "exp": math.exp,
}  # fmt: skip


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal, sums of numbers up to rounding."""
    if isinstance(one, float) or isinstance(other, float):
        try:
            return bool(abs(one - other) <= EQUAL * max(1.0, abs(one), abs(other)))
        except TypeError:
            return False
    return bool(one == other)


_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: _equal,
    ast.NotEq: lambda a, b: not _equal(a, b),
    ast.In: lambda a, b: any(_equal(a, one) for one in b),
    ast.NotIn: lambda a, b: not any(_equal(a, one) for one in b),
}


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"A constraint has at most {_LONGEST} characters, but got {len(text)}.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        equals = "; equal is written ==" if "=" in text.replace("==", "").strip("<>!") else ""
        raise ValueError(f"`{text}` is not a constraint; {_HELP}{equals}.") from None


@lru_cache(maxsize=512)
def _compiled(text: str) -> Callable[[Setting], Any]:
    tree = _parsed(text)
    if not _is_condition(tree):
        raise ValueError(f"`{text}` is neither true nor false; {_HELP}.")
    try:
        return _function(tree)
    except _NotAllowed as what:
        raise ValueError(
            f"`{text}` has a part that is not allowed: `{what}`. A constraint is made of numbers, "
            "names, + - * / % **, comparisons, and, or, not, in, "
            f"{', '.join(_FUNCTIONS)}; for anything else pass a function."
        ) from None


class _NotAllowed(Exception):
    """Something that is no part of a constraint."""


def _is_condition(node: ast.expr) -> bool:
    match node:
        case ast.Compare():
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_condition, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_condition(operand)
    return False


def _function(node: ast.expr) -> Callable[[Setting], Any]:
    """Return what a part of a constraint computes from a setting."""
    if (name := _name(node)) is not None:

        def look_up(setting: Setting) -> Any:
            if name not in setting:
                raise _Absent
            return setting[name]

        return look_up
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return lambda setting: value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            part = _function(operand)
            return lambda setting: -part(setting)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _function(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if _is_condition(operand):
            part = _function(operand)
            return lambda setting: not part(setting)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            combine, one, other = _OPERATORS[type(op)], _function(left), _function(right)
            return lambda setting: combine(one(setting), other(setting))
        case ast.BoolOp(op=op, values=values) if all(map(_is_condition, values)):
            parts = [_function(value) for value in values]
            gather = all if isinstance(op, ast.And) else any
            return lambda setting: gather(part(setting) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            sides = [_function(side) for side in (left, *others)]
            tests = [_COMPARISONS[type(op)] for op in ops]

            def compare(setting: Setting) -> bool:
                values = [side(setting) for side in sides]
                try:
                    return all(t(values[i], values[i + 1]) for i, t in enumerate(tests))
                except TypeError:
                    raise ValueError("text and numbers have no order") from None

            return compare
        case ast.Call(func=ast.Name(id=called), args=arguments, keywords=[]) if (
            called in _FUNCTIONS and arguments
        ):
            function, parts = _FUNCTIONS[called], [_function(one) for one in arguments]
            return lambda setting: function(*(part(setting) for part in parts))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = [_function(one) for one in elements]
            return lambda setting: tuple(part(setting) for part in parts)
    raise _NotAllowed(ast.unparse(node))


def _name(node: ast.expr) -> str | None:
    """Return the name of a parameter, which may have dots."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute) if (before := _name(value)) is not None:
            return f"{before}.{attribute}"
    return None


def _names(node: ast.AST) -> set[str]:
    """Return the parameters that a constraint is about."""
    if isinstance(node, ast.expr) and (name := _name(node)) is not None:
        return {name}
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        children = list(node.args)
    return {name for child in children for name in _names(child)}


def _linear(node: ast.expr, numeric: set[str]) -> tuple[Linear, ...]:
    """Return the linear inequalities that a comparison is, or none."""
    if not isinstance(node, ast.Compare):
        return ()
    sides = [_sum(side, numeric) for side in (node.left, *node.comparators)]
    found = []
    for place, op in enumerate(node.ops):
        left, right = sides[place], sides[place + 1]
        if left is None or right is None or isinstance(op, ast.NotEq | ast.In | ast.NotIn):
            return ()
        sign = -1.0 if isinstance(op, ast.Gt | ast.GtE) else 1.0
        weights = {n: sign * (left.get(n, 0.0) - right.get(n, 0.0)) for n in {**left, **right}}
        bound = -weights.pop("", 0.0)
        kept = tuple((name, weight) for name, weight in weights.items() if weight != 0.0)
        if kept:
            found.append(Linear(kept, bound, isinstance(op, ast.Eq)))
    return tuple(found)


def _sum(node: ast.expr, numeric: set[str]) -> dict[str, float] | None:
    """Return a weighted sum of parameters, with its constant under ""; None if it is none."""
    if (name := _name(node)) is not None:
        return {name: 1.0} if name in numeric else None
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return {"": float(value)}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            part = _sum(operand, numeric)
            return None if part is None else {name: -weight for name, weight in part.items()}
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _sum(left, numeric), _sum(right, numeric)
            if one is None or other is None:
                return None
            return _combined(one, op, other)
    return None


def _combined(
    one: Mapping[str, float], op: ast.operator, other: Mapping[str, float]
) -> dict[str, float] | None:
    match op:
        case ast.Add() | ast.Sub():
            sign = 1.0 if isinstance(op, ast.Add) else -1.0
            return {n: one.get(n, 0.0) + sign * other.get(n, 0.0) for n in {**one, **other}}
        case ast.Mult() if one.keys() <= {""}:
            return {name: one.get("", 0.0) * weight for name, weight in other.items()}
        case ast.Mult() if other.keys() <= {""}:
            return {name: other.get("", 0.0) * weight for name, weight in one.items()}
        case ast.Div() if other.keys() == {""} and other[""]:
            return {name: weight / other[""] for name, weight in one.items()}
    return None
