"""Tune a scikit-learn pipeline as one would with GridSearchCV, calibrated.

Needs Optuna's integration with scikit-learn: pip install 'optuna-integration[sklearn]>=5.0'. About
ten seconds.
"""

import warnings

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna_integration import OptunaSearchCV
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import calibrant

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=600, random_state=0)

space = {
    "svc__C": FloatDistribution(1e-3, 1e3, log=True),
    "svc__gamma": FloatDistribution(1e-6, 1e-1, log=True),
    "svc__kernel": CategoricalDistribution(["rbf", "poly"]),
}
optuna.logging.set_verbosity(optuna.logging.WARNING)
# OptunaSearchCV itself calls a part of Optuna that is on its way out, once a trial.
warnings.filterwarnings("ignore", "`optuna.terminator`", FutureWarning)
sampler = calibrant.CalibratedSampler(search_space=space, seed=0)
search = OptunaSearchCV(
    make_pipeline(StandardScaler(), SVC()),
    space,
    cv=3,
    n_trials=30,
    study=optuna.create_study(direction="maximize", sampler=sampler),
)
search.fit(X_train, y_train)

found = calibrant.review(search.study_)
print(f"accuracy {search.best_score_:.3f} with {search.best_params_}")
print(f"on pictures not seen before: {search.score(X_test, y_test):.3f}")
print(
    f"80 % intervals held {found.held.mean():.0%} of {found.held.size} times; "
    f"the model's own held {found.raw_held.mean():.0%}"
)
