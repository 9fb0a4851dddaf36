"""Hyper-parameters by name, and as a vector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.models import RBF, Additive, GaussianProcess, Kumaraswamy, Matern52, Periodic
from calibrant.models.hyperparameters import Hyperparameters, Layout

KERNELS = [
    RBF(),
    Matern52(per_dimension=True),
    Periodic(),
    Additive(per_dimension=True),
    Kumaraswamy(kernel=Matern52()),
]


@given(st.sampled_from(KERNELS), st.integers(1, 4), st.booleans(), st.data())
def test_split_and_join_are_inverse(kernel, dim, learns_noise, data):
    layout = Layout.of(kernel, dim, learns_noise)
    vector = data.draw(arrays(float, layout.size, elements=st.floats(-20, 20)))
    parameters = layout.split(vector)
    np.testing.assert_array_equal(layout.join(parameters), vector)
    named = dict(zip(layout.names, vector, strict=True))
    assert parameters.log_signal == named["signal"]
    assert parameters.log_noise == named.get("noise")
    assert parameters.kernel.size == len(kernel.parameter_names(dim))


def test_variances_are_exponentials():
    parameters = Hyperparameters(np.zeros(1), np.log(3.0), np.log(0.2))
    assert parameters.signal == pytest.approx(3.0)
    assert parameters.noise == pytest.approx(0.2)


def test_noise_that_was_given_has_no_parameter():
    X, y = np.linspace(0, 1, 6)[:, None], np.arange(6.0)
    fitted = GaussianProcess(noise=0.1).fit(X, y)
    assert fitted.parameters.log_noise is None
    with pytest.raises(ValueError, match="given and not learned"):
        _ = fitted.parameters.noise


def test_a_process_at_its_own_parameters_is_the_same_process():
    X, y = np.random.default_rng(0).random((8, 2)), np.arange(8.0)
    fitted = GaussianProcess(outputs="standardise").fit(X, y)
    again = fitted.model.at(fitted.theta, X, y)
    np.testing.assert_array_equal(again.W, fitted.W)
    assert again.parameters.log_signal == fitted.parameters.log_signal
