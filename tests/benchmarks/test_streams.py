"""The benchmark of streams: what is timed leaves the next forecast ready to be read."""

import numpy as np
import pytest
from benchmarks.streams import delays, run


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


@pytest.mark.parametrize("method", delays.METHODS)
def test_without_a_delay_outcomes_are_counted_on_what_was_shown(method, monkeypatch):
    monkeypatch.setattr(delays, "STEPS", 60)
    found = delays.referee({"method": method, "stream": "i.i.d.", "delay": 0, "seed": 0})
    assert found["surplus_at_any_time"] <= 1.0 / delays.RATE


def test_forgetting_what_was_shown_costs_the_promise(monkeypatch):
    monkeypatch.setattr(delays, "STEPS", 200)
    task = {"stream": "adversarial", "delay": 10, "seed": 0}
    kept, forgotten = (
        delays.referee({"method": method, **task})["surplus_at_any_time"]
        for method in ("calibrant online", "counted on today's")
    )
    assert kept <= 1.0 / delays.RATE + 10
    assert forgotten > 1.0 / delays.RATE + 10
