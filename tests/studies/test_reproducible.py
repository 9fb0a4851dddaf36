"""A seed gives the same search again: on any storage, and also when it is stopped and resumed."""

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import calibrant
from calibrant import CalibratedSampler
from calibrant.studies import open_storage


def bowl(params):
    return (params["x"] - 0.3) ** 2 + abs(params["n"] - 3) / 10


SPACE = {"x": (0.0, 1.0), "n": (1, 6)}


def search(storage, *parts, seed=3):
    """Return the settings of a search that is stopped after each of some numbers of trials."""
    for n_trials in parts:
        study = calibrant.minimize(bowl, SPACE, n_trials, storage=storage, seed=seed)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_the_storage_does_not_matter(tmp_path, kind):
    assert search(f"{kind}:///{tmp_path}/study", 11) == search(None, 11)


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
@pytest.mark.parametrize("parts", [(7, 11), (2, 4, 11), (10, 11)])
def test_a_search_that_is_stopped_and_resumed_is_the_same_search(tmp_path, kind, parts):
    assert search(f"{kind}:///{tmp_path}/study", *parts) == search(None, 11)


def test_another_seed_does_not_go_on_where_the_first_one_was(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    search(url, 7)
    assert search(url, 11, seed=4) != search(None, 11)


@pytest.mark.parametrize("damage", [None, 3, [], {"seed": 3}, {"seed": 3, "after": ["x", 1, 2, 3]}])
def test_a_damaged_note_of_random_numbers_is_none(damage):
    study = calibrant.minimize(bowl, SPACE, 8, seed=3)
    for trial in study.get_trials(deepcopy=False):
        trial.system_attrs["calibrant:suggestion"]["random"] = damage
    study.sampler = CalibratedSampler(seed=3)
    study.optimize(objective, n_trials=2)
    assert len(study.trials) == 10


def objective(trial):
    return bowl({"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 6)})


def as_it_was(trials, number):
    """Return the study as it was when a trial was asked for."""
    study = optuna.create_study(sampler=CalibratedSampler(seed=3))
    for trial in trials[:number]:
        if trial.datetime_complete > trials[number].datetime_start:
            trial = optuna.create_trial(
                state=TrialState.RUNNING,
                params=trial.params,
                distributions=trial.distributions,
                system_attrs=trial.system_attrs,
            )
        study.add_trial(trial)
    return study


@pytest.mark.parametrize("workers", [1, 4])
def test_any_suggestion_can_be_made_again_from_the_storage(tmp_path, workers):
    """From what had finished, what was running, and the random numbers noted with it."""
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url, sampler=CalibratedSampler(seed=3))
    running = []
    for number in range(20):
        trial = study.ask()
        running.append((trial, objective(trial)))
        if len(running) == workers:
            study.tell(*running.pop(number % workers))
    for pair in running:
        study.tell(*pair)
    trials = study.trials
    replayed = 0
    for number in range(6, 20, 3):
        past = as_it_was(trials, number)
        assert past.sampler._random.go_back(trials[number])
        trial = past.ask()
        objective(trial)
        assert trial.params == trials[number].params
        replayed += sum(t.state == TrialState.RUNNING for t in past.trials[:number])
    assert (replayed > 0) == (workers > 1)


def test_the_same_history_gives_the_same_suggestion(tmp_path):
    """Whoever asks: each worker starts from what is stored, and from its seed."""
    search(f"sqlite:///{tmp_path}/study.db", 10)
    past = optuna.load_study(study_name="calibrant", storage=f"sqlite:///{tmp_path}/study.db")
    suggested = []
    for name in ("memory", "sqlite"):
        storage = None if name == "memory" else open_storage(f"sqlite:///{tmp_path}/again.db")
        study = optuna.create_study(storage=storage, sampler=CalibratedSampler(seed=5))
        study.add_trials(past.trials)
        study.optimize(objective, n_trials=1)
        suggested.append(study.trials[-1].params)
    assert suggested[0] == suggested[1]


def test_a_seed_may_be_one_of_numpys_integers(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    assert search(url, 6, seed=np.int64(3)) == search(None, 6, seed=3)


@pytest.mark.parametrize("together", [True, False])
def test_workers_with_the_same_seed_do_not_draw_in_step(tmp_path, together):
    """Whether the second one begins while the first one evaluates, or between its trials."""
    url = f"sqlite:///{tmp_path}/study.db"
    search(url, 7)
    workers = [
        optuna.load_study(
            study_name="calibrant",
            storage=url,
            sampler=CalibratedSampler(search_space=SPACE, seed=3),
        )
        for _ in range(2)
    ]
    for _ in range(3):
        asked = []
        for worker in workers:
            trial = worker.ask()
            asked.append((worker, trial, objective(trial)))
            if not together:
                worker.tell(*asked.pop()[1:])
        for worker, trial, value in asked:
            worker.tell(trial, value)
    notes = [t.system_attrs["calibrant:suggestion"]["random"] for t in workers[0].trials[7:]]
    places = [tuple(note["before"]) for note in notes]
    assert len(set(places)) == len(places) == 6
