"""Ray Tune's search, calibrated. Needs Ray (``pip install 'ray[tune]'``).

Ray's ``OptunaSearch`` takes any sampler. This one adds what it leaves out: a result that is not a
finite number ends its trial.
"""

from __future__ import annotations

import math
from typing import Any

from ray.tune.search.optuna import OptunaSearch

from calibrant.studies.sampler import CalibratedSampler


class CalibratedSearch(OptunaSearch):
    """A search algorithm for ``ray.tune`` that chooses settings by :class:`CalibratedSampler`.

    ``OptunaSearch`` logs Optuna's refusal of NaN and goes on, and the trial counts as running for
    ever: the search keeps away from its setting, and never learns that it failed. Here a result
    that is NaN or infinite is a failed trial, as one that raises is.

    Args:
        space: as in ``OptunaSearch``; by default Ray's ``param_space``.
        sampler: by default a :class:`~calibrant.CalibratedSampler` with the ``seed``.
        seed: of the default sampler.
        settings: other arguments of ``OptunaSearch``: ``metric``, ``mode``, ``storage``, …
    """

    def __init__(
        self, space: Any = None, *, sampler: Any = None, seed: int | None = None, **settings: Any
    ) -> None:
        if sampler is not None and seed is not None:
            raise ValueError(
                f"`seed` applies to the default sampler, but got seed={seed} and a `sampler`; pass "
                "the seed to that instead, as in CalibratedSampler(seed=0)."
            )
        super().__init__(space, sampler=sampler or CalibratedSampler(seed=seed), **settings)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Tell the study how a trial ended."""
        if result and not self._finite(result):
            result, error = None, True
        super().on_trial_complete(trial_id, result=result, error=error)

    def _finite(self, result: dict[str, Any]) -> bool:
        """Return whether a result has no metric that is NaN or infinite; a missing one is Ray's."""
        names = self.metric if isinstance(self.metric, list) else [self.metric]
        values = [result[name] for name in names if isinstance(result.get(name), int | float)]
        return all(math.isfinite(value) for value in values)
