"""Opening a study: what does not fit a stored one is refused before a trial is lost."""

import optuna
import pytest
from optuna.trial import TrialState

import calibrant
from calibrant.studies.job import same_job
from calibrant.studies.opening import open_study


def test_a_stored_study_of_another_direction_or_job_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = open_study({}, url, "s", "maximize")
    same_job(study, program="a-slip.py", parameters=["x"])  # nothing has succeeded: no harm done
    same_job(study, program="a.py", parameters=["x"])
    study.add_trial(optuna.create_trial(state=TrialState.RUNNING))  # somebody works on it
    same_job(study, program="a.py", parameters=["x"])
    same_job(study, parameters=["x"])
    with pytest.raises(ValueError, match=r"with program 'a\.py' and not 'b\.py'"):
        same_job(study, program="b.py", parameters=["x"])
    with pytest.raises(ValueError, match="is set to maximize, not to minimize"):
        open_study({}, url, "s", "minimize")


def test_what_a_stored_study_did_not_record_is_recorded_when_it_is_resumed():
    study = optuna.create_study()
    same_job(study, parameters=["x"])
    study.add_trial(optuna.create_trial(value=1.0))
    with pytest.raises(ValueError, match=r"with limits \{\} and not \{'memory': 8\.0\}"):
        same_job(study, parameters=["x"], limits={"memory": 8.0})
    same_job(study, parameters=["x"], program="a.py", limits={})
    with pytest.raises(ValueError, match=r"with program 'a\.py' and not 'b\.py'"):
        same_job(study, parameters=["x"], program="b.py", limits={})


def test_a_stored_study_of_several_objectives_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    optuna.create_study(storage=url, study_name="calibrant", directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="is set to minimize and maximize, not to minimize"):
        calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 3, storage=url)


def test_another_space_does_not_mix_with_a_stored_one(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 3, storage=url)
    with pytest.raises(ValueError, match="of another problem"):
        calibrant.minimize(lambda p: p["q"], {"q": (0.0, 1.0)}, 6, storage=url)
    calibrant.minimize(lambda p: p["x"], {"x": (0.0, 2.0)}, 6, storage=url)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (["relu", "tanh"], ["relu", "tanh", "gelu"], "was one of 'relu', 'tanh' .* 'gelu'"),
        ((0, 10), (0.0, 10.0), "was an integer from 0 to 10 .* now a number"),
        ((1.0, 9.0), (1.0, 9.0, "log"), "now a number from 1 to 9, on a log scale"),
    ],
)
def test_another_kind_of_parameter_is_refused_before_a_trial_is_lost(tmp_path, before, now, said):
    url = f"sqlite:///{tmp_path}/study.db"
    calibrant.minimize(lambda p: len(str(p["x"])), {"x": before}, 3, storage=url)
    with pytest.raises(ValueError, match=said):
        calibrant.minimize(lambda p: 0.0, {"x": now}, 6, storage=url)
    assert len(optuna.load_study(study_name="calibrant", storage=url).trials) == 3


def test_choices_that_a_storage_would_change_are_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    with (
        pytest.warns(UserWarning, match="persistent storage"),
        pytest.raises(ValueError, match=r"`h` may be \(64, 64\); use a name"),
    ):
        calibrant.minimize(lambda p: 0.0, {"h": [(64, 64), (128,)]}, 6, storage=url)
    assert calibrant.minimize(lambda p: 0.0, {"h": [True, None, "a", 2.5]}, 3, storage=url)
