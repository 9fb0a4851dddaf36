"""Any space and any objective: a search stays within its space, and says what is wrong."""

import math
import warnings

import numpy as np
import optuna
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import calibrant
from calibrant.studies import optuna_private

optuna.logging.set_verbosity(optuna.logging.ERROR)
bounds = st.sampled_from([-1e300, -1e6, -1.0, -1e-9, 0.0, 1e-12, 1e-9, 0.1, 1.0, 3.7, 1e6, 1e300])
whole = st.sampled_from([-(2**60), -(2**53), -7, -1, 0, 1, 2, 3, 100, 2**53 + 1, 2**60])


@st.composite
def floats(draw):
    low, high = sorted((draw(bounds), draw(bounds)))
    kind = draw(st.sampled_from(["plain", "log", "step"]))
    if kind == "log" and low > 0.0:
        return FloatDistribution(low, high, log=True)
    steps = draw(st.sampled_from([1, 3, 10**6, 10**9]))
    if kind == "step" and 0.0 < (step := (high - low) / steps) < math.inf:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where a range is no multiple of its step
            return FloatDistribution(low, high, step=step)
    return FloatDistribution(low, high)


@st.composite
def integers(draw):
    low, high = sorted((draw(whole), draw(whole)))
    if low >= 1 and draw(st.booleans()):
        return IntDistribution(low, high, log=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return IntDistribution(low, high, step=draw(st.sampled_from([1, 2, 7])))


choices = st.lists(st.sampled_from(["a", "b", 1, 2.5, None, True]), min_size=1, unique_by=repr)
spaces = st.dictionaries(
    st.sampled_from(["x", "y", "lr", "n", "{x}"]),
    floats() | integers() | choices.map(CategoricalDistribution),
    min_size=1,
    max_size=3,
)
outcomes = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, math.inf, math.nan, None, "sum"])


@settings(suppress_health_check=list(HealthCheck))
@given(spaces, st.lists(outcomes, min_size=6, max_size=9), st.integers(0, 3))
def test_any_search_stays_within_its_space(space, told, seed):
    sampler = calibrant.CalibratedSampler(seed=seed, search_space=space, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    for outcome in told:
        trial = study.ask(space)
        if outcome == "sum":
            sizes = [
                math.log1p(abs(v)) for v in trial.params.values() if isinstance(v, int | float)
            ]
            outcome = float(np.sum(sizes))
        if outcome is None or math.isnan(outcome):
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, outcome)
    for trial in study.trials:
        assert trial.params.keys() == space.keys()
        for name, value in trial.params.items():
            assert optuna_private.contains(space[name], space[name].to_internal_repr(value))
