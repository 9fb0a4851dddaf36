"""``calibrant publish``: verdict, advice and figures for Optuna's dashboard."""

from __future__ import annotations

from calibrant.bridges.dashboard import publish as publish_study
from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import console, fail, say
from calibrant.studies.loading import load_study
from calibrant.studies.storage import hidden


def publish(storage: Storage, study: StudyName = None) -> None:
    """Put calibrant's recommendation, verdict and figures into a study's dashboard."""
    try:
        publish_study(load_study(storage, study))
    except (ImportError, ValueError) as error:
        fail(str(error))
    say("Published: the study's note and figures.")
    console.print(f"Look: optuna-dashboard {hidden(storage)}", soft_wrap=True)
