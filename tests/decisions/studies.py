"""Studies of one parameter, whose trials nobody suggested."""

import numpy as np
import optuna
from optuna.trial import create_trial

FLOAT = optuna.distributions.FloatDistribution


def study_of(values, points, directions=("minimize",), **kwargs):
    """Return the study in which some points have these values."""
    study = optuna.create_study(directions=list(directions))
    for value, x in zip(values, points, strict=True):
        values_here = list(np.atleast_1d(value))
        study.add_trial(
            create_trial(
                values=values_here, params={"x": x}, distributions={"x": FLOAT(0.0, 1.0)}, **kwargs
            )
        )
    return study


def noisy_study(count=60, noise=0.3, seed=0, sign=1.0):
    rng = np.random.default_rng(seed)
    points = rng.random(count)
    values = sign * (3.0 * np.cos(5.0 * points) + noise * rng.standard_normal(count))
    return study_of(values, points, ["minimize" if sign > 0 else "maximize"])
