"""What everything else is written in: arrays, checks of input, the normal distribution, the cube.

Owns: the array type, the rule of error messages, special functions of the normal distribution,
which outcomes stand for "bad", and the unit cube that a search runs on.
May use: NumPy and SciPy.
Public names: :class:`Axis`, :class:`Cube`.
"""

from calibrant.core.cube import Axis, Cube

__all__ = ["Axis", "Cube"]
