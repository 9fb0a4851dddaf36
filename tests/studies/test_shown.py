"""Forecasts of a study as they were shown, one at a time and with workers."""

import numpy as np
import optuna
import pytest

from calibrant import CalibratedSampler, review
from calibrant.models import GaussianProcess
from calibrant.search.defaults import INFORMED, SHOWN
from calibrant.search.shown import informed
from calibrant.studies.archive import Archive
from calibrant.studies.shown import COVERAGE, ShownForecasts
from calibrant.studies.suggestions import showing, stored


def bowl(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + abs(trial.suggest_float("y", -1, 1))


def searched(trials=14, workers=1, direction="minimize", storage=None):
    sampler = CalibratedSampler(seed=0)
    study = optuna.create_study(sampler=sampler, direction=direction, storage=storage)
    running = []
    for _ in range(trials):
        trial = study.ask()
        running.append((trial, bowl(trial)))
        if len(running) == workers:
            study.tell(*running.pop(0))
    for pair in running:
        study.tell(*pair)
    return study


def as_read(study):
    archive, shown = Archive(), ShownForecasts()
    archive.update(study)
    shown.update(archive.records)
    return archive, shown


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_stored_interval_is_the_one_of_a_replay(direction):
    study = searched(direction=direction)
    archive, shown = as_read(study)
    assert shown.issued
    for number, issued in shown.issued.items():
        np.testing.assert_allclose(
            archive.records[number].shown, issued.calibrated.interval(COVERAGE), rtol=1e-9
        )


def test_one_at_a_time_each_is_recalibrated_by_all_before_it():
    archive, shown = as_read(searched())
    recalibrator = INFORMED
    for number, issued in shown.issued.items():
        record = archive.records[number]
        assert issued.by.to_dict() == recalibrator.to_dict()
        base = informed(record.forecasts[0], record.known)
        recalibrator = recalibrator.observe(base, record.values[0])
    assert shown.recalibrator.to_dict() == recalibrator.to_dict()


@pytest.mark.parametrize("workers", [2, 5])
def test_with_workers_hits_are_counted_on_the_intervals_that_were_stored(workers):
    archive, shown = as_read(searched(trials=24, workers=workers))
    for number, issued in shown.issued.items():
        low, high = issued.calibrated.quantile([0.1, 0.9])
        assert archive.records[number].shown == (low, high)


def test_another_model_starts_without_the_trust_in_the_prior():
    study = optuna.create_study(sampler=CalibratedSampler(model=GaussianProcess(), seed=0))
    study.optimize(bowl, n_trials=8)
    _, shown = as_read(study)
    assert next(iter(shown.issued.values())).by.to_dict() == SHOWN.to_dict()


@pytest.mark.parametrize("workers", [2, 4])
def test_with_workers_each_is_shown_by_what_was_known_when_it_started(workers):
    _, shown = as_read(searched(trials=20, workers=workers))
    counts = [issued.by.then.count for issued in shown.issued.values()]
    assert counts == sorted(counts)
    waiting = [place - count for place, count in enumerate(counts)]
    assert max(waiting) <= workers - 1  # the delay of the guarantee
    assert max(waiting) > 0


def test_a_review_reports_what_was_stored(tmp_path):
    study = searched(storage=f"sqlite:///{tmp_path / 'study.db'}")
    again = optuna.load_study(study_name=study.study_name, storage=study._storage)
    found = review(again)
    records = {t.number: stored(t) for t in again.trials}
    shown = np.array([records[n].shown for n in found.forecast_numbers])
    np.testing.assert_array_equal(found.low, shown[:, 0])
    np.testing.assert_array_equal(found.high, shown[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4, 16, 64])
def test_a_review_reports_what_was_shown_however_many_work(workers):
    """What each worker was shown is noted when it is asked, before any later outcome."""
    study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    running, told = [], {}
    for number in range(workers + 24):
        trial = study.ask()
        value = bowl(trial)
        if (suggestion := stored(study.trials[number])) is not None:  # of the first there is none
            told[number] = suggestion.shown
        running.append((trial, value))
        if len(running) == workers:
            study.tell(*running.pop(number % workers))  # not in the order of their start
    for pair in running:
        study.tell(*pair)
    found = review(study)
    shown = {n: told[n] for n in found.forecast_numbers}
    assert len(shown) >= 15
    np.testing.assert_array_equal(np.column_stack([found.low, found.high]), list(shown.values()))


def test_studies_of_earlier_versions_are_replayed():
    """Without a stored interval, and without the prior that nobody noted."""
    study = searched()
    for trial in study.trials:
        note = study._storage._get_trial(trial._trial_id).system_attrs.get(
            "calibrant:suggestion", {}
        )
        note.pop("shown", None)
        note.pop("known", None)
        note.pop("by", None)
    archive, shown = as_read(study)
    assert all(record.shown is None for record in archive.records.values())
    assert all(record.known is None for record in archive.records.values())
    raw = [archive.records[n].forecasts[0] for n in shown.issued]
    assert [issued.raw for issued in shown.issued.values()] == raw
    assert review(study).low.size == len(raw)


def test_an_outcome_that_is_read_late_is_put_in_its_place():
    archive, shown = as_read(searched())
    records = archive.records
    late = list(records)[-3]
    partly, whole = ShownForecasts(), ShownForecasts()
    partly.update({n: r for n, r in records.items() if n != late})
    partly.update(records)
    whole.update(records)
    assert partly.recalibrator.to_dict() == whole.recalibrator.to_dict()
    assert list(partly.issued) == list(shown.issued)


def test_a_sampler_that_is_given_another_study_forgets_the_first():
    """Trials of two studies have the same numbers: their outcomes must not be mixed up."""
    other = optuna.create_study(sampler=CalibratedSampler(seed=1))
    other.optimize(lambda trial: 50.0 * bowl(trial), n_trials=14)
    first = searched(trials=12)
    other.sampler = first.sampler
    other.optimize(lambda trial: 50.0 * bowl(trial), n_trials=3)
    archive, shown = as_read(other)
    for number in (14, 15, 16):
        np.testing.assert_allclose(
            archive.records[number].shown,
            shown.issued[number].calibrated.interval(COVERAGE),
            rtol=1e-9,
        )


def taken_up(records):
    """Return what a new process makes of a study."""
    shown = ShownForecasts(go_on=True)
    shown.update(records)
    return shown


@pytest.mark.parametrize("workers", [1, 4])
def test_a_new_process_goes_on_from_the_last_state_noted(workers):
    """It observes no more than what was running then, and its state is that of a whole replay."""
    archive, whole = as_read(searched(trials=30, workers=workers))
    shown = taken_up(archive.records)
    assert shown.recalibrator.to_dict() == whole.recalibrator.to_dict()
    assert len(shown.issued) <= 2 * workers
    assert shown.issued.keys() < whole.issued.keys()


def test_outcomes_that_come_later_are_observed_by_a_process_that_went_on():
    study = searched(trials=20)
    archive, shown = Archive(), ShownForecasts(go_on=True)
    archive.update(study)
    shown.update(archive.records)
    study.optimize(bowl, n_trials=4)
    archive.update(study)
    shown.update(archive.records)
    assert shown.recalibrator.to_dict() == as_read(study)[1].recalibrator.to_dict()


@pytest.mark.parametrize("damaged", [False, True])
def test_what_another_worker_has_observed_need_not_be_observed_again(damaged):
    """A trial that runs holds the state of the worker that began it."""
    study = searched(trials=16)
    archive, shown = Archive(), ShownForecasts(go_on=True)
    archive.update(study)
    shown.update(archive.records)
    observed = set(shown.issued)
    study.optimize(bowl, n_trials=6)
    bowl(study.ask())
    note = showing(study.trials[-1])
    assert note is not None
    archive.update(study)
    shown.update(archive.records, [None, {**note, "total": 1e9} if damaged else note])
    assert (shown.issued.keys() == observed) != damaged
    assert shown.recalibrator.to_dict() == as_read(study)[1].recalibrator.to_dict()


def test_a_late_outcome_makes_a_process_observe_again_what_it_had_taken_up():
    archive, whole = as_read(searched(trials=24, workers=3))
    records = archive.records
    late = list(records)[8]
    shown = taken_up({n: r for n, r in records.items() if n != late})
    shown.update(records)
    assert shown.recalibrator.to_dict() == whole.recalibrator.to_dict()


@pytest.mark.parametrize("damage", ["mark", "sum", "count", "hits", "total", "start", "by"])
def test_a_damaged_state_is_not_gone_on_from(damage):
    """What showed these forecasts is then found by replay, as of versions that noted nothing."""
    archive, whole = as_read(searched())

    def damaged(by):
        if damage == "by":
            return None
        return {**by, damage: {"hits": [1] * 99, "total": 1e9, "start": ["shown"]}.get(damage, 70)}

    records = {
        n: record._replace(by=damaged(record.by)) if record.by else record
        for n, record in archive.records.items()
    }
    shown = taken_up(records)
    assert shown.issued.keys() == whole.issued.keys()
    assert shown.recalibrator.to_dict() == whole.recalibrator.to_dict()


def test_a_state_that_knows_other_outcomes_is_not_gone_on_from():
    """Trials may be copied to another study, some or all of them, and values be others."""
    archive, _ = as_read(searched(trials=20))
    records = dict(list(archive.records.items())[2:])
    first = next(n for n, r in records.items() if r.forecasts)
    records[first] = records[first]._replace(values=records[first].values + 1.0)
    whole = ShownForecasts()
    whole.update(records)
    shown = taken_up(records)
    assert shown.issued.keys() == whole.issued.keys()
    assert shown.recalibrator.to_dict() == whole.recalibrator.to_dict()


def test_a_worker_of_an_earlier_version_notes_no_state():
    """Its forecast was shown by what was known when it started: perhaps before the last note."""
    archive, _ = as_read(searched(trials=24, workers=4))
    records = archive.records
    last = list(records)[-1]
    records = {**records, last: records[last]._replace(by=None)}
    whole, shown = ShownForecasts(), taken_up({n: r for n, r in records.items() if n != last})
    whole.update(records)
    shown.update(records)
    assert shown.recalibrator.to_dict() == whole.recalibrator.to_dict()
    assert taken_up(records).recalibrator.to_dict() == whole.recalibrator.to_dict()


def test_infinite_ends_are_kept():
    study = searched()
    trial = study.trials[-1]
    note = dict(trial.system_attrs["calibrant:suggestion"])
    note["shown"] = [None, 2.5]
    changed = optuna.create_trial(
        params=trial.params,
        distributions=trial.distributions,
        value=1.0,
        system_attrs={"calibrant:suggestion": note},
    )
    assert stored(changed).shown == (-np.inf, 2.5)
