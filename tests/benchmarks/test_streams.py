"""The benchmark of streams: what is timed leaves the next forecast ready to be read."""

import numpy as np
import pytest
from benchmarks.streams import run


@pytest.mark.parametrize(
    ("method", "levels"),
    [
        ("calibrant online: update(u)", 9),
        ("calibrant online: observe(forecast, y)", 9),
        ("calibrant leader", None),
        ("ACI per level", 99),
    ],
)
def test_an_update_is_timed_up_to_the_next_forecast(method, levels):
    past = np.random.default_rng(0).standard_normal(50)
    update = run._updater({"method": method, "levels": levels}, past)
    assert update(0.3) is not None
