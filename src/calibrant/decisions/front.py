"""The front of several objectives: the settings among which a person has to choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray
from calibrant.decisions.belief import StudyBelief
from calibrant.decisions.recommendation import TAIL, Front, FrontSetting, in_user_sign
from calibrant.decisions.settings import Settings

_DRAWS = 500  # of all objectives at all settings
_SEED = 0  # the same study gets the same answer


def front(
    belief: StudyBelief,
    settings: Settings,
    feasible: FloatArray,
    kept: NDArray[np.intp],
    warnings: tuple[str, ...],
) -> Front:
    """Return the settings that no other is expected to be better than, of those kept."""
    X = settings.X[kept]
    rng = np.random.default_rng(_SEED)
    draws = np.stack([q.draws(X, _DRAWS, rng) for q in belief.objectives], axis=-1)
    means = draws.mean(axis=0)
    chances = np.mean([_not_dominated(Y) for Y in draws], axis=0)
    ends = np.quantile(draws, [TAIL, 1.0 - TAIL], axis=0)
    signs = [quantity.sign for quantity in belief.objectives]
    chosen = np.flatnonzero(_not_dominated(means))
    return Front(
        tuple(
            FrontSetting(
                belief.settings(X[i][None])[0],
                settings.trials(belief, kept[i]),
                tuple(float(s * value) for s, value in zip(signs, means[i], strict=True)),
                tuple(in_user_sign(ends[:, i, j], sign) for j, sign in enumerate(signs)),
                float(chances[i]),
                float(feasible[kept[i]]),
            )
            for i in chosen[np.argsort(means[chosen, 0])]
        ),
        warnings,
    )


def _not_dominated(Y: FloatArray) -> NDArray[np.bool_]:
    """Return which rows no other row is better than in all columns, or as good and once better."""
    as_good = np.all(Y[None] <= Y[:, None], axis=2)
    better = np.any(Y[None] < Y[:, None], axis=2)
    return np.asarray(~np.any(as_good & better, axis=1))
