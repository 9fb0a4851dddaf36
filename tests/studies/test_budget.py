"""Budgets: what is spent, what is left, and that no more is started."""

import logging
import pickle
import time

import optuna
import pytest

import calibrant
from calibrant.studies.budget import Budget, parse_budget
from calibrant.studies.measured import COST
from calibrant.studies.suggestions import stored

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def price(p):
    return 1.0 + 9.0 * p["x"]


def value(p):
    return (p["x"] - 0.4) ** 2 + (p["y"] - 0.5) ** 2


def spent(study):
    return sum(trial.user_attrs.get(COST, 0.0) for trial in study.trials)


def made(study):
    return [trial for trial in study.trials if trial.state.name == "COMPLETE"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", (90.0, True)),
        ("30m", (1800.0, True)),
        ("30 min", (1800.0, True)),
        ("2h", (7200.0, True)),
        ("1h30m", (5400.0, True)),
        ("1.5H", (5400.0, True)),
        ("1d", (86400.0, True)),
        ("100", (100.0, False)),
        (12, (12.0, False)),
    ],
)
def test_budgets_are_numbers_or_times(text, found):
    assert parse_budget(text) == found


@pytest.mark.parametrize("text", ["", "2 weeks", "h", "1h30", "-2h", "1e3h", "two", "2h!"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="such as 90s, 30m, 2h"):
        Budget(text)


@pytest.mark.parametrize("total", [0, 0.0, -1.0, "0s", float("nan"), float("inf")])
def test_a_budget_is_above_zero(total):
    with pytest.raises(ValueError, match="budget"):
        calibrant.minimize(value, SPACE, budget=total)


@pytest.mark.parametrize("known", [True, False], ids=["known", "reported"])
def test_a_search_ends_with_its_budget_and_goes_on_with_a_larger_one(known):
    storage = optuna.storages.InMemoryStorage()

    def reporting(p):
        return value(p), {"cost": price(p)}

    how = {"cost": price} if known else {}
    objective = value if known else reporting

    def search(budget):
        return calibrant.minimize(objective, SPACE, storage=storage, seed=0, budget=budget, **how)

    study = search(35.0)
    first = len(made(study))
    assert 31.0 < spent(study) <= 35.0 * 1.1
    assert all(stored(t).cost is not None for t in made(study)[(0 if known else 5) :])
    assert len(made(search(35.0))) == first  # nothing is left
    assert 40.0 < spent(search(45.0)) <= 45.0 * 1.1


def test_prices_are_weighed_against_improvement():
    weighed = calibrant.minimize(value, SPACE, seed=0, budget=60.0, cost=price)
    alone = calibrant.minimize(value, SPACE, 30, seed=0)
    costs = [sum(map(price, (t.params for t in made(s)[5:13]))) for s in (weighed, alone)]
    assert costs[0] < costs[1]
    assert len(made(weighed)) > 10


def test_a_time_is_what_evaluations_take():
    def slow(p):
        time.sleep(0.02)
        if p["x"] > 0.9:
            raise RuntimeError("it took its time all the same")
        return value(p)

    study = calibrant.minimize(slow, SPACE, seed=0, budget="0.2s")
    assert 0.15 < spent(study) < 0.4
    assert all(trial.user_attrs[COST] >= 0.02 for trial in made(study))


def test_a_reported_cost_goes_before_the_time():
    study = calibrant.minimize(lambda p: (value(p), {"cost": 30.0}), SPACE, seed=0, budget="2m")
    assert len(made(study)) == 4


def test_costs_that_nobody_reports_end_the_search_with_a_word(caplog):
    with caplog.at_level(logging.ERROR, "calibrant"):
        study = calibrant.minimize(value, SPACE, seed=0, budget=10.0)
    assert len(made(study)) == 5  # they are kept
    assert "none says what it has cost" in caplog.text


def test_a_cost_that_is_missing_counts_as_the_mean_of_the_others():
    budget, study = Budget(100.0), optuna.create_study()
    for told in ({COST: 4.0}, {}, {COST: 8.0}):
        study.add_trial(optuna.create_trial(value=1.0, user_attrs=told))
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL, user_attrs={COST: 3.0}))
    assert budget.spent(study) == pytest.approx(4.0 + 8.0 + 3.0 + 5.0)
    assert budget.words(study) == "spent 20 of 100"
    assert Budget("2h").words(optuna.create_study()) == "spent 0 ms of 2 h 0 min"


def test_what_runs_is_counted_with_what_it_is_expected_to_cost():
    budget = Budget(100.0, price)
    sampler = calibrant.CalibratedSampler(seed=0, budget=budget, search_space=SPACE)
    study = optuna.create_study(sampler=sampler)
    trial = study.ask()
    x = trial.suggest_float("x", 0.0, 1.0)
    assert budget.left(study) == pytest.approx(100.0 - price({"x": x}))
    assert budget.left(study, but=0) == 100.0


def test_the_first_points_are_affordable_too():
    study = calibrant.minimize(value, SPACE, seed=0, budget=12.0, cost=price)
    assert len(made(study)) >= 2
    assert spent(study) <= 12.0 * 1.1


def test_a_budget_too_small_for_anything_starts_nothing():
    study = calibrant.minimize(value, SPACE, seed=0, budget=0.5, cost=price)
    assert made(study) == []


@pytest.mark.parametrize("bad", [-1.0, float("nan"), "dear", None])
def test_a_cost_function_must_give_costs(bad):
    with pytest.raises(ValueError, match="`cost` must give a finite number"):
        calibrant.minimize(value, SPACE, seed=0, budget=10.0, cost=lambda p: bad)


def test_costs_without_a_budget_are_refused():
    with pytest.raises(ValueError, match="give that too"):
        calibrant.minimize(value, SPACE, cost=price)
    with pytest.raises(ValueError, match="belongs to the budget"):
        calibrant.minimize(value, SPACE, budget=Budget(3.0), cost=price)
    with pytest.raises(TypeError, match="function of the parameters"):
        Budget(3.0, cost=2.0)
    with pytest.raises(TypeError, match="such as Budget"):
        calibrant.CalibratedSampler(budget=3.0)


def test_a_sampler_with_a_budget_can_be_sent_elsewhere():
    sampler = calibrant.CalibratedSampler(seed=0, budget=Budget(10.0))
    copy = pickle.loads(pickle.dumps(sampler))
    study = optuna.create_study(sampler=copy)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)


def test_constraints_failures_and_several_jobs_go_with_a_budget():
    def objective(p):
        if p["y"] > 0.9:
            raise RuntimeError("no")
        return value(p), {"memory": p["y"], "cost": price(p)}

    study = calibrant.minimize(
        objective, SPACE, seed=0, budget=60.0, n_jobs=2, limits={"memory": 0.8}
    )
    assert 40.0 < spent(study) < 90.0
