"""Statements with a probability: what chance brings, in words."""

import numpy as np
import optuna
from scipy.stats import binom

import calibrant
from calibrant.studies.statements import Statements


def test_the_range_of_chance_is_that_of_the_binomial():
    for count, p in ((31, 0.9), (5, 0.5), (200, 0.2)):
        made = Statements("promise", "held", np.full(count, p), np.zeros(count, dtype=bool))
        assert made.by_chance == (binom.ppf(0.025, count, p), binom.ppf(0.975, count, p))


def test_the_range_of_chance_of_unequal_probabilities_by_simulation():
    stated = np.array([0.99, 0.9, 0.9, 0.5, 0.2, 0.8, 0.7, 0.95])
    drawn = (np.random.default_rng(0).random((40_000, 8)) < stated).sum(axis=1)
    low, high = Statements("promise", "held", stated, np.ones(8, dtype=bool)).by_chance
    assert np.mean(drawn < low) <= 0.025 < np.mean(drawn <= low)
    assert np.mean(drawn > high) <= 0.025 < np.mean(drawn >= high)


def test_words():
    kept = Statements("feasible suggestion", "did", np.full(31, 0.9), np.arange(31) < 29)
    assert str(kept) == (
        "Of 31 feasible suggestions, promised with 90 % on average, 29 did: as stated "
        "(24 to 31 are expected)."
    )
    broken = Statements("interval", "held", np.full(40, 0.8), np.arange(40) < 20)
    assert "20 held: not as stated (" in str(broken)
    none = Statements("interval", "held", np.empty(0), np.empty(0, dtype=bool))
    assert str(none) == "0 intervals so far."


def test_a_review_reports_promises_of_feasibility():
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("<limit>", x - 0.7)
        return -x

    study = optuna.create_study(sampler=calibrant.CalibratedSampler(min_feasible=0.9, seed=0))
    study.optimize(objective, n_trials=12)
    found = calibrant.review(study)
    assert found.promised.size == found.met.size == 7
    assert np.all(found.promised > 0.89)
    text = str(found)
    assert "Of 7 intervals, promised with 80 % on average" in text
    assert "Of 7 feasible suggestions" in text
    assert found._repr_html_().startswith("<p>The best value is")
    plain = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    plain.optimize(objective, n_trials=4)
    assert len(calibrant.review(plain).statements) == 1
