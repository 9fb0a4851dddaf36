"""How probable it is that a suggestion beats the best value."""

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant import CalibratedSampler, Normal
from calibrant.decisions.beating import TABLE, chance_to_beat, chances_to_beat, features
from calibrant.decisions.progress import progress
from calibrant.models import GaussianProcess

OUTCOMES = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5])


def searched(sampler, trials=14):
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: (t.suggest_float("x", -1.0, 2.0) - 0.3) ** 2, n_trials=trials)
    return study


@given(
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    mean=st.floats(-5.0, 12.0),
    std=st.floats(0.01, 10.0),
)
def test_units_do_not_matter(scale, shift, mean, std):
    plain = chance_to_beat(progress(OUTCOMES, 3), Normal(mean, std))
    moved = progress((OUTCOMES + shift) * scale, 3)
    other = chance_to_beat(moved, Normal((mean + shift) * scale, std * scale))
    assert 0.0 <= plain < 1.0
    assert other == pytest.approx(plain, rel=1e-3, abs=1e-9)


@given(std=st.floats(0.03, 10.0), means=st.tuples(st.floats(-5.0, 9.0), st.floats(-5.0, 9.0)))
def test_a_lower_forecast_of_the_same_width_is_no_less_likely_to_beat_the_best(std, means):
    now, (low, high) = progress(OUTCOMES, 3), sorted(means)
    likely, less_likely = (chance_to_beat(now, Normal(mean, std)) for mean in (low, high))
    assert likely >= less_likely - 1e-12


def test_forecasts_that_look_best_are_believed_less_than_they_say():
    """The winner's curse: that is what was learned."""
    now = progress(OUTCOMES, 3)
    for ahead in (0.0, 0.5, 1.0, 2.0):
        forecast = Normal(now.best - ahead, 1.0)
        assert chance_to_beat(now, forecast) < forecast.cdf(now.best)


def test_what_the_forecast_rules_out_stays_ruled_out():
    now = progress(OUTCOMES, 3)
    for std in (1e-3, 0.1, 1.0):
        assert chance_to_beat(now, Normal(now.best + 8.0 * std, std)) < 1e-9


def test_what_comes_later_changes_nothing_that_was_stated():
    """Failed trials count as the worst so far, not as the worst of all time."""

    def objective(trial):
        x = trial.suggest_float("x", -1.0, 2.0)
        return float("nan") if trial.number in (1, 6) else (x - 0.3) ** 2

    study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    study.optimize(objective, n_trials=12)
    before, told = chances_to_beat(study), calibrant.explain(study, 9).improves
    late = optuna.trial.create_trial(
        params={"x": 1.0}, distributions=study.trials[0].distributions, value=1e6
    )
    study.add_trial(late)
    after = chances_to_beat(study)
    assert {n: after[n] for n in before} == before
    assert calibrant.explain(study, 9).improves == told


def test_a_running_trial_is_explained_as_it_is_when_it_has_ended():
    study = searched(CalibratedSampler(seed=0))
    trial = study.ask()
    x = trial.suggest_float("x", -1.0, 2.0)
    running = calibrant.explain(study, trial.number).improves
    study.tell(trial, (x - 0.3) ** 2)
    assert calibrant.explain(study, trial.number).improves == running


@pytest.mark.parametrize(
    ("y", "std"), [(np.ones(6), 1.0), (OUTCOMES, np.inf)], ids=["all the same", "no forecast"]
)
def test_where_nothing_can_be_said_nothing_is(y, std):
    class Wide:
        def cdf(self, y):
            return 0.5

        def mean(self):
            return 1.0

        def std(self):
            return std

    assert chance_to_beat(progress(y, 1), Wide()) is None


def test_every_feature_has_numbers():
    known = features(progress(OUTCOMES, 3), 0.5, 1.0)
    assert np.isfinite(known).all()
    assert len(TABLE) == 1 + known.size
    assert all(std > 0.0 for _, std, _ in TABLE.values())


def test_suggestions_of_the_default_model_have_one_each():
    study = searched(CalibratedSampler(seed=0))
    chances = chances_to_beat(study)
    assert sorted(chances) == list(range(5, 14))
    assert all(0.0 < chance < 1.0 for chance in chances.values())


def test_other_samplers_and_models_have_none():
    assert chances_to_beat(searched(optuna.samplers.RandomSampler(seed=0))) == {}
    own = CalibratedSampler(seed=0, model=GaussianProcess())
    assert chances_to_beat(searched(own)) == {}
    assert chances_to_beat(optuna.create_study()) == {}


def test_review_counts_them_and_explain_says_them():
    study = searched(CalibratedSampler(seed=0))
    chances, found = chances_to_beat(study), calibrant.review(study)
    assert dict(zip(found.hoped_numbers, found.hoped, strict=True)) == pytest.approx(chances)
    values = [trial.value for trial in study.trials]
    came = [values[n] < min(values[:n]) for n in found.hoped_numbers]
    assert found.beaten.tolist() == came
    assert calibrant.explain(study, 12).improves == pytest.approx(chances[12])


def test_maximising_is_the_same_search():
    other = optuna.create_study(sampler=CalibratedSampler(seed=0), direction="maximize")
    other.optimize(lambda t: -((t.suggest_float("x", -1.0, 2.0) - 0.3) ** 2), n_trials=14)
    assert chances_to_beat(other) == pytest.approx(
        chances_to_beat(searched(CalibratedSampler(seed=0)))
    )


def test_another_model_is_reviewed_by_its_forecasts():
    study = searched(CalibratedSampler(seed=0, model=GaussianProcess()))
    found = calibrant.review(study)
    assert found.hoped.size == len(found.hoped_numbers) == 9
