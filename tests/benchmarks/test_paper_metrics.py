"""What is measured on the paper's searches, on records made by hand and against brute force."""

import numpy as np
import pytest
from benchmarks.kit.statistics import estimate, paired_p
from benchmarks.paper import metrics
from scipy.special import ndtr, ndtri


def record(best=(1.0,), minimum=0.0, scores=(0.0,), **more):
    """As much of a record as is measured."""
    raw = {"score": list(scores), **more.pop("raw", {})}
    calibrated = more.pop("calibrated", None)
    forecasts = {"raw": raw} | ({} if calibrated is None else {"calibrated": calibrated})
    curve = {"initial": [best[0]], "outcomes": list(best[1:])}
    return {"minimum": minimum, "forecasts": forecasts, **curve, **more}


# Areas and curves


@pytest.mark.parametrize(
    ("best", "minimum", "area"),
    [
        ([4.0, 4.0, 2.0, 0.0], 0.0, (1.0 + 0.5 + 0.0) / 3),
        ([3.0, 3.0, 1.0, 0.0], -1.0, (1.0 + 0.5 + 0.25) / 3),
        ([10.0, 10.0, 10.0], 5.0, 1.0),
        ([7.0, 0.0, 0.0], 0.0, 0.0),
        ([0.0, 0.0, 0.0], 0.0, 0.0),  # the first points hold the minimum: nothing to gain
        ([-1e-9, -1e-9], 0.0, 0.0),  # and a rounded minimum may lie above what is found
    ],
)
def test_areas_by_hand(best, minimum, area):
    assert metrics.area(record(best, minimum)) == pytest.approx(area)


def test_an_area_does_not_depend_on_units():
    best, minimum = np.array([5.0, 3.0, 2.5, 2.2]), 2.0
    one = metrics.area(record(best, minimum))
    other = metrics.area(record(1e3 * best - 7.0, 1e3 * minimum - 7.0))
    assert one == pytest.approx(other)


def test_a_curve_is_the_best_so_far():
    np.testing.assert_array_equal(metrics.curve(record([3, 2, 2])), [3.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("baseline", "ours", "worse"),
    [
        ([1.0, 0.5, 0.4], [1.0, 0.5, 0.2], True),  # it ends higher
        ([1.0, 0.1, 0.1], [1.0, 0.9, 0.0], True),  # also if it led before
        ([1.0, 0.5, 0.2], [1.0, 0.5, 0.4], False),
        ([1.0, 0.9, 0.2], [1.0, 0.2, 0.2], True),  # the same minimum, later
        ([1.0, 0.2, 0.2], [1.0, 0.9, 0.2], False),
        ([1.0, 0.5, 0.2], [1.0, 0.5, 0.2], False),  # the same at the same time
        ([1.0, 0.3, 0.2], [1.0, 0.6, 0.2], False),
        ([1.0, 0.2005, 0.2005], [1.0, 0.9, 0.2], False),  # within a thousandth is the same
        ([1.0, 0.9, 0.2], [1.0, 0.2005, 0.2005], True),
        ([1.0, 0.21, 0.21], [1.0, 0.9, 0.2], True),  # a hundredth is not
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], False),  # nothing to find
    ],
)
def test_a_baseline_is_worse(baseline, ours, worse):
    assert metrics.is_worse(record(baseline), record(ours)) == worse


def test_a_baseline_whose_whole_curve_lies_above_is_worse():
    """Also where the minima count as the same and are found at the same time."""
    assert metrics.is_worse(record([1.0, 0.6, 0.2005]), record([1.0, 0.5, 0.2]))
    assert not metrics.is_worse(record([1.0, 0.4, 0.2005]), record([1.0, 0.5, 0.2]))


def test_the_same_is_measured_by_what_there_is_to_gain():
    theirs, own = [1.0, 0.6, 0.205], [1.0, 0.6, 0.2]
    assert metrics.is_worse(record(theirs, 0.0), record(own, 0.0))
    assert not metrics.is_worse(record(theirs, -9.0), record(own, -9.0))


def test_of_two_curves_at_most_one_is_worse():
    rng = np.random.default_rng(0)
    for _ in range(300):
        one, other = np.minimum.accumulate(rng.integers(0, 4, (2, 6)) / 4, axis=1)
        one[0] = other[0] = 1.0
        both = [record(one), record(other)]
        assert not (metrics.is_worse(*both) and metrics.is_worse(*both[::-1]))


# Comparisons


def runs(curves, minimum=0.0):
    return {seed: record(best, minimum) for seed, best in curves.items()}


def test_only_repetitions_that_both_have_run_are_compared():
    method = runs({0: [1.0, 0.5, 0.5], 1: [1.0, 0.2, 0.1], 3: [1.0, 0.9, 0.9], 7: [1.0, 0.0, 0.0]})
    other = runs({0: [1.0, 0.5, 0.2], 1: [1.0, 0.4, 0.3], 3: [1.0, 0.9, 0.9], 5: [1.0, 1.0, 1.0]})
    found = metrics.compare(method, other)
    assert found.repetitions == 3
    assert found.worse == pytest.approx(1 / 3)
    assert found.better == pytest.approx(1 / 3)
    areas = np.array([0.5, 0.15, 0.9]), np.array([0.35, 0.35, 0.9])
    assert found.area == pytest.approx(estimate(areas[0]))
    assert found.difference == pytest.approx(estimate(areas[0] - areas[1]))
    assert found.p == pytest.approx(paired_p(*areas))


def test_a_method_beside_itself_is_tied_which_the_paper_calls_a_win():
    same = runs({seed: [1.0, 0.5, 0.1 * seed] for seed in range(5)})
    found = metrics.compare(same, same)
    assert (found.worse, found.better, found.p) == (0.0, 0.0, 1.0)
    assert (found.worse_or_tied, found.better_or_tied) == (1.0, 1.0)
    assert found.difference == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("baseline", "ours", "tied"),
    [
        ([1.0, 0.5, 0.2], [1.0, 0.5, 0.2], True),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], True),  # neither finds anything
        ([1.0, 0.2, 0.2], [1.0, 0.9, 0.2], False),  # the same minimum, sooner
        ([1.0, 0.9, 0.1], [1.0, 0.5, 0.2], False),  # a lower one
    ],
)
def test_ties(baseline, ours, tied):
    assert metrics.is_worse(record(baseline), record(ours), ties=True) == tied
    assert not metrics.is_worse(record(baseline), record(ours))


@pytest.mark.parametrize("other", [{}, {5: [1.0, 0.5]}])
def test_methods_without_a_common_repetition_cannot_be_compared(other):
    with pytest.raises(ValueError, match="no repetition that both"):
        metrics.compare(runs({0: [1.0, 0.5]}), runs(other))


# Forecasts


RNG = np.random.default_rng(4)
FORECAST = record(
    scores=RNG.standard_normal(30) * 1.5,
    calibrated={"score": RNG.standard_normal(30).tolist()},
)


@pytest.mark.parametrize("which", ["raw", "calibrated"])
def test_calibration_is_the_papers_sum_over_twenty_levels(which):
    u = ndtr(FORECAST["forecasts"][which]["score"])
    expected = sum((k / 21 - np.mean(u <= k / 21)) ** 2 for k in range(1, 21))
    assert metrics.calibration(FORECAST, which) == pytest.approx(expected)


@pytest.mark.parametrize("which", ["raw", "calibrated"])
def test_calibration_by_step_is_that_of_the_forecasts_so_far(which):
    steps = metrics.calibration_by_step(FORECAST, which)
    assert steps.shape == (30,)
    assert steps[-1] == pytest.approx(metrics.calibration(FORECAST, which))
    early = record(scores=FORECAST["forecasts"][which]["score"][:7])
    assert steps[6] == pytest.approx(metrics.calibration(early, "raw"))


def test_uncalibrated_searches_have_their_raw_forecasts_for_both():
    plain = record(scores=[0.3, -1.0, 2.0])
    assert metrics.calibration(plain, "calibrated") == metrics.calibration(plain, "raw")


def test_coverage_counts_scores_between_the_quantiles():
    inside, outside = ndtri(0.89), ndtri(0.91)
    found = record(scores=[inside, -inside, 0.0, outside, -outside])
    assert metrics.coverage(found, "raw") == pytest.approx(0.6)
    assert metrics.coverage(found, "raw", 0.9) == 1.0


def test_crps_is_in_units_of_the_first_outcomes_and_robust():
    """A forecast without a finite mean has no finite CRPS; one of many decides nothing."""
    found = record(raw={"crps": [0.2, None, 0.6]}, initial=[1.0, 5.0])
    assert metrics.crps(found, "raw") == pytest.approx(0.6 / 2.0)
    assert metrics.crps(found, "calibrated") == metrics.crps(found, "raw")
    alike = record(raw={"crps": [0.2, 0.4, 0.6]}, initial=[1.0, 1.0])
    assert metrics.crps(alike, "raw") == pytest.approx(0.4)
    none = record(raw={"crps": [None, None, 0.6]}, initial=[1.0, 5.0])
    assert metrics.crps(none, "raw") == np.inf
