"""What the reports of pruned trials foretell."""

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from calibrant import CalibratedSampler
from calibrant.studies.archive import Archive

X = {"x": FloatDistribution(0.0, 1.0)}


def a_study(sampler=None, **options):
    return optuna.create_study(sampler=sampler or CalibratedSampler(seed=0), **options)


def add(study, x, value=None, reports=(), state=TrialState.COMPLETE):
    study.add_trial(
        optuna.create_trial(
            params={"x": x},
            distributions=X,
            value=value,
            intermediate_values=dict(enumerate(reports)),
            state=state,
        )
    )


def test_pruned_trials_lie_between_the_middle_and_the_worst_if_nothing_more_is_known():
    study = a_study()
    for value in (1.0, 2.0, 3.0):
        add(study, value / 4, value)
    for x, reports in ((0.1, (9.0, 5.0)), (0.2, (-7.0,)), (0.9, ()), (0.95, (1.0, np.nan))):
        add(study, x, None, reports, TrialState.PRUNED)
    archive = Archive()
    archive.update(study)
    history = archive.history(archive.space(X), 1, [])
    np.testing.assert_allclose(history.pruned, [[0.1], [0.2]])
    np.testing.assert_allclose(history.extrapolated, [[3.0, 1.0], [2.0, 1.0]])
    np.testing.assert_allclose(history.failed, [[0.9], [0.95]])  # they say nothing more
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)


def test_a_report_foretells_an_outcome_as_well_as_it_did_in_trials_that_finished():
    study = a_study(direction="maximize")
    # At step 0 they were 2 below what they came to, give or take; at step 1 just one below.
    for x, value, first in ((0.1, 10.0, 8.5), (0.3, 20.0, 18.0), (0.5, 30.0, 27.5)):
        add(study, x, value, (first, value - 1.0))
    add(study, 0.7, None, (13.0,), TrialState.PRUNED)
    add(study, 0.8, None, (0.0, 24.0), TrialState.PRUNED)
    add(study, 0.9, None, (0.0, 0.0, 0.0), TrialState.PRUNED)  # nobody else has come so far
    archive = Archive()
    archive.update(study)
    history = archive.history(archive.space(X), 1, [])
    np.testing.assert_allclose(history.extrapolated, [[-15.0, 0.5], [-25.0, 0.0], [-10.0, 10.0]])


@pytest.mark.parametrize("reported", [1, 2, 3])
def test_reports_foretell_nothing_before_three_trials_have_shown_what_comes_after_them(reported):
    study = a_study()
    for k, value in enumerate((1.0, 2.0, 4.0, 8.0)):
        add(study, k / 8, value, (value + 0.5,) if k < reported else ())
    add(study, 0.9, None, (3.0,), TrialState.PRUNED)
    archive = Archive()
    archive.update(study)
    history = archive.history(archive.space(X), 1, [])
    middle, half_range = 3.0, 3.5
    expected = [2.5, 0.0] if reported == 3 else [middle, half_range]
    np.testing.assert_allclose(history.extrapolated, [expected], atol=1e-12)


def test_penalties_do_not_silence_what_was_pruned():
    def foretold(penalties):
        study = a_study()
        for k in range(8):
            add(study, k / 10, k / 10, (1.0 + k / 10,))
        for _ in range(penalties):
            add(study, 0.9, 1e6, (3.0,))
        add(study, 0.95, None, (1.3,), TrialState.PRUNED)
        archive = Archive()
        archive.update(study)
        return archive.history(archive.space(X), 1, []).extrapolated

    np.testing.assert_allclose(foretold(0), [[0.3, 0.0]], atol=1e-12)
    np.testing.assert_allclose(foretold(2), foretold(0), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300, 1.7e308])
def test_pruned_outcomes_of_any_size(scale):
    study = a_study()
    for x, value in ((0.1, -1.0), (0.3, 1.0), (0.5, 0.5), (0.7, 0.1)):
        add(study, x, scale * value, (-scale * value,))
    for x, report in ((0.2, 1.0), (0.9, -1.0)):
        add(study, x, None, (scale * report,), TrialState.PRUNED)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(study.trials) == 9
