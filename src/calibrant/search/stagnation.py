"""What a search of one objective does when nothing better comes: it doubts its model.

After so many suggestions in a row without an improvement, its *patience*, forecasts are made wider
and wider. After a long stagnation, every other suggestion refines the best point instead.
"""

from __future__ import annotations

import numpy as np

from calibrant.models.protocol import FittedModel
from calibrant.search.history import History
from calibrant.search.incumbent import sees_noise

_LATE = 2  # times the patience: from then on every other suggestion refines the best point
_WIDEST_REACH, _NARROWEST_REACH = 0.2, 0.005  # of the cube, to each side of the best point
_WIDEST = 3.0  # times the std: as far as stagnation widens forecasts


def reach(history: History, patience: int | None, fitted: FittedModel) -> float | None:
    """Return how far from the best point a suggestion may be; None: anywhere.

    Refinements come closer and closer, while the suggestions between them look further and further
    away. There are none under noise, where there is nothing to refine to.
    """
    if patience is None or history.Y.shape[1] > 1:
        return None
    late = history.stagnation - _LATE * patience
    if late < 0 or late % 2 or sees_noise(fitted):
        return None
    return float(max(_WIDEST_REACH * 0.5 ** (late / patience), _NARROWEST_REACH))


def stretch(history: History, patience: int | None) -> float:
    """Return by how much to widen forecasts; 1 as long as patience lasts."""
    if patience is None or history.Y.shape[1] > 1:
        return 1.0
    return float(np.clip(history.stagnation / patience, 1.0, _WIDEST))
