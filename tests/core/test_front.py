"""Fronts, and the volume that they dominate, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.core.front import hypervolume, non_dominated, not_dominated_boxes

# A coarse grid: ties and duplicates are frequent.
POINTS = st.integers(2, 4).flatmap(
    lambda objectives: arrays(
        float, st.tuples(st.integers(0, 8), st.just(objectives)), elements=st.integers(0, 3)
    )
)


def dominated(points, Y):
    """Return which points are no better than some row of Y in any objective."""
    return np.any(np.all(Y[None] <= points[:, None], axis=2), axis=1)


@given(Y=POINTS)
def test_the_front_is_what_nothing_else_dominates(Y):
    front = non_dominated(Y)
    for row, on_front in enumerate(front):
        others = Y[~np.all(Y[row] == Y, axis=1)]
        first = not np.any(np.all(Y[:row] == Y[row], axis=1))
        assert on_front == (first and not dominated(Y[row][None], others)[0])


@given(Y=POINTS, reference=st.integers(1, 4))
def test_boxes_hold_each_point_that_is_not_dominated_once(Y, reference):
    objectives = Y.shape[1]
    boxes = not_dominated_boxes(Y, np.full(objectives, float(reference)))
    # The middles of all cells of the grid, and of those below it.
    middles = np.stack(np.meshgrid(*[np.arange(-1, 5) + 0.5] * objectives), -1)
    middles = middles.reshape(-1, objectives)
    inside = np.all(
        (boxes.lower < middles[:, None]) & (middles[:, None] < boxes.upper), axis=2
    ).sum(axis=1)
    free = np.all(middles < reference, axis=1) & ~dominated(middles, Y)
    np.testing.assert_array_equal(inside, free)


@given(Y=POINTS, reference=st.integers(1, 4))
def test_hypervolume_counts_the_cells_that_are_dominated(Y, reference):
    objectives = Y.shape[1]
    cells = np.stack(np.meshgrid(*[np.arange(5) + 0.5] * objectives), -1).reshape(-1, objectives)
    counted = np.sum(dominated(cells, Y) & np.all(cells < reference, axis=1))
    assert hypervolume(Y, np.full(objectives, float(reference))) == pytest.approx(counted)


def test_two_objectives_need_no_more_boxes_than_points_and_one():
    front = np.stack([np.arange(20.0), np.arange(20.0)[::-1]], axis=1)
    assert not_dominated_boxes(front, np.full(2, 30.0)).lower.shape == (21, 2)


def test_the_volume_of_a_sphere():
    angles = np.linspace(0.0, 0.5 * np.pi, 12)
    a, b = (part.ravel() for part in np.meshgrid(angles, angles))
    Y = np.stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], axis=1)
    whole = 1.1**3 - np.pi / 6.0
    assert 0.9 * whole < hypervolume(Y, np.full(3, 1.1)) < whole


def test_nothing_dominates_nothing():
    reference = np.ones(3)
    assert hypervolume(np.empty((0, 3)), reference) == 0.0
    assert hypervolume(np.ones((1, 3)), reference) == 0.0
    assert hypervolume(np.array([[0.0, 0.0, 2.0]]), reference) == 0.0
    boxes = not_dominated_boxes(np.empty((0, 3)), reference)
    np.testing.assert_array_equal(boxes.upper, [[1.0, 1.0, 1.0]])
    assert np.all(np.isneginf(boxes.lower))
