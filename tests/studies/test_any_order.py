"""A study in which anything happens in any order: told, failed, pruned, queued, killed, resumed."""

import numpy as np
import optuna
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

import calibrant
from calibrant.studies import processes
from calibrant.studies.archive import Archive
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.heartbeats import BEAT
from calibrant.studies.runner import evaluated
from calibrant.studies.sharing import hand_back, take_over
from calibrant.studies.steady import SteadyStorage

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"x": (0.0, 1.0), "n": (1, 4)}


class Killed(BaseException):
    """The worker is gone: nothing of it is told."""


class AnyOrder(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.inside = InMemoryStorage()
        optuna.create_study(storage=self.inside, study_name="s")
        self.evaluations = 0
        self.told = []
        self.resume()

    @rule()
    def resume(self):
        """Another process goes on, and knows only what is stored."""
        self.storage = SteadyStorage(self.inside, 60, 180, 1.0)
        self.storage.record_heartbeat = lambda trial_id: None  # a thread has its own order
        sampler = calibrant.CalibratedSampler(seed=0, n_startup_trials=2, search_space=SPACE)
        self.study = optuna.load_study(study_name="s", storage=self.storage, sampler=sampler)

    def _one(self, end):
        def objective(trial):
            x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 4)
            return end(trial, (x - 0.3) ** 2 + n)

        self.study.optimize(objective, n_trials=1, catch=(ValueError,))

    @rule()
    def tell(self):
        def end(trial, value):
            self.told.append(value)
            return value

        self._one(end)
        self.evaluations += 1

    @rule(value=st.sampled_from([np.nan, None]))
    def fail(self, value):
        def end(trial, _):
            if value is None:
                raise ValueError("out of memory")
            return value

        self._one(end)
        self.evaluations += 1

    @rule(reports=st.lists(st.floats(-1e3, 1e3), max_size=3))
    def prune(self, reports):
        def end(trial, _):
            for step, report in enumerate(reports):
                trial.report(report, step)
            raise optuna.TrialPruned

        self._one(end)
        self.evaluations += 1

    @rule(x=st.floats(0, 1), n=st.integers(1, 4))
    def enqueue(self, x, n):
        self.study.enqueue_trial({"x": x, "n": n})

    @rule()
    def interrupt(self):
        def end(trial, _):
            trial.set_user_attr(INTERRUPTED, True)
            raise ValueError("stopped")

        self._one(end)
        hand_back(self.study)

    @rule()
    def kill(self):
        """A worker of this machine dies, and another goes on."""

        def end(trial, _):
            beat = {"worker": f"{processes._machine()}:{2**22 + 1}:1", "count": 0}
            self.inside.set_trial_system_attr(trial._trial_id, BEAT, beat)
            raise Killed

        try:
            self._one(end)
        except Killed:
            self.resume()

    @rule()
    def look_after_the_dead(self):
        take_over(self.study)
        assert not self.study.get_trials(states=(TrialState.RUNNING,))

    @precondition(lambda self: self.told)
    @rule()
    def give_up_too_early(self):
        """Another worker gives up a trial that is still running: its value is kept."""

        def end(trial, value):
            other = optuna.load_study(study_name="s", storage=self.inside)
            self.inside.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            again = self.storage.get_heartbeat_stale_trial_callback()
            again(other, self.inside.get_trial(trial._trial_id))
            self.told.append(value)
            return value

        self._one(end)
        self.evaluations += 1

    @invariant()
    def every_evaluation_is_there_once(self):
        complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        assert sorted(t.value for t in complete) == sorted(self.told)
        # One that died for the fourth time counts as failed.
        died = [t for t in self.study.trials if len(t.system_attrs.get("retry_history", ())) > 2]
        assert 0 <= evaluated(self.study) - self.evaluations <= len(died)

    @invariant()
    def what_is_stored_is_all_that_a_search_needs(self):
        archive = Archive()
        archive.update(self.study)
        known = [r.values[0] for r in archive.records.values() if r.values is not None]
        assert sorted(known) == sorted(self.told)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    # A dozen steps each: fewer of them, but for `make fuzz`.
    max_examples=8 if settings.default.max_examples < 100 else settings.default.max_examples,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
