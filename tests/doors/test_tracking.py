"""Trackers' doors: MLflow on a real server of its own, Weights & Biases in its offline mode."""

import importlib.util
import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import optuna
import pytest

import calibrant
from calibrant.bridges.tracking import Tracker

needs_mlflow = pytest.mark.skipif(
    importlib.util.find_spec("mlflow") is None, reason="needs pip install mlflow"
)
needs_wandb = pytest.mark.skipif(
    importlib.util.find_spec("wandb") is None, reason="needs pip install wandb"
)
pytestmark = pytest.mark.filterwarnings("default")  # others' libraries warn of one another


def objective(trial):
    x = trial.suggest_float("x", -2.0, 2.0)
    kind = trial.suggest_categorical("kind", ["flat", "steep"])
    if trial.number == 3:
        raise RuntimeError("out of memory")
    return -((x - 1.0) ** 2) - (kind == "steep")


def search(tracker, n_trials=9, storage=None):
    study = optuna.create_study(
        study_name="bowl", storage=storage, load_if_exists=True, direction="maximize",
        sampler=calibrant.CalibratedSampler(seed=0),
    )  # fmt: skip
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,), callbacks=[tracker])
    return study


class Memory:
    """A recorder that keeps what it is given, and may be away for a while."""

    def __init__(self, away=()):
        self.facts, self.pages, self.calls, self.closed = [], [], 0, False
        self._away = set(away)

    def open(self, study):
        return set()

    def trial(self, facts):
        self.calls += 1
        if self.calls in self._away:
            raise ConnectionError("the server is away")
        self.facts.append(facts)

    def report(self, page):
        self.pages.append(page.read_text(encoding="utf-8"))

    def close(self):
        self.closed = True


def test_what_is_logged_is_what_the_review_says():
    memory = Memory()
    with Tracker(memory, every=4) as tracker:
        study = search(tracker, n_trials=12)
    found = calibrant.review(study)
    assert [facts.number for facts in memory.facts] == list(range(12))
    assert len(memory.pages) == 4  # after 4, 8 and 12 trials, and at the end
    assert memory.closed
    forecast = {facts.number: facts.metrics for facts in memory.facts if "low" in facts.metrics}
    assert list(forecast) == found.forecast_numbers
    for place, metrics in enumerate(forecast.values()):
        assert metrics["low"] == pytest.approx(found.low[place])
        assert metrics["high"] == pytest.approx(found.high[place])
        assert metrics["held"] == found.held[place]
        assert metrics["held_so_far"] == pytest.approx(found.held[: place + 1].mean())
        assert metrics["value"] == found.outcomes[place]
    assert memory.facts[-1].metrics["best"] == found.best_value
    failed = memory.facts[3]
    assert (failed.state, set(failed.metrics)) == ("fail", {"seconds"})
    assert set(failed.params) == {"x", "kind"}


def test_a_tracker_that_is_away_stops_nothing_and_gets_it_later(caplog):
    memory, other = Memory(away={3, 4}), Memory()
    with caplog.at_level(logging.WARNING), Tracker(memory, other) as tracker:
        study = search(tracker)
    assert len(study.trials) == 9
    assert [facts.number for facts in memory.facts] == list(range(9))
    assert memory.facts == other.facts
    assert "Memory: a trial was not logged, and will be with the next one" in caplog.text


def test_several_objectives_have_values_and_no_interval():
    memory = Memory()
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=calibrant.CalibratedSampler(seed=0)
    )
    with Tracker(memory) as tracker:
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), 7, callbacks=[tracker])
    assert {"value_0", "value_1"} <= set(memory.facts[-1].metrics)
    assert "low" not in memory.facts[-1].metrics


def test_a_tracker_without_a_recorder_is_refused():
    with pytest.raises(ValueError, match="somewhere to log to"):
        Tracker()
    with pytest.raises(ValueError, match="every"):
        Tracker(Memory(), every=0)
    Tracker(Memory()).close()  # nothing has happened


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of an MLflow server that runs for these tests."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=60)


@needs_mlflow
def test_mlflow_has_the_trials_the_metrics_and_the_report(server, tmp_path):
    from mlflow import MlflowClient

    from calibrant.bridges.tracking import MLflow

    storage = f"sqlite:///{tmp_path}/study.db"
    with Tracker(MLflow("doors", tracking_uri=server)) as tracker:
        search(tracker, 6, storage)
    with Tracker(MLflow("doors", tracking_uri=server)) as tracker:  # resumed
        study = search(tracker, 6, storage)

    client = MlflowClient(tracking_uri=server)
    experiment = client.get_experiment_by_name("doors").experiment_id
    runs = client.search_runs([experiment])
    (whole,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    trials = {int(run.data.tags["calibrant.trial"]): run for run in runs if run is not whole}
    assert sorted(trials) == list(range(12))
    assert len(runs) == 13
    assert {run.data.tags["mlflow.parentRunId"] for run in trials.values()} == {whole.info.run_id}
    assert trials[3].info.status == "FAILED"
    assert whole.info.status == trials[4].info.status == "FINISHED"
    assert trials[4].data.params == {k: str(v) for k, v in study.trials[4].params.items()}

    found = calibrant.review(study)
    steps = client.get_metric_history(whole.info.run_id, "low")
    assert [one.step for one in steps] == found.forecast_numbers
    assert [one.value for one in steps] == pytest.approx(list(found.low))
    assert whole.data.metrics["held_so_far"] == pytest.approx(found.held.mean())
    assert whole.data.metrics["best"] == pytest.approx(study.best_value)
    page = client.download_artifacts(whole.info.run_id, "report.html", str(tmp_path))
    assert "12 trials" in Path(page).read_text(encoding="utf-8")


@needs_mlflow
def test_a_server_that_cannot_be_reached_does_not_end_the_search(monkeypatch, caplog):
    from calibrant.bridges.tracking import MLflow

    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with (
        caplog.at_level(logging.WARNING),
        Tracker(MLflow("doors", tracking_uri="http://127.0.0.1:9")) as tracker,
    ):
        study = search(tracker, n_trials=2)
    assert len(study.trials) == 2
    assert "MLflow lacks 2 trials; the study has them all." in caplog.text


OFFLINE = """
import sys
sys.path.insert(0, {tests!r})
from test_tracking import search
from calibrant.bridges.tracking import Tracker, WeightsAndBiases

for _ in range(2):  # the second time it is resumed
    with Tracker(WeightsAndBiases("doors", dir=".")) as tracker:
        study = search(tracker, 6, "sqlite:///study.db")
print(study.user_attrs["calibrant:wandb"])
"""


@needs_wandb
def test_weights_and_biases_logs_offline(tmp_path):
    # In a process of its own: it starts services and writes where it is.
    environment = {
        **os.environ, "WANDB_MODE": "offline", "HOME": str(tmp_path), "WANDB_SILENT": "true",
    }  # fmt: skip
    code = OFFLINE.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, env=environment, text=True,
        capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    noted = re.search(r"\{'run': '(\w+)', 'trials': \[(.*)\]\}", done.stdout)
    assert noted[2] == ", ".join(map(str, range(12)))
    files = sorted((tmp_path / "wandb").glob(f"offline-run-*-{noted[1]}/run-{noted[1]}.wandb"))
    assert len(files) == 2
    rows = [row for file in files for row in logged(file)]
    assert [row["trial"] for row in rows] == list(range(12))
    assert rows[3]["state"] == "fail"
    assert {"params/x", "value", "best", "low", "high", "held", "held_so_far"} <= set(rows[11])
    assert all(b"report.html" in file.read_bytes() for file in files)


def logged(file):
    """Return the rows of a file of Weights & Biases."""
    from wandb.proto import wandb_internal_pb2

    rows = []
    for data in chunks(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            row = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items}
            if "trial" in row:
                rows.append(row)
    return rows


def chunks(data, block=32768):
    """Yield the records of a log as LevelDB writes it, after the seven bytes of a heading."""
    place, parts = 7, b""
    while place + 7 <= len(data):
        if block - place % block < 7:  # too little for the head of a record: the next block
            place += block - place % block
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part of one
            yield parts
            parts = b""
