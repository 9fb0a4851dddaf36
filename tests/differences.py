"""Central differences, which gradients are held against."""

import numpy as np


def check_gradient(function, point, gradient, step=1e-6, **tolerance):
    """Compare with central differences of a function of one vector."""
    assert gradient.shape == point.shape
    found = [
        (function(point + e) - function(point - e)) / (2 * step) for e in step * np.eye(point.size)
    ]
    np.testing.assert_allclose(gradient, found, **({"rtol": 1e-5, "atol": 1e-6} | tolerance))
