"""The next settings to evaluate, as a batch."""

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from tests.reporting.studies import STUDIES, searched

import calibrant
from calibrant.decisions.belief import believe

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def nearest(proposals, names=("x", "y")):
    """Return how far each member of a batch is from the nearest other one."""
    X = np.array([[p.params[name] for name in names] for p in proposals])
    apart = np.abs(X[:, None] - X[None]).max(axis=2)
    return (apart + 9 * np.eye(len(X))).min(axis=1)


def bowl(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


@pytest.fixture(scope="module")
def study():
    return calibrant.minimize(bowl, SPACE, n_trials=14, seed=0)


def test_a_batch_spreads_and_is_worth_evaluating(study):
    proposals = calibrant.suggest(study, 8, seed=0)
    assert nearest(proposals).min() > 0.04
    for proposal in proposals:
        low, high = proposal.interval
        assert low < high
        assert 0 <= proposal.improves <= 1
        assert proposal.feasible == 1
    assert bowl(proposals[0].params) < 0.02  # the first is near the minimum that is known by now


def test_batches_find_the_minimum():
    """Four batches of six, from nothing: random search with as many is at about 0.02."""
    study = optuna.create_study()
    distributions = {name: FloatDistribution(*ends) for name, ends in SPACE.items()}
    for batch in range(4):
        for proposal in calibrant.suggest(study, 6, space=SPACE, seed=batch):
            value = bowl(proposal.params)
            study.add_trial(
                optuna.create_trial(
                    params=proposal.params, distributions=distributions, value=value
                )
            )
    assert study.best_value < 2e-3


def test_the_same_seed_gives_the_same_batch(study):
    assert calibrant.suggest(study, 3, seed=1) == calibrant.suggest(study, 3, seed=1)
    before = len(study.trials)
    assert len(study.trials) == before  # nothing is stored


def test_the_first_points_need_a_space_and_fill_it():
    empty = optuna.create_study()
    with pytest.raises(ValueError, match="pass `space`"):
        calibrant.suggest(empty, 2)
    proposals = calibrant.suggest(empty, 8, space=SPACE, seed=0)
    for name in SPACE:  # a Latin hypercube: one in each eighth
        eighths = sorted(int(8 * p.params[name]) for p in proposals)
        assert eighths == list(range(8))
    assert all(p.interval is None for p in proposals)


def test_running_trials_are_part_of_the_batch():
    study = searched(12, direction="minimize")
    (alone,) = calibrant.suggest(study, 1, seed=0)
    study.enqueue_trial(alone.params)
    trial = study.ask()
    trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    trial.suggest_int("layers", 1, 8)
    trial.suggest_categorical("act", ["relu", "tanh"])
    (other,) = calibrant.suggest(study, 1, seed=0)
    assert other.params != alone.params


def test_maximised_values_keep_their_sign():
    study = calibrant.maximize(lambda p: -bowl(p), SPACE, n_trials=12, seed=0)
    (proposal,) = calibrant.suggest(study, seed=0)
    assert proposal.interval[0] < 0.1
    assert proposal.interval[1] < 1


@pytest.mark.parametrize("kind", ["two objectives", "conditional", "constrained", "constant"])
def test_every_kind_of_study_has_suggestions(kind):
    study = STUDIES[kind]()
    proposals = calibrant.suggest(study, 3, seed=0)
    assert len(proposals) == 3
    assert len({str(p.params) for p in proposals}) == 3


def test_a_small_space_runs_out():
    study = calibrant.minimize(lambda p: p["n"], {"n": (1, 8)}, n_trials=6, seed=0)
    tried = {trial.params["n"] for trial in study.trials}
    proposals = calibrant.suggest(study, 5, seed=0)
    assert {p.params["n"] for p in proposals} == set(range(1, 9)) - tried
    study = calibrant.minimize(lambda p: p["n"], {"n": (1, 6)}, n_trials=6, seed=0)
    with pytest.raises(ValueError, match="have been tried"):
        calibrant.suggest(study)


@pytest.mark.slow
def test_a_large_batch_is_whole_and_one_too_large_is_refused(study):
    proposals = calibrant.suggest(study, 700, seed=0)
    assert len({str(p.params) for p in proposals}) == 700
    with pytest.raises(ValueError, match="`1 <= n <= 1000` must hold, but got n=1001"):
        calibrant.suggest(study, 1001)


@pytest.mark.parametrize("fails", [float("nan"), 1e12], ids=["failed", "penalty"])
def test_a_batch_keeps_away_from_where_evaluations_fail(fails):
    """The objective falls towards a wall at x = 0.5, and gives nothing beyond it."""

    def objective(params):
        return fails if params["x"] > 0.5 else np.sin(5 * params["y"]) - 0.5 * params["x"]

    sampler = calibrant.CalibratedSampler(search_space=SPACE, n_startup_trials=15, seed=0)
    study = calibrant.minimize(objective, SPACE, n_trials=15, sampler=sampler)
    proposals = calibrant.suggest(study, 4, seed=0)
    assert all(p.params["x"] < 0.55 for p in proposals)


@pytest.mark.parametrize("known", [3, 12])
@pytest.mark.parametrize(
    ("space", "low", "high"),
    [
        ({"x": (0.0, 0.3), "y": (0.0, 1.0)}, 0.0, 0.3),
        ({"x": (0.5, 3.0), "y": (0.0, 1.0)}, 0.5, 3.0),
        ({"x": (0.5, 0.5), "y": (0.0, 1.0), "solo": ["a"], "new": (5.0, 6.0)}, 0.5, 0.5),
    ],
    ids=["narrower", "wider", "settled, and a new one"],
)
def test_the_space_that_is_given_counts_however_much_is_known(known, space, low, high):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: (t.suggest_float("x", 0, 1) - 0.4) ** 2 + t.suggest_float("y", 0, 1), known
    )
    proposals = calibrant.suggest(study, 3, space=space, seed=0)
    assert all(p.params.keys() == space.keys() for p in proposals)
    assert all(low <= p.params["x"] <= high for p in proposals)


def test_a_parameter_with_one_value_is_part_of_a_setting_where_it_exists():
    space = {"kind": ["a", "b"], "depth": calibrant.when((3, 3), kind="a"), "x": (0.0, 1.0)}
    proposals = calibrant.suggest(optuna.create_study(), 8, space=space, seed=0)
    assert {(p.params["kind"], p.params.get("depth")) for p in proposals} == {("a", 3), ("b", None)}


def test_a_parameter_with_one_value_is_part_of_every_setting_that_is_named():
    """Also where nobody says what the space is: it is read from the trials."""

    def objective(trial):
        trial.suggest_categorical("solver", ["adam"])
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, 12)
    for one in (calibrant.recommend(study), *calibrant.suggest(study, 2, seed=0)):
        assert list(one.params) == ["solver", "x"]
        assert one.params["solver"] == "adam"
        calibrant.forecast(study, one.params)


def test_a_single_value_under_a_condition_is_part_of_the_settings_that_meet_it():
    space = {"kind": ["a", "b"], "depth": calibrant.when((3, 3), kind="a"), "x": (0.0, 1.0)}

    def objective(params):
        return params["x"] + 0.1 * params.get("depth", 1)

    study = calibrant.minimize(objective, space, n_trials=12, seed=0)
    settings = [p.params for p in calibrant.suggest(study, 6, seed=0)]
    settings.append(calibrant.recommend(study).params)
    assert {(s["kind"], s.get("depth")) for s in settings} == {("a", 3), ("b", None)}


def test_a_proposal_after_a_search_is_believed_less_than_its_forecast():
    """A setting is proposed for looking good: the winner's curse, learned from other searches."""
    study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=12, seed=0)
    belief, best = believe(study), min(t.value for t in study.trials)
    for proposal in calibrant.suggest(study, 3, seed=0):
        x = belief.space.row(belief.space.to_internal(proposal.params))
        by_forecast = float(belief.objectives[0].outcome(x[None]).cdf(best)[0])
        if by_forecast > 0.1:
            assert 0.0 < proposal.improves < by_forecast
        else:
            assert proposal.improves < 0.3


def test_of_another_sampler_s_study_the_forecast_speaks_for_itself():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", -1.0, 2.0) ** 2, n_trials=12)
    belief, best = believe(study), study.best_value
    (proposal,) = calibrant.suggest(study, seed=0)
    x = belief.space.row(belief.space.to_internal(proposal.params))
    by_forecast = float(belief.objectives[0].outcome(x[None]).cdf(best)[0])
    assert proposal.improves == pytest.approx(by_forecast)


def test_what_was_learned_says_nothing_of_a_part_of_what_was_tried():
    """Of one batch of material alone, say: there the forecast speaks for itself."""
    space = {"x": (-1.0, 2.0), "batch": ["A", "B"]}
    study = calibrant.minimize(lambda p: p["x"] ** 2, space, n_trials=12, seed=0)
    belief = believe(study)
    (proposal,) = calibrant.suggest(study, fixed={"batch": "A"}, seed=0)
    x = belief.space.row(belief.space.to_internal(proposal.params))
    best = min(t.value for t in study.trials if t.params["batch"] == "A")
    forecast = belief.objectives[0].outcome(x[None])
    assert proposal.improves == pytest.approx(float(forecast.cdf(best)[0]))
