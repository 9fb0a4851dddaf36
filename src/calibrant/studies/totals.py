"""How many evaluations a study is to have, those included that it has already."""

from __future__ import annotations

from optuna.study import Study

from calibrant.studies.budget import Budget
from calibrant.studies.domain import Domain
from calibrant.studies.evaluations import cut_off
from calibrant.studies.sharing import evaluated

_USUAL = 50  # evaluations
_MOST = 10_000  # of a study with a budget, which ends it


def most_trials(n_trials: int | None, budget: Budget | None) -> int:
    """Return how many evaluations a study is to have, at most."""
    if n_trials is None:
        return _USUAL if budget is None else _MOST
    return n_trials


def at_most(n_trials: int, study: Study, domain: Domain) -> int:
    """Return the number of evaluations, no more than there are candidates to evaluate once."""
    if domain.candidates is None:
        return n_trials
    trials, idle = study.get_trials(deepcopy=False), cut_off(study)
    tried = {
        tuple(trial.params.get(name) for name in domain.distributions)
        for trial in trials
        if trial.state.is_finished() and trial.number not in idle
    }
    untried = domain.candidates.matching(domain.fixed) - tried
    return max(1, min(n_trials, evaluated(study, trials) + len(untried)))
