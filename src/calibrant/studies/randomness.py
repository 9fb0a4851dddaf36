"""The random numbers of a sampler, which go on where its last suggestion in a study left them.

With a seed, the state of the generator before and after each suggestion is noted with it. A search
that is stopped and resumed then draws what it would have drawn, and any suggestion can be made
again from what was known when it was made. Workers that share a seed each draw their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies.suggestions import drawn


class Randomness:
    """A generator of random numbers, its seed, and whether it is yet to find its place in a study.

    Args:
        seed: of the numbers; None: they are never the same again.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.is_placed = seed is None

    def reseed(self) -> None:
        """Draw other numbers from now on: threads of one sampler must not share them."""
        self.rng, self.is_placed = np.random.default_rng(), True

    def go_on(self, trials: Sequence[FrozenTrial], number: int) -> None:
        """Find the place from which to draw for a trial; to be called before anything is drawn.

        At first that is where the last suggestion of this seed ended. Workers with the same seed
        must not draw in step: one that begins while another trial runs, or that finds that another
        has gone on from its own place, starts a sequence of its own.
        """
        assert self.seed is not None
        notes = (drawn(trial) for trial in reversed(trials) if trial.number != number)
        own = (note for note in notes if note is not None and note.get("seed") == self.seed)
        was_placed, self.is_placed = self.is_placed, True
        if was_placed:
            shared = self._is_taken(own)
        else:
            shared = any(t.state == TrialState.RUNNING and t.number != number for t in trials)
        if shared:
            self.rng = np.random.default_rng([self.seed, number])
        elif not was_placed:
            for note in own:
                if self._set(note.get("after")):
                    break

    def _is_taken(self, notes: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether another worker has gone on from here; the newest notes come first."""
        here = self.state()
        for note in notes:
            if note.get("after") == here:  # the suggestion that led here
                return False
            if note.get("before") == here:
                return True
        return False

    def go_back(self, trial: FrozenTrial) -> bool:
        """Draw what was drawn for a trial; return False if that was not noted."""
        note, self.is_placed = drawn(trial), True
        return note is not None and self._set(note.get("before"))

    def state(self) -> list[Any]:
        """Return the state of the generator as JSON values; integers of 128 bits as text."""
        now = self.rng.bit_generator.state
        inner = now["state"]
        return [hex(inner["state"]), hex(inner["inc"]), now["has_uint32"], now["uinteger"]]

    def note(self, before: list[Any]) -> Mapping[str, Any] | None:
        """Return what is noted with a suggestion, given the state before it."""
        if self.seed is None:
            return None
        return {"seed": self.seed, "before": before, "after": self.state()}

    def _set(self, state: Any) -> bool:
        """Set the state of the generator; return False if it is none."""
        with suppress(TypeError, ValueError, OverflowError):
            at, step, has_half, half = state
            inner = {"state": int(at, 16), "inc": int(step, 16)}
            self.rng.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": inner,
                "has_uint32": int(has_half),
                "uinteger": int(half),
            }
            return True
        return False
