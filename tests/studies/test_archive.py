"""What is kept up to date trial by trial is what a new archive would make of all trials."""

import numpy as np
import optuna
import pytest

from calibrant import CalibratedSampler
from calibrant.studies import archive as archives
from calibrant.studies.archive import Archive
from calibrant.studies.space_text import parse_space


def branches(trial):
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    n = trial.suggest_int("n", 1, 9)
    if kind == "a":
        return trial.suggest_float("u", 1e-4, 1, log=True) + n / 10
    if kind == "b":
        return trial.suggest_float("v", 0, 2) + (trial.suggest_int("m", 1, 4) if n > 4 else 1)
    return 1.5 + n / 100


def edited(trial):
    """An objective that is rewritten while the study goes on."""
    size = 1 if trial.number < 5 else 3
    value = trial.suggest_float("x", -size, size) ** 2
    if trial.number < 8:
        value += trial.suggest_float("old", 0, 1)
    if trial.number > 3:
        value += trial.suggest_float("new", 0, 1)
    return value


def troubled(trial):
    x = trial.suggest_float("x", 0, 1)
    for step in range(4):
        trial.report(x + 1 / (step + 1), step)
        if step == 2 and x > 0.5 and trial.number % 2:
            raise optuna.TrialPruned
    if trial.number % 5 == 3:
        raise ValueError
    if trial.number % 3:
        trial.set_constraint("c", 0.3 - x)
    return x * x


@pytest.mark.parametrize("objective", [branches, edited, troubled])
@pytest.mark.parametrize("declared", [None, {"x": (-2.0, 2.0), "old": (0.0, 1.0)}])
def test_trial_by_trial_is_all_at_once(objective, declared):
    declared = declared and parse_space(declared)
    study = optuna.create_study(sampler=CalibratedSampler(seed=0, n_startup_trials=8))
    kept = Archive()
    kept.update(study)
    running = []
    for number in range(18):
        trial = study.ask()
        try:
            running.append((trial, objective(trial), None))
        except optuna.TrialPruned:
            running.append((trial, None, optuna.trial.TrialState.PRUNED))
        except ValueError:
            running.append((trial, None, optuna.trial.TrialState.FAIL))
        if len(running) == 3:
            done, value, state = running.pop(number % 3)  # out of order
            study.tell(done, value, state=state)
        kept.update(study)
        fresh = Archive(_kept_in=kept._kept_in)  # nothing had finished before it
        fresh.update(study)
        same_view(kept, fresh, declared)


def same_view(kept, fresh, declared):
    assert list(kept.records) == list(fresh.records)
    assert kept.longest == fresh.longest
    assert kept.parameters() == fresh.parameters()
    searched = kept.search_space(declared)
    assert searched == fresh.search_space(declared)
    if not searched:
        return
    space, other = kept.space(searched), fresh.space(searched)
    assert space.conditions == other.conditions
    assert space._paths == other._paths
    ours, theirs = (a.history(s, 1, []) for a, s in ((kept, space), (fresh, other)))
    for name in ("X", "Y", "constraints", "was_forecast", "failed", "pruned", "extrapolated"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_each_trial_is_read_once(monkeypatch):
    read = []

    def counted(trial, flip):
        read.append(trial.number)
        return archives_read(trial, flip)

    archives_read = archives.read
    monkeypatch.setattr(archives, "read", counted)
    study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=9)
    assert read == list(range(8))  # the last one after the last suggestion


def test_a_space_without_conditions_does_not_ask_the_trials(monkeypatch):
    """It is asked for before each suggestion, and there may be thousands of them."""
    study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=9)
    archive = Archive()
    archive.update(study)
    monkeypatch.setattr(Archive, "_seen", None)
    space = archive.space(archive.search_space())
    assert not space.conditions
