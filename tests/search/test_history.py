"""Large histories: what a model is given of them."""

import itertools
import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CalibratedSampler, Optimizer
from calibrant.core import Cube
from calibrant.models import BaggedProcesses, GaussianProcess, Rotation
from calibrant.models.protocol import HasLimit
from calibrant.search.defaults import MODEL
from calibrant.search.history import History
from calibrant.search.step import Policy
from calibrant.search.training import prepare, training_subset

rng = np.random.default_rng(0)


def fit(history):
    policy, cube = Policy(), Cube.continuous(2)
    return policy.fit(policy.prepare(history, cube), cube)


def rows_of(history, most):
    """Which outcomes a part keeps; each is marked by its first coordinate."""
    return training_subset(history, most).X[:, 0].astype(int)


def marked(Y, constraints=None):
    count = len(Y)
    empty = History.empty(2, Y.shape[1])
    X = np.column_stack([np.arange(count), np.zeros(count)]).astype(float)
    limits = np.empty((count, 0)) if constraints is None else constraints
    forecast = np.zeros(count, dtype=bool)
    return History(
        X,
        Y,
        limits,
        empty.online,
        forecast,
        empty.failed,
        empty.pruned,
        empty.extrapolated,
        empty.pending,
    )


@given(
    count=st.integers(1, 500),
    most=st.integers(2, 200),
    objectives=st.integers(1, 2),
    known=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    seed=st.integers(0, 5),
)
def test_a_model_is_given_no_more_than_it_can_bear(count, most, objectives, known, seed):
    random = np.random.default_rng(seed)
    constraints = np.where(
        random.random((count, 1)) < known, random.standard_normal((count, 1)), np.nan
    )
    rows = rows_of(marked(random.random((count, objectives)), constraints), most)
    assert rows.size <= most
    assert np.all(np.diff(rows) > 0)  # each once, in the order of time
    assert rows[-1] == count - 1  # the latest
    if count <= most:
        assert rows.size == count
    else:
        assert rows.size >= most - max(1, min(100, most // 2))
        if most >= 20:  # the constraint's model has something to go by, if anything is known
            assert np.isfinite(constraints[rows]).any() == np.isfinite(constraints).any()


def test_it_keeps_the_best_and_some_of_all_others():
    outcomes = rng.permutation(5000).astype(float)
    known = outcomes[rows_of(marked(outcomes[:, None]), 1000)]
    assert set(known) >= set(range(440))  # the best of the 4,900 that the choice is made of
    others = np.sort(known)[460:]
    assert np.diff(others).max() < 60  # no gap from good to bad


@pytest.mark.parametrize("objectives", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_choice_stays_for_a_hundred_outcomes(objectives):
    history = marked(rng.random((1500, objectives)))
    choices = [rows_of(history.rows(np.arange(count)), 1000) for count in range(1001, 1501)]
    goes_on = [
        np.array_equal(later[: earlier.size], earlier)
        for earlier, later in itertools.pairwise(choices)
    ]
    assert goes_on.count(False) == 4


def test_the_front_of_several_objectives_is_kept():
    angle = rng.random(3000) * np.pi / 2
    far = 1.0 + np.where(np.arange(3000) % 30 == 0, 0.0, rng.random(3000))
    Y = np.column_stack([1.0 - np.cos(angle) / far, 1.0 - np.sin(angle) / far])
    dominated = [np.any(np.all(y > Y, axis=1)) for y in Y]
    front = np.flatnonzero(~np.array(dominated))
    rows = rows_of(marked(Y), 1000)
    assert set(front[front < 2900]) <= set(rows)
    assert np.all(Y[rows].min(axis=0) == Y.min(axis=0))


def a_history(count, failed=0):
    X = rng.random((count, 2))
    return replace(
        History.empty(2),
        X=X,
        Y=((X - 0.4) ** 2).sum(axis=1, keepdims=True),
        constraints=np.empty((count, 0)),
        was_forecast=np.zeros(count, dtype=bool),
        failed=rng.random((failed, 2)),
    )


def test_feasible_outcomes_come_before_others():
    history = a_history(50)
    constraints = np.where(np.arange(50) < 10, 1.0, -1.0)[:, None]
    limited = History(
        history.X, history.Y, constraints, history.online, history.was_forecast, history.failed,
        history.pruned, history.extrapolated, history.pending,
    )  # fmt: skip
    assert limited.merit[:10].min() > limited.merit[10:].max()


def test_a_search_with_a_large_history_says_so_once_and_goes_on(caplog):
    model = GaussianProcess(most_outcomes=40)
    optimizer = Optimizer(2, model=model, seed=0)
    for x in rng.random((60, 2)):
        optimizer.tell(x, ((x - 0.4) ** 2).sum())
    for x in 0.9 + 0.1 * rng.random((50, 2)):
        optimizer.tell(x, np.nan)
    with caplog.at_level(logging.WARNING, "calibrant"):
        for _ in range(5):
            x = optimizer.ask()
            optimizer.tell(x, ((x - 0.4) ** 2).sum())
    assert [record.message for record in caplog.records] == [
        "More than 40 outcomes: from now on the model is fitted to the best, the latest and an "
        "even choice of the others, 40 in all. For more, set its `most_outcomes`."
    ]
    assert optimizer.best[1] < 1e-3
    assert optimizer._fits.objectives[0].X.shape[0] <= 40
    assert optimizer.forecast([[0.4, 0.4]]).batch == (1,)


def test_points_that_the_model_no_longer_sees_are_not_suggested_again():
    import optuna

    sampler = CalibratedSampler(model=GaussianProcess(most_outcomes=10), seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_int("x", 0, 39) ** 2, n_trials=40)
    assert len({trial.params["x"] for trial in study.trials}) == 40


def test_models_and_their_limits():
    small = GaussianProcess(most_outcomes=30)
    assert Rotation((GaussianProcess(), small)).most_outcomes == 30
    assert BaggedProcesses(small).most_outcomes == 30
    assert MODEL.most_outcomes == 2000
    with pytest.raises(ValueError, match=r"`most_outcomes >= 2` must hold"):
        GaussianProcess(most_outcomes=1)

    class Anything:
        def fit(self, X, y):
            raise AssertionError

    assert not isinstance(Anything(), HasLimit)  # a model without a limit is given all
    history = a_history(2200)
    cube = Cube.continuous(2)
    assert prepare(Anything(), history, cube).subset is history
    part = prepare(MODEL, a_history(2200, failed=2500), cube).subset
    assert part.failed.shape == (2000, 2)
    assert part.X.shape[0] <= 2000


def test_constraints_of_infinity_are_the_worst():
    Y = np.arange(4.0)[:, None]
    limits = np.array([[np.inf, np.inf], [1.0, 0.0], [np.inf, 0.0], [0.0, 0.0]])
    assert marked(Y, limits).merit.argmin() == 3
    assert marked(Y, limits).merit.argsort()[1] == 1


def outcomes_of(y):
    y = np.asarray(y, dtype=float)
    return marked(y.reshape(len(y), -1))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_penalties_are_failures(scale):
    y = scale * np.array([0.3, 1e6, 0.1, 2e6, 0.7, 0.2])
    part = outcomes_of(y).without_penalties()
    np.testing.assert_array_equal(part.Y[:, 0], y[[0, 2, 4, 5]])
    np.testing.assert_array_equal(part.X[:, 0], [0, 2, 4, 5])
    np.testing.assert_array_equal(part.failed[:, 0], [1, 3])


@pytest.mark.parametrize(
    "y",
    [
        [0.3, 500.0, 0.1, 0.7, 0.2],  # large, as outcomes may be
        [1e6, 1.1e6, 1.2e6, 0.1, 0.3],  # more than half: what is rare are the good ones
        [1.0, 1.0, 1.0, 1.0, 5.0],  # the others are equal
        [0.036, 0.036, 0.036001, 0.036002, 0.07, 0.9],  # scores on the same few examples
        [1.0, 1.0 + 1e-12, 1.0, 5.0],  # as good as equal
        [[0.1, 1.0], [0.2, 1.0], [0.3, 1e9]],  # several objectives
        [0.1, 1e9],
        [],
    ],
)
def test_other_outcomes_are_none(y):
    history = outcomes_of(y) if y else History.empty(2)
    assert history.without_penalties() is history


def test_the_only_feasible_outcomes_are_no_penalties():
    y = np.array([[0.1], [0.2], [0.3], [0.4], [5000.0]])
    limits = np.array([[1.0], [1.0], [1.0], [1.0], [-1.0]])
    history = marked(y, limits)
    assert history.without_penalties() is history
    assert marked(y, -limits).without_penalties().failed.shape[0] == 1


def test_a_search_with_penalties_that_vary_is_as_good_as_one_with_failures():
    def search(penalty):
        optimizer = Optimizer(2, seed=0)
        for _ in range(25):
            x = optimizer.ask()
            y = ((x - 0.4) ** 2).sum()
            optimizer.tell(x, penalty * (1 + x[0]) if x.sum() > 1.1 else y)
        return optimizer.best[1]

    assert search(1e6) < 1e-6
    assert search(np.nan) < 1e-6


def test_what_penalised_outcomes_say_of_constraints_is_kept():
    y = np.array([[0.1], [0.2], [0.3], [0.4], [0.5], [1e6], [1e6]])
    limits = np.array([[-1.0], [-1.0], [-1.0], [-2.0], [-1.0], [5.0], [3.0]])
    fits = fit(marked(y, limits))
    assert fits.objectives[0].current.v.size == 5
    assert fits.constraints[0].current.v.size == 7
    assert fits.finishing.v.size == 7


def test_thousands_of_failures_are_told_by_some_of_them():
    fits = fit(a_history(300, failed=2000))
    assert fits.finishing.v.size == 500  # as many failures as others
    assert (fits.finishing.v > 0).sum() == 250
