"""Candidates from a list: a table of settings with descriptors, of which a few can be measured.

Two tables are generated and imitate chemistry. The others are real: the diabetes data that
scikit-learn ships, and three of chemistry and materials (`measured`). Rivals are what a user would take: random picks, Optuna's TPE with the row as a category, and
the pool search of EDBO and the like: a Gaussian process on standardised descriptors (scikit-learn's,
Matérn 5/2 with a lengthscale a descriptor, noise learned) and expected improvement over all rows.
BayBE has a row as a label with descriptors, and is run where it is installed.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from scipy.special import ndtr

from benchmarks.problems.kinds import FIRST, Kind
from calibrant import CalibratedSampler

TRIALS = 30
MEASURED = Path(__file__).parent / "measured"

Table = tuple[dict[str, np.ndarray], np.ndarray]


@cache
def tables() -> dict[str, Table]:
    """Return descriptors by column, and what is minimised, of each table."""
    return {
        "molecules": _molecules(),
        "reactions": _reactions(),
        "diabetes": _diabetes(),
        "suzuki": _measured("suzuki", maximise=True),
        "hplc": _measured("hplc", maximise=True),
        "solar cells": _measured("photo_pce10", maximise=False),
    }


def _molecules() -> Table:
    """2,000 molecules: eight descriptors of three hidden properties, one of them activity's."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((2000, 3))
    mixing = rng.standard_normal((3, 8))
    descriptors = np.tanh(hidden @ mixing / 2.0) + 0.1 * rng.standard_normal((2000, 8))
    activity = (
        (hidden[:, 0] - 0.8) ** 2
        + 0.5 * (hidden[:, 1] + 0.5) ** 2
        + 0.6 * np.sin(2.0 * hidden[:, 2])
        + 0.2 * hidden[:, 0] * hidden[:, 2]
    )
    columns = {f"descriptor {i}": column for i, column in enumerate(descriptors.T)}
    return columns, activity + 0.1 * rng.standard_normal(2000)


def _reactions() -> Table:
    """1,728 reactions: ligand, base, solvent, temperature and concentration, all combinations."""
    rng = np.random.default_rng(1)
    ligands, bases, solvents = rng.random((12, 3)), rng.random((4, 1)), rng.random((4, 2))
    rows, yields = [], []
    temperatures, concentrations = (90.0, 105.0, 120.0), (0.05, 0.1, 0.15)
    for i, j, k in itertools.product(range(12), range(4), range(4)):
        for warm, dense in itertools.product(temperatures, concentrations):
            rows.append([*ligands[i], *bases[j], *solvents[k], warm, dense])
            fit = np.exp(
                -4.0 * ((ligands[i, 0] - 0.7) ** 2 + (ligands[i, 1] - solvents[k, 0]) ** 2)
            )
            rate = (1.0 - 0.5 * abs(bases[j, 0] - ligands[i, 2])) * (0.6 + 0.4 * (warm - 90) / 30)
            yields.append(100.0 * fit * rate * (1.0 - 12.0 * (dense - 0.1) ** 2 / 0.03))
    table = np.array(rows)
    names = ("ligand a", "ligand b", "ligand c", "base", "solvent a", "solvent b", "°C", "mol/l")
    columns = {name: table[:, i] for i, name in enumerate(names)}
    return columns, -np.array(yields) + rng.standard_normal(len(yields))


def _diabetes() -> Table:
    """442 patients and ten descriptors: find those whose disease progressed most."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    columns = dict(zip(data.feature_names, data.data.T, strict=True))
    return columns, -data.target


def _measured(name: str, maximise: bool) -> Table:
    """Return a table of settings, the last column of which was measured."""
    path = MEASURED / f"{name}.csv"
    names = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    *columns, outcomes = np.loadtxt(path, delimiter=",", skiprows=1).T
    return dict(zip(names, columns, strict=False)), -outcomes if maximise else outcomes


def first_rows(task: str, seed: int) -> list[int]:
    count = len(tables()[task][1])
    return np.random.default_rng([seed, 5]).choice(count, FIRST, replace=False).tolist()


def random_rows(task: str, seed: int) -> dict[str, Any]:
    outcomes = tables()[task][1]
    rows = first_rows(task, seed)
    others = np.setdiff1d(np.arange(len(outcomes)), rows)
    more = np.random.default_rng([seed, 6]).permutation(others)[: TRIALS - FIRST]
    return _kept(task, [*rows, *more.tolist()])


def calibrant_rows(task: str, seed: int) -> dict[str, Any]:
    columns, outcomes = tables()[task]
    table = {name: column.tolist() for name, column in columns.items()}
    sampler = CalibratedSampler(candidates=table, seed=seed)
    spread = {name: (float(min(v)), float(max(v))) for name, v in table.items()}

    def objective(trial: optuna.Trial) -> float:
        for name, (low, high) in spread.items():
            trial.suggest_float(name, low, high)
        return float(outcomes[trial.user_attrs["candidate"]])

    study = optuna.create_study(sampler=sampler)
    for row in first_rows(task, seed):
        study.enqueue_trial({name: values[row] for name, values in table.items()})
    study.optimize(objective, n_trials=TRIALS)
    return _kept(task, [trial.user_attrs["candidate"] for trial in study.trials])


def tpe_rows(task: str, seed: int) -> dict[str, Any]:
    outcomes = tables()[task][1]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for row in first_rows(task, seed):
        study.enqueue_trial({"row": row})
    rows = list(range(len(outcomes)))
    study.optimize(lambda t: float(outcomes[t.suggest_categorical("row", rows)]), n_trials=TRIALS)
    return _kept(task, [trial.params["row"] for trial in study.trials])


def pool_search(task: str, seed: int) -> dict[str, Any]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    columns, outcomes = tables()[task]
    X = np.column_stack(list(columns.values()))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = first_rows(task, seed)
    while len(rows) < TRIALS:
        kernel = ConstantKernel(1.0) * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
        model.fit(X[rows], outcomes[rows])
        mean, std = model.predict(X, return_std=True)
        z = (outcomes[rows].min() - mean) / np.maximum(std, 1e-9)
        gain = std * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
        gain[rows] = -np.inf
        rows.append(int(np.argmax(gain)))
    return _kept(task, rows)


def baybe_rows(task: str, seed: int) -> dict[str, Any]:
    """A row is a label with descriptors: as BayBE's users write a list of substances."""
    import pandas as pd
    from baybe import Campaign
    from baybe.parameters import CustomDiscreteParameter
    from baybe.targets import NumericalTarget
    from baybe.utils.random import set_random_seed

    set_random_seed(seed)
    columns, outcomes = tables()[task]
    labels = [f"row {row}" for row in range(len(outcomes))]
    rows = CustomDiscreteParameter("row", pd.DataFrame(columns, index=labels))
    campaign = Campaign(rows.to_searchspace(), NumericalTarget("y", minimize=True).to_objective())
    chosen = first_rows(task, seed)
    first = pd.DataFrame({"row": [labels[row] for row in chosen], "y": outcomes[chosen]})
    campaign.add_measurements(first)
    while len(chosen) < TRIALS:
        advice = campaign.recommend(1)
        chosen.append(labels.index(advice["row"].iloc[0]))
        campaign.add_measurements(advice.assign(y=outcomes[chosen[-1]]))
    return _kept(task, chosen)


def _kept(task: str, rows: list[int]) -> dict[str, Any]:
    return {
        "values": [round(float(y), 6) for y in tables()[task][1][rows]],
        "distinct": len(set(rows)),
    }


def quietly(play: Callable[[str, int], dict[str, Any]]) -> Callable[[str, int], dict[str, Any]]:
    def run(task: str, seed: int) -> dict[str, Any]:
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, about lengthscales at their bounds
            return play(task, seed)

    return run


def scales() -> dict[str, tuple[float, float]]:
    return {name: (float(y.min()), float(y.mean())) for name, (_, y) in tables().items()}


KIND = Kind(
    "candidates",
    "Candidates from a list",
    "A row of a table is chosen and measured, 30 of 247 to 2,000. *Molecules* and *reactions* are "
    "generated, with descriptors of hidden properties and all combinations of five factors. The "
    "others are real: *diabetes* (scikit-learn's), and [measured](measured/README.md) settings of a "
    "coupling and of a chromatograph, and blends for solar cells. Regret is 0 at the best row, 1 at "
    "the mean of all rows.",
    {
        "random": quietly(random_rows),
        "calibrant": quietly(calibrant_rows),
        "optuna-tpe, row as category": quietly(tpe_rows),
        "gp-ei pool search": quietly(pool_search),
        "baybe": quietly(baybe_rows),
    },
    scales,
    TRIALS,
)
