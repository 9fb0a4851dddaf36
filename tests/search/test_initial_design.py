"""The first points of a search: one rule for ask and tell and for Optuna's trials."""

from dataclasses import replace

import numpy as np
import optuna
import pytest

from calibrant import Axis, CalibratedSampler, Cube, Optimizer
from calibrant.core.cube import keys
from calibrant.search.history import History
from calibrant.search.initial_design import is_startup, startup_point


def a_history(complete=0, pruned=0, failed=0, pending=0):
    points = np.zeros((0, 1))
    return replace(
        History.empty(1),
        X=np.zeros((complete, 1)),
        Y=np.zeros((complete, 1)),
        constraints=np.empty((complete, 0)),
        pruned=np.resize(points, (pruned, 1)),
        failed=np.resize(points, (failed, 1)),
        pending=np.resize(points, (pending, 1)),
    )


@pytest.mark.parametrize(
    ("known", "needed", "expected"),
    [
        ({}, 0, True),  # a model needs an outcome to start from
        ({"complete": 1}, 0, False),
        ({"complete": 1}, 1, False),
        ({"complete": 4}, 5, True),
        ({"complete": 5}, 5, False),
        ({"complete": 4, "failed": 3, "pending": 3}, 5, True),  # nothing to learn from
        ({"complete": 2, "pruned": 3}, 5, False),
        ({"complete": 1, "pruned": 9}, 5, True),  # reports alone are not enough
        ({"complete": 1, "pruned": 9}, 1, False),
    ],
)
def test_when_the_model_is_asked(known, needed, expected):
    assert is_startup(a_history(**known), needed) is expected


def test_a_point_that_is_taken_is_left_out():
    cube, rng = Cube((Axis((0.25, 0.75)),)), np.random.default_rng(0)
    design = np.array([[0.25], [0.75]])
    assert startup_point(design, cube, frozenset(), rng) == 0.25
    assert startup_point(design, cube, frozenset(keys(design[:1])), rng) == 0.75
    assert startup_point(design[:0], cube, frozenset(keys(design[:1])), rng) == 0.75


def test_no_design_at_all():
    """With 0 the first point is random and the second one the model's, in both front doors."""
    optimizer = Optimizer(1, n_startup_trials=0, seed=0)
    for told in range(3):
        assert len(optimizer.outcomes) == max(0, told - 1)
        x = optimizer.ask()
        optimizer.tell(x, float(x[0] ** 2))
    study = optuna.create_study(sampler=CalibratedSampler(n_startup_trials=0, seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=3)
    (outcomes,) = study.sampler.outcomes(study)
    assert len(outcomes) == 2


def test_failures_do_not_use_up_the_design():
    """Five outcomes are needed, however many evaluations fail before."""
    optimizer = Optimizer(1, n_startup_trials=3, seed=0)
    for number in range(6):
        x = optimizer.ask()
        optimizer.tell(x, np.nan if number < 3 else float(x[0]))
    assert len(optimizer.outcomes) == 0
    optimizer.tell(optimizer.ask(), 0.5)
    assert len(optimizer.outcomes) == 1
