"""Evaluation of forecasts: metrics, replays of streams, figures and HTML reports.

Owns: metrics, the loop that replays forecasts through a recalibrator, figures of both, and reports.
May use: core, forecasts, models, recalibration; plotly in :mod:`~calibrant.evaluation.figures` and
the reports that use it, which are loaded on demand.
Public names: below, and :mod:`~calibrant.evaluation.figures`.
"""

from calibrant.evaluation import metrics
from calibrant.evaluation.replay import Replay, replay

__all__ = ["Replay", "metrics", "replay"]
