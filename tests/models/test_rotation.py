"""Processes that take turns: whose turn it is, and that it is then the process itself."""

import numpy as np
import pytest

from calibrant import Optimizer
from calibrant.models import RBF, Additive, BaggedProcesses, GaussianProcess, Matern52, Rotation
from calibrant.models.protocol import (
    CanRefit,
    GaussianBelief,
    KnowsLabels,
    KnowsLeaveOneOut,
    KnowsOneStepAhead,
)

PROCESSES = (GaussianProcess(RBF()), GaussianProcess(Matern52(True)), GaussianProcess(Additive()))
rng = np.random.default_rng(0)
X = rng.random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
NEW = rng.random((5, 2))


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_the_turn_is_the_number_of_outcomes(n):
    fitted = Rotation(PROCESSES).fit(X[:n], Y[:n])
    alone = PROCESSES[n % 3].fit(X[:n], Y[:n])
    assert fitted.current.model == PROCESSES[n % 3]
    np.testing.assert_array_equal(fitted.predict(NEW).mean(), alone.predict(NEW).mean())
    for ours, its in zip(fitted.posterior(NEW)[:2], alone.posterior(NEW)[:2], strict=True):
        np.testing.assert_array_equal(ours, its)
    np.testing.assert_array_equal(fitted.means(), alone.means())
    np.testing.assert_array_equal(fitted.in_model_units(Y), alone.in_model_units(Y))
    np.testing.assert_array_equal(fitted.leave_one_out(), alone.leave_one_out())
    np.testing.assert_array_equal(fitted.one_step_ahead_scores(), alone.one_step_ahead_scores())
    scores = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(fitted.sample(NEW, scores), alone.sample(NEW, scores))


def test_each_goes_on_from_its_own_last_turn():
    fitted = Rotation(PROCESSES).fit(X[:6], Y[:6])
    first = fitted.current
    for n in (7, 8, 9):
        fitted = fitted.refit(X[:n], Y[:n])
        assert fitted.current.model == PROCESSES[n % 3]
        assert fitted.current.v.size == n
    expected = first.refit(X[:9], Y[:9])
    np.testing.assert_array_equal(fitted.current.theta, expected.theta)


def test_conditioning_is_that_of_the_one_whose_turn_it_is():
    fitted = Rotation(PROCESSES).fit(X, Y)
    before, after = fitted.current, fitted.condition(NEW)
    np.testing.assert_array_equal(after.means(), before.condition(NEW).means())
    assert fitted.current is before


def test_it_has_all_abilities_of_a_process():
    rotation = Rotation(PROCESSES)
    assert isinstance(rotation, KnowsLabels)
    assert {p.kernel.categorical for p in rotation.with_labels((1,)).processes} == {(1,)}
    fitted = rotation.fit(X, Y)
    for ability in (GaussianBelief, CanRefit, KnowsLeaveOneOut, KnowsOneStepAhead):
        assert isinstance(fitted, ability)


def test_a_search_uses_them_in_turn():
    optimizer = Optimizer(2, model=Rotation(PROCESSES), n_startup_trials=3, seed=0)
    seen = []
    for _ in range(9):
        x = optimizer.ask()
        optimizer.tell(x, float(((x - 0.3) ** 2).sum()))
        if optimizer._fits:
            seen.append(optimizer._fits.objectives[0].current.model)
    assert seen == [PROCESSES[n % 3] for n in range(3, 9)]


def test_none_cannot_take_turns():
    with pytest.raises(ValueError, match="at least one GaussianProcess"):
        Rotation(())


def test_only_processes_take_turns():
    with pytest.raises(TypeError, match="must all be GaussianProcess, but got BaggedProcesses"):
        Rotation((GaussianProcess(), BaggedProcesses()))
