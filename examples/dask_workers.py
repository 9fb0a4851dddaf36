"""Four tasks on a Dask cluster work on one study, which they share through a storage.

Needs Dask: pip install 'dask[distributed]'. Half a minute. The cluster here consists of
local processes. For your own, use Client("tcp://scheduler:8786") and a storage that all its
machines can reach, such as postgresql+psycopg://user@host/name.
"""

import tempfile
from pathlib import Path

import optuna
from dask.distributed import Client

import calibrant


def objective(trial: optuna.Trial) -> float:
    """Return a value to be minimised."""
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return (x - 1) ** 2 + (y + 2) ** 2


def work(storage: str, n_trials: int) -> None:
    """Join the study, and evaluate some settings."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name="shared",
        storage=calibrant.open_storage(storage),
        sampler=calibrant.CalibratedSampler(),
    )
    study.optimize(objective, n_trials=n_trials)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'study.db'}"
        study = optuna.create_study(study_name="shared", storage=calibrant.open_storage(url))
        with Client(n_workers=4, threads_per_worker=1, dashboard_address=None) as client:
            client.gather([client.submit(work, url, 8, pure=False) for _ in range(4)])
        settings = {tuple(trial.params.values()) for trial in study.trials}
        print(f"{len(study.trials)} trials, {len(settings)} settings, best {study.best_value:.1e}")
