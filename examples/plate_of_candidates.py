"""A laboratory with 500 molecules and plates of eight wells: which molecules to measure next?

python examples/plate_of_candidates.py
"""

import numpy as np
import optuna
from optuna.distributions import FloatDistribution, IntDistribution

import calibrant

optuna.logging.set_verbosity(optuna.logging.WARNING)
rng = np.random.default_rng(0)
molecules = {
    f"M{i:03d}": {"weight": w, "charge": c, "rings": int(r)}
    for i, (w, c, r) in enumerate(
        zip(rng.uniform(100, 500, 500), rng.normal(size=500), rng.integers(0, 5, 500), strict=True)
    )
}
ranges = {
    "weight": FloatDistribution(100, 500),
    "charge": FloatDistribution(-4, 4),
    "rings": IntDistribution(0, 4),
}


def activity(name):
    """Stand in for the measurement."""
    p = molecules[name]
    return -(((p["weight"] - 310) / 100) ** 2) - (p["charge"] - 0.5) ** 2 + 0.3 * p["rings"]


study = optuna.create_study(direction="maximize")
forecasts = []
for plate in range(4):
    # Heavy and strongly charged molecules do not dissolve.
    wells = calibrant.suggest(
        study,
        8,
        candidates=molecules,
        space=ranges,
        such_that="weight + 100 * abs(charge) <= 450",
        seed=plate,
    )
    for well in wells:
        if well.interval is not None:  # none before there is a model
            low, high = well.interval
            forecasts.append(low <= activity(well.name) <= high)
        study.add_trial(
            optuna.create_trial(
                params=molecules[well.name],
                distributions=ranges,
                value=activity(well.name),
                user_attrs={"candidate": well.name},
            )
        )
    best = study.best_trial
    print(f"plate {plate}: best {best.value:.3f}, {best.user_attrs['candidate']}")
print(f"{np.mean(forecasts):.0%} of {len(forecasts)} 80 % intervals held")
