"""The settings of a study that were evaluated, and which of them meet the constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.core import validate
from calibrant.core.cube import keys
from calibrant.core.typing import FloatArray
from calibrant.core.words import percent
from calibrant.decisions.belief import StudyBelief


@dataclass(frozen=True)
class Settings:
    """The settings that were evaluated; replicates are one setting."""

    X: FloatArray
    rows: tuple[NDArray[np.intp], ...]  # of the history, by setting

    @classmethod
    def of(cls, belief: StudyBelief) -> Settings:
        """Return the settings of the outcomes that a belief stands on."""
        rows: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys(belief.history.X)):
            rows.setdefault(key, []).append(row)
        return cls(
            belief.history.X[[group[0] for group in rows.values()]],
            tuple(np.array(group) for group in rows.values()),
        )

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean over each setting's evaluations."""
        return np.array([values[group].mean() for group in self.rows])

    def pooled(self, values: FloatArray, stds: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the mean over each setting's evaluations, and its standard error.

        Where all of them have a std, the surer ones count more; the error is wider than their stds
        say if they differ by more than that. Otherwise it comes from their differences, and is NaN
        of a single one.
        """
        each = [_pooled(values[rows], None if stds is None else stds[rows]) for rows in self.rows]
        means, errors = np.array(each).reshape(-1, 2).T
        return means, errors

    def trials(self, belief: StudyBelief, index: int) -> tuple[int, ...]:
        """Return the numbers of the trials that evaluated a setting."""
        return tuple(belief.numbers[row] for row in self.rows[index])


def _pooled(values: FloatArray, stds: FloatArray | None) -> tuple[float, float]:
    count = values.size
    if stds is None or np.isnan(stds).any():
        error = float(values.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")
        return float(values.mean()), error
    if (exact := stds == 0.0).any():
        return float(values[exact].mean()), 0.0
    # By the smallest std, so that no square over- or underflows.
    weights = (stds.min() / stds) ** 2
    mean = float(weights @ values / weights.sum())
    error = float(stds.min() / np.sqrt(weights.sum()))
    if count == 1:
        return mean, error
    apart = np.sqrt((((values - mean) / stds) ** 2).sum() / (count - 1))
    return mean, error * max(1.0, float(apart))


def feasibility(belief: StudyBelief, X: FloatArray) -> FloatArray:
    """Return the probability that an evaluation at each point meets all constraints."""
    chances = [quantity.outcome(X).cdf(0.0) for quantity in belief.constraints]
    return np.prod(chances, axis=0) if chances else np.ones(X.shape[0])


def allowed(
    belief: StudyBelief,
    settings: Settings,
    feasible: FloatArray,
    min_feasible: float | None,
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return which settings may be recommended, and what to say where none should be."""
    if min_feasible is not None:
        validate.probability_level("min_feasible", min_feasible)
        if not belief.constraints:
            raise ValueError(
                f"The study has no constraints that `min_feasible={min_feasible}` could be about; "
                "leave it out, or report some with `trial.set_constraint`."
            )
        kept = np.flatnonzero(feasible >= min_feasible)
        wish = f"with probability {percent(min_feasible)}"
    else:
        met = settings.mean(belief.history.feasible.astype(float)) == 1.0
        kept = np.flatnonzero(met)
        wish = "in all its evaluations"
    if kept.size:
        return kept, ()
    best = int(np.argmax(feasible))
    return np.array([best]), (
        f"No setting meets the constraints {wish}; this is the one most likely to, "
        f"with probability {percent(float(feasible[best]))}.",
    )
