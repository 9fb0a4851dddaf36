"""Tune a support vector classifier of handwritten digits with Ray Tune, two trials at a time.

Needs Ray and scikit-learn: pip install scikit-learn 'ray[tune]'. Half a minute. Ray leaves
its own record of the trials in ~/ray_results.
"""

import optuna
import ray
from ray import tune
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import calibrant
from calibrant.bridges.ray import CalibratedSearch


def train(settings: dict) -> dict:
    """Return the cross-validated error of a setting."""
    X, y = load_digits(return_X_y=True)
    accuracy = cross_val_score(SVC(**settings), X[:600], y[:600], cv=3).mean()
    return {"error": 1.0 - accuracy}


optuna.logging.set_verbosity(optuna.logging.WARNING)
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
storage = optuna.storages.InMemoryStorage()  # where the study can be found afterwards
search = CalibratedSearch(seed=0, storage=storage, study_name="digits")
tuner = tune.Tuner(
    train,
    param_space={
        "C": tune.loguniform(1e-3, 1e3),
        "gamma": tune.loguniform(1e-6, 1e-1),
        "kernel": tune.choice(["rbf", "poly"]),
    },
    tune_config=tune.TuneConfig(
        metric="error",
        mode="min",
        search_alg=search,
        num_samples=25,
        max_concurrent_trials=2,
        reuse_actors=True,  # a new process a trial takes longer than the trial
    ),
    run_config=tune.RunConfig(verbose=0),
)
best = tuner.fit().get_best_result()

found = calibrant.review(optuna.load_study(study_name="digits", storage=storage))
print(f"error {best.metrics['error']:.3f} with {best.config}")
print(
    f"80 % intervals held {found.held.mean():.0%} of {found.held.size} times; "
    f"the model's own held {found.raw_held.mean():.0%}"
)
