"""The next settings to evaluate, as a batch that spreads.

A batch is chosen point by point: each is where the best of the batch so far is expected to be
improved on most, over joint draws of what all candidates would give. A neighbour of a point already
chosen rises and falls with it in every draw, so it adds next to nothing and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from calibrant.core import validate
from calibrant.core.cube import SMALL, Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.core.words import interval, percent
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.words import in_order, setting_text
from calibrant.search.defaults import N_STARTUP_TRIALS
from calibrant.studies.archive import Archive, running_points
from calibrant.studies.shown import COVERAGE
from calibrant.studies.space import Internal, Space, searchable
from calibrant.studies.space_text import parse_space

_SPREAD = 320  # candidates over the whole space
_AROUND = 40  # candidates around each of the best settings, near and a little further
_BEST = 6  # settings that candidates lie around, and that an improvement must beat
_WIDTHS = (0.03, 0.15)  # std of candidates around a setting, of the range of a parameter
_DRAWS = 512
_APART = 0.04  # of the range: members of a batch differ by more than that in some parameter


@dataclass(frozen=True)
class Proposal:
    """A setting to evaluate next.

    Args:
        params: the setting.
        interval: the calibrated 80 % interval of what it would give, in the user's sign; None of a
            first point, before there is a model, and of several objectives.
        improves: the probability that it is better than the best value so far; None likewise.
        feasible: the probability that it meets all constraints.
    """

    params: dict[str, Any]
    interval: tuple[float, float] | None = None
    improves: float | None = None
    feasible: float = 1.0

    def __str__(self) -> str:
        words = setting_text(self.params)
        if self.interval is None or self.improves is None:
            return words
        return f"{words}: {interval(*self.interval)}, improves with {percent(self.improves)}"


def suggest(
    study: Study,
    n: int = 1,
    *,
    space: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> tuple[Proposal, ...]:
    """Return the next settings to evaluate, all at once, each with its forecast.

    >>> import calibrant
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=8, seed=0)
    >>> first, second = calibrant.suggest(study, 2, seed=0)
    >>> abs(first.params["x"] - second.params["x"]) > 0.1
    True

    Nothing is stored: evaluate them where you like, and add what came out with
    ``study.add_trial(optuna.create_trial(params=…, distributions=…, value=…))``. Running trials
    count as part of the batch. The first settings, before there is a model, are a Latin hypercube.

    Args:
        study: an Optuna study, whichever sampler made it.
        n: how many settings.
        space: the parameters, as in :func:`~calibrant.minimize`; needed before the first trial.
        seed: of the draws.
    """
    validate.at_least("n", n, 1)
    rng = np.random.default_rng(seed)
    archive = Archive()
    archive.update(study)
    declared = searchable(parse_space(space)) if space else {}
    distributions = archive.search_space(declared)
    if not distributions:
        raise ValueError(
            "A suggestion needs parameters to choose, but none is known: pass `space`, or evaluate "
            "a setting first."
        )
    known = sum(record.values is not None for record in archive.records.values())
    running = running_points(study, but=-1)
    if known < N_STARTUP_TRIALS:
        seen = [record.params for record in archive.records.values()]
        seen += [params for _, params in running]
        return _first(archive.space(distributions), seen, n, rng, list(space or ()))
    belief = believe(study)
    rows = [belief.space.row(params) for _, params in running]
    return _batch(belief, np.array(rows).reshape(-1, belief.cube.dim), n, rng)


def _first(
    space: Space, seen: Sequence[Internal], n: int, rng: np.random.Generator, names: list[str]
) -> tuple[Proposal, ...]:
    """Return points of an initial design that are not among those seen."""
    rows = [space.row(params) for params in seen if params.keys() & space.coordinates.keys()]
    tried = set(keys(np.array(rows).reshape(-1, space.cube.dim)))
    chosen: list[FloatArray] = []
    for x in space.cube.design("latin", n, rng):
        if keys(x[None])[0] in tried:
            x = space.cube.untaken(rng, tried)
        tried.add(keys(x[None])[0])
        chosen.append(x)
    settings = (space.external(space.internal(x)) for x in chosen)
    return tuple(Proposal(in_order(setting, names)) for setting in settings)


def _batch(
    belief: StudyBelief, running: FloatArray, n: int, rng: np.random.Generator
) -> tuple[Proposal, ...]:
    candidates, best = _candidates(belief, running, rng)
    if not len(candidates):
        raise ValueError("All settings of the space have been tried.")
    together = np.concatenate([candidates, best, running])
    feasible = _feasible(belief, candidates)
    drawn = np.stack([q.draws(together, _DRAWS, rng) for q in belief.objectives], axis=-1)
    m = len(candidates)
    free = np.ones(m, dtype=bool)
    chosen: list[int] = []
    for _ in range(min(n, m)):
        merit = _scalarised(drawn, belief, rng)
        reached = merit[:, [*chosen, *range(m, len(together))]].min(axis=1, keepdims=True)
        gain = np.maximum(reached - merit[:, :m], 0.0).mean(axis=0) * feasible
        allowed = free & _apart(belief.cube, candidates, candidates[chosen])
        allowed = allowed if allowed.any() else free
        index = int(np.argmax(np.where(allowed, gain, -1.0)))
        free[index] = False
        chosen.append(index)
    return _proposals(belief, candidates[chosen], feasible[chosen])


def _candidates(
    belief: StudyBelief, running: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return points that have not been tried, and the best ones that have."""
    cube, history = belief.cube, belief.history
    best = history.X[np.argsort(history.merit, kind="stable")[:_BEST]]
    if cube.size <= SMALL:
        points = cube.every_point()
    else:
        near = [
            best[None] + width * rng.standard_normal((_AROUND // 2, *best.shape))
            for width in _WIDTHS
        ]
        around = cube.snap(np.concatenate(near).reshape(-1, cube.dim))
        points = np.concatenate([cube.spread(_SPREAD, rng), around])
    tried = {*keys(history.X), *keys(history.without_outcome), *keys(running)}
    fresh: dict[bytes, FloatArray] = {}
    for x, key in zip(points, keys(points), strict=True):
        if key not in tried:
            fresh.setdefault(key, x)
    return np.array(list(fresh.values())).reshape(-1, cube.dim), best


def _scalarised(drawn: FloatArray, belief: StudyBelief, rng: np.random.Generator) -> FloatArray:
    """Return draws of one number to be minimised; several objectives are weighted at random."""
    if drawn.shape[2] == 1:
        return np.asarray(drawn[:, :, 0])
    low, high = belief.history.Y.min(axis=0), belief.history.Y.max(axis=0)
    scaled = (drawn - low) / np.maximum(high - low, 1e-300)
    weights = rng.dirichlet(np.ones(drawn.shape[2]))
    return np.asarray((weights * scaled).max(axis=2) + 0.05 * (weights * scaled).sum(axis=2))


def _apart(cube: Cube, X: FloatArray, chosen: FloatArray) -> NDArray[np.bool_]:
    """Return which points differ from all chosen ones by more than a hair in some parameter."""
    if not len(chosen) or cube.size <= SMALL:
        return np.ones(len(X), dtype=bool)
    return np.asarray((np.abs(X[:, None] - chosen[None]).max(axis=2) > _APART).all(axis=1))


def _feasible(belief: StudyBelief, X: FloatArray) -> FloatArray:
    chances = [np.asarray(limit.outcome(X).cdf(0.0)) for limit in belief.constraints]
    return np.prod(chances, axis=0) if chances else np.ones(len(X))


def _proposals(belief: StudyBelief, X: FloatArray, feasible: FloatArray) -> tuple[Proposal, ...]:
    settings = belief.settings(X)
    if len(belief.objectives) > 1:
        return tuple(
            Proposal(setting, feasible=float(p))
            for setting, p in zip(settings, feasible, strict=True)
        )
    quantity, history = belief.objectives[0], belief.history
    forecast = quantity.outcome(X)
    ends = quantity.sign * np.array(forecast.interval(COVERAGE))
    reached = history.Y[history.feasible, 0]
    improves = forecast.cdf(float(reached.min())) if reached.size else np.ones(len(X))
    return tuple(
        Proposal(setting, (float(low), float(high)), float(chance), float(p))
        for setting, (low, high), chance, p in zip(
            settings, np.sort(ends, axis=0).T, np.asarray(improves), feasible, strict=True
        )
    )
