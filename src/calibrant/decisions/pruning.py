"""A pruner that gives up a trial when it is improbable that it becomes one of the best.

    finished trials ──▶ (report at this step, final value) ──▶ regression ──▶ forecast of the final
    value of the running one ──▶ recalibrated ──▶ P(one of the best) < level: prune

Which trials finish depends on their reports, and so does the regression, so that the choice of what
finishes does not bias it. A share of the trials that it would prune may finish all the same: from
these its own error rate is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy.special import betaincinv, stdtr

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.core.words import count, percent
from calibrant.forecasts.output_maps.power import Outputs, fit_map
from calibrant.recalibration.gaussian import GaussianRecalibrator
from calibrant.studies import optuna_private
from calibrant.studies.suggestions import signs

_DOOMED = "calibrant:doomed"  # trial note: what it did not promise to reach, when first pruned
_LEAST = 5  # trials that must have finished and reported at a step, for a line and its scatter
_SLOPE = 1.0  # outcome's worth of the prior that what is missing does not depend on the report
_REACH = 5.0  # stds of reports: as far as a line is believed
_RECALIBRATOR = GaussianRecalibrator(strength=5.0, limit=2.5)  # slowly, and not from outliers


class CalibratedPruner(BasePruner):
    """Prunes a trial when the calibrated probability that it becomes one of the best is low.

    >>> import optuna
    >>> from calibrant import CalibratedPruner
    >>> study = optuna.create_study(pruner=CalibratedPruner(level=0.05, seed=0))

    Args:
        level: prune below this probability.
        best: the share of trials that count as the best; one more is added, as with few trials it
            is uncertain which they are.
        audit: the share of trials to be pruned that may finish, so that :meth:`review` can tell how
            often pruning was wrong. 0: none, and the error rate stays unknown.
        n_startup_trials: how many trials must have finished first.
        n_warmup_steps: no trial is pruned before this step.
        seed: of the choice of what may finish.
    """

    def __init__(
        self,
        level: float = 0.05,
        *,
        best: float = 0.1,
        audit: float = 0.1,
        n_startup_trials: int = _LEAST,
        n_warmup_steps: int = 0,
        seed: int = 0,
    ) -> None:
        for name, value in (("level", level), ("best", best)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"`0 < {name} < 1` must hold, but got {name}={value}.")
        if not 0.0 <= audit < 1.0:
            raise ValueError(f"`0 <= audit < 1` must hold, but got audit={audit}.")
        self._level, self._best, self._audit = level, best, audit
        self._least = max(_LEAST, validate.at_least("n_startup_trials", n_startup_trials, 0))
        self._warmup = validate.at_least("n_warmup_steps", n_warmup_steps, 0)
        self._seed = validate.at_least("seed", seed, 0)

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        step = trial.last_step
        if step is None or step < self._warmup:
            return False
        if np.isnan(trial.intermediate_values[step]):  # it has diverged: nothing to wait for
            return True
        probability = self.probability(study, trial)
        if probability is None or probability >= self._level:
            return False
        if optuna_private.trial_note(trial, _DOOMED) is None:
            record = {"step": step, "probability": probability, "goal": self._goal(study)}
            optuna_private.note_trial(study, trial, _DOOMED, record)
        return not self._is_audited(trial)

    def probability(self, study: Study, trial: FrozenTrial) -> float | None:
        """Return the probability that a running trial becomes one of the best, or None.

        It is None while too few trials have finished that reported at the same step.
        """
        sign, step = _sign(study), trial.last_step
        finished = _finished(study)
        known = np.array(
            [
                (sign * one.intermediate_values[step], sign * one.value)
                for one in finished
                if step in one.intermediate_values and one.value is not None
            ]
        ).reshape(-1, 2)
        known = known[np.isfinite(known).all(axis=1)]
        if step is None or len(known) < self._least:
            return None
        report = sign * trial.intermediate_values[step]
        if not np.isfinite(report):
            return None
        return _reaches(known, float(report), self._goal(study))

    def review(self, study: Study) -> PruningReview:
        """Return how often trials that were to be pruned, and finished, became one of the best.

        That is, one of the best at the time: what was promised about them then.
        """
        finished = audited(study)
        pruned = study.get_trials(deepcopy=False, states=(TrialState.PRUNED,))
        wrong = sum(became for _, became in finished)
        return PruningReview(len(pruned), len(finished), wrong, self._level)

    def _goal(self, study: Study) -> float:
        """Return the value, minimised, of the last of the best; what was pruned is none of them."""
        sign = _sign(study)
        values = [sign * one.value for one in _finished(study) if one.value is not None]
        pruned = len(study.get_trials(deepcopy=False, states=(TrialState.PRUNED,)))
        # One place more: of few trials, the best tenth of all to come is not yet known well.
        place = min(1 + round(self._best * (len(values) + pruned)), len(values))
        return float(np.sort(values)[place - 1])

    def _is_audited(self, trial: FrozenTrial) -> bool:
        """Whether the trial may finish in any case: the same at each step, for each worker."""
        return bool(np.random.default_rng([self._seed, trial.number]).random() < self._audit)


def audited(study: Study) -> list[tuple[float, bool]]:
    """Return what was said of trials that were to be pruned and were let finish, and what came.

    That is, the probability that it becomes one of the best, and whether it did: one of the best at
    the time, which is what was promised about it then.
    """
    sign = _sign(study)
    return [
        (float(note["probability"]), bool(sign * one.value <= note["goal"]))
        for one in _finished(study)
        if (note := optuna_private.trial_note(one, _DOOMED)) is not None and one.value is not None
    ]


@dataclass(frozen=True)
class PruningReview:
    """How a pruner did.

    Args:
        pruned: the trials that were pruned.
        audited: the trials that would have been, and were let finish.
        wrong: how many of these became one of the best.
        level: the probability below which trials are pruned.
    """

    pruned: int
    audited: int
    wrong: int
    level: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the share of pruned trials that would have become one of the best.

        Clopper's and Pearson's: it holds at least that often.
        """
        if not self.audited:
            return 0.0, 1.0
        low = betaincinv(self.wrong, self.audited - self.wrong + 1, 0.05) if self.wrong else 0.0
        right = self.audited - self.wrong
        high = betaincinv(self.wrong + 1, right, 0.95) if right else 1.0
        return float(low), float(high)

    def __str__(self) -> str:
        if not self.audited:
            return (
                f"{count(self.pruned, 'trial')} pruned. None that was to be pruned has been let "
                "finish yet: how often pruning is wrong is not known."
            )
        low, high = self.interval
        return (
            f"{count(self.pruned, 'trial')} pruned. Of {self.audited} more that were to be pruned "
            f"and were let finish, {self.wrong} became one of the best: between {percent(low)} and "
            f"{percent(high)} of pruned trials would have, where less than {percent(self.level)} "
            "each was promised."
        )


class _Line(NamedTuple):
    """A regression of what is missing at a report on the report, in standardised units."""

    mean: float
    std: float
    freedom: float  # degrees of it
    scores: FloatArray  # of each known one, forecast from all others


def _reaches(known: FloatArray, report: float, goal: float) -> float:
    """Return the calibrated probability that a trial ends at the goal or below.

    Args:
        known: report at this step and final value of finished trials, (n, 2).
        report: of the trial.
        goal: the value to reach.
    """
    outputs = fit_map(Outputs.YEO_JOHNSON, known.ravel())
    reports, finals = outputs(known).T
    line = _line(reports, finals - reports, float(outputs(report)))
    residual = _RECALIBRATOR.update_scores(line.scores).residual
    score = (float(outputs(goal)) - float(outputs(report)) - line.mean) / line.std
    # Student's: the scatter around a line through a handful of trials is not known well.
    return float(stdtr(line.freedom, (score - residual.mean()) / residual.std()))


def _line(x: FloatArray, missing: FloatArray, here: float) -> _Line:
    """Fit a line with a shrunken slope, and forecast at ``here``."""
    centre, spread = x.mean(), float(x.std()) or 1.0
    design = np.column_stack([np.ones(x.size), (x - centre) / spread])
    inverse = np.linalg.inv(design.T @ design + np.diag([0.0, _SLOPE]))
    weights = inverse @ design.T @ missing
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    errors = missing - design @ weights
    # The variance has a floor, for curves that repeat themselves.
    freedom = float(x.size - leverage.sum())
    variance = max(float(errors @ errors) / freedom, 1e-12)
    scores = errors / np.sqrt(variance * np.maximum(1.0 - leverage, 1e-9))
    new = np.array([1.0, np.clip((here - centre) / spread, -_REACH, _REACH)])
    std = float(np.sqrt(variance * (1.0 + new @ inverse @ new)))
    return _Line(float(new @ weights), std, freedom, np.clip(scores, -8.0, 8.0))


def _sign(study: Study) -> float:
    """Return what turns the objective into one to be minimised."""
    if len(study.directions) != 1:
        raise ValueError(
            f"Pruning needs a single objective, but the study has {len(study.directions)}: Optuna "
            "keeps no reports of several."
        )
    return float(signs(study)[0])


def _finished(study: Study) -> list[FrozenTrial]:
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [one for one in trials if one.value is not None and np.isfinite(one.value)]
