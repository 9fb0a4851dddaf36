"""The interface of a model, and its optional extensions.

Only ``fit`` and ``predict`` are required. Other methods are used if a model has them: closed-form
scores instead of refits, gradients instead of a search without them, conditioning instead of a
second fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class FittedModel(Protocol):
    """A model after ``fit``, which can forecast."""

    def predict(self, X: FloatArray) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        ...


@runtime_checkable
class Model(Protocol):
    """Anything that can be fitted; ``fit`` returns a fitted model and leaves this one unchanged."""

    def fit(self, X: FloatArray, y: FloatArray) -> FittedModel:
        """Return the model fitted to outcomes y at the rows of X."""
        ...


@runtime_checkable
class KnowsLabels(Protocol):
    """A model that can treat some columns as labels (categories)."""

    def with_labels(self, columns: tuple[int, ...]) -> Model:
        """Return the model for inputs in which the given columns are labels."""
        ...


@runtime_checkable
class HasLimit(Protocol):
    """A model whose cost grows so fast with the outcomes that a search gives it only a subset."""

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives it."""
        ...


@runtime_checkable
class TakesNoise(Protocol):
    """A model that can be told the noise of each outcome."""

    @property
    def takes_noise(self) -> bool:
        """Whether, set up as it is, it can."""
        ...

    def fit(self, X: FloatArray, y: FloatArray, noise: ArrayLike | None = None) -> FittedModel:
        """Return the model fitted to outcomes with noise of these stds, NaN where not known."""
        ...


@runtime_checkable
class KnowsLeaveOneOut(Protocol):
    """A fitted model whose leave-one-out scores cost less than one fit per outcome."""

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and predictive std of each outcome under the model fitted to all others.

        The scores are normal scores; the stds are in the model's own units.
        """
        ...


@runtime_checkable
class HasUnits(Protocol):
    """A fitted model that works in units of its own: an increasing map of outcomes."""

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return outcomes in the model's units."""
        ...


@runtime_checkable
class KnowsOneStepAhead(Protocol):
    """A fitted model with one-step-ahead scores in closed form."""

    def one_step_ahead_scores(self) -> FloatArray:
        """Return the normal score of each outcome under the model fitted to the earlier ones."""
        ...


@runtime_checkable
class CanRefit(Protocol):
    """A fitted model that can be updated when outcomes are added."""

    def refit(self, X: FloatArray, y: FloatArray) -> Self:
        """Return the model fitted to X and y, at less cost than a new fit."""
        ...


@runtime_checkable
class TakesTurns(Protocol):
    """A fitted model of a rotation, which uses one of several models at a time."""

    @property
    def at_turn(self) -> Model:
        """The model in use, which can be fitted to other outcomes."""
        ...


class Posterior(NamedTuple):
    """The Gaussian posterior of the noise-free function at m points, in the model's units."""

    mean: FloatArray  # (m,)
    std: FloatArray  # (m,)
    # (∂loss/∂mean, ∂loss/∂std), each (m,) -> ∂loss/∂x, (m, d)
    pullback: Callable[[FloatArray, FloatArray], FloatArray]


@runtime_checkable
class GaussianBelief(FittedModel, HasUnits, Protocol):
    """A fitted model that is Gaussian in its own units, and differentiable.

    The units are an increasing map of outcomes, so that "lower" means the same in both.
    """

    def posterior(self, X: FloatArray) -> Posterior:
        """Return the posterior of the function, without observation noise, at the rows of X."""
        ...

    def means(self) -> FloatArray:
        """Return the posterior means at the training inputs, in the model's units."""
        ...

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> Self:
        """Return the belief conditioned on ``values`` at X, in the model's units.

        By default the values are the belief's own means. They count as outcomes with the model's
        noise, or with noise of the given ``std``; with 0 they are exact values of the function.
        """
        ...

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``."""
        ...
