"""Calibrated search as a node of an Ax generation strategy. Needs Ax (``pip install ax-platform``).

Ax keeps the experiment. Beside it the node keeps an Optuna study of the same trials, from which
:class:`~calibrant.CalibratedSampler` reads all that it needs, including past forecasts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
from ax.core.arm import Arm
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.generator_run import GeneratorRun
from ax.core.observation import ObservationFeatures
from ax.core.parameter import Parameter
from ax.core.trial_status import TrialStatus
from ax.exceptions.core import UnsupportedError
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.transition_criterion import TransitionCriterion
from ax.storage.json_store.decoder import object_from_json
from ax.storage.json_store.registry import (
    CORE_CLASS_DECODER_REGISTRY,
    CORE_DECODER_REGISTRY,
    CORE_ENCODER_REGISTRY,
)
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from calibrant.bridges.ax.problem import Problem, decoded, encoded, problem_of, walk
from calibrant.studies import optuna_private
from calibrant.studies.asking import suggest
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.runner import quiet_optuna
from calibrant.studies.sampler import CalibratedSampler


class CalibratedNode(ExternalGenerationNode):
    """A generation node whose points are chosen by :class:`~calibrant.CalibratedSampler`.

    >>> from ax.api.client import Client
    >>> from ax.api.configs import RangeParameterConfig
    >>> from ax.generation_strategy.generation_strategy import GenerationStrategy
    >>> from calibrant.bridges.ax import CalibratedNode
    >>> client = Client()
    >>> client.configure_experiment([RangeParameterConfig("x", (0.0, 1.0), "float")])
    >>> client.configure_optimization("-loss")
    >>> strategy = GenerationStrategy(name="calibrant", nodes=[CalibratedNode(seed=0)])
    >>> client.set_generation_strategy(strategy)
    >>> [sorted(point) for point in client.get_next_trials(max_trials=1).values()]
    [['x']]

    It supports one or several objectives, or a weighted sum of metrics; outcome constraints with
    fixed bounds; parameters of every kind, including conditional ones; and constraints between
    parameters, which every point keeps to. It also learns from trials that came from elsewhere, if
    they lie in the search space. A trial is read once, when it has ended. A node saved with its
    client keeps its settings, but not the forecasts of past trials.

    Args:
        name: the name of the node.
        sampler: the sampler that chooses points; by default a
            :class:`~calibrant.CalibratedSampler`.
        transition_criteria: when Ax moves on to another node; by default never.
        settings: of the default sampler: ``seed``, ``n_startup_trials``, …
    """

    def __init__(
        self,
        name: str = "calibrant",
        *,
        sampler: BaseSampler | None = None,
        transition_criteria: Sequence[TransitionCriterion] | None = None,
        **settings: Any,
    ) -> None:
        if sampler is not None and settings:
            raise TypeError(
                f"`sampler` must come without other settings, but got {', '.join(settings)} too; "
                "pass them to the sampler itself."
            )
        # No deduplication by Ax: the sampler does not repeat points unless it is told to.
        super().__init__(
            name=name, should_deduplicate=False, transition_criteria=transition_criteria
        )
        if sampler is None:
            CalibratedSampler(**settings)  # so that a wrong setting fails here, not later in a run
        self._sampler = sampler
        self._settings = settings
        self._fixed: dict[str, Any] = {}
        self._mirror: _Mirror | None = None

    @property
    def study(self) -> Study:
        """The Optuna study, up to date with the experiment.

        In it an ordered choice is an integer, its index in the list of values.
        ``calibrant.review(node.study)`` shows whether the error bars were true.
        """
        self.update_generator_state(self.experiment, self.experiment.lookup_data())
        assert self._mirror is not None
        return self._mirror.study

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Bring the study up to date with the experiment."""
        problem = problem_of(experiment)
        if self._mirror is None or self._mirror.problem != problem:
            # The problem has changed: its forecasts no longer apply, but its outcomes do.
            self._mirror = _Mirror(problem, self._new_study(problem))
        self._mirror.problem = problem  # equal problems may differ in their conditions
        self._mirror.read(experiment, data)

    def get_next_candidate(self, pending_parameters: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the next point; the study already knows the pending ones."""
        assert self._mirror is not None  # Ax updates the state first
        return self._mirror.ask(self._fixed)

    def _gen(
        self, *args: Any, fixed_features: ObservationFeatures | None = None, **kwargs: Any
    ) -> GeneratorRun:
        self._fixed = dict(fixed_features.parameters) if fixed_features else {}
        return super()._gen(*args, fixed_features=fixed_features, **kwargs)

    def _new_study(self, problem: Problem) -> Study:
        if problem.between and self._sampler is not None:
            raise UnsupportedError(
                f"`{problem.between[0].words}` is kept by the default sampler only: leave out "
                "`sampler`, and give its settings to the node."
            )
        known = {
            "search_space": problem.distributions,
            "such_that": problem.between,
            **self._settings,
        }
        with quiet_optuna():
            return optuna.create_study(
                sampler=self._sampler or CalibratedSampler(**known),
                directions=["maximize" if goal.maximize else "minimize" for goal in problem.goals],
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mirror": None}  # a copy reads the experiment again

    @classmethod
    def serialize_init_args(cls, obj: Any) -> dict[str, Any]:
        """Return what Ax saves: the settings, without the study."""
        if obj._sampler is not None:
            raise UnsupportedError(
                f"Only a node made from settings can be saved, but got {obj._sampler}; "
                "make it as `CalibratedNode(seed=…, …)`."
            )
        criteria = list(obj.transition_criteria)
        return {"name": obj.name, "transition_criteria": criteria, **obj._settings}

    @classmethod
    def deserialize_init_args(
        cls, args: dict[str, Any], decoder_registry: Any = None, class_decoder_registry: Any = None
    ) -> dict[str, Any]:
        """Return the arguments of a saved node."""
        registries = {
            "decoder_registry": decoder_registry or CORE_DECODER_REGISTRY,
            "class_decoder_registry": class_decoder_registry or CORE_CLASS_DECODER_REGISTRY,
        }
        return {name: object_from_json(value, **registries) for name, value in args.items()}


def _saved(node: CalibratedNode) -> dict[str, Any]:
    return {"__type": CalibratedNode.__name__, **CalibratedNode.serialize_init_args(node)}


# Registered with Ax, so that a client with such a node can be saved.
CORE_ENCODER_REGISTRY[CalibratedNode] = _saved
CORE_DECODER_REGISTRY[CalibratedNode.__name__] = CalibratedNode


@dataclass
class _Mirror:
    """A study that holds the trials of an experiment, one trial per arm."""

    problem: Problem
    study: Study
    _asked: dict[int, str] = field(default_factory=dict)  # arms that belong to no Ax trial yet
    _numbers: dict[tuple[int, str], int] = field(default_factory=dict)  # by trial and arm
    _ended: set[tuple[int, str]] = field(default_factory=set)

    def ask(self, fixed: Mapping[str, Any]) -> dict[str, Any]:
        """Return a new point, with some of its parameters possibly fixed."""
        space = self.problem.space
        given = {
            name: parameter.default_value
            for name, parameter in space.parameters.items()
            if parameter.is_disabled
        }
        for name, value in fixed.items():
            space[name].validate(value, raises=True)
            given[name] = value
        chosen = {n: encoded(space[n], given[n]) for n in given if n in self.problem.distributions}
        if chosen:
            self.study.enqueue_trial(chosen)
        trial = self.study.ask()

        def choose(parameter: Parameter) -> Any:
            one = {parameter.name: self.problem.distributions[parameter.name]}
            return decoded(parameter, suggest(trial, one)[parameter.name])

        params = walk(space, choose)
        self._asked[trial.number] = Arm(parameters=params).signature
        return params

    def read(self, experiment: Experiment, data: Data) -> None:
        """Add new trials to the study, and end those that have ended."""
        means: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
        for row in data.df.itertuples():
            means[row.trial_index, row.arm_name][row.metric_name] = row.mean
        for trial in experiment.trials.values():
            abandoned = {arm.name for arm in trial.abandoned_arms}
            for arm in trial.arms:
                key = trial.index, arm.name
                if key in self._ended:
                    continue
                if key not in self._numbers:
                    # Like Ax, learn nothing from points outside the search space.
                    if not self.problem.space.check_membership(arm.parameters):
                        continue
                    self._numbers[key] = self._number(arm)
                status = TrialStatus.ABANDONED if arm.name in abandoned else trial.status
                if status.is_terminal:
                    self._end(self._numbers[key], status, means[key])
                    self._ended.add(key)

    def _number(self, arm: Arm) -> int:
        """Return the number of the trial that was asked for this arm, or of a new one."""
        found = [number for number, asked in self._asked.items() if asked == arm.signature]
        if found:
            # Ax makes trials in the order of asking, so skipped suggestions were discarded.
            for number in [number for number in self._asked if number <= found[0]]:
                del self._asked[number]
                if number != found[0]:
                    self._forget(number)
            return found[0]
        space, known = self.problem.space, self.problem.distributions
        given = {**space.backfill_values(), **arm.parameters}
        params = {name: encoded(space[name], v) for name, v in given.items() if name in known}
        distributions = {name: known[name] for name in params}
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
        )
        return len(self.study.get_trials(deepcopy=False)) - 1

    def _end(self, number: int, status: TrialStatus, means: Mapping[str, float]) -> None:
        """Tell the study how a trial ended."""
        if status == TrialStatus.STALE:  # it was never run
            return self._forget(number)
        values = [goal.of(means) for goal in self.problem.goals]
        measured = bool(np.all(np.isfinite(values)))
        if status == TrialStatus.COMPLETED and measured:
            limits = {name: limit.of(means) for name, limit in self.problem.constraints.items()}
            known = {name: limit for name, limit in limits.items() if np.isfinite(limit)}
            optuna_private.set_constraints(self.study, number, known)
            self.study.tell(number, values)
        elif status == TrialStatus.EARLY_STOPPED:
            if measured and len(values) == 1:
                optuna_private.report(self.study, number, values[0], step=0)
            self.study.tell(number, state=TrialState.PRUNED)
        else:
            self.study.tell(number, state=TrialState.FAIL)

    def _forget(self, number: int) -> None:
        """End a trial that was never run, so that it counts neither as outcome nor as failure."""
        optuna_private.set_user_attribute(self.study, number, INTERRUPTED, True)
        self.study.tell(number, state=TrialState.FAIL)
