"""Gaussian processes that take turns.

Which kernel fits a function is not known beforehand, and a few dozen outcomes often cannot tell. A
search that trusts one kernel can be stuck where that kernel is wrong; when another one has the next
turn, it is not. A turn costs no more than a single process does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.gp import FittedGP, GaussianProcess
from calibrant.models.protocol import Posterior


@dataclass(frozen=True)
class Rotation:
    """Some processes, of which one is used at a time: after n outcomes number n modulo their count.

    Args:
        processes: at least one.
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
        """How many outcomes a search gives them at most."""
        return min(process.most_outcomes for process in self.processes)

    def with_labels(self, columns: tuple[int, ...]) -> Rotation:
        """Return the rotation of processes that know which columns are labels."""
        return Rotation(tuple(process.with_labels(columns) for process in self.processes))

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedRotation:
        """Return the process whose turn it is, fitted to outcomes y at the rows of X."""
        return self._at_turn(X, y, (None,) * len(self.processes))

    def _at_turn(
        self, X: ArrayLike, y: ArrayLike, known: tuple[FittedGP | None, ...]
    ) -> FittedRotation:
        X, y = validate.training_data(X, y)
        turn = y.size % len(self.processes)
        before = known[turn]
        current = self.processes[turn].fit(X, y) if before is None else before.refit(X, y)
        return FittedRotation(self, current, (*known[:turn], current, *known[turn + 1 :]))


@dataclass(frozen=True)
class FittedRotation:
    """The process whose turn it is, and what the others knew when they had theirs."""

    model: Rotation
    current: FittedGP
    known: tuple[FittedGP | None, ...]

    @property
    def at_turn(self) -> GaussianProcess:
        """The process whose turn it is."""
        return self.current.model

    def refit(self, X: ArrayLike, y: ArrayLike) -> FittedRotation:
        """Return the process that has the next turn, going on from its last one."""
        return self.model._at_turn(X, y, self.known)

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        return self.current.predict(X)

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the function, without noise, in the model's units."""
        return self.current.posterior(X)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y), of the map of the process at turn."""
        return self.current.in_model_units(y)

    def means(self) -> FloatArray:
        """Return the posterior means at the inputs fitted, in the model's units."""
        return self.current.means()

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedRotation:
        """Return the belief after ``values`` in the model's units; by default its own means."""
        return replace(self, current=self.current.condition(X, values, std=std))

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, made of standard normal ``seed_scores``."""
        return self.current.sample(X, seed_scores)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome given all others, hyper-parameters as they are."""
        return self.current.leave_one_out()

    def one_step_ahead_scores(self) -> FloatArray:
        """Return the score of each outcome given the earlier ones, hyper-parameters as they are."""
        return self.current.one_step_ahead_scores()
