"""What a model is, and what it may know besides.

Only ``fit`` and ``predict`` are needed. What else a fitted model offers is used where it is there:
closed-form scores instead of refits, gradients instead of local search, conditioning instead of a
second fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class FittedModel(Protocol):
    """A model after ``fit``."""

    def predict(self, X: FloatArray) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        ...


@runtime_checkable
class Model(Protocol):
    """Anything that can be fitted; ``fit`` returns a fitted model and changes nothing else."""

    def fit(self, X: FloatArray, y: FloatArray) -> FittedModel:
        """Return the model fitted to outcomes y at the rows of X."""
        ...


@runtime_checkable
class KnowsLabels(Protocol):
    """A model that treats columns of labels as such, once it is told which they are."""

    def with_labels(self, columns: tuple[int, ...]) -> Model:
        """Return the model for inputs in which some columns are labels."""
        ...


@runtime_checkable
class HasLimit(Protocol):
    """A model whose cost grows so fast that it is better given a part of many outcomes."""

    @property
    def most_outcomes(self) -> int:
        """How many outcomes a search gives it at most."""
        ...


@runtime_checkable
class KnowsLeaveOneOut(Protocol):
    """A fitted model with leave-one-out scores at less cost than a fit for each outcome."""

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and predictive std of each outcome under the model fitted to all others.

        The scores are normal scores; the stds are in units of the model's own.
        """
        ...


@runtime_checkable
class KnowsOneStepAhead(Protocol):
    """A fitted model with one-step-ahead scores in closed form."""

    def one_step_ahead_scores(self) -> FloatArray:
        """Return the normal score of each outcome under the model fitted to the earlier ones."""
        ...


@runtime_checkable
class CanRefit(Protocol):
    """A fitted model that can go on from where it is when outcomes are added."""

    def refit(self, X: FloatArray, y: FloatArray) -> Self:
        """Return the model fitted to X and y, at less cost than from scratch."""
        ...


@runtime_checkable
class TakesTurns(Protocol):
    """A fitted model that is one of several."""

    @property
    def at_turn(self) -> Model:
        """The one it is, to be fitted to other outcomes."""
        ...


class Posterior(NamedTuple):
    """Gaussian beliefs about the noise-free function at m points, in the model's units."""

    mean: FloatArray  # (m,)
    std: FloatArray  # (m,)
    # (∂loss/∂mean, ∂loss/∂std), each (m,) -> ∂loss/∂x, (m, d)
    pullback: Callable[[FloatArray, FloatArray], FloatArray]


@runtime_checkable
class GaussianBelief(FittedModel, Protocol):
    """A fitted model that is Gaussian in units of its own, and differentiable.

    The units are an increasing map of outcomes, so that "lower" means the same in both.
    """

    def posterior(self, X: FloatArray) -> Posterior:
        """Return beliefs about the function, without observation noise, at the rows of X."""
        ...

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return outcomes in the model's units."""
        ...

    def means(self) -> FloatArray:
        """Return the posterior means at the inputs fitted, in the model's units."""
        ...

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> Self:
        """Return the belief after ``values`` (in its units; by default its own means) at X.

        They are outcomes, with noise; or, where ``std`` says how far they may be from the
        function, more or less sure than that. At 0 they are the function's own.
        """
        ...

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``."""
        ...
