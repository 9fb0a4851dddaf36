"""Tune two parameters, stop when more trials are not worth it, and look at the error bars."""

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """A valley with a curved floor."""
    x = trial.suggest_float("x", -2.0, 2.0)
    y = trial.suggest_float("y", -1.0, 3.0)
    return (1.0 - x) ** 2 + 10.0 * (y - x**2) ** 2


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/calibrant")
    study = optuna.create_study(sampler=module.CalibratedSampler(seed=0))
    study.optimize(objective, n_trials=60, callbacks=[module.StopWhen(probability=0.05)])

    print(f"best value {study.best_value:.4g} with {study.best_params}")
    print(module.review(study))
    module.plot_reliability(study).write_html("reliability.html")
