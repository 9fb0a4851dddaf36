"""A seed gives the same search again: on any storage, and also when it is stopped and resumed."""

import optuna
import pytest

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


def test_a_search_that_is_resumed_can_be_repeated(tmp_path):
    one, two = (search(f"sqlite:///{tmp_path}/{name}.db", 7, 11) for name in "ab")
    assert one == two


def test_the_same_history_gives_the_same_suggestion(tmp_path):
    """Whoever asks: each worker starts from what is stored, and from its seed."""
    search(f"sqlite:///{tmp_path}/study.db", 10)
    past = optuna.load_study(study_name="calibrant", storage=f"sqlite:///{tmp_path}/study.db")
    suggested = []
    for name in ("memory", "sqlite"):
        storage = None if name == "memory" else open_storage(f"sqlite:///{tmp_path}/again.db")
        study = optuna.create_study(storage=storage, sampler=CalibratedSampler(seed=5))
        study.add_trials(past.trials)
        study.optimize(
            lambda t: bowl({"x": t.suggest_float("x", 0, 1), "n": t.suggest_int("n", 1, 6)}),
            n_trials=1,
        )
        suggested.append(study.trials[-1].params)
    assert suggested[0] == suggested[1]
