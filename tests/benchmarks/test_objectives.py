"""The problems with several objectives: fronts, volumes, and that every system runs on them."""

import numpy as np
import pytest
from benchmarks.objectives.prepare import volume
from benchmarks.objectives.problems import PROBLEMS, best_volumes
from benchmarks.objectives.run import FIRST, first_points, search
from benchmarks.objectives.tables import score
from benchmarks.objectives.variants import VARIANTS

from calibrant import CalibratedSampler
from calibrant.core.front import hypervolume


@pytest.mark.parametrize("objectives", [2, 3])
def test_volume_by_slices_is_that_by_boxes(objectives):
    rng = np.random.default_rng(0)
    for _ in range(20):
        Y = rng.integers(0, 6, (12, objectives)) + rng.choice([0.0, 0.5])
        reference = np.full(objectives, 5.0)
        assert volume(Y, reference) == pytest.approx(hypervolume(Y, reference))


@pytest.mark.parametrize("name", PROBLEMS)
def test_random_settings_are_worse_than_the_front(name):
    problem = PROBLEMS[name]
    points = first_points(name, 3)
    assert len(points) == FIRST
    assert points == first_points(name, 3)
    Y = np.array([problem.evaluate(params) for params in points])
    assert Y.shape == (FIRST, len(problem.reference))
    assert 0.0 <= problem.volume(Y) < best_volumes()[name]


def test_known_volumes():
    known = best_volumes()
    assert known["ZDT1, 5 parameters"] == pytest.approx(1.1 * 6.0 - 1.0 / 3.0, rel=1e-3)
    sphere = 1.1**3 - np.pi / 6.0
    assert known["DTLZ2, 3 objectives, 6 parameters"] == pytest.approx(sphere, rel=0.01)


def test_the_score_is_the_share_of_the_volume_that_is_missing():
    name = "ZDT1, 5 parameters"
    best = best_volumes()[name]
    final, along = score({"problem": name, "volumes": [0.0] * 5 + [0.9 * best, 0.99 * best]})
    assert final == pytest.approx(-2.0)
    assert along == pytest.approx(-1.5)


CHOSEN = "beyond the front by 0.5"  # of the variants: what became the default


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_searches_by_its_own_criterion(name, monkeypatch):
    monkeypatch.setattr("benchmarks.objectives.run.TRIALS", FIRST + 6)
    problem = next(iter(PROBLEMS))
    by_default = search(problem, 0, CalibratedSampler(seed=0))
    own = search(problem, 0, VARIANTS[name](seed=0))
    np.testing.assert_array_equal(own[:FIRST], by_default[:FIRST])
    assert np.array_equal(own, by_default) == (name == CHOSEN)
