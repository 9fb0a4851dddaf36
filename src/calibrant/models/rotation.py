"""A rotation of Gaussian processes: a search uses them one after the other.

Which kernel suits a function is not known beforehand, and a few dozen outcomes often cannot decide
it. A search that relies on one kernel can get stuck where that kernel is wrong; another kernel at
the next step frees it. A step costs no more than with a single process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.protocol import Posterior


@dataclass(frozen=True)
class Rotation:
    """Several processes, of which one is used at a time.

    After n outcomes that is process n modulo their number.

    Args:
        processes: the processes, at least one.
    """

    processes: tuple[GaussianProcess, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "processes", tuple(self.processes))
        if not self.processes:
            raise ValueError("`processes` must hold at least one GaussianProcess, but got none.")
        for process in self.processes:
            if not isinstance(process, GaussianProcess):
                raise TypeError(f"`processes` must all be GaussianProcess, but got {process!r}.")

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives them."""
        return min(process.most_outcomes for process in self.processes)

    def with_labels(self, columns: tuple[int, ...]) -> Rotation:
        """Return the rotation for inputs in which the given columns are labels."""
        return Rotation(tuple(process.with_labels(columns) for process in self.processes))

    @property
    def takes_noise(self) -> bool:
        """Whether the noise of single outcomes may be given."""
        return all(process.takes_noise for process in self.processes)

    def fit(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> FittedRotation:
        """Return the rotation with its next process fitted to outcomes y at the rows of X.

        ``noise`` is that of each outcome, as :meth:`GaussianProcess.fit` takes it.
        """
        return self._at_turn(X, y, noise, (None,) * len(self.processes))

    def _at_turn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        noise: ArrayLike | None,
        known: tuple[FittedGP | None, ...],
    ) -> FittedRotation:
        X, y = validate.training_data(X, y)
        turn = y.size % len(self.processes)
        before = known[turn]
        process = self.processes[turn]
        current = process.fit(X, y, noise) if before is None else before.refit(X, y, noise)
        return FittedRotation(self, current, (*known[:turn], current, *known[turn + 1 :]))


@dataclass(frozen=True)
class FittedRotation:
    """A fitted rotation: the process in use, and the last fits of the others."""

    model: Rotation
    current: FittedGP
    known: tuple[FittedGP | None, ...]

    @property
    def at_turn(self) -> GaussianProcess:
        """The model of the process in use."""
        return self.current.model

    def refit(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> FittedRotation:
        """Return the rotation with its next process in use, updated from its own last fit."""
        return self.model._at_turn(X, y, noise, self.known)

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        return self.current.predict(X)

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the function, without noise, in the model's units."""
        return self.current.posterior(X)

    def shares(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return how much of the prior std is left at X, and how much of what is left is noise."""
        return self.current.shares(X)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y), with the output map of the process in use."""
        return self.current.in_model_units(y)

    def means(self) -> FloatArray:
        """Return the posterior means at the training inputs, in the model's units."""
        return self.current.means()

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedRotation:
        """Return the belief conditioned on ``values`` in the model's units, or on its own means."""
        return replace(self, current=self.current.condition(X, values, std=std))

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``."""
        return self.current.sample(X, seed_scores)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome given all others, keeping hyper-parameters."""
        return self.current.leave_one_out()

    def one_step_ahead_scores(self) -> FloatArray:
        """Return the score of each outcome given the earlier ones, keeping hyper-parameters."""
        return self.current.one_step_ahead_scores()


def as_process(fitted: object) -> FittedGP | None:
    """Return the Gaussian process that a fitted model is, or uses now; None of any other model."""
    process = fitted.current if isinstance(fitted, FittedRotation) else fitted
    return process if isinstance(process, FittedGP) else None
