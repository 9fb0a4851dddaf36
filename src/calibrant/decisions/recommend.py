"""The setting to use, what it is worth, and whether to measure again before using it.

The best value of a noisy study is the best luck as well. A setting is judged by what the model
expects of it, given all evaluations: its own, pooled where it was tried several times, and those of
its neighbours. Where there is no noise to speak of, the best evaluation is taken as it is; where
there is little, its setting is taken, and the model says what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from calibrant.core.typing import FloatArray
from calibrant.core.words import number
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.front import front
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.recommendation import (
    TAIL,
    Candidate,
    Front,
    Recommendation,
    Repeat,
    in_user_sign,
)
from calibrant.decisions.settings import Settings, allowed, feasibility
from calibrant.models.likelihood import Priors

_SHOWN = 5  # candidates listed
_SERIOUS = 60  # candidates that draws are made of, by what the model expects of them
_DRAWS = 2000
_SEED = 0  # the same study gets the same answer

# What the model takes for noise is partly structure that it cannot see: three tenths of it count
# when a setting is chosen, and more of it where evaluations agree on it; of noise that was told,
# nothing does. Without that, the best evaluation is now and then left for a setting that is far
# worse (benchmarks/decisions).
_STRUCTURE = 0.3
# How uncertain that leaves a setting, in variances of the noise of its evaluations. Without it,
# 80 % intervals held too rarely on the tasks to choose by (benchmarks/decisions/choosing.py). The
# best of many settings would seem better by it than it is: the expected loss is without.
_UNSEEN = 0.1
# Of noise, as a share of the spread of outcomes. Below the second the best evaluation can be little
# better than its setting is: less is to be gained by the model than structure it has missed costs.
_NEGLIGIBLE, _SMALL = 0.01, 0.1
# Evaluations: of fewer, none of them repeated, a model knows no more of noise than its prior says.
_FEWEST = 5
_TIMES = (1, 2, 3, 5)  # evaluations of each listed setting to choose from
_MOST_OF_IT = 0.8  # of what the most of them would gain: as many as reach that
_WORTH_IT = 0.25  # of the expected loss, by the model: less is not worth the evaluations


def recommend(
    study: Study, *, min_feasible: float | None = None, noisy: bool | None = None
) -> Recommendation | Front:
    """Return the setting to use, among those evaluated; of several objectives, the front.

    >>> import optuna, calibrant
    >>> study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 1) ** 2, n_trials=15)
    >>> found = calibrant.recommend(study)
    >>> found.params == study.best_params  # there is no noise here
    True

    Args:
        study: an Optuna study with finished trials, of any sampler.
        min_feasible: only settings that meet all constraints with this probability; by default,
            settings whose evaluations met them or, where these did not report one, that are more
            likely to than not.
        noisy: whether evaluations are noisy, so that two of one setting can differ. By default the
            study's user attribute ``calibrant:noisy`` says so; without it, the trials do.

    Raises:
        ValueError: where no trial has finished with a finite value, and where ``min_feasible`` is
            given for a study without constraints.
    """
    return recommend_of(believe(study), min_feasible=min_feasible, noisy=noisy)


def recommend_of(
    belief: StudyBelief, *, min_feasible: float | None = None, noisy: bool | None = None
) -> Recommendation | Front:
    """Recommend as :func:`recommend` does, from what is believed about a study."""
    noisy = belief.noisy if noisy is None else noisy
    settings = Settings.of(belief)
    feasible = feasibility(belief, settings.X)
    kept, warnings = allowed(belief, settings, feasible, min_feasible)
    if len(belief.objectives) > 1:
        return front(belief, settings, feasible, kept, warnings)
    return _single(belief, settings, feasible, kept, warnings, noisy)


def _single(
    belief: StudyBelief,
    settings: Settings,
    feasible: FloatArray,
    kept: NDArray[np.intp],
    warnings: tuple[str, ...],
    noisy: bool | None,
) -> Recommendation:
    quantity = belief.objectives[0]
    stds = belief.history.stds
    pooled = settings.pooled(belief.history.Y[:, 0], None if stds is None else stds[:, 0])
    observed, errors = pooled[0][kept], pooled[1][kept]
    expected = quantity.expected(settings.X[kept])
    means, noise = expected.mean(), quantity.noise(settings.X[kept])
    by, exact, why = _basis(belief, settings, observed, noise, noisy)
    times = np.array([settings.rows[i].size for i in kept])
    learned = quantity.learned_share(settings.X[kept])
    structure = np.ones(times.size) if by == "observation" else _real_share(times, learned)
    score = (1.0 - structure) * means + structure * observed
    serious = np.argsort(score, kind="stable")[:_SERIOUS]
    draws = _draws(quantity, settings.X[kept[serious]], observed[serious] if exact else None)
    chosen, best = 0, draws.min(axis=1)
    possible = draws if exact else _with_unseen(draws, noise[serious], times[serious])
    chances = np.bincount(possible.argmin(axis=1), minlength=serious.size) / draws.shape[0]
    order = np.argsort(-chances, kind="stable")
    order = np.concatenate([[chosen], order[order != chosen]])[:_SHOWN]
    ends = np.quantile(possible, [TAIL, 1.0 - TAIL], axis=0)
    values = observed[serious] if exact else means[serious]
    numbers = quantity.sign * values
    candidates = tuple(
        Candidate(
            belief.settings(settings.X[kept[serious[i]]][None])[0],
            settings.trials(belief, kept[serious[i]]),
            float(quantity.sign * observed[serious[i]]),
            float(numbers[i]),
            in_user_sign(ends[:, i], quantity.sign),
            float(chances[i]),
            float(feasible[kept[serious[i]]]),
            None if np.isnan(errors[serious[i]]) else float(errors[serious[i]]),
        )
        for i in order
    )
    loss = float(np.mean(draws[:, chosen] - best))
    spread_here = 0.0 if exact else float(noise[serious[chosen]])
    if not exact:
        warnings = (*warnings, *_luck(quantity, observed, means, expected.quantile(1.0 - TAIL)))
    repeat = (candidates, order, score[serious], possible, noise[serious], loss)
    return Recommendation(
        candidates, loss, spread_here, by, why, warnings, None if exact else _repeat(*repeat)
    )


def _basis(
    belief: StudyBelief,
    settings: Settings,
    observed: FloatArray,
    noise: FloatArray,
    noisy: bool | None,
) -> tuple[str, bool, str]:
    """Return by what to choose, whether evaluations can be taken as they are, and why."""
    told, count = "It has the best value observed", belief.history.Y.size
    if noisy is not None:
        if noisy:
            why = "Chosen by what the model expects, as the study is marked as noisy."
            return "posterior", False, why
        return "observation", True, f"{told}. The study is marked as free of noise."
    if np.ptp(belief.history.Y[:, 0] / 2.0) == 0.0:  # there is no scale to tell noise by
        if count == 1:
            return "observation", True, "It is the only evaluation: nothing is known of noise."
        return "observation", True, "All evaluations have given the same value."
    again = [belief.history.Y[group, 0] for group in settings.rows if group.size > 1]
    if not again and count < _FEWEST and belief.objectives[0].stds is None:
        return "observation", True, f"{told}. {count} evaluations say nothing about noise."
    if again and all(np.ptp(values / 2.0) == 0.0 for values in again):
        return "observation", True, f"{told}, and repeated evaluations gave equal values."
    spread = float(np.subtract(*np.quantile(belief.objectives[0].y / 2.0, [0.75, 0.25])) * 2.0)
    least = _least_noise(belief.objectives[0])
    if not again and least <= _NEGLIGIBLE * spread:
        negligible = f", and the noise of evaluations is negligible (std {number(least)})."
        return "observation", True, told + negligible
    if least <= _SMALL * spread:
        small = f", and the noise of evaluations is small (std {number(least)}). Some of that "
        return "observation", False, f"{told}{small}value may be luck; the model allows for it."
    here = float(noise[np.argmin(observed)])
    return (
        "posterior",
        False,
        f"Chosen by what the model expects and, in part, by what was observed: evaluations are "
        f"noisy (std {number(here)}), and the best value observed is partly luck.",
    )


def _least_noise(quantity: Quantity) -> float:
    """Return the std of noise at the best outcome, of a model that expects none."""
    likely = quantity.processes[int(np.argmax(quantity.weights))].model
    fitted = replace(likely, priors=Priors()).fit(quantity.X, quantity.y, quantity.stds)
    best = [int(np.argmin(quantity.y))]
    variance = fitted.noise_around(fitted.v[best], quantity.X[best])[0]
    return float(np.sqrt(variance) / fitted.outputs.slope(quantity.y.min()))


def _draws(quantity: Quantity, X: FloatArray, exact: FloatArray | None) -> FloatArray:
    """Draw the mean outcomes of some settings jointly, (draws, settings); no draw where exact."""
    if exact is not None:
        return exact[None]
    return quantity.draws(X, _DRAWS, np.random.default_rng(_SEED))


def _real_share(times: NDArray[np.intp], learned: FloatArray) -> FloatArray:
    """Return how much of what evaluations differ by from the model is real.

    Noise averages out over evaluations of a setting; structure that the model does not see stays.

    Args:
        times: evaluations of each setting.
        learned: which share of their noise was learned: what was told is noise, all of it.
    """
    structure = _STRUCTURE * learned
    return np.asarray(structure * times / (structure * times + 1.0 - structure))


def _with_unseen(draws: FloatArray, noise: FloatArray, times: NDArray[np.intp]) -> FloatArray:
    """Return draws as uncertain as structure leaves them that the model does not see."""
    scores = np.random.default_rng([_SEED, 1]).standard_normal(draws.shape)
    return np.asarray(draws + scores * noise * np.sqrt(_UNSEEN / times))


def _luck(
    quantity: Quantity, observed: FloatArray, means: FloatArray, high: FloatArray
) -> Sequence[str]:
    """Return a warning if the best value is better than its setting can be expected to give."""
    best = int(np.argmin(observed))
    spread = high[best] - means[best]
    if means[best] - observed[best] <= spread:
        return ()
    seen, real = (number(quantity.sign * value) for value in (observed[best], means[best]))
    return (
        f"The best value observed, {seen}, looks lucky: many evaluations of its setting would give "
        f"about {real} on average.",
    )


def _repeat(
    candidates: tuple[Candidate, ...],
    listed: NDArray[np.intp],
    score: FloatArray,
    draws: FloatArray,
    noise: FloatArray,
    loss: float,
) -> Repeat | None:
    """Return how often to evaluate each listed setting again, where the model promises enough.

    After these evaluations what is expected of all settings moves along its covariance with what
    they gave, and the best is then chosen. To evaluate a single setting again gained nothing where
    it was tried: the one with the most to gain by the model is one that it thinks too well of. What
    evaluating all of them gained differed by tasks, so no gain is stated (benchmarks/decisions).
    """
    # In units of the largest number, so that the square of a huge one is finite.
    unit = max(float(np.abs(draws).max()), float(noise.max()), np.finfo(float).tiny)
    draws, noise, score, loss = draws / unit, noise / unit, score / unit, loss / unit
    covariance = np.atleast_2d(np.cov(draws.T))
    luck = np.random.default_rng([_SEED, 2]).standard_normal((len(draws), listed.size))

    def gain(times: int) -> float:
        errors = noise[listed] / np.sqrt(times)
        seen = draws[:, listed] + luck * errors
        among = covariance[np.ix_(listed, listed)] + np.diag(errors**2)
        moves = np.linalg.lstsq(among, covariance[listed], rcond=None)[0]
        after = score + (seen - seen.mean(axis=0)) @ moves
        return float(score.min() - after.min(axis=1).mean())

    gains = [gain(times) for times in _TIMES]
    least = max(gains[-1], 0.0)  # draws are few: the most may seem to gain less than nothing
    chosen = next((i for i, one in enumerate(gains) if one >= _MOST_OF_IT * least), None)
    if chosen is None or not gains[chosen] > _WORTH_IT * loss:
        return None
    return Repeat(tuple(one.params for one in candidates), _TIMES[chosen], unit * gains[chosen])
