"""bcr-GP and tcGP: a generalised normal residual of all scores, and of the low ones."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from calibrant import GaussianRecalibrator, Optimizer
from calibrant.models import GaussianProcess, Matern52
from calibrant.recalibration import GeneralisedNormalRecalibrator, LowerTail, ScoreLog
from calibrant.recalibration.generalised_normal import distance

RNG = np.random.default_rng(0)


def fitted(factor=1.0, count=30):
    """Return a process, its fit and outcomes; the scores are as if its std were off by a factor."""
    X = RNG.random((count, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2
    process = GaussianProcess(Matern52(), "standardise")
    return process, process.fit(X, y), X, y


@pytest.mark.parametrize(("spread", "shape"), [(2.5, 2.0), (0.3, 2.0), (1.0, 1.0)])
def test_scale_and_tails_are_found(spread, shape):
    scores = stats.gennorm(shape).rvs(2000, random_state=1)
    scores *= spread / scores.std()
    residual = GeneralisedNormalRecalibrator().update_scores(scores).residual
    assert residual.std() == pytest.approx(spread, rel=0.1)
    assert residual.shape == pytest.approx(shape, rel=0.3)


def test_without_a_threshold_the_distance_is_that_of_kolmogorov_and_smirnov():
    pits = RNG.random(40) ** 1.5
    assert distance(pits, np.ones(40)) == pytest.approx(stats.kstest(pits, "uniform").statistic)


def test_the_distance_below_a_threshold_is_the_one_defined():
    scores, thresholds = RNG.normal(size=25), RNG.normal(size=25)
    pits, limits, below = ndtr(scores), ndtr(thresholds), scores <= thresholds
    places = np.unique(np.concatenate([pits[below], pits[below] - 1e-9, [1.0]]))
    gaps = [abs(np.mean(below & (pits <= u)) - np.mean(np.minimum(u, limits))) for u in places]
    assert distance(pits[below], limits) == pytest.approx(max(gaps), abs=1e-6)


def test_thresholds_are_scores_of_the_threshold_under_forecasts_without_the_outcome():
    process, fit, X, y = fitted(count=12)
    log = LowerTail(share=0.3).scores(process, fit, X, y, ScoreLog())
    threshold = np.quantile(y, 0.3)
    for i in range(y.size):
        others = np.arange(y.size) != i
        # The same units and hyper-parameters, as leave-one-out in closed form has them.
        known = GaussianProcess(Matern52(), fit.outputs)
        forecast = known.at(fit.theta, X[others], y[others]).predict(X[i : i + 1])
        assert log.thresholds[i] == pytest.approx(float(forecast.score(threshold)[0]), rel=1e-6)
        assert log.scores[i] == pytest.approx(float(forecast.score(y[i])[0]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("factor", [0.2, 3.0])
def test_the_calibrated_tail_holds_the_share_of_outcomes_below_the_threshold(factor):
    """Forecasts with a wrong std are as often below the threshold as they say, once calibrated."""
    rng = np.random.default_rng(2)
    mean = rng.normal(size=3000)
    y = mean + rng.normal(size=3000)
    threshold = np.quantile(y, 0.25)
    z, c = (y - mean) / factor, (threshold - mean) / factor
    residual = GeneralisedNormalRecalibrator().update_scores(z, c).residual
    assert abs(np.mean(ndtr(c)) - 0.25) > 0.03  # as it says uncalibrated
    # The share of 3,000 outcomes is itself known to ± 0.016.
    assert np.mean(residual.cdf(c)) == pytest.approx(0.25, abs=0.016)
    # … and the PITs of what is below are uniform there: half of them in the lower half.
    low = z <= c
    share = residual.cdf(z[low]) / residual.cdf(c[low])
    assert np.mean(share < 0.5) == pytest.approx(0.5, abs=0.05)


def test_what_happens_above_the_threshold_does_not_count():
    scores, thresholds = np.array([-3.0, -1.0, 2.0, 5.0]), np.zeros(4)
    once = GeneralisedNormalRecalibrator().update_scores(scores, thresholds)
    other = GeneralisedNormalRecalibrator().update_scores([-3.0, -1.0, 0.1, 400.0], thresholds)
    assert (once.residual.shape, once.residual.std()) == (
        other.residual.shape,
        other.residual.std(),
    )


def test_another_recalibrator_learns_from_all_scores_of_a_lower_tail():
    process, fit, X, y = fitted()
    log = LowerTail().scores(process, fit, X, y, ScoreLog())
    learned = log.recalibrate(GaussianRecalibrator(5.0))
    assert learned == GaussianRecalibrator(5.0).update_scores(fit.leave_one_out()[0])


def test_a_search_with_a_lower_tail():
    optimizer = Optimizer(
        2, recalibrator=GeneralisedNormalRecalibrator(), calibration_set=LowerTail(), seed=0
    )
    for _ in range(12):
        x = optimizer.ask()
        optimizer.tell(x, float(((x - 0.3) ** 2).sum()))
    assert optimizer.best[1] < 0.02


def test_one_outcome_says_nothing():
    process, fit, X, y = fitted(count=1)
    assert len(LowerTail().scores(process, fit, X, y, ScoreLog())) == 0


class NoProcess:
    def predict(self, X):
        raise NotImplementedError


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="`0 < share < 1` must hold"):
        LowerTail(share=0.0)
    with pytest.raises(TypeError, match="`LowerTail` needs a model with leave-one-out"):
        LowerTail().scores(None, NoProcess(), np.zeros((2, 1)), np.zeros(2), ScoreLog())
    with pytest.raises(ValueError, match="`thresholds` must hold one number per score"):
        GeneralisedNormalRecalibrator([0.0, 1.0], [1.0])
