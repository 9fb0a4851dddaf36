"""Evaluation of forecasts: metrics, verdicts, replays of streams and figures.

Owns: metrics, the verdict on intervals, the loop that replays forecasts through a recalibrator, and
figures.
May use: core, forecasts, models, recalibration; plotly in :mod:`~calibrant.evaluation.figures`,
which is loaded on demand.
Public names: below, and :mod:`~calibrant.evaluation.figures`.
"""

from calibrant.evaluation import metrics
from calibrant.evaluation.replay import Replay, replay

__all__ = ["Replay", "metrics", "replay"]
