"""The next settings to evaluate, as a batch that spreads.

A batch is chosen point by point: each is where the best of the batch so far is expected to be
improved on most, over joint draws of what all candidates would give. A neighbour of a point already
chosen rises and falls with it in every draw, so it adds next to nothing and is left alone. As in a
search, a gain counts by the odds that constraints are met and that the evaluation finishes, and
evaluations that failed or were pruned are imagined to have come out badly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.cube import SMALL, Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.core.words import interval, percent
from calibrant.decisions.beating import chance_to_beat
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.outlook import outcomes
from calibrant.decisions.progress import Progress
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.words import in_order, setting_text
from calibrant.models.fitted_gp import FittedGP
from calibrant.search.defaults import N_STARTUP_TRIALS
from calibrant.search.odds import odds_of_finishing
from calibrant.search.pending import kriging_believer
from calibrant.studies.archive import Archive
from calibrant.studies.candidates import as_candidates
from calibrant.studies.coordinates import Internal
from calibrant.studies.domain import Domain, domain_of
from calibrant.studies.pending import running_points
from calibrant.studies.shown import COVERAGE
from calibrant.studies.space import Space
from calibrant.studies.space_text import parse_space
from calibrant.studies.structure import Parameters

_SPREAD = 320  # candidates over the whole space, and twice as many as are wanted of a large batch
_AROUND = 40  # candidates around each of the best settings, near and a little further
_BEST = 6  # settings that candidates lie around, and that an improvement must beat
_WIDTHS = (0.03, 0.15)  # std of candidates around a setting, of the range of a parameter
_DRAWS = 512
_KEPT = 800  # of a long list: those drawn jointly, chosen by their own expected improvement
_MOST = 1000  # settings at a time: twice as many points are drawn jointly
_CHUNK = 4096  # points whose improvement is computed at a time
_ALL_TRIED = "All settings of the space have been tried."
_APART = 0.04  # of the range: members of a batch differ by more than that in some parameter


@dataclass(frozen=True)
class Proposal:
    """A setting to evaluate next.

    Args:
        params: the setting.
        interval: the calibrated 80 % interval of what it would give, in the user's sign; None of a
            first point, before there is a model, and of several objectives.
        improves: the probability that its value is better than the best so far, whether or not
            it meets the constraints; None in the same cases. Of a search by calibrant it is what
            was learned from others: mostly less than the interval suggests, as a setting is
            proposed for looking good.
        feasible: the probability that it meets all constraints on outcomes.
        name: the name of the candidate, if candidates were given.
    """

    params: dict[str, Any]
    interval: tuple[float, float] | None = None
    improves: float | None = None
    feasible: float = 1.0
    name: Any = None

    def __str__(self) -> str:
        words = setting_text(self.params) if self.name is None else str(self.name)
        if self.interval is None:
            return words
        gain = "" if self.improves is None else f", {percent(self.improves)} likely to improve"
        met = "" if self.feasible >= 1.0 else f", {percent(self.feasible)} to meet all constraints"
        return f"{words}: {interval(*self.interval)}{gain}{met}"


def suggest(
    study: Study,
    n: int = 1,
    *,
    space: Mapping[str, Any] | None = None,
    such_that: Any = None,
    candidates: Any = None,
    fixed: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> tuple[Proposal, ...]:
    """Return the next settings to evaluate, chosen together, each with its forecast.

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
        n: how many settings, at most 1,000; fewer come where fewer are left.
        space: the parameters, as in :func:`~calibrant.minimize`; needed before the first trial.
        such_that: constraints between parameters that every setting meets, as in
            :func:`~calibrant.minimize`.
        candidates: the only settings to choose from, as in :func:`~calibrant.minimize`; proposals
            then have a ``name``, and ``params`` are their rows.
        fixed: parameters with a given value, such as ``{"batch": "A"}``.
        seed: of all random choices.
    """
    if not 1 <= validate.whole("n", n) <= _MOST:
        raise ValueError(f"`1 <= n <= {_MOST}` must hold, but got n={n}; ask in several batches.")
    rng = np.random.default_rng(seed)
    listed = None if candidates is None else as_candidates(candidates, space)
    declared = parse_space(space) if space and listed is None else Parameters({})
    if listed is not None:
        declared = Parameters(listed.distributions, listed.structure)
    archive = Archive(declared=declared.structure)
    archive.update(study)
    distributions = archive.search_space(declared)
    if not distributions:
        raise ValueError(
            "A suggestion needs parameters to choose, but none is known: pass `space`, or evaluate "
            "a setting first."
        )
    every = Parameters({**archive.settled(), **distributions, **declared}, archive.structure)
    domain = domain_of(every, such_that, listed, fixed)
    known = sum(record.values is not None for record in archive.records.values())
    running = running_points(study, but=-1)
    if known < N_STARTUP_TRIALS:
        seen = [record.params for record in archive.records.values()]
        seen += [params for _, params in running]
        return _first(archive.space(distributions), domain, seen, n, rng, list(space or ()))
    belief = believe(study, declared.structure, declared)
    rows = [belief.space.row(params) for _, params in running]
    now = None
    if len(belief.objectives) == 1 and not belief.constraints:
        stands = outcomes(study)
        now = stands.progress(stands.y.size)
    return _batch(belief, domain, np.array(rows).reshape(-1, belief.cube.dim), n, rng, now)


def _first(
    space: Space,
    domain: Domain,
    seen: Sequence[Internal],
    n: int,
    rng: np.random.Generator,
    names: list[str],
) -> tuple[Proposal, ...]:
    """Return points of an initial design that are not among those seen."""
    rows = [space.row(params) for params in seen if params.keys() & space.coordinates.keys()]
    tried = set(keys(np.array(rows).reshape(-1, space.cube.dim)))
    cube = domain.cube(space, space.to_internal(domain.fixed))
    if cube.listed is not None:
        n = min(n, len(cube.outside(tried)))
        if not n:
            raise ValueError(_ALL_TRIED)
    chosen: list[FloatArray] = []
    for x in cube.design("latin", n, rng):
        if keys(x[None])[0] in tried:
            x = cube.untaken(rng, tried)
        tried.add(keys(x[None])[0])
        chosen.append(x)
    return tuple(_proposal(space, domain, x, names) for x in chosen)


def _proposal(
    space: Space, domain: Domain, x: FloatArray, names: Sequence[str], **forecast: Any
) -> Proposal:
    """Return a point as a proposal: of a candidate, its row and name."""
    setting = {**domain.fixed, **space.external(domain.internal(space, x))}
    setting |= domain.settled(space, setting)
    name = domain.name(space, x)
    if domain.candidates is not None and name is not None:
        setting = domain.candidates.row(domain.candidates.names.index(name))
        return Proposal(setting, name=name, **forecast)
    return Proposal(in_order(setting, names), **forecast)


def _batch(
    belief: StudyBelief,
    domain: Domain,
    running: FloatArray,
    n: int,
    rng: np.random.Generator,
    now: Progress | None,
) -> tuple[Proposal, ...]:
    cube = domain.cube(belief.space, belief.space.to_internal(domain.fixed))
    believed = replace(belief, objectives=tuple(_imagined(belief, q) for q in belief.objectives))
    candidates, best = _candidates(believed, cube, running, n, rng)
    if not len(candidates):
        raise ValueError(_ALL_TRIED)
    together = np.concatenate([candidates, best, running])
    feasible = _feasible(belief, candidates)
    odds = feasible * odds_of_finishing(belief.history, belief.cube, candidates)
    drawn = np.stack([q.draws(together, _DRAWS, rng) for q in believed.objectives], axis=-1)
    m = len(candidates)
    free = np.ones(m, dtype=bool)
    chosen: list[int] = []
    for _ in range(min(n, m)):
        merit = _scalarised(drawn, belief, rng)
        reached = merit[:, [*chosen, *range(m, len(together))]].min(axis=1, keepdims=True)
        gain = np.maximum(reached - merit[:, :m], 0.0).mean(axis=0) * odds
        allowed = free & _apart(cube, candidates, candidates[chosen])
        allowed = allowed if allowed.any() else free
        index = int(np.argmax(np.where(allowed, gain, -1.0)))
        free[index] = False
        chosen.append(index)
    return _proposals(belief, domain, cube, candidates[chosen], feasible[chosen], now)


def _imagined(belief: StudyBelief, quantity: Quantity) -> Quantity:
    """Return an objective with the outcomes that a search imagines where there are none."""
    history = belief.history
    if not len(history.without_outcome):
        return quantity
    processes = [
        kriging_believer(process.model, process, history, quantity.X, quantity.y).fitted
        for process in quantity.processes
    ]
    return replace(quantity, processes=tuple(cast("list[FittedGP]", processes)))


def _candidates(
    belief: StudyBelief, cube: Cube, running: FloatArray, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return points to choose ``n`` from that have not been tried, and the best ones that have.

    Where some coordinates are given, the best are those with the same values or, before there are
    any, the best of all as they would be here.
    """
    history = belief.history
    order, same = np.argsort(history.merit, kind="stable"), _in_context(cube, history.X)
    best = history.X[(order[same[order]] if same.any() else order)[:_BEST]].clip(0.0, 1.0)
    best[:, list(cube.given)] = [cube.axes[column].values[0] for column in cube.given]
    if cube.countable:
        points = cube.every_point()
    else:
        near = [
            best[None] + width * rng.standard_normal((_AROUND // 2, *best.shape))
            for width in _WIDTHS
        ]
        around = cube.snap(np.concatenate(near).reshape(-1, cube.dim))
        if cube.rule is not None:
            around, keeps = cube.rule.mend(cube, around)
            around = around[keeps]
        points = np.concatenate([cube.spread(max(_SPREAD, 2 * n), rng), around])
    tried = {*keys(history.X), *keys(history.without_outcome), *keys(running)}
    fresh: dict[bytes, FloatArray] = {}
    for x, key in zip(points, keys(points), strict=True):
        if key not in tried:
            fresh.setdefault(key, x)
    untried = np.array(list(fresh.values())).reshape(-1, cube.dim)
    return _promising(belief, untried, best, max(_KEPT, 2 * n), rng), best


def _in_context(cube: Cube, X: FloatArray) -> NDArray[np.bool_]:
    """Return which points have the values that are given, and keep to the ranges of now."""
    given = list(cube.given)
    here = [cube.axes[column].values[0] for column in given]
    same = np.all(np.abs(X[:, given] - here) < 1e-9, axis=1)
    return np.asarray(same & (np.abs(X - 0.5) <= 0.5 + 1e-9).all(axis=1))


def _promising(
    belief: StudyBelief, X: FloatArray, best: FloatArray, kept: int, rng: np.random.Generator
) -> FloatArray:
    """Return of a long list the points that may improve on the best, and some of all others."""
    if len(X) <= SMALL:
        return X
    gain = np.zeros(len(X))
    for quantity in belief.objectives:
        for weight, process in zip(quantity.weights, quantity.processes, strict=True):
            reached = process.posterior(best).mean.min()
            for at in range(0, len(X), _CHUNK):
                mean, std, _ = process.posterior(X[at : at + _CHUNK])
                z = (reached - mean) / std
                improvement = std * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))
                gain[at : at + _CHUNK] += weight * improvement
    chosen = np.argsort(-gain, kind="stable")
    others = rng.permutation(chosen[kept:])[: kept // 4]
    return np.asarray(X[np.concatenate([chosen[:kept], others])])


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
    if not len(chosen) or cube.countable:
        return np.ones(len(X), dtype=bool)
    return np.asarray((np.abs(X[:, None] - chosen[None]).max(axis=2) > _APART).all(axis=1))


def _feasible(belief: StudyBelief, X: FloatArray) -> FloatArray:
    chances = [np.asarray(limit.outcome(X).cdf(0.0)) for limit in belief.constraints]
    return np.prod(chances, axis=0) if chances else np.ones(len(X))


def _proposals(
    belief: StudyBelief,
    domain: Domain,
    cube: Cube,
    X: FloatArray,
    feasible: FloatArray,
    now: Progress | None,
) -> tuple[Proposal, ...]:
    def proposal(x: FloatArray, **forecast: Any) -> Proposal:
        return _proposal(belief.space, domain, x, belief.names, **forecast)

    if len(belief.objectives) > 1:
        return tuple(proposal(x, feasible=float(p)) for x, p in zip(X, feasible, strict=True))
    quantity, history = belief.objectives[0], belief.history
    forecast = quantity.outcome(X)
    ends = quantity.sign * np.array(forecast.interval(COVERAGE))
    there = _in_context(cube, history.X)
    reached = history.Y[history.feasible & there, 0]
    improves: list[float | None] = [1.0 if there.any() and not cube.given else None] * len(X)
    if reached.size:
        improves = np.asarray(forecast.cdf(float(reached.min()))).tolist()
        # It was learned from searches by calibrant, and is about the best of all outcomes.
        if now is not None and now.chosen and there.all():
            learned = [chance_to_beat(now, forecast[i]) for i in range(len(X))]
            improves = [p if q is None else q for p, q in zip(improves, learned, strict=True)]
    return tuple(
        proposal(x, interval=(float(low), float(high)), improves=chance, feasible=float(p))
        for x, (low, high), chance, p in zip(
            X, np.sort(ends, axis=0).T, improves, feasible, strict=True
        )
    )
