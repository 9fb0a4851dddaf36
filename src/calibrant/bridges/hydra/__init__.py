"""Hydra's multirun as a calibrated search; ``hydra/sweeper=calibrant`` opens it.

The plugin that Hydra finds is ``hydra_plugins.calibrant_sweeper``; here is what it does.
"""

from calibrant.bridges.hydra.space import SweepSpace, parse
from calibrant.bridges.hydra.sweep import Sweep, write_results

__all__ = ["Sweep", "SweepSpace", "parse", "write_results"]
