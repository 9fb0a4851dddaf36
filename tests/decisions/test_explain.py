"""Why a trial was chosen."""

import optuna
import pytest
from tests.reporting.studies import STUDIES, imported, searched

import calibrant


def test_a_trial_is_explained_by_what_was_known_before_it():
    study = searched(16)
    told = calibrant.explain(study, 15)
    assert told.params == study.trials[15].params
    assert told.value == study.trials[15].value
    assert told.best_before == min(t.value for t in study.trials[:15])
    assert 0 <= told.improves <= 1
    assert all(near.number < 15 for near in told.neighbours)
    assert [n.distance for n in told.neighbours] == sorted(n.distance for n in told.neighbours)
    assert set(told.parameters) == {"lr", "layers", "act"}
    for low, high in told.parameters.values():
        assert low <= high
    assert str(told).startswith("Trial 15: ")
    assert "lr" in told._repr_html_()
    # Later trials say nothing about what was believed then.
    short = optuna.create_study()
    short.add_trials(study.trials[:16])
    again = calibrant.explain(short, 15)
    assert again.improves == told.improves
    assert again.interval == told.interval


def test_the_first_trials_are_explained_by_the_design():
    told = calibrant.explain(searched(8), 2)
    assert "one of the first" in told.reason
    assert told.interval is None


def test_maximised_values_keep_their_sign():
    told = calibrant.explain(searched(12, direction="maximize"), 11)
    assert told.best_before <= 0
    assert told.interval[0] < told.interval[1]


@pytest.mark.parametrize("kind", ["conditional", "constrained", "constant", "running"])
def test_every_kind_of_study(kind):
    study = STUDIES[kind]()
    assert str(calibrant.explain(study, len(study.trials) - 2))


def test_mistakes():
    with pytest.raises(ValueError, match="0 <= trial < 3"):
        calibrant.explain(imported(3), 3)
    with pytest.raises(ValueError, match="single objective"):
        calibrant.explain(STUDIES["two objectives"](), 0)
