"""Stored suggestions that were damaged, or that a later version has written."""

import copy
import json
import logging

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import calibrant
from calibrant.studies.archive import Archive
from calibrant.studies.pending import running_points
from calibrant.studies.shown import ShownForecasts
from calibrant.studies.suggestions import _KEY, Stored, showing, stored, suggested

SPACE = {"x": FloatDistribution(0.0, 1.0)}


def objective(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


@pytest.fixture(scope="module")
def searched():
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    study.optimize(objective, n_trials=9)
    return study


def with_note(trial, note, state=None):
    damaged = copy.deepcopy(trial)
    damaged.system_attrs[_KEY] = note
    if state is not None:
        damaged.state, damaged.values = state, None
        if not state.is_finished():
            damaged.datetime_complete = None
    return damaged


def of_a_later_version(record):
    return {**record, "version": 99}


def of_another_kind(record):
    return {**record, "forecasts": [{"kind": "flow", "weights": [1.0]}]}


def test_the_point_alone_needs_no_forecast(searched):
    trial = searched.trials[8]
    record = trial.system_attrs[_KEY]
    assert suggested(trial) == stored(trial).params
    assert suggested(with_note(trial, of_another_kind(record))) == stored(trial).params
    for damaged in (of_a_later_version(record), {}, [], "x", {"params": {"x": "wide"}}):
        assert suggested(with_note(trial, damaged)) == {}


@pytest.mark.parametrize("damage", [of_a_later_version, of_another_kind])
def test_a_record_of_a_later_version_counts_as_none_with_a_warning(searched, damage, caplog):
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    for trial in searched.trials:
        damaged = with_note(trial, damage(trial.system_attrs.get(_KEY, {})))
        study.add_trial(damaged if trial.number == 7 else trial)
    note = damage(searched.trials[8].system_attrs[_KEY])
    study.add_trial(with_note(searched.trials[8], note, TrialState.RUNNING))
    with caplog.at_level(logging.WARNING, logger="calibrant"):
        study.optimize(objective, n_trials=3)
    said = [r.message for r in caplog.records if r.name.startswith("calibrant")]
    assert sum("stored with trial 7 cannot be read" in message for message in said) == 1
    assert all(t.state == TrialState.COMPLETE for t in study.trials if t.number != 9)
    found = calibrant.review(study)
    assert 7 not in found.forecast_numbers
    assert 8 in found.forecast_numbers


def test_records_of_the_first_versions_are_read(searched):
    trial = searched.trials[8]
    note = {k: v for k, v in trial.system_attrs[_KEY].items() if k in ("params", "forecasts")}
    assert stored(with_note(trial, note)).params == stored(trial).params


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def places(value, path=()):
    """Return the paths of all parts of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


@st.composite
def damaged_notes(draw, note):
    """Return a record with one or two parts replaced by anything, or taken out."""
    note = {"note": copy.deepcopy(note)}
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from([p for p in places(note) if p]))
        *way, last = path
        part = note
        for key in way:
            part = part[key]
        if draw(st.booleans()) and way:
            del part[last]
        else:
            part[last] = draw(anything)
    return note.get("note")


@given(st.data())
def test_no_damaged_record_breaks_a_study(searched, data):
    note = data.draw(damaged_notes(searched.trials[8].system_attrs[_KEY]))
    state = data.draw(st.sampled_from([None, TrialState.RUNNING, TrialState.FAIL]))
    json.dumps(note)  # as a storage keeps it
    trial = with_note(searched.trials[8], note, state)
    known = stored(trial)
    assert known is None or isinstance(known, Stored)
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    study.add_trials(searched.trials[:8])
    study.add_trial(trial)
    archive, shown = Archive(), ShownForecasts(go_on=data.draw(st.booleans()))
    archive.update(study)
    with np.errstate(all="ignore"):
        running = [params for _, params in running_points(study, -1)]
        history = archive.history(archive.space(archive.search_space()), 1, running)
        shown.update(archive.records, [showing(trial)])
    assert np.isfinite(history.Y).all()
    assert np.isfinite(history.pending).all()


@settings(max_examples=5)
@given(damage=anything)
def test_no_damaged_note_of_a_study_breaks_it(searched, damage):
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(search_space=SPACE))
    for key in ("calibrant:slips", "calibrant:job", "calibrant:run"):
        study.set_user_attr(key, damage)
    study._storage.set_study_system_attr(study._study_id, "calibrant:design", damage)
    study.add_trials(searched.trials[:3])
    study.optimize(objective, n_trials=2)
    assert len(study.trials) == 5
