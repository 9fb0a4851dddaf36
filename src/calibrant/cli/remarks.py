"""What is remarked on, once, while programs are tuned: what was read, and what looks wrong."""

from __future__ import annotations

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.cli.terminal import say
from calibrant.core.words import number
from calibrant.studies.program import Command
from calibrant.studies.runner import Listener

_ALIKE = 5  # results that are all the same: then it is hardly the result that was read


def remarks(command: Command, listener: Listener) -> Listener:
    """Return a listener that also says, once each, what was read and that all results are alike."""
    said: set[str] = set()

    def listen(study: Study, trial: FrozenTrial) -> None:
        if "read" not in said and command.first_reading is not None:
            said.add("read")
            say(f"Trial {trial.number}: {command.first_reading}")
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        values = {trial.value for trial in complete}
        if "alike" not in said and len(complete) >= _ALIKE and len(values) == 1:
            said.add("alike")
            say(
                f"Warning: all {len(complete)} results are {number(complete[0].value or 0.0, 6)}. "
                "Is that the number to tune? --result-regex or --json-field reads another one.",
                "yellow",
            )
        listener(study, trial)

    return listen
