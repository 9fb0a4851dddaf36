"""The methods compared: each plays 99 quantiles, then sees the outcome.

The raw forecast is N(0, 1) throughout, so outcomes are normal scores. ``play()`` returns the
quantiles, ±inf allowed; ``see(z)`` takes the outcome. Nothing here is counted by the methods
themselves: the referee in ``run.py`` compares outcomes with what was played.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from calibrant import ChainRecalibrator, Normal, OnlineRecalibrator

LEVELS = np.arange(1, 100) / 100
RAW = Normal(0.0, 1.0)


class Calibrant:
    """calibrant.OnlineRecalibrator."""

    def __init__(self, rate):
        self.recalibrator = OnlineRecalibrator(LEVELS, rate)

    def play(self):
        return self.recalibrator.calibrate(RAW).quantile(self.recalibrator.levels)

    def see(self, z):
        self.recalibrator = self.recalibrator.observe(RAW, z)


class CalibrantChain(Calibrant):
    """calibrant.ChainRecalibrator: location and scale first, then online."""

    def __init__(self, rate):
        self.recalibrator = ChainRecalibrator(then=OnlineRecalibrator(LEVELS, rate))

    def play(self):
        return self.recalibrator.calibrate(RAW).quantile(LEVELS)


class Tracker:
    """Online gradient descent level by level, with variations that others use or suggest."""

    def __init__(self, rate):
        self.rate, self.theta = rate, LEVELS.copy()

    def levels_played(self):
        raise NotImplementedError

    def levels_counted(self):
        return self.levels_played()

    def play(self):
        return ndtri(np.clip(self.levels_played(), 0.0, 1.0))

    def see(self, z):
        hit = z <= ndtri(np.clip(self.levels_counted(), 0.0, 1.0))
        self.theta = self.theta + self.rate * (LEVELS - hit)


class LazyProjection(Tracker):
    """Isotonic play, hits counted on what was played; no rule for exhausted allowances."""

    def levels_played(self):
        return isotonic_regression(self.theta).x


class ClippedState(LazyProjection):
    """The same with the state kept inside [0.001, 0.999], to avoid infinite quantiles."""

    def see(self, z):
        super().see(z)
        self.theta = np.clip(self.theta, 0.001, 0.999)


class SortedAfterwards(Tracker):
    """Levels learn one by one; the quantiles shown are sorted."""

    def levels_played(self):
        return np.sort(self.theta)

    def levels_counted(self):
        return self.theta


class AdaptiveConformal:
    """ACI (Gibbs and Candès 2021) for each level: quantiles of past scores at adapted levels."""

    def __init__(self, rate):
        self.rate, self.theta = rate, LEVELS.copy()
        self.past = np.array([-np.inf, np.inf])  # sorted, between two sentinels

    def play(self):
        n = self.past.size - 2
        if n == 0:
            return ndtri(LEVELS)
        rank = np.ceil(self.theta * (n + 1)).astype(int)  # conformal rank among n + 1
        return self.past[np.clip(rank, 0, n + 1)]

    def see(self, z):
        self.theta = self.theta + self.rate * (LEVELS - (z <= self.play()))
        self.past = np.insert(self.past, np.searchsorted(self.past, z), z)


class Crepes:
    """A conformal predictive system of crepes, fitted anew to all residuals every 100 outcomes."""

    def __init__(self, rate):
        self.past, self.quantiles = [], ndtri(LEVELS)

    def play(self):
        return self.quantiles

    def see(self, z):
        from crepes import ConformalPredictiveSystem

        self.past.append(z)
        if len(self.past) % 100 == 0:
            system = ConformalPredictiveSystem().fit(np.array(self.past))
            percentiles = (100 * LEVELS).tolist()
            ends = system.predict_percentiles(np.zeros(1), higher_percentiles=percentiles)
            self.quantiles = np.ravel(ends)


class Mapie:
    """MAPIE's ACI for time series: 49 central intervals and the median give the 99 levels."""

    def __init__(self, rate):
        from mapie.regression import TimeSeriesRegressor
        from sklearn.dummy import DummyRegressor

        self.rate = rate
        self.coverages = np.round(1.0 - 2.0 * LEVELS[48::-1], 2).tolist()  # 0.02 … 0.98
        model = DummyRegressor(strategy="constant", constant=0.0).fit([[0.0]], [0.0])
        self.model = TimeSeriesRegressor(model, method="aci", cv="prefit")
        # It wants scores to start from: those of a calibrated model.
        start = ndtri((np.arange(200) + 0.5) / 200)
        self.model.fit(np.zeros((200, 1)), start)

    def play(self):
        _, ends = self.model.predict(
            np.zeros((1, 1)), confidence_level=self.coverages, allow_infinite_bounds=True
        )
        return np.concatenate([ends[0, 0, ::-1], [0.0], ends[0, 1]])

    def see(self, z):
        z = float(np.clip(z, -1e6, 1e6))
        self.model.adapt_conformal_inference(
            np.zeros((1, 1)), np.array([z]), gamma=self.rate, confidence_level=self.coverages
        )
        self.model.update(np.zeros((1, 1)), np.array([z]))


METHODS = {
    "calibrant online": Calibrant,
    "calibrant chain": CalibrantChain,
    "plain lazy projection": LazyProjection,
    "clipped state": ClippedState,
    "sorted afterwards": SortedAfterwards,
    "ACI per level": AdaptiveConformal,
    "crepes": Crepes,
    "MAPIE ACI": Mapie,
}
