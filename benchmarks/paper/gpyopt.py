"""What GPyOpt has under the names of two test functions: other functions, as it happens.

Which of them the paper used is not known, so both are run. GPyOpt's "beale" is a maximum of
Rosenbrock's function taken for a minimum; its "drop-wave" has the opposite sign.
"""

from __future__ import annotations

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.test_functions import PROBLEMS, Problem


def _minus_rosenbrock(x: FloatArray) -> FloatArray:
    a, b = x.T
    return np.asarray(-100.0 * (b - a**2) ** 2 - (a - 1.0) ** 2)


def _minus_drop_wave(x: FloatArray) -> FloatArray:
    return -PROBLEMS["drop-wave"].function(x)


GPYOPT = {
    problem.name: problem
    for problem in (
        Problem("gpyopt-beale", _minus_rosenbrock, ((-1.0, 1.0),) * 2, -404.0, (-1.0, -1.0)),
        Problem("gpyopt-drop-wave", _minus_drop_wave, ((-1.0, 1.0),) * 2, 0.0, (np.pi / 12, 0.0)),
    )
}
