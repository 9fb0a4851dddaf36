"""Searches as Optuna studies: sampler, storage, running, looking back.

Owns: Optuna's side of everything: its distributions as a cube, its trials as a history, its loop,
its storages; reviews of studies.
May use: all rooms before it, and Optuna; Optuna's private names in
:mod:`~calibrant.studies.optuna_private` only.
Public names: below.
"""

from calibrant.studies.budget import Budget
from calibrant.studies.earlier import Earlier
from calibrant.studies.front_review import FrontReview, ObjectiveReview, review_front
from calibrant.studies.measured import set_cost, set_std
from calibrant.studies.minimize import maximize, minimize
from calibrant.studies.review import Review, review
from calibrant.studies.sampler import CalibratedSampler
from calibrant.studies.storage import StorageLost, open_storage
from calibrant.studies.structure import ordered, permutation, when

__all__ = [
    "Budget",
    "CalibratedSampler",
    "Earlier",
    "FrontReview",
    "ObjectiveReview",
    "Review",
    "StorageLost",
    "maximize",
    "minimize",
    "open_storage",
    "ordered",
    "permutation",
    "review",
    "review_front",
    "set_cost",
    "set_std",
    "when",
]
