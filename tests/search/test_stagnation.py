"""A search that finds nothing better doubts its model."""

from dataclasses import dataclass, field, replace

import numpy as np
import optuna
import pytest

from calibrant import (
    CalibratedSampler,
    GaussianRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
    Optimizer,
)
from calibrant.acquisition import Acquisition, ExpectedImprovement
from calibrant.core.cube import as_cube
from calibrant.models import GaussianProcess
from calibrant.recalibration import ScoreLog
from calibrant.search.history import History
from calibrant.search.stagnation import reach
from calibrant.search.step import Policy


def history(outcomes, forecast=None, constraints=None, dim=1):
    """Outcomes at random points, the last of them forecast before."""
    y = np.array(outcomes, dtype=float)
    empty = History.empty(dim)
    return replace(
        empty,
        X=np.random.default_rng(0).random((y.size, dim)),
        Y=y[:, None],
        constraints=np.empty((y.size, 0))
        if constraints is None
        else np.array(constraints)[:, None],
        online=(ScoreLog(np.zeros(y.size if forecast is None else forecast)),),
        was_forecast=np.arange(y.size) >= y.size - (y.size if forecast is None else forecast),
    )


@dataclass(frozen=True)
class Watching(Acquisition):
    """Expected improvement that remembers the residuals it was given."""

    residuals: list = field(default_factory=list)

    def criterion(self, belief, rng, cube):
        self.residuals.append(belief.residual)
        return ExpectedImprovement().criterion(belief, rng, cube)


def test_what_was_in_vain():
    assert History.empty(1).stagnation == 0
    assert history([3, 2, 1]).stagnation == 0
    assert history([3, 1, 2, 5]).stagnation == 2
    assert history([3, 1, 1, 1]).stagnation == 2  # as good is no better
    assert (
        history([1, 2, 3, 4, 5], forecast=2).stagnation == 2
    )  # the others were nobody's suggestion
    assert history([1, 2, 3], forecast=0).stagnation == 0


def test_only_what_is_feasible_can_be_the_best():
    assert history([0, 3, 2, 4], constraints=[1, -1, 0, -1]).stagnation == 1
    assert history([0, 3, 2], constraints=[1, 1, 1]).stagnation == 0
    assert history([0, 3, 2], constraints=[np.nan, -1, -1]).stagnation == 2


@pytest.mark.parametrize("patience", [1, 5, 10])
def test_forecasts_grow_wider_while_nothing_better_is_found(patience):
    watching = Watching()
    optimizer = Optimizer(
        1,
        acquisition=watching,
        recalibrator=None,
        model=GaussianProcess(noise=0.0),
        patience=patience,
        seed=0,
    )
    for step in range(5 + 4 * patience):  # each outcome is worse than the first
        optimizer.tell(optimizer.ask(), float(step))
    asked = np.arange(4 * patience)
    expected = np.clip(asked / patience, 1.0, 3.0)
    late = asked - 2 * patience
    expected[(late >= 0) & (late % 2 == 0)] = 1.0  # these stay beside the best point
    assert [float(residual.std()) for residual in watching.residuals] == pytest.approx(expected)


def test_an_improvement_ends_the_doubt():
    watching = Watching()
    optimizer = Optimizer(1, acquisition=watching, recalibrator=None, patience=2, seed=0)
    for step in range(15):
        optimizer.tell(optimizer.ask(), float(step) if step != 12 else -1.0)
    stds = [float(residual.std()) for residual in watching.residuals]
    assert stds[7] == 3.0
    assert stds[8:] == [1.0, 1.0]


def test_no_patience_changes_nothing_before_it_runs_out_and_none_never_does():
    def asked(patience, evaluations):
        optimizer = Optimizer(2, patience=patience, seed=0)
        points = []
        for _ in range(evaluations):
            points.append(optimizer.ask())
            optimizer.tell(points[-1], float(np.cos(9 * points[-1]).sum()))
        return np.array(points)

    assert np.array_equal(asked(None, 12), asked(10, 12))
    assert np.array_equal(asked(None, 25), asked(10_000, 25))


@pytest.mark.parametrize(
    "recalibrator",
    [None, GaussianRecalibrator(), LeaderRecalibrator(), OnlineRecalibrator(rate=0.1)],
)
def test_doubt_leads_away_from_what_is_known(recalibrator):
    """Around a best point well explored, doubt looks elsewhere, whatever the recalibrator."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid([0.0, 0.5, 1.0], [0.0, 0.5, 1.0]), axis=-1).reshape(-1, 2)
    X = np.vstack([0.3 + 0.05 * rng.standard_normal((30, 2)), grid])
    y = 10 * ((X - 0.3) ** 2).sum(axis=1) + 0.3 * rng.standard_normal(39)
    order = np.argsort(y)  # the best came first, and all others in vain
    known = replace(history(y[order], dim=2), X=X[order])
    distances = []
    for patience in (None, 1):
        policy = Policy(GaussianProcess(), recalibrator, patience=patience)
        x = policy.suggest(known, as_cube(2), np.random.default_rng(1)).x
        distances.append(np.linalg.norm(X - x, axis=1).min())
    # Further than what is known lies apart; some recalibrators lead there without any doubt.
    assert distances[1] > max(0.3, distances[0])


def test_several_objectives_are_never_in_doubt():
    def asked(patience):
        sampler = CalibratedSampler(patience=patience, seed=0)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)), 12)
        return [t.params for t in study.trials]

    assert asked(1) == asked(None)


@pytest.mark.parametrize(
    ("patience", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError)]
)
def test_patience_is_a_count(patience, error):
    for search in (lambda p: Optimizer(1, patience=p), lambda p: CalibratedSampler(patience=p)):
        with pytest.raises(error, match="patience"):
            search(patience)


def test_outcomes_that_were_not_suggested_are_not_in_vain():
    optimizer = Optimizer(1, n_startup_trials=2, seed=0)
    for _ in range(12):
        x = optimizer.ask()
        optimizer.tell(x, float((x[0] - 0.3) ** 2))
    before = optimizer._history().stagnation
    for x in np.linspace(0.5, 1.0, 20):
        optimizer.tell([x], 5.0 + x)
    assert optimizer._history().stagnation == before
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer._history().stagnation == before + 1


def in_vain(outcomes, seed=3):
    """A smooth function whose best outcome came first, and so many others after it."""
    X = np.random.default_rng(seed).random((outcomes + 1, 2))
    y = np.sin(4.0 * X[:, 0]) + (X[:, 1] - 0.4) ** 2
    order = np.argsort(y, kind="stable")
    return replace(history(y[order], dim=2), X=X[order])


@pytest.mark.parametrize(("outcomes", "within"), [(20, 0.2), (30, 0.1), (40, 0.05)])
def test_after_long_stagnation_every_other_suggestion_stays_beside_the_best(outcomes, within):
    for late, beside in ((0, True), (1, False)):
        known = in_vain(outcomes + late)
        assert known.stagnation == outcomes + late
        x = Policy(patience=10).suggest(known, as_cube(2), np.random.default_rng(0)).x
        assert (np.abs(x - known.X[0]).max() <= within + 1e-12) == beside


def test_earlier_and_under_noise_suggestions_go_anywhere():
    early = in_vain(19)
    noisy = replace(
        in_vain(40), Y=np.sort(np.random.default_rng(0).standard_normal(41))[:, None]
    )  # outcomes that have nothing to do with where they are
    for known, model in ((early, GaussianProcess()), (noisy, GaussianProcess(noise=1.0))):
        policy = Policy(model, None, patience=10)
        data = policy.prepare(known, as_cube(2))
        assert reach(known, policy.patience, policy.fit(data, as_cube(2)).objectives[0]) is None


def test_without_patience_nothing_is_refined():
    policy = Policy(patience=None)
    known = in_vain(40)
    data = policy.prepare(known, as_cube(2))
    assert reach(known, policy.patience, policy.fit(data, as_cube(2)).objectives[0]) is None
