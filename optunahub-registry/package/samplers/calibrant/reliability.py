"""The reliability of a study's forecasts, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant import figures, review

if TYPE_CHECKING:
    from optuna.study import Study
    from plotly.graph_objects import Figure


def plot_reliability(study: Study) -> Figure:
    """Draw how often outcomes fell below each level of their forecasts, raw and calibrated.

    On the diagonal, forecasts are true: half of all outcomes lie below the median, and so on.

    Args:
        study: a study of one objective that `CalibratedSampler` has run, with at least one outcome
            that was forecast.
    """
    found = review(study)
    if not found.pits.size:
        raise ValueError(
            f"A reliability plot needs outcomes that were forecast, but none of the "
            f"{len(found.numbers)} trials has a forecast: CalibratedSampler makes them after its "
            "first five trials."
        )
    return figures.reliability({"raw": found.raw_pits, "calibrated": found.pits})
