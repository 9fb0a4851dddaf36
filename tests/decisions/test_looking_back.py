"""Looking back: each kind of statement against what came, counted in another way."""

import numpy as np
import optuna
import pytest

import calibrant
from calibrant.decisions.looking_back import review

QUIET = optuna.samplers.RandomSampler(seed=0)


def study_of(values, direction="minimize"):
    study = optuna.create_study(direction=direction)
    kinds = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for i, value in enumerate(values):
        params = {"x": (i + 0.5) / len(values)}
        study.add_trial(optuna.create_trial(value=value, params=params, distributions=kinds))
    return study


def kinds_of(found):
    return {kind.kind: kind for kind in found.statements}


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_outlooks_are_those_that_would_have_been_taken_then(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    values = sign * np.random.default_rng(0).normal(size=31)
    values[3], values[17] = -5.0 * sign, -9.0 * sign  # the second one in the second window
    made = kinds_of(review(study_of(values, direction)))["five-trial outlook"]
    assert made.came_true.tolist() == [False, True, False, False]
    for n, stated in zip((10, 15, 20, 25), made.stated, strict=True):
        then = calibrant.outlook(study_of(values[:n], direction), trials=5)
        assert stated == pytest.approx(then.probability)


def test_short_and_constant_studies_have_no_outlooks():
    for values in ([1.0, 2.0, 3.0], [1.0] * 20):
        found = review(study_of(values))
        assert list(kinds_of(found)) == ["interval"]
        with pytest.raises(ValueError, match="Nothing has been stated"):
            found.figure()


def test_hopes_are_counted_where_a_forecast_was_made():
    study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=12, seed=0)
    found = calibrant.review(study)
    hopes = kinds_of(found)["suggestion"]
    assert hopes.stated.size == len(found.forecast_numbers)
    best = np.minimum.accumulate(found.values)
    beaten = [bool(found.values[n] < best[n - 1]) for n in found.forecast_numbers]
    assert hopes.came_true.tolist() == beaten
    assert ((hopes.stated >= 0.0) & (hopes.stated <= 1.0)).all()
    assert "suggestions, promised with" in found._repr_html_()
    assert len(found.figure().data) == 3


def test_doomed_trials_that_were_let_finish_are_counted():
    pruner = calibrant.CalibratedPruner(level=0.3, audit=0.5)
    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))

    def train(trial):
        rate = trial.suggest_float("rate", 0.1, 1.0)
        for epoch in range(3):
            trial.report((rate - 0.4) ** 2 + 1.0 / (epoch + 1), epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (rate - 0.4) ** 2

    study.optimize(train, n_trials=25)
    doomed, said = kinds_of(review(study))["doomed trial"], pruner.review(study)
    assert doomed.stated.size == said.audited > 0
    assert int(doomed.came_true.sum()) == said.wrong
    assert (doomed.stated < 0.3).all()


def test_several_objectives_are_refused_with_a_way_out():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=QUIET)

    def both(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        return x, x

    study.optimize(both, n_trials=2)
    with pytest.raises(ValueError, match=r"single objective.* 2; `calibrant.review_front`"):
        calibrant.review(study)
    with pytest.raises(ValueError, match="Pruning needs a single objective, but the study has 2"):
        calibrant.CalibratedPruner().review(study)
    with pytest.raises(ValueError, match="`StopWhen` needs a single objective"):
        study.optimize(both, n_trials=1, callbacks=[calibrant.StopWhen()])


def test_a_pruner_without_audited_trials_says_so():
    study = study_of([1.0, 2.0])
    text = str(calibrant.CalibratedPruner().review(study))
    assert text.startswith("0 trials pruned. None that was to be pruned has been let finish yet")
