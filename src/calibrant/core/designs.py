"""Points spread over the unit cube: designs of a given size, and choices that represent others."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from calibrant.core.typing import FloatArray

_KRONECKER = 10  # up to this dimension the Kronecker sequence covers every axis evenly
_LLOYD = 5  # rounds in which points that represent others move apart


class Design(StrEnum):
    """How the initial points are spread."""

    SOBOL = "sobol"
    LATIN = "latin"
    RANDOM = "random"


def designed(kind: Design, count: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return ``count`` points of the cube, spread as ``kind`` says."""
    match kind:
        case Design.RANDOM:
            return rng.random((count, dim))
        case Design.LATIN:
            cells = np.argsort(rng.random((count, dim)), axis=0)
            return np.asarray((cells + rng.random((count, dim))) / count)
        case Design.SOBOL:
            from scipy.stats import qmc  # takes 0.3 s to load, so only where it is used

            sobol = qmc.Sobol(dim, rng=rng)
            return np.asarray(sobol.random_base2(int(np.ceil(np.log2(max(1, count)))))[:count])


def spread(count: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return points of the R-sequence (Roberts 2018), randomly shifted.

    The R-sequence is the Kronecker sequence k·(1/ρ, 1/ρ², …) modulo 1 with ρ^(dim+1) = ρ + 1. It
    has low discrepancy, takes one line, needs no table, and does not import scipy.stats. In many
    dimensions some of its steps come close to simple fractions, so a Latin hypercube replaces it
    there.
    """
    if dim > _KRONECKER:
        return designed(Design.LATIN, count, dim, rng)
    ratio = 2.0
    for _ in range(40):
        ratio = (1.0 + ratio) ** (1.0 / (dim + 1.0))
    steps = ratio ** -np.arange(1.0, dim + 1.0)
    return np.asarray((rng.random(dim) + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def representatives(pool: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return points of a pool, each in the middle of its own part of it (Lloyd's algorithm)."""
    if count >= len(pool):
        return pool
    centres = pool[rng.permutation(len(pool))[:count]]
    for _ in range(_LLOYD):
        nearest = np.argmin(((pool[:, None] - centres) ** 2).sum(axis=2), axis=1)
        own = [pool[nearest == place] for place in range(count)]
        middles = [c if not len(p) else p.mean(0) for c, p in zip(centres, own, strict=True)]
        centres = np.array(middles)
    chosen: list[int] = []
    for centre in centres:
        away = ((pool - centre) ** 2).sum(axis=1)
        away[chosen] = np.inf
        chosen.append(int(np.argmin(away)))
    return pool[chosen]
