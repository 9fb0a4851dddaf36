"""Recalibrate an ensemble's forecasts as they come due, and keep what was learned.

An ensemble of five models that agree too much: a common case, and an over-confident one.
Run it: python examples/ensemble_stream.py
"""

import json

import numpy as np

from calibrant import OnlineRecalibrator, Quantiles, recalibrator_from_dict
from calibrant.evaluation import metrics

rng = np.random.default_rng(0)
r = OnlineRecalibrator()
raw_pits, calibrated_pits = [], []

for day in range(1500):
    signal = np.sin(day / 30)
    members = signal + 0.3 * rng.standard_normal(5)  # the ensemble's spread: too small
    forecast = Quantiles.from_samples(members)
    calibrated = r.calibrate(forecast)

    y = signal + 0.8 * rng.standard_normal()  # the outcome arrives
    raw_pits.append(float(forecast.cdf(y)))
    calibrated_pits.append(float(calibrated.cdf(y)))
    r = r.observe(forecast, y)

    if day == 700:  # the process restarts; nothing is lost
        r = recalibrator_from_dict(json.loads(json.dumps(r.to_dict())))

for name, pits in (("raw", raw_pits), ("calibrated", calibrated_pits)):
    print(
        f"{name:>10}: 80 % intervals held {metrics.pit_coverage(pits, 0.8):.1%}, "
        f"calibration score {metrics.calibration_score(pits):.4f} (m = 20)"
    )
