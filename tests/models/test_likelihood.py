"""Which outcomes tell the hyper-parameters."""

import numpy as np
import pytest

from calibrant.models.likelihood import enough


@pytest.mark.parametrize("dim", [1, 6, 20])
def test_up_to_twenty_inputs_250_outcomes_tell(dim):
    assert enough(250, dim) == slice(None)
    assert len(enough(500, dim)) == 250


@pytest.mark.parametrize("dim", [40, 100, 200])
def test_of_more_inputs_fewer_tell_for_the_same_work(dim):
    some = enough(500, dim)
    assert np.isclose(len(some) ** 2 * dim, 250**2 * 20, rtol=0.05)
    assert some[0] == 0
    assert some[-1] == 499  # they are spread over all time
