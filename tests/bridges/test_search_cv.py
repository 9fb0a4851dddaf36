"""OptunaSearchCV, scikit-learn's search with Optuna inside, with our sampler inside that."""

import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

import calibrant

EXAMPLE = Path(__file__).parents[2] / "examples" / "search_cv.py"

integration = pytest.importorskip(
    "optuna_integration", reason="needs pip install 'optuna-integration[sklearn]>=5.0'"
)


def test_the_example_finds_a_good_classifier():
    printed = subprocess.check_output([sys.executable, str(EXAMPLE)], text=True, timeout=300)
    assert float(re.search(r"accuracy (\S+)", printed)[1]) > 0.97
    assert float(re.search(r"not seen before: (\S+)", printed)[1]) > 0.95
    assert "80 % intervals held" in printed


@pytest.mark.filterwarnings("ignore:OptunaSearchCV is experimental")
@pytest.mark.filterwarnings("ignore:`optuna.terminator`:FutureWarning")
def test_forecasts_are_kept_with_the_trials():
    linear_model = pytest.importorskip("sklearn.linear_model")
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_diabetes(return_X_y=True)
    space = {
        "alpha": FloatDistribution(1e-4, 1e2, log=True),
        "fit_intercept": CategoricalDistribution([True, False]),
    }
    sampler = calibrant.CalibratedSampler(search_space=space, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    search = integration.OptunaSearchCV(linear_model.Ridge(), space, cv=3, n_trials=15, study=study)
    search.fit(X, y)
    assert search.best_score_ > 0.46
    assert search.best_estimator_.alpha == search.best_params_["alpha"]
    (outcomes,) = sampler.outcomes(search.study_)
    assert len(outcomes) == 10  # all but the first five
