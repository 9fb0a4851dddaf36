"""``calibrant demo``: two worked examples on real data.

*Tuning*: gradient-boosted trees for the progression of diabetes. 442 patients, ten measurements
each, and the progress of the disease a year later; the data ships with scikit-learn. Six settings
of a boosted-tree regressor are tuned for the root mean square error in five-fold cross-validation.

*Stream*: weekly CO₂ at Mauna Loa, 1958 to 2001; the data ships with statsmodels. An autoregression
is fitted once, to the first ten years, and used for 34 more without being refitted, as forecasting
models often are. CO₂ grows faster and faster, so its Gaussian intervals lose their coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from optuna.distributions import BaseDistribution

import calibrant
from calibrant.cli.closing import finish
from calibrant.cli.live_table import live_table
from calibrant.cli.recalibrate import print_summary, replay_with_progress
from calibrant.cli.terminal import check_writable, console, fail, say
from calibrant.core.typing import FloatArray
from calibrant.decisions.belief import NOISY
from calibrant.forecasts.normal import Normal
from calibrant.reporting.stream import write_stream_report
from calibrant.studies.asking import suggest
from calibrant.studies.job import record_run
from calibrant.studies.opening import open_study
from calibrant.studies.runner import run
from calibrant.studies.space_text import parse_space

TITLE = "Boosted trees on the diabetes data: cross-validated RMSE"
TRIALS = 40
_SEED = 0

_LAGS = (1, 2, 52, 53)  # the last two weeks, and two weeks of a year ago
_TRAINING_WEEKS = 520


class Demo(StrEnum):
    """Which worked example to run."""

    TUNING = "tuning"
    STREAM = "stream"


def demo(
    which: Annotated[
        Demo,
        typer.Argument(help="tuning: a model on real data; stream: real forecasts, recalibrated."),
    ] = Demo.TUNING,
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("report.html"),
) -> None:
    """Tune a model on real data (or recalibrate real forecasts) and write a report."""
    try:
        check_writable(report)
        if which is Demo.STREAM:
            _stream_demo(report)
        else:
            _tuning_demo(report)
    except (ImportError, ValueError, OSError) as error:
        fail(str(error))


def _stream_demo(report: Path) -> None:
    stream = co2_stream()
    recalibrator = calibrant.ChainRecalibrator()
    result = replay_with_progress(stream.forecast, stream.y, recalibrator, stream.name)
    print_summary(result)
    title = f"{stream.name}: a model fitted once, before and after recalibration"
    console.print(f"Report: {write_stream_report(result, report, title, stream.times)}")


def _tuning_demo(report: Path) -> None:
    objective, space = boosted_trees(), tree_settings()
    console.print(TITLE)
    say("Each trial: the 80 % interval forecast before it ran → its value, ✓ if inside.")
    say("The first five trials are spread over the space and have no forecast.")
    study = open_study(space, None, "demo", "minimize", seed=_SEED)
    record_run(study, seed=_SEED)
    study.set_user_attr(NOISY, False)  # the folds are the same for all settings
    with live_table(study, TRIALS, console) as listener:
        run(study, lambda trial: objective(suggest(trial, space)), TRIALS, listener=listener)
    finish(study, report, TITLE)


def tree_settings() -> dict[str, BaseDistribution]:
    """Return the settings to tune."""
    return parse_space(
        {
            "learning_rate": "1e-3..1:log",
            "max_iter": "20..300:log",
            "max_leaf_nodes": "2..64:log",
            "min_samples_leaf": "1..100:log",
            "l2_regularization": "1e-6..1e2:log",
            "loss": ["squared_error", "absolute_error"],
        }
    )


def boosted_trees() -> Callable[[dict[str, Any]], float]:
    """Load the data and return the function from settings to error."""
    try:
        from sklearn.datasets import load_diabetes
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.model_selection import KFold, cross_val_score
        from threadpoolctl import threadpool_limits  # comes with scikit-learn
    except ImportError as error:
        raise ImportError("The demo's data ships with it: pip install scikit-learn.") from error
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)

    def error_of(settings: dict[str, Any]) -> float:
        model = HistGradientBoostingRegressor(**settings, early_stopping=False, random_state=0)
        with threadpool_limits(1):  # with data this small, threads only wait for each other
            scores = cross_val_score(model, X, y, cv=folds, scoring="neg_mean_squared_error")
        return float(np.sqrt(-scores.mean()))

    return error_of


@dataclass(frozen=True)
class Stream:
    """Forecasts made before their outcomes, and the times of the outcomes."""

    name: str
    times: np.ndarray
    forecast: Normal
    y: FloatArray


def co2_stream() -> Stream:
    """Load the series that ships with statsmodels and forecast it one week ahead."""
    try:
        from statsmodels.datasets import co2
    except ImportError as error:
        raise ImportError("The demo's data ships with it: pip install statsmodels.") from error
    series = co2.load_pandas().data["co2"].interpolate()
    forecast, y = autoregression(series.to_numpy(dtype=float), _LAGS, _TRAINING_WEEKS)
    return Stream("Weekly CO₂ at Mauna Loa", series.index.to_numpy()[_TRAINING_WEEKS:], forecast, y)


def autoregression(
    series: FloatArray, lags: tuple[int, ...], training: int
) -> tuple[Normal, FloatArray]:
    """Fit y_t = a + Σ b_l·y_{t−l} to the first values, and forecast the others one step ahead."""

    def design(times: np.ndarray) -> FloatArray:
        return np.column_stack([np.ones(times.size), *(series[times - lag] for lag in lags)])

    past = np.arange(max(lags), training)
    coefficients = np.linalg.lstsq(design(past), series[past], rcond=None)[0]
    std = np.std(series[past] - design(past) @ coefficients)
    future = np.arange(training, series.size)
    return Normal(design(future) @ coefficients, np.full(future.size, std)), series[future]
