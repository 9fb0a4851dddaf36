"""The benchmark of families of models: a search is what it was when the results were made."""

import pytest
from benchmarks.kit.lines import read_lines
from benchmarks.kit.running import commit
from benchmarks.models import families, run, tables


@pytest.mark.parametrize("calibrated", [True, False])
def test_a_search_begins_as_the_one_on_disk(calibrated, monkeypatch):
    monkeypatch.setattr(families, "BUDGET", 7)  # of 30: rounding may lead later points elsewhere
    family, problem = "Gaussian process", "branin"
    known = {(r["problem"], r["calibrated"], r["seed"]): r for r in read_lines(run.path(family))}
    stored = known[problem, calibrated, 0]
    found = run.execute(family, problem, calibrated, 0)
    assert list(found)[: len(stored)] == list(stored)
    assert found["commit"] == commit()
    assert found["values"] == pytest.approx(stored["values"][:7], rel=1e-3)
    assert found["pit"] == pytest.approx(stored["pit"][:2], abs=1e-2)


def test_what_is_said_of_the_first_evaluations(monkeypatch):
    def rows(path):
        # Calibration finds a better point at the third evaluation, in every repetition.
        return [
            {
                "problem": "branin",
                "calibrated": calibrated,
                "seed": seed,
                "values": [9.0, 8.0, 2.0 if calibrated else 7.0 - 0.1 * seed] + [1.0] * 27,
                "pit": [0.5, 0.95, 0.5, 0.95, 0.95] + [0.5] * 20,
            }
            for calibrated in (True, False)
            for seed in range(30)
        ]

    monkeypatch.setattr(tables, "read_lines", rows)
    monkeypatch.setattr(tables, "FAMILIES", {"BoTorch: SingleTaskGP": None})
    monkeypatch.setattr(tables, "EARLY", 10)
    assert "in 0 of 1 rows" in tables.early()  # by the fourth evaluation all are the same
    assert "40% on branin held" in tables.early()
    assert "changed 30 of 30 searches" in tables.early()
    monkeypatch.setattr(tables, "EARLY", 3)
    monkeypatch.setattr(tables, "FIRST", 0)
    assert "in 1 of 1 rows" in tables.early()
    assert "lower with a BoTorch: SingleTaskGP on branin" in tables.early()
