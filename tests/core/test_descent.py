"""Descents: the steps of SciPy's L-BFGS-B, bit for bit, without its wrapper."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy.linalg import lapack
from scipy.optimize import minimize, rosen, rosen_der

import calibrant
from calibrant.core import descent
from calibrant.core.descent import descend

LIMITS = {"iterations": 25, "evaluations": 40, "ftol": 1e-9, "gtol": 1e-7}


def rosenbrock(x):
    return float(rosen(x)), rosen_der(x)


def crooked(x):
    """Return a wavy function whose gradient is a column of a matrix, as some are."""
    columns = np.zeros((x.size, 2))
    columns[:, 1] = 2.0 * x + 3.0 * np.cos(3.0 * x)
    return float((x * x + np.sin(3.0 * x)).sum()), columns[:, 1]


def by_scipy(loss, start, low, high, iterations, evaluations, ftol, gtol):
    options = {"maxiter": iterations, "maxfun": evaluations, "ftol": ftol, "gtol": gtol}
    bounds = np.column_stack([low, high])
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


@pytest.mark.parametrize(
    ("loss", "dim"), [(rosenbrock, 2), (rosenbrock, 5), (crooked, 1), (crooked, 5), (crooked, 30)]
)
@pytest.mark.parametrize("limits", [{}, {"iterations": 3}, {"evaluations": 5}, {"ftol": 1e-2}])
def test_it_takes_the_steps_of_scipy(loss, dim, limits):
    low, high = np.column_stack([np.full(dim, -1.5), np.linspace(0.2, 2.0, dim)]).T
    for seed in range(5):
        start = np.random.default_rng(seed).uniform(-2.0, 2.0, dim)
        given = start.copy()
        found = descend(loss, start, low, high, **(LIMITS | limits))
        theirs = by_scipy(loss, start, low, high, **(LIMITS | limits))
        assert np.array_equal(found.x, theirs.x)
        assert found.value == theirs.fun
        assert np.array_equal(start, given)


def test_an_error_of_the_function_is_raised():
    def broken(x):
        raise ArithmeticError("broken")

    with pytest.raises(ArithmeticError, match="broken"):
        descend(broken, np.zeros(2), -np.ones(2), np.ones(2), **LIMITS)


def test_a_version_that_was_not_tried_gets_the_wrapper(monkeypatch):
    start, low, high = np.zeros(4), np.full(4, -2.0), np.full(4, 2.0)
    known = descend(rosenbrock, start, low, high, **LIMITS)
    monkeypatch.setattr(scipy, "__version__", "99.0.0")
    assert not descent._is_tried()
    found = descend(rosenbrock, start, low, high, **LIMITS)
    assert np.array_equal(found.x, known.x)
    assert found.value == known.value


@pytest.mark.slow  # for `make test-all`: a new SciPy should not fail a newcomer's tests
def test_the_version_is_one_that_was_tried():
    """After an upgrade of SciPy, run this file and add the version."""
    assert descent._is_tried()


def test_long_whole_numbers_get_the_wrapper(monkeypatch):
    monkeypatch.setattr(lapack, "HAS_ILP64", True)
    assert not descent._is_tried()


def test_no_other_module_uses_private_names_of_scipy():
    private = re.compile(r"from scipy(\.\w+)* import _|scipy(\.\w+)*\._\w")
    source = Path(calibrant.__file__).parent
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if private.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"core/descent.py"}


@pytest.mark.parametrize("tried", [True, False])
@pytest.mark.parametrize("loss", [rosenbrock, crooked])
def test_what_is_known_of_the_start_is_not_asked_again(loss, tried, monkeypatch):
    if not tried:
        monkeypatch.setattr(descent, "_is_tried", lambda: False)
    start, low, high, asked = np.full(4, 0.3), np.full(4, -2.0), np.full(4, 2.0), []

    def counted(x):
        asked.append(x)
        return loss(x)

    plain = descend(counted, start, low, high, **LIMITS)
    first = len(asked)
    found = descend(counted, start, low, high, known=loss(start), **LIMITS)
    assert len(asked) - first == first - 1
    assert np.array_equal(found.x, plain.x)
    assert found.value == plain.value
