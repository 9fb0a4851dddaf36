"""One step of a search, from what is known to the next point, and ask and tell around it.

Owns: the history that a step starts from, the initial design, the step itself, the search for the
best point on the cube, and what a user who sets nothing gets.
May use: core, forecasts, models, recalibration, acquisition. It does not know Optuna.
Public names: below.
"""

from calibrant.search.optimizer import Optimizer

__all__ = ["Optimizer"]
