"""What a study of several objectives found, and how the forecasts of each of them held."""

import warnings

import numpy as np
import optuna
import pytest

import calibrant
from calibrant.core.front import hypervolume
from calibrant.studies import review_front

X = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}


def told(rows, directions=("minimize", "minimize"), limits=None):
    """Return a study with the given outcomes."""
    study = optuna.create_study(
        directions=directions, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    for row, values in enumerate(rows):
        trial = study.ask(X)
        if limits:
            trial.set_constraint("memory", limits[row])
        study.tell(trial, values)
    return study


@pytest.fixture(scope="module")
def searched():
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=calibrant.CalibratedSampler(seed=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that names are experimental
        study.set_metric_names(["error", "speed"])

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x**2 + y, -((x - 1) ** 2) - y

    study.optimize(objective, n_trials=14)
    return study


def test_the_volume_grows_with_the_front():
    study = told([(3.0, 1.0), (1.0, 3.0), (5.0, 5.0), (2.0, 2.0)])
    found = review_front(study, reference_point=(4.0, 4.0))
    np.testing.assert_allclose(found.hypervolume, [3.0, 5.0, 5.0, 6.0])
    assert sorted(found.front) == [0, 1, 3]
    assert found.reference_point == (4.0, 4.0)
    assert "3 trials of 4 on the front; hypervolume 6 up to (4, 4)." in str(found)


def test_directions_are_the_users():
    up = told([(3.0, -1.0), (1.0, -3.0), (2.0, -2.0)], ("minimize", "maximize"))
    found = review_front(up, reference_point=(4.0, -4.0))
    np.testing.assert_allclose(found.hypervolume, [3.0, 5.0, 6.0])
    np.testing.assert_array_equal(found.values[:, 1], [-1.0, -3.0, -2.0])
    inferred = review_front(up).reference_point
    np.testing.assert_allclose(inferred, (3.2, -3.2))


def test_only_what_meets_the_constraints_counts():
    study = told([(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)], limits=[1.0, -1.0, 0.0])
    found = review_front(study, reference_point=(4.0, 4.0))
    np.testing.assert_allclose(found.hypervolume, [0.0, 2.0, 3.0])
    assert sorted(found.front) == [1, 2]
    none = review_front(told([(1.0, 1.0), (2.0, 3.0)], limits=[1.0, 1.0]))
    np.testing.assert_array_equal(none.hypervolume, 0.0)
    assert none.front == []


def test_a_front_of_one_point_has_room_to_be_judged():
    found = review_front(told([(1.0, 1.0), (2.0, 3.0)]))
    np.testing.assert_allclose(found.reference_point, (1.1, 1.2))
    same = review_front(told([(1.0, 1.0), (1.0, 1.0)]))
    np.testing.assert_allclose(same.hypervolume, 0.01)


def test_a_review_of_a_search(searched):
    found = review_front(searched)
    values = np.array([trial.values for trial in searched.trials]) * [1.0, -1.0]
    goal = np.array(found.reference_point) * [1.0, -1.0]
    assert found.hypervolume[-1] == pytest.approx(hypervolume(values, goal))
    assert np.all(np.diff(found.hypervolume) >= 0.0)
    assert {t.number for t in searched.best_trials} == set(found.front)
    assert [one.name for one in found.objectives] == ["error", "speed"]
    for column, one in enumerate(found.objectives):
        assert one.held.size == 9
        outcomes = [trial.values[column] for trial in searched.trials[5:]]
        np.testing.assert_array_equal(one.outcomes, outcomes)
        assert np.all(one.low <= one.high)
        inside = (one.raw_pits > 0.1) & (one.raw_pits < 0.9)
        np.testing.assert_array_equal(inside, one.raw_held)
        assert one.verdict.total == 9
    assert "error: " in str(found)
    assert "<p>" in found._repr_html_()


def test_forecasts_made_in_another_direction_do_not_count(searched):
    other = optuna.create_study(directions=["maximize", "maximize"])
    other.add_trials(searched.trials)
    found = review_front(other)
    assert [one.held.size for one in found.objectives] == [0, 0]
    assert "No interval has met its outcome yet." in str(found)


@pytest.mark.parametrize(
    ("reference", "message"),
    [((1.0,), "one number per objective"), ((1.0, np.nan), "finite"), ((1, 2, 3), "for 2 of them")],
)
def test_what_a_reference_point_cannot_be(reference, message):
    with pytest.raises(ValueError, match=message):
        review_front(told([(1.0, 2.0)]), reference)


def test_there_must_be_something_to_review():
    with pytest.raises(ValueError, match="finite values"):
        review_front(optuna.create_study(directions=["minimize"] * 2))
    with pytest.raises(ValueError, match="use `review`"):
        review_front(optuna.create_study())
