"""Which point a trial gets: of a design at first, then where the model says.

What a sampler knows of a study's trials, and what other workers do meanwhile, is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.core.cube import Cube, Design
from calibrant.core.typing import FloatArray
from calibrant.search.earlier import first_point
from calibrant.search.history import History
from calibrant.search.initial_design import is_startup, startup_point
from calibrant.search.notices import Notices
from calibrant.search.step import Fits, Policy, Suggestion
from calibrant.search.training import TrainingData
from calibrant.studies import optuna_private
from calibrant.studies.archive import Archive
from calibrant.studies.budget import Budget
from calibrant.studies.coordinates import Internal
from calibrant.studies.domain import Domain
from calibrant.studies.earlier import EarlierStudies
from calibrant.studies.pricing import Pricing
from calibrant.studies.randomness import Randomness
from calibrant.studies.space import Space
from calibrant.studies.suggestions import signs

_DESIGN_KEY = "calibrant:design"  # the seed of the first points, shared by all workers


class Chooser:
    """Chooses the points of a study's trials, one after the other.

    Args:
        policy: how, as soon as there is a model.
        domain: what may be tried.
        random: where random numbers come from.
        n_startup_trials: how many trials must have finished before the model is asked.
        design: how these are spread.
        reference: for each objective the worst value of any use, in the study's own units; None:
            it is inferred.
        earlier: studies of related problems.
        budget: of what trials cost, if there is one.
    """

    def __init__(
        self,
        policy: Policy,
        domain: Domain,
        random: Randomness,
        n_startup_trials: int,
        design: Design,
        reference: tuple[float, ...] | None,
        earlier: EarlierStudies,
        budget: Budget | None,
    ) -> None:
        self.policy, self._domain, self._random = policy, domain, random
        self._n_startup_trials, self._design = n_startup_trials, design
        self._reference, self._earlier, self._budget = reference, earlier, budget
        self._notices = Notices()
        self._forget()

    def _forget(self) -> None:
        self.pricing = None if self._budget is None else Pricing(self._budget)
        self._last: tuple[Mapping[str, BaseDistribution], Fits] = ({}, Fits())

    def check(self, study: Study) -> None:
        """Raise unless the reference point, and earlier studies, are of such a study."""
        given, objectives = self._reference, len(study.directions)
        if given is not None and len(given) != objectives:
            raise ValueError(
                f"`reference_point` must hold one number per objective, but got {len(given)} for a "
                f"study of {objectives}; of one, or of five and more, leave it out."
            )
        self._earlier.check(study)

    def choose(
        self,
        study: Study,
        trial: FrozenTrial,
        space: Space,
        archive: Archive,
        pending: Sequence[Internal],
        fixed: Internal,
    ) -> Suggestion:
        """Return a point and, as soon as there is a model, what it forecasts of it.

        Args:
            study: of the trial.
            trial: that is to get the point.
            space: of the study.
            archive: what its finished trials say.
            pending: points that other trials have.
            fixed: values that are given rather than chosen.
        """
        history = archive.history(space, len(study.directions), pending)
        given = len(fixed) == space.cube.dim  # nothing is left to choose
        part = space.cube if given else self._domain.cube(space, fixed)
        if is_startup(history, self._n_startup_trials):
            if given:
                return Suggestion(space.row(space.existing(fixed)))
            taken, notices = self.policy.taken(history, part)
            self._notices.say(notices)
            own = self._own_place(study, trial, space, history, part, taken)
            x = startup_point(own, part, taken, self._random.rng)
            if self.pricing is not None:
                self.pricing.update(archive, space)
                x = self.pricing.affordable(x, space, study, trial, part)
            x = self._settled(space, x, fixed)
            return Suggestion(x, cost=self._expected_cost(x, space))
        policy, data, fits = self._fitted(study, space, history)
        self._last = (space.distributions, fits)
        self._notices.say(data.notices)
        frugality = None
        if self.pricing is not None:
            self.pricing.update(archive, space)
            frugality = self.pricing.frugality(study, trial)
        if given:
            x = space.row(space.existing(fixed))
        else:
            chosen, notices = policy.choose(history, data, fits, part, self._random.rng, frugality)
            self._notices.say(notices)
            x = self._settled(space, chosen, fixed)
        suggestion = policy.forecast(x, data, fits)
        return replace(suggestion, cost=self._expected_cost(x, space))

    def fits(self, study: Study, space: Space, history: History) -> Fits:
        """Return the models that the next point would be chosen by.

        They are not kept: a look at forecasts must not change what is suggested next.
        """
        return self._fitted(study, space, history)[2]

    def _fitted(
        self, study: Study, space: Space, history: History
    ) -> tuple[Policy, TrainingData, Fits]:
        """Fit the models that choose the next point.

        They continue from those of the last suggestion if parameters are the same.
        """
        policy = self._policy_of(study, space)
        data = policy.prepare(history, space.cube)
        last_space, last_fits = self._last
        last = last_fits if last_space == space.distributions else None
        return policy, data, policy.fit(data, space.cube, last)

    def _expected_cost(self, x: FloatArray, space: Space) -> float | None:
        return None if self.pricing is None else self.pricing.expected(x, space)

    def _settled(self, space: Space, x: FloatArray, fixed: Internal) -> FloatArray:
        """Return the point that a trial has whose other values are given."""
        return space.row(space.existing({**self._domain.internal(space, x), **fixed}))

    def _policy_of(self, study: Study, space: Space) -> Policy:
        """Return the policy, with what this study says, and earlier ones taught.

        The reference point is as the study's objectives are minimised.
        """
        policy = self.policy
        if self._earlier:
            policy = replace(policy, model=self._earlier.informed(policy.model, space))
            self._notices.say(self._earlier.notices)
        if self._reference is None:
            return policy
        flipped = tuple(float(value) for value in signs(study) * self._reference)
        return replace(policy, reference_point=flipped)

    def _own_place(
        self,
        study: Study,
        trial: FrozenTrial,
        space: Space,
        history: History,
        cube: Cube,
        taken: Set[bytes],
    ) -> FloatArray:
        """Return the trial's own point of a design that all workers share, if it has one.

        Some are what earlier studies hold best instead.
        """
        lessons = self._earlier.lessons(space) if self._earlier else ()
        if lessons and trial.number < max(1, self._n_startup_trials):
            self._notices.say(self._earlier.notices)
            rng = np.random.default_rng([self._design_seed(study), trial.number])
            x = first_point(lessons, trial.number, history, cube, rng, taken)
            if x is not None:
                return x[None]
        if trial.number >= self._n_startup_trials:
            return np.empty((0, cube.dim))
        rng = np.random.default_rng(self._design_seed(study))
        points = cube.design(self._design, self._n_startup_trials, rng)
        return points[trial.number : trial.number + 1]

    def _design_seed(self, study: Study) -> int:
        """Return the seed of the design, drawn by the first worker that needs it."""
        if self._random.seed is not None:
            return self._random.seed
        known = optuna_private.study_note(study, _DESIGN_KEY)
        if not isinstance(known, int) or known < 0:
            known = int(self._random.rng.integers(2**31))
            optuna_private.note_study(study, _DESIGN_KEY, known)
        return int(known)

    def __getstate__(self) -> dict[str, Any]:
        # A copy rereads, wherever it is.
        return {k: v for k, v in self.__dict__.items() if k not in ("pricing", "_last")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()
