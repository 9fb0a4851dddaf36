"""Train a classifier epoch by epoch, and stop trainings that will not be among the best.

pip install '.[sklearn]' && python examples/prune_training.py
"""

import numpy as np
import optuna
from sklearn import datasets
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

import calibrant

EPOCHS, TRIALS = 20, 40
X, y = datasets.load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
trained = 0  # epochs


def error(trial):
    """Return the share of digits that are read wrongly, and report it after each epoch."""
    global trained
    model = SGDClassifier(
        alpha=trial.suggest_float("alpha", 1e-6, 1e-1, log=True),
        learning_rate="constant",
        eta0=trial.suggest_float("rate", 1e-5, 1e0, log=True),
        random_state=0,
    )
    for epoch in range(EPOCHS):
        model.partial_fit(X_train, y_train, classes=np.unique(y))
        trained += 1
        wrong = 1.0 - model.score(X_test, y_test)
        trial.report(wrong, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return wrong


optuna.logging.set_verbosity(optuna.logging.WARNING)
pruner = calibrant.CalibratedPruner(level=0.05, audit=0.1)
study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0), pruner=pruner)
study.optimize(error, n_trials=TRIALS)

print(f"Best: {study.best_value:.3f} with {study.best_params}")
print(f"Trained {trained} of {TRIALS * EPOCHS} epochs.")
print(pruner.review(study))

found = calibrant.review(study)
print(f"80 % intervals held: {found.held.mean():.0%}")
