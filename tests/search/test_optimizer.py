"""Ask and tell on the unit cube, and the policy behind it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from calibrant import (
    CalibrationSet,
    GaussianRecalibrator,
    IsotonicRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
    Optimizer,
    Quantiles,
)
from calibrant.acquisition import (
    AnnealedBound,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    QuantileBound,
    Thompson,
)
from calibrant.core import Axis, Cube
from calibrant.core.cube import as_cube
from calibrant.models import RBF, GaussianProcess, Linear, Matern32, Matern52, Periodic
from calibrant.search.defaults import SHOWN
from calibrant.search.history import History
from calibrant.search.step import Fits, Policy


def forrester(x):
    return float((6 * x[0] - 2) ** 2 * np.sin(12 * x[0] - 4))


def bowl(x):
    return float(((x - 0.3) ** 2).sum())


def search(function, optimizer, evaluations):
    for _ in range(evaluations):
        x = optimizer.ask()
        optimizer.tell(x, function(x))
    return optimizer


def test_finds_the_minimum_of_forrester():
    for seed in range(5):
        x, y = search(forrester, Optimizer(1, seed=seed), 20).best
        assert y < -6.02
        assert x[0] == pytest.approx(0.757, abs=0.01)


@pytest.mark.parametrize(
    "acquisition",
    [ExpectedImprovement(), ProbabilityOfImprovement(), QuantileBound(), Thompson(64)],
    ids=lambda a: type(a).__name__,
)
@pytest.mark.parametrize(
    "recalibrator",
    [None, GaussianRecalibrator(), LeaderRecalibrator(), OnlineRecalibrator(rate=0.1),
     IsotonicRecalibrator()],
    ids=lambda r: type(r).__name__,
)  # fmt: skip
def test_every_acquisition_with_every_recalibrator(acquisition, recalibrator):
    optimizer = Optimizer(2, acquisition=acquisition, recalibrator=recalibrator, seed=0)
    assert search(bowl, optimizer, 18).best[1] < 0.01


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("splits", ["online", "leave-one-out", "time-series"])
def test_every_calibration_set(splits, refit):
    optimizer = Optimizer(2, calibration_set=CalibrationSet(splits, refit=refit), seed=0)
    assert search(bowl, optimizer, 14).best[1] < 0.02


def suggested(objectives, **settings):
    """The point that a policy chooses after the same outcomes."""
    rng = np.random.default_rng(0)
    none = History.empty(2, objectives)
    X = rng.random((8, 2))
    outcomes = rng.exponential(size=(8, objectives)) ** 2
    history = replace(none, X=X, Y=outcomes, constraints=np.empty((8, 0)))
    rng = np.random.default_rng(1)
    return Policy(**settings).suggest(history, as_cube(2), rng).x.tolist()


@pytest.mark.parametrize("acquisition", [ProbabilityOfImprovement(), QuantileBound(), Thompson()])
def test_the_default_calibration_set_suits_the_acquisition(acquisition):
    """For a recalibrator that can learn a shift; the default one cannot."""
    shifting = {"recalibrator": GaussianRecalibrator()}
    spread = CalibrationSet(symmetric=True, largest_error=1.0)
    shift_too = CalibrationSet(largest_error=1.0)
    assert suggested(1, **shifting) == suggested(1, calibration_set=spread, **shifting)
    assert suggested(1, **shifting) != suggested(1, calibration_set=shift_too, **shifting)
    shifting["acquisition"] = acquisition
    assert suggested(1, **shifting) == suggested(1, calibration_set=shift_too, **shifting)
    assert suggested(1, **shifting) != suggested(1, calibration_set=spread, **shifting)


def test_an_annealed_bound_is_told_how_many_outcomes_there_are():
    level = AnnealedBound().level(8)
    chosen = suggested(1, acquisition=AnnealedBound())
    assert chosen == suggested(1, acquisition=QuantileBound(level))
    assert chosen != suggested(1, acquisition=QuantileBound(AnnealedBound().level(0)))


def test_several_objectives_are_judged_by_their_improvement_whatever_is_named():
    shifting = {"recalibrator": GaussianRecalibrator()}
    named = suggested(2, acquisition=QuantileBound(), **shifting)
    assert named == suggested(2, **shifting)
    spread = CalibrationSet(symmetric=True, largest_error=1.0)
    assert named == suggested(2, calibration_set=spread, **shifting)
    assert named != suggested(2, calibration_set=CalibrationSet(largest_error=1.0), **shifting)


@pytest.mark.parametrize("workers", [2, 4])
def test_several_workers_come_as_close_as_one(workers):
    optimizer, running = Optimizer(3, seed=0), []
    for _ in range(40):
        while len(running) < workers:
            running.append(optimizer.ask())
        x = running.pop(0)
        optimizer.tell(x, bowl(x))
    assert optimizer.best[1] < 1e-6


def test_a_caller_may_go_on_with_its_array():
    optimizer, buffer = Optimizer(2, seed=0), np.empty(2)
    for _ in range(6):
        buffer[:] = optimizer.ask()
        optimizer.tell(buffer, bowl(buffer))
    x, y = optimizer.best
    assert bowl(x) == y
    x[:] = 0.0
    assert bowl(optimizer.best[0]) == y


def test_points_in_single_precision_are_those_asked_for():
    optimizer = Optimizer(3, seed=0)
    for _ in range(12):
        x = optimizer.ask().astype(np.float32)
        optimizer.tell(x, bowl(x))
    assert len(optimizer.outcomes) == 7
    assert not optimizer._pending


def test_an_optimizer_can_be_kept_and_gone_on_with():
    optimizer = search(bowl, Optimizer(2, seed=0), 9)
    x = optimizer.ask()
    copy = pickle.loads(pickle.dumps(optimizer))
    for one in (optimizer, copy):
        one.tell(x, bowl(x))
        assert len(one.outcomes) == 5
    np.testing.assert_array_equal(copy.ask(), optimizer.ask())


@pytest.mark.parametrize("design", ["latin", "sobol", "random"])
def test_every_design(design):
    optimizer = Optimizer(3, design=design, n_startup_trials=6, seed=0)
    search(bowl, optimizer, 6)
    assert len(optimizer.outcomes) == 0  # nothing was forecast yet
    search(bowl, optimizer, 3)
    assert len(optimizer.outcomes) == 3


@pytest.mark.parametrize("kernel", [RBF(), Matern32(), Matern52(True), Linear(), Periodic()])
@pytest.mark.parametrize("outputs", ["standardise", "yeo-johnson", "box-cox", "log"])
def test_every_kernel_and_output_map(kernel, outputs):
    optimizer = search(bowl, Optimizer(2, model=GaussianProcess(kernel, outputs), seed=0), 5)
    designed = optimizer.best[1]
    found = search(bowl, optimizer, 7).best[1]
    # A plane has no bottom: its searches end in corners.
    assert found == designed if isinstance(kernel, Linear) else found < 0.1 * designed


def test_the_online_set_holds_the_scores_of_the_forecasts_made_before():
    optimizer = Optimizer(2, n_startup_trials=4, seed=0)
    search(bowl, optimizer, 4)
    expected = []
    for _ in range(5):
        x = optimizer.ask()
        (suggestion,) = optimizer._pending
        y = bowl(x)
        expected.append(float(suggestion.forecasts[0].score(y)))
        optimizer.tell(x, y)
    np.testing.assert_allclose(optimizer.outcomes.scores, expected)


def test_shown_forecasts_are_recalibrated_by_it():
    optimizer = search(bowl, Optimizer(2, n_startup_trials=4, seed=0), 12)
    at = np.array([[0.1, 0.9], [0.5, 0.5]])
    low, high = optimizer.forecast(at).interval(0.8)
    assert low.shape == (2,)
    assert np.all(low < high)
    policy, cube = optimizer._policy, optimizer._cube
    fits = policy.fit(policy.prepare(optimizer._history(), cube), cube, optimizer._fits)
    raw = fits.objectives[0].predict(at)
    shown = optimizer.outcomes.recalibrate(SHOWN).calibrate(raw)
    np.testing.assert_allclose(shown.interval(0.8), (low, high))


def test_points_may_be_told_that_were_never_asked_for():
    optimizer = Optimizer(2, seed=0)
    optimizer.tell([0.31, 0.29], bowl(np.array([0.31, 0.29])))
    assert optimizer.best[1] == pytest.approx(2e-4)
    assert len(optimizer.outcomes) == 0


def test_points_told_unasked_take_the_place_of_the_design():
    optimizer = Optimizer(2, n_startup_trials=3, seed=0)
    for x in ([0.1, 0.1], [0.5, 0.9], [0.9, 0.4]):
        optimizer.tell(x, bowl(np.array(x)))
    x = optimizer.ask()
    optimizer.tell(x, bowl(x))
    assert len(optimizer.outcomes) == 1  # it was chosen by the model, with a forecast


def test_without_a_design_the_first_point_is_random():
    optimizer = Optimizer(2, n_startup_trials=0, seed=0)
    search(bowl, optimizer, 3)
    assert len(optimizer.outcomes) == 2


def test_several_points_at_once_are_different():
    optimizer = search(bowl, Optimizer(2, seed=0), 8)
    batch = np.array([optimizer.ask() for _ in range(5)])
    apart = np.linalg.norm(batch[:, None] - batch[None], axis=-1)[np.triu_indices(5, 1)]
    assert apart.min() > 1e-4
    for x in batch:
        optimizer.tell(x, bowl(x))
    assert len(optimizer.outcomes) == 8


def test_failed_evaluations_are_avoided():
    def broken(x):
        return float("nan") if x.sum() > 1.2 else bowl(x)

    optimizer = search(broken, Optimizer(2, seed=0), 25)
    assert optimizer.best[1] < 1e-6
    told = np.array([point.sum() for point, _ in optimizer._told])
    assert (told[10:] > 1.2).mean() < 0.2


def test_the_edge_of_what_fails_is_found():
    def broken(x):
        return float("nan") if x[0] > 0.6 else -x[0]

    optimizer = search(broken, Optimizer(1, seed=0), 25)
    assert optimizer.best[1] < -0.59


def test_nothing_but_failures():
    optimizer = search(lambda x: float("inf"), Optimizer(2, n_startup_trials=3, seed=0), 8)
    points = np.array([x for x, _ in optimizer._told])
    assert len(np.unique(points, axis=0)) == 8
    with pytest.raises(ValueError, match="no best point"):
        _ = optimizer.best


def test_integers_and_categories():
    cube = Cube((
        Axis(),
        Axis(tuple((np.arange(10) + 0.5) / 10)),
        Axis(tuple((np.arange(3) + 0.5) / 3), categorical=True),
    ))  # fmt: skip

    def function(x):
        return (x[0] - 0.4) ** 2 + (round(x[1] * 10 - 0.5) - 7) ** 2 / 50 + 0.3 * (x[2] < 0.6)

    optimizer = search(function, Optimizer(cube, seed=0), 30)
    assert optimizer.best[1] < 1e-3
    for x, _ in optimizer._told:
        np.testing.assert_allclose(cube.snap(x[None].copy())[0], x)


@pytest.mark.parametrize("seed", range(5))
def test_a_small_cube_is_gone_through_once(seed):
    axis = Axis(tuple((np.arange(3) + 0.5) / 3))
    optimizer = search(bowl, Optimizer([axis, axis], seed=seed), 9)
    assert len({tuple(x) for x, _ in optimizer._told}) == 9


@pytest.mark.slow
def test_a_model_of_quantiles():
    class Neighbours:
        """Quantiles of the outcomes of the nearest points, wider the further these are."""

        def fit(self, X, y):
            self.X, self.y = X, y
            return self

        def predict(self, X):
            distance = np.linalg.norm(X[:, None] - self.X[None], axis=-1)
            nearest = np.argsort(distance, axis=1)[:, :2]
            middle = self.y[nearest].mean(axis=1)
            width = 0.05 + np.take_along_axis(distance, nearest, 1).mean(axis=1)
            levels = np.array([0.1, 0.5, 0.9])
            return Quantiles(levels, middle[:, None] + width[:, None] * np.array([-1.0, 0.0, 1.0]))

    optimizer = Optimizer(2, model=Neighbours(), recalibrator=LeaderRecalibrator(), seed=0)
    search(bowl, optimizer, 20)
    assert optimizer.best[1] < 0.05
    assert len(optimizer.outcomes) == 15
    batch = [optimizer.ask() for _ in range(3)]
    assert len({tuple(x) for x in batch}) == 3


@pytest.mark.parametrize(
    ("call", "kind", "complaint"),
    [
        (lambda: Optimizer(0), ValueError, "dim >= 1"),
        (lambda: Optimizer(1.0), TypeError, "must be an integer, or a list of axes"),
        (lambda: Optimizer(2).tell([0.5, 0.5], None), TypeError, "must be a number"),
        (lambda: Optimizer(2).tell([0.5, 0.5], [1.0, 2.0]), TypeError, "must be a number"),
        (lambda: Optimizer([]), ValueError, "at least one parameter"),
        (lambda: Optimizer(2, n_startup_trials=-1), ValueError, "n_startup_trials >= 0"),
        (lambda: Optimizer(2, n_startup_trials=None), TypeError, "whole number, but got None"),
        (lambda: Optimizer(2, n_startup_trials=2.5), TypeError, "whole number, but got 2.5"),
        (lambda: Optimizer(2, design="hexagonal"), ValueError, "hexagonal"),
        (lambda: Optimizer(2, calibration_set="jackknife"), ValueError, "jackknife"),
        (lambda: Optimizer(2).tell([0.5], 1.0), ValueError, r"shape \(2,\)"),
        (lambda: Optimizer(2).tell([0.5, 1.5], 1.0), ValueError, "unit cube"),
        (lambda: Optimizer(2).tell([0.5, np.nan], 1.0), ValueError, "finite"),
        (lambda: Optimizer(2).tell([0.5, 0.5], "low"), TypeError, "numeric"),
        (lambda: Optimizer(2).forecast([[0.5, 0.5]]), ValueError, "at least one outcome"),
        (lambda: QuantileBound(1.2), ValueError, "level"),
    ],
)
def test_mistakes_are_named(call, kind, complaint):
    with pytest.raises(kind, match=complaint):
        call()


def test_a_refused_tell_changes_nothing():
    optimizer = Optimizer(2, seed=0)
    x = optimizer.ask()
    with pytest.raises(ValueError, match="shape"):
        optimizer.tell(x[:1], 1.0)
    optimizer.tell(x, 1.0)
    assert len(optimizer._told) == 1


def test_an_over_confident_model_explores_more_after_recalibration():
    """The direction trap: a model whose std is half the truth must come out wider, not narrower."""
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 1)), rng.standard_normal(12)
    model = GaussianProcess(RBF(), outputs="standardise", priors=None)
    sure = model.at(np.log([1.5, 1.0, 1e-6]), X, y)  # far too smooth for noise
    policy = Policy(model, GaussianRecalibrator(), CalibrationSet(in_doubt=0.0), QuantileBound())
    history = History.empty(1)
    history = History(
        X, y[:, None], np.empty((12, 0)), history.online, np.zeros(12, dtype=bool),
        history.failed, history.pruned, history.extrapolated, history.pending,
    )  # fmt: skip
    data = policy.prepare(history, Cube.continuous(1))
    (residual,) = policy.recalibrate(data, Fits((sure,)))
    assert residual.std() > 2.0


def test_an_outcome_infinitely_far_from_its_forecast_is_kept():
    optimizer = Optimizer(1, seed=0)
    for outcome in [*[0.0] * 8, 1.7e308]:
        optimizer.tell(optimizer.ask(), outcome)
    assert np.abs(optimizer.outcomes.scores).max() <= 1e6
    assert optimizer.forecast([[0.5]]).batch == (1,)


def test_points_told_in_single_precision_are_the_points_asked_for():
    listed = [Axis((1 / 6, 0.5, 5 / 6), categorical=True), Axis((0.1, 0.3, 0.7, 0.9))]
    optimizer = Optimizer(listed, seed=0)
    asked = []
    for _ in range(12):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1].astype(np.float32), float(asked[-1][0] < 0.8))
    assert len({tuple(x) for x in asked}) == 12
    assert tuple(optimizer.best[0]) in {tuple(x) for x in asked}


def test_coordinates_that_were_not_asked_for_are_told_as_they_are_listed():
    optimizer = Optimizer([Axis((1 / 3, 2 / 3)), Axis()], seed=0)
    optimizer.tell(np.array([1 / 3, 0.123], dtype=np.float32), 1.0)
    x, _ = optimizer.best
    assert x[0] == 1 / 3
    assert x[1] == np.float32(0.123)


def test_the_same_point_may_be_asked_for_many_times():
    optimizer = Optimizer([Axis((0.25, 0.75))], repeats=True, n_startup_trials=2, seed=0)
    for y in (0.0, 1.0, 0.1, 0.9):
        optimizer.tell(optimizer.ask(), y)
    scored = optimizer.outcomes.scores.size
    asked = [optimizer.ask() for _ in range(4)]
    assert len({float(x[0]) for x in asked}) < 4
    assert optimizer._history().pending.shape == (4, 1)
    for x in asked:
        optimizer.tell(x, 0.5)
    assert optimizer.outcomes.scores.size == scored + 4


def test_a_look_at_forecasts_changes_nothing():
    """It must not move the schedule of fits, of which not every outcome brings one from 20 on."""

    def suggestions(look):
        optimizer = Optimizer(2, model=GaussianProcess(), seed=0)
        for x in np.random.default_rng(0).random((40, 2)):
            optimizer.tell(x, bowl(x))
        found = []
        for _ in range(6):
            batch = [optimizer.ask() for _ in range(2)]
            for x in batch:
                optimizer.tell(x, bowl(x))
                if look:
                    optimizer.forecast([[0.5, 0.5]])
            found += batch
        return np.array(found)

    np.testing.assert_array_equal(suggestions(look=True), suggestions(look=False))


def test_a_space_that_has_been_gone_through_is_repeated_but_for_what_failed(caplog):
    for seed in range(2):
        caplog.clear()
        optimizer = Optimizer([Axis((0.1, 0.4, 0.7, 0.9))], n_startup_trials=2, seed=seed)
        asked = []
        for _ in range(14):
            asked.append(float(optimizer.ask()[0]))
            optimizer.tell([asked[-1]], np.nan if asked[-1] == 0.7 else asked[-1])
        assert set(asked[:4]) == {0.1, 0.4, 0.7, 0.9}
        assert 0.7 not in asked[4:]
        assert [record.message for record in caplog.records] == [  # once a search
            "All 4 settings have been tried. From now on those that succeeded are repeated: that "
            "is of use only if outcomes are noisy."
        ]
