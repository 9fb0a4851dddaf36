"""Weights & Biases: a run per study, with a row per trial."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from optuna.study import Study

from calibrant.bridges.tracking.facts import Facts

_RUN = "calibrant:wandb"  # user attribute of a study: the run that it is logged to, and its trials


class WeightsAndBiases:
    """Logs a study as one run of Weights & Biases, with a row for each trial.

    The row has the trial's number, its parameters as ``params/…`` and its metrics. A study that is
    resumed goes on with its run, if that can be reached; ``WANDB_MODE=offline`` logs to a folder.

    Args:
        project: the project of the run.
        settings: other arguments of ``wandb.init``: ``entity``, ``group``, ``mode``, ``dir``, …
    """

    def __init__(self, project: str = "calibrant", **settings: Any) -> None:
        if find_spec("wandb") is None:
            raise ImportError("Logging to Weights & Biases needs its package: pip install wandb.")
        self._settings = {"project": project, **settings}
        self._run: Any = None
        self._study: Study | None = None
        self._has: set[int] = set()

    def open(self, study: Study) -> set[int]:
        """Begin or go on with the run of a study, and return the trials that it has already."""
        import wandb

        self._study = study
        identifier, self._has = _noted(study)
        known = {"id": identifier, "resume": "allow"} if identifier else {}
        settings = {"name": study.study_name, "job_type": "study", **known, **self._settings}
        self._run = wandb.init(**settings)
        if self._run.id != identifier:  # the user's own
            self._has = set()
        # Trials end in any order, but a step of Weights & Biases can only be the latest one.
        self._run.define_metric("trial")
        self._run.define_metric("*", step_metric="trial")
        self._run.config.update(
            {
                "study": study.study_name,
                "directions": [direction.name.lower() for direction in study.directions],
            },
            allow_val_change=True,
        )
        self._note()
        return set(self._has)

    def trial(self, facts: Facts) -> None:
        """Log a trial as a row."""
        params = {f"params/{name}": value for name, value in facts.params.items()}
        self._run.log({"trial": facts.number, "state": facts.state, **params, **facts.metrics})
        self._has.add(facts.number)

    def report(self, page: Path) -> None:
        """Keep the report as an artefact of the run."""
        import wandb

        kept = wandb.Artifact(f"report-{self._run.id}", type="report")
        kept.add_file(str(page))
        self._run.log_artifact(kept)
        self._note()

    def close(self) -> None:
        """End the run."""
        self._note()
        self._run.finish()

    def _note(self) -> None:
        """Note with the study what the run has: offline, the run itself cannot be asked."""
        assert self._study is not None
        self._study.set_user_attr(_RUN, {"run": self._run.id, "trials": sorted(self._has)})


def _noted(study: Study) -> tuple[str | None, set[int]]:
    """Return the run of a study and its trials; what cannot be read is none."""
    noted = study.user_attrs.get(_RUN)
    if not isinstance(noted, dict) or not isinstance(noted.get("run"), str):
        return None, set()
    listed = noted.get("trials")
    numbers = listed if isinstance(listed, list) else []
    return noted["run"], {number for number in numbers if isinstance(number, int)}
