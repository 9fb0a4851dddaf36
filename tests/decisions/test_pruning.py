import numpy as np
import optuna
import pytest
from scipy.stats import binomtest

from calibrant import CalibratedPruner
from calibrant.decisions.pruning import PruningReview, _line, _reaches

STATES = optuna.trial.TrialState


def add(study, reports, value=None):
    study.add_trial(
        optuna.create_trial(
            value=value,
            state=STATES.RUNNING if value is None else STATES.COMPLETE,
            intermediate_values=reports,
        )
    )


def curves(count, sign=1.0, seed=0):
    """Return a study whose trials report, half-way, their final value with some noise."""
    study = optuna.create_study(direction="minimize" if sign > 0 else "maximize")
    rng = np.random.default_rng(seed)
    for final in rng.normal(size=count):
        add(study, {1: sign * (final + 1.0 + 0.1 * rng.normal())}, sign * final)
    return study


def probability(study, report, **settings):
    add(study, {1: report})
    return CalibratedPruner(**settings).probability(study, study.trials[-1])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_hopeless_trial_is_pruned_and_a_hopeful_one_is_not(sign):
    pruner = CalibratedPruner(audit=0.0)
    for report, hopeless in ((3.0, True), (-1.0, False)):
        study = curves(30, sign)
        add(study, {1: sign * report})
        assert pruner.prune(study, study.trials[-1]) is hopeless


def test_probabilities_do_not_depend_on_the_direction():
    for report in (-1.0, 0.0, 1.0):
        up, down = (probability(curves(20, s), s * report) for s in (1.0, -1.0))
        assert up == pytest.approx(down, abs=0.02)


def test_the_line_forecasts_as_least_squares_does():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    missing = 1.0 - 0.3 * x + 0.2 * rng.normal(size=200)
    line = _line(x, missing, 2.0)
    slope, intercept = np.polyfit(x, missing, 1)
    assert line.mean == pytest.approx(intercept + 2.0 * slope, abs=0.01)
    assert line.std == pytest.approx(0.2, rel=0.2)
    assert np.std(line.scores) == pytest.approx(1.0, abs=0.05)


def test_stated_probabilities_come_true():
    rng = np.random.default_rng(0)
    stated, came = [], []
    for _ in range(400):
        report = rng.normal(size=13)
        final = 0.5 * report + 0.5 * rng.standard_t(5, size=13)
        known, goal = np.column_stack([report, final])[:-1], float(np.sort(final[:-1])[1])
        stated.append(_reaches(known, float(report[-1]), goal))
        came.append(final[-1] <= goal)
    stated, came = np.array(stated), np.array(came)
    for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 1.0)):
        here = (stated >= low) & (stated < high)
        test = binomtest(int(came[here].sum()), int(here.sum()), float(stated[here].mean()))
        assert test.pvalue > 0.001


def test_it_waits_until_it_can_tell():
    assert probability(curves(4), 9.0) is None
    study = curves(30)
    add(study, {7: 99.0})  # nobody else has reported at this step
    assert not CalibratedPruner().prune(study, study.trials[-1])
    add(study, {})
    assert not CalibratedPruner().prune(study, study.trials[-1])
    add(study, {1: 99.0})
    assert not CalibratedPruner(n_warmup_steps=2).prune(study, study.trials[-1])


def test_what_has_diverged_is_pruned():
    study = curves(3)
    add(study, {1: float("nan")})
    assert CalibratedPruner().prune(study, study.trials[-1])


def test_equal_curves_are_no_error():
    study = optuna.create_study()
    for _ in range(8):
        add(study, {1: 2.0}, 1.0)
    assert 0.0 <= probability(study, 2.0) <= 1.0
    assert probability(study, 1e300) < 0.05


def test_some_of_the_doomed_finish_and_are_counted():
    pruner = CalibratedPruner(audit=0.5, seed=1)
    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    finished = []

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(3):
            trial.report(x + 0.5 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        finished.append(trial.number)
        return x

    study.optimize(objective, n_trials=60)
    found = pruner.review(study)
    assert found.pruned == 60 - len(finished)
    assert found.audited > 5
    assert found.wrong == 0
    assert found.interval[0] == 0.0
    assert "were let finish, 0 became one of the best" in str(found)


def test_the_interval_is_clopper_pearsons():
    found = PruningReview(pruned=10, audited=20, wrong=3, level=0.05).interval
    reference = binomtest(3, 20).proportion_ci(0.9, method="exact")
    assert found == pytest.approx((reference.low, reference.high))
    assert PruningReview(0, 0, 0, 0.05).interval == (0.0, 1.0)
    assert PruningReview(0, 4, 4, 0.05).interval[1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 0.0}, "0 < level < 1"),
        ({"best": 1.0}, "0 < best < 1"),
        ({"audit": 1.0}, "0 <= audit < 1"),
        ({"n_warmup_steps": -1}, "n_warmup_steps >= 0"),
    ],
)
def test_errors_say_the_rule(arguments, message):
    with pytest.raises(ValueError, match=message):
        CalibratedPruner(**arguments)
