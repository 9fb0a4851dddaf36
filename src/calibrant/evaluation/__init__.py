"""How good forecasts were: scoring rules, replays of streams, figures, a page.

Owns: metrics, the loop that replays forecasts through a recalibrator, figures of both.
May use: core, forecasts, models, recalibration; plotly in :mod:`~calibrant.evaluation.figures` and
what draws with it, which are loaded when they are asked for.
Public names: below, and :mod:`~calibrant.evaluation.figures`.
"""

from calibrant.evaluation import metrics
from calibrant.evaluation.replay import Replay, replay

__all__ = ["Replay", "metrics", "replay"]
