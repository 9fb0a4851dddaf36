"""MLflow: a run per study, with a run per trial inside it."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from optuna.study import Study

from calibrant.bridges.tracking.facts import Facts

_RUN = "calibrant:mlflow"  # user attribute of a study: the run that it is logged to
_TRIAL = "calibrant.trial"  # tag of a trial's run: its number
_PARENT = "mlflow.parentRunId"  # MLflow's tag of a run inside another
_PAGE = 1000  # runs that a server returns at a time
_STATUS = {"complete": "FINISHED", "pruned": "KILLED", "fail": "FAILED"}


class MLflow:
    """Logs a study as one run of MLflow, with a run for each trial inside it.

    The study's run has the metrics of all trials, by their numbers, and the report. A study that is
    resumed goes on with its run. MLflow's own active run is left alone.

    Args:
        experiment: the name of MLflow's experiment, created if need be.
        tracking_uri: of the server (``http://localhost:5000``); by default as MLflow is set up.
        run_name: of the study's run; by default the name of the study.
    """

    def __init__(
        self,
        experiment: str = "calibrant",
        *,
        tracking_uri: str | None = None,
        run_name: str | None = None,
    ) -> None:
        if find_spec("mlflow") is None:
            raise ImportError("Logging to MLflow needs its package: pip install mlflow.")
        from mlflow import MlflowClient

        self._experiment, self._run_name = experiment, run_name
        self._client: Any = MlflowClient(tracking_uri=tracking_uri)
        self._experiment_id, self._run = "", ""

    def open(self, study: Study) -> set[int]:
        """Begin or go on with the run of a study, and return the trials that it has already."""
        known = self._client.get_experiment_by_name(self._experiment)
        self._experiment_id = (
            self._client.create_experiment(self._experiment) if known is None
            else known.experiment_id
        )  # fmt: skip
        noted = study.user_attrs.get(_RUN)
        if isinstance(noted, str) and self._exists(noted):
            self._run = noted
            self._client.update_run(noted, status="RUNNING")
            return self._logged()
        run = self._client.create_run(
            self._experiment_id,
            tags={"calibrant.study": study.study_name},
            run_name=self._run_name or study.study_name,
        )
        self._run = run.info.run_id
        study.set_user_attr(_RUN, self._run)
        return set()

    def _exists(self, run: str) -> bool:
        """Return whether this server has a run; the study may have been logged to another one."""
        from mlflow.exceptions import MlflowException

        try:
            found = self._client.get_run(run).info
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return False
            raise
        return bool(found.lifecycle_stage == "active")

    def _logged(self) -> set[int]:
        numbers, token = set[int](), None
        while True:
            page = self._client.search_runs(
                [self._experiment_id], f"tags.`{_PARENT}` = '{self._run}'",
                max_results=_PAGE, page_token=token,
            )  # fmt: skip
            # A run that was cut short while it was written is written again.
            whole = [run for run in page if run.info.status != "RUNNING"]
            numbers |= {int(run.data.tags[_TRIAL]) for run in whole}
            if not (token := page.token):
                return numbers

    def trial(self, facts: Facts) -> None:
        """Log a trial: in a run of its own, and as a step of the study's."""
        from mlflow.entities import Metric, Param, RunTag

        tags = {_PARENT: self._run, _TRIAL: str(facts.number), "calibrant.state": facts.state}
        if facts.error:
            tags["calibrant.error"] = facts.error
        run = self._client.create_run(
            self._experiment_id, tags=tags, run_name=f"trial {facts.number}"
        ).info.run_id
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, facts.number) for name, value in facts.metrics.items()]
        params = [Param(name, str(value)) for name, value in facts.params.items()]
        self._client.log_batch(run, metrics=metrics, params=params)
        self._client.log_batch(
            self._run, metrics=metrics, tags=[RunTag("calibrant.last", str(facts.number))]
        )
        self._client.set_terminated(run, _STATUS[facts.state])

    def report(self, page: Path) -> None:
        """Keep the report as an artefact of the study's run."""
        self._client.log_artifact(self._run, str(page))

    def close(self) -> None:
        """End the study's run."""
        self._client.set_terminated(self._run)
