"""Streams of PITs that put a promise of coverage to the test, and the worst that they do to it."""

import numpy as np
from scipy.special import ndtr


def uniform(r, rng):
    return rng.uniform()


def always_above(r, rng):
    return 1.0


def always_below(r, rng):
    return 0.0


def overconfident(r, rng):
    return float(ndtr(2 * rng.standard_normal()))


def greedy(r, rng):
    """Answer so that the worst level ends up as far off as possible."""
    played = np.clip(r.played, 0, 1)
    candidates = np.concatenate([played, np.minimum(np.nextafter(played, 2), 1), [0.0, 1.0]])
    surplus = r.hits - r.count * r.levels
    after = np.abs(surplus + (candidates[:, None] <= r.played) - r.levels).max(axis=1)
    return float(rng.choice(candidates[after >= after.max() - 1e-12]))


def inverter(r, rng):
    """Answer so that the raw states get as much out of order as possible."""
    played = np.clip(r.played, 0, 1)
    candidates = np.concatenate([played, np.minimum(np.nextafter(played, 2), 1), [0.0, 1.0]])
    surplus = r.hits - r.count * r.levels
    theta = r.levels - r.rate * (surplus + (candidates[:, None] <= r.played) - r.levels)
    disorder = (np.maximum.accumulate(theta, axis=1) - theta).max(axis=1)
    return float(rng.choice(candidates[disorder >= disorder.max() - 1e-12]))


def teaser(r, rng):
    """Answer at, or just above, a random played level."""
    q = float(np.clip(rng.choice(r.played), 0, 1))
    return min(q + 1e-9, 1.0) if rng.uniform() < 0.5 else q


STREAMS = [uniform, always_above, always_below, overconfident, greedy, inverter, teaser]


def worst_surplus(r, stream, steps):
    """Play a stream; return the largest |hits − p·T| over all levels and times."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(steps):
        assert np.all(r.played[1:] >= r.played[:-1])
        u = stream(r, rng)
        covered = r.covers(u)
        before = r.hits
        r = r.update(u)
        np.testing.assert_array_equal(r.hits - before, covered)
        worst = max(worst, np.abs(r.hits - r.count * r.levels).max())
    return worst
