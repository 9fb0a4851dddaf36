"""Calibration sets, each against its definition: closed forms and refits."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from calibrant import GaussianRecalibrator, Normal, Optimizer, ScoreLog
from calibrant.models import RBF, BaggedProcesses, GaussianProcess, Matern52, Rotation
from calibrant.recalibration import CalibrationSet, k_fold
from calibrant.recalibration.calibration_sets import Splits

rng = np.random.default_rng(0)
X = rng.random((11, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(11)
ONLINE = ScoreLog(np.array([0.3, -1.2, 2.0]))
GP = GaussianProcess(outputs="standardise")
THETA = np.log([0.5, 1.3, 0.02])


@dataclass(frozen=True)
class FixedGP:
    """A Gaussian process with hyper-parameters and output map given, which counts its fits."""

    outputs: object = field(default_factory=lambda: GP.at(THETA, X, Y).outputs)
    fits: list = field(default_factory=list)

    def fit(self, X, y):
        self.fits.append(len(y))
        return replace(GP.at(THETA, X, y), outputs=self.outputs, v=self.outputs(y))


@dataclass(frozen=True)
class MeanModel:
    """A model that knows no closed form: the mean of what it saw, give or take one."""

    fits: list = field(default_factory=list)

    def fit(self, X, y):
        self.fits.append(len(y))
        return FittedMean(float(np.mean(y)))


@dataclass(frozen=True)
class FittedMean:
    mean: float

    def predict(self, X):
        return Normal(np.full(len(X), self.mean), 1.0)


def log(calibration_set, model=None, X=X, y=Y, online=ONLINE):
    model = model or FixedGP()
    fitted = model.fit(X, y)
    model.fits.clear()
    return calibration_set.scores(model, fitted, X, y, online)


def scores(*args, **settings):
    return log(*args, **settings).scores


def test_online_scores_are_those_on_record():
    model = FixedGP()
    got = scores(CalibrationSet("online", symmetric=False), model)
    np.testing.assert_array_equal(got, ONLINE.scores)
    assert model.fits == []


@pytest.mark.parametrize("splits", ["leave-one-out", "time-series"])
def test_closed_forms_are_refits_with_the_same_hyper_parameters(splits):
    closed, refitted = FixedGP(), FixedGP()
    by_formula = scores(CalibrationSet(splits, symmetric=False, in_doubt=0.0), closed)
    by_refits = scores(CalibrationSet(splits, refit=True, symmetric=False), refitted)
    assert closed.fits == []
    assert refitted.fits == ([10] * 11 if splits == "leave-one-out" else list(range(2, 11)))
    np.testing.assert_allclose(by_formula, by_refits, atol=1e-8)


def test_leave_one_out_scores_each_outcome_by_the_others():
    model = MeanModel()
    got = scores(CalibrationSet("leave-one-out", symmetric=False, folds=11), model)
    expected = [Y[i] - np.delete(Y, i).mean() for i in range(11)]
    np.testing.assert_allclose(got, expected)
    assert model.fits == [10] * 11


def test_without_a_closed_form_there_are_as_many_fits_as_folds():
    model = MeanModel()
    got = scores(CalibrationSet("leave-one-out", symmetric=False, folds=4), model)
    assert got.size == 11
    assert sorted(model.fits) == [8, 8, 8, 9]
    again = scores(CalibrationSet("leave-one-out", symmetric=False, folds=4), MeanModel())
    np.testing.assert_array_equal(got, again)
    expected = k_fold(MeanModel(), X, Y, 4, np.random.default_rng(11)).scores
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("first", [1, 2, 6, 10])
def test_a_time_series_scores_each_outcome_by_the_earlier_ones(first):
    model = MeanModel()
    calibration_set = CalibrationSet("time-series", symmetric=False, first=first)
    expected = [Y[i] - Y[:i].mean() for i in range(first, 11)]
    np.testing.assert_allclose(scores(calibration_set, model), expected)
    assert model.fits == list(range(first, 11))
    # The closed form leaves out as many.
    assert scores(calibration_set).size == 11 - first


def test_refits_fit_the_output_map_again_too():
    """Unlike the closed form, which keeps the units of all outcomes."""

    @dataclass(frozen=True)
    class AtTheta:
        fits: list = field(default_factory=list)

        def fit(self, X, y):
            return GP.at(THETA, X, y)

    got = scores(CalibrationSet(refit=True, symmetric=False), AtTheta())
    for i in range(11):
        others = np.arange(11) != i
        forecast = GP.at(THETA, X[others], Y[others]).predict(X[[i]])
        np.testing.assert_allclose(got[i], forecast.score(Y[[i]])[0])


@pytest.mark.parametrize("splits", list(Splits), ids=str)
@pytest.mark.parametrize("refit", [False, True], ids=["closed", "refit"])
def test_symmetric_sets_have_the_same_scores_without_their_signs(splits, refit):
    signed, unsigned = (log(CalibrationSet(splits, refit, symmetric=s)) for s in (False, True))
    assert len(signed) >= 3
    np.testing.assert_array_equal(signed.scores, unsigned.scores)
    r = GaussianRecalibrator()
    shifted, centred = (found.recalibrate(r).residual.mean() for found in (signed, unsigned))
    assert centred == 0.0 != shifted


def test_by_default_it_is_leave_one_out_in_closed_form():
    model = FixedGP()
    expected, stds = model.fit(X, Y).leave_one_out()
    in_doubt = stds >= 0.3 * stds.max()
    np.testing.assert_array_equal(scores(CalibrationSet(), model), expected[in_doubt])
    assert model.fits == []


def test_a_cluster_of_sure_outcomes_does_not_count():
    rng = np.random.default_rng(0)
    spread = rng.random((12, 2))
    cluster = 0.5 + 1e-3 * rng.standard_normal((40, 2))
    inputs = np.concatenate([spread, cluster])
    outcomes = np.sin(9.0 * inputs).sum(axis=1)
    fitted = GaussianProcess().fit(inputs, outcomes)
    every = CalibrationSet(in_doubt=0.0).scores(None, fitted, inputs, outcomes, ScoreLog())
    some = CalibrationSet().scores(None, fitted, inputs, outcomes, ScoreLog())
    assert len(every) == 52
    assert len(some) <= 13


@pytest.mark.parametrize(
    ("calibration_set", "count"),
    [
        (CalibrationSet("leave-one-out"), 1),
        (CalibrationSet("leave-one-out", refit=True), 1),
        (CalibrationSet("time-series"), 1),
        (CalibrationSet("time-series", first=4), 4),
        (CalibrationSet("time-series", refit=True, first=4), 3),
    ],
)
def test_too_few_outcomes_are_no_set(calibration_set, count):
    assert scores(calibration_set, X=X[:count], y=Y[:count]).size == 0
    assert scores(CalibrationSet("online"), X=X[:count], y=Y[:count]).size == 3


def test_one_outcome_more_than_the_first_training_set_is_scored():
    for refit in (False, True):
        calibration_set = CalibrationSet("time-series", refit, symmetric=False, first=4)
        assert scores(calibration_set, X=X[:5], y=Y[:5]).size == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CalibrationSet("k-fold"), "`calibration_set` must be one of"),
        (lambda: CalibrationSet(folds=1), "`folds >= 2` must hold, but got folds=1"),
        (lambda: CalibrationSet(first=0), "`first >= 1` must hold, but got first=0"),
    ],
)
def test_bad_sets(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: CalibrationSet(first=2.5),
        lambda: CalibrationSet(folds=2.5),
        lambda: GaussianProcess(most_outcomes=2.5),
        lambda: BaggedProcesses(members=2.5),
        lambda: Optimizer(2, n_startup_trials=2.5),
        lambda: Optimizer(2, patience=2.5),
    ],
)
def test_counts_are_whole_numbers(call):
    with pytest.raises(TypeError, match=r"must be a whole number, but got 2\.5"):
        call()


@pytest.mark.parametrize("splits", ["leave-one-out", "time-series"])
def test_refits_are_of_the_process_at_turn(splits):
    short, long = (GaussianProcess(kernel) for kernel in (RBF(), Matern52()))
    X = rng.random((8, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1]
    known, model = CalibrationSet(splits, refit=True), Rotation((short, long))
    scores = known.scores(model, model.fit(X, y), X, y, ScoreLog()).scores
    expected = known.scores(short, short.fit(X, y), X, y, ScoreLog()).scores  # 8 is even
    np.testing.assert_array_equal(scores, expected)


def wiggly(count):
    """Outcomes that a smooth process forecasts worse than their mean would."""
    x = np.linspace(0.0, 1.0, count)[:, None]
    return x, np.where(np.arange(count) % 2 == 0, -1.0, 1.0)


def test_errors_larger_than_the_spread_of_outcomes_count_as_that_large():
    X, y = wiggly(10)
    smooth = GP.at(np.log([0.5, 1.0, 1e-4]), X, y)
    scores, stds = smooth.leave_one_out()
    everywhere = {"in_doubt": 0.0}
    as_they_are = CalibrationSet(**everywhere).scores(GP, smooth, X, y, ONLINE).scores
    np.testing.assert_array_equal(as_they_are, scores)
    assert np.sqrt(np.mean((scores * stds) ** 2)) > 3.0  # in units of the outcomes' spread
    bounded = (
        CalibrationSet(**everywhere, largest_error=2.0).scores(GP, smooth, X, y, ONLINE).scores
    )
    np.testing.assert_allclose(np.sqrt(np.mean((bounded * stds) ** 2)), 2.0)
    np.testing.assert_allclose(bounded / scores, bounded[0] / scores[0])  # all alike


def test_errors_smaller_than_the_spread_count_as_they_are():
    fitted = FixedGP().fit(X, Y)
    sets = (CalibrationSet(in_doubt=0.0, largest_error=size) for size in (1.0, np.inf))
    one, other = (s.scores(FixedGP(), fitted, X, Y, ONLINE).scores for s in sets)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_a_bad_largest_error_is_refused(bad):
    with pytest.raises(ValueError, match="`largest_error > 0` must hold"):
        CalibrationSet(largest_error=bad)


@dataclass(frozen=True)
class OwnUnits:
    """A fitted model that is no Gaussian belief, but has units of its own: hundredths."""

    def predict(self, X):
        return Normal(np.zeros(len(X)), 1.0)

    def leave_one_out(self):
        return np.array([3.0, -4.0]), np.array([100.0, 100.0])

    def in_model_units(self, y):
        return 100.0 * np.asarray(y)


def test_errors_are_compared_with_outcomes_in_the_units_of_the_model():
    y = np.array([-0.5, 0.5])  # a spread of 50 hundredths; the errors are 300 and 400
    found = CalibrationSet(largest_error=1.0).scores(None, OwnUnits(), np.zeros((2, 1)), y, ONLINE)
    np.testing.assert_allclose(found.scores, np.array([3.0, -4.0]) * 50.0 / np.sqrt(125_000.0))
