"""Experiment trackers: a callback that logs what was forecast, what came, and the report.

``Tracker(MLflow(experiment="digits"))`` or ``Tracker(WeightsAndBiases(project="digits"))`` is a
callback for ``study.optimize``. Needs MLflow or Weights & Biases, each a package of its own.
"""

from calibrant.bridges.tracking.facts import Facts, Tally
from calibrant.bridges.tracking.mlflow import MLflow
from calibrant.bridges.tracking.tracker import Recorder, Tracker
from calibrant.bridges.tracking.wandb import WeightsAndBiases

__all__ = ["Facts", "MLflow", "Recorder", "Tally", "Tracker", "WeightsAndBiases"]
