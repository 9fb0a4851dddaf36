"""Linear algebra on one thread while a search asks, and as before while it evaluates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController, threadpool_limits

import calibrant
from calibrant.core.threads import one_thread


def threads() -> list[int]:
    found = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in found]


@pytest.fixture
def several_threads():
    with threadpool_limits(3, user_api="blas"):
        yield


def test_it_is_one_inside_and_as_before_afterwards(several_threads):
    with one_thread():
        assert set(threads()) == {1}
        with one_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert set(threads()) == {3}


def test_it_is_as_before_after_an_error(several_threads):
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert set(threads()) == {3}


def test_other_python_threads_change_nothing(several_threads):
    def inside() -> list[int]:
        with one_thread():
            return threads()

    with ThreadPoolExecutor(1) as pool:
        assert set(pool.submit(inside).result()) == {3}


def test_a_search_asks_on_one_thread_and_evaluates_on_all(several_threads):
    inside: list[set[int]] = []

    class Watched(calibrant.models.GaussianProcess):
        def fit(self, X, y, noise=None):
            inside.append(set(threads()))
            return super().fit(X, y, noise)

    def objective(p: dict[str, float]) -> float:
        assert set(threads()) == {3}
        return (p["x"] - 0.3) ** 2

    sampler = calibrant.CalibratedSampler(model=Watched(), seed=0)
    study = calibrant.minimize(objective, {"x": (0.0, 1.0)}, n_trials=8, sampler=sampler)
    assert len(study.trials) == 8
    assert inside
    assert all(number == {1} for number in inside)
    assert np.isfinite(study.best_value)
