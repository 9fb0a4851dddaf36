"""The foundation: the array type, input checks, the normal distribution and the unit cube.

Owns: the array type, the form of error messages, numbers in words, special functions of the normal,
which outcomes are penalties, the unit cube that a search runs on, rules that points keep to, and
descents.
May use: NumPy and SciPy.
Public names: :class:`Axis`, :class:`Cube`.
"""

from calibrant.core.cube import Axis, Cube

__all__ = ["Axis", "Cube"]
