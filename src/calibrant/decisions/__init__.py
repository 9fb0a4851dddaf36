"""Decisions about a study: what a setting would give, which one to use, what is worth doing next.

Owns: what the trials of any study, whoever sampled them, make one believe; and the statements that
follow from it, with probabilities that are recalibrated.
May use: all rooms before it, and Optuna's public names.
Public names: below.
"""

from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.explain import Explanation, explain
from calibrant.decisions.forecast import Outcomes, SettingForecast, forecast
from calibrant.decisions.importance import importance
from calibrant.decisions.looking_back import review
from calibrant.decisions.outlook import Outlook, outlook
from calibrant.decisions.pruning import CalibratedPruner
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.recommend import recommend
from calibrant.decisions.recommendation import Candidate, Front, Recommendation
from calibrant.decisions.slices import Contour, Slice, Slices, contour, slices
from calibrant.decisions.stopping import StopWhen
from calibrant.decisions.suggest import Proposal, suggest

__all__ = [
    "CalibratedPruner",
    "Candidate",
    "Contour",
    "Explanation",
    "Front",
    "Outcomes",
    "Outlook",
    "Proposal",
    "Quantity",
    "Recommendation",
    "SettingForecast",
    "Slice",
    "Slices",
    "StopWhen",
    "StudyBelief",
    "believe",
    "contour",
    "explain",
    "forecast",
    "importance",
    "outlook",
    "recommend",
    "review",
    "slices",
    "suggest",
]
