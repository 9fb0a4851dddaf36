"""Test functions with known minima, for trying out an optimiser.

Owns: what a test function is, the classic ones, and how one is moved about in its box.
May use: core.
Public names: below.

>>> from calibrant.test_functions import PROBLEMS, levy, shifted
>>> PROBLEMS["six-hump camel"].minimum
-1.031628453489877
>>> problem = shifted(levy(6), seed=1)  # its minimum is no longer in the middle of the box
>>> round(float(problem(problem.where)), 9)
0.0

Pass ``problem.objective`` and ``problem.space()`` to :func:`calibrant.minimize`.
"""

from calibrant.test_functions.families import (
    ackley,
    alpine,
    branin,
    goldstein_price,
    hartmann,
    levy,
    michalewicz,
    rastrigin,
    rosenbrock,
    shekel,
    styblinski_tang,
)
from calibrant.test_functions.named import PROBLEMS
from calibrant.test_functions.problem import Problem, shifted

__all__ = [
    "PROBLEMS",
    "Problem",
    "ackley",
    "alpine",
    "branin",
    "goldstein_price",
    "hartmann",
    "levy",
    "michalewicz",
    "rastrigin",
    "rosenbrock",
    "shekel",
    "shifted",
    "styblinski_tang",
]
