"""The recipes of examples/machines: each is read, and the command that it starts is run.

What reads them (systemd, Docker, Kubernetes, Slurm) is not: docs/workers.md says what was tried.
"""

import configparser
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "machines"
STORAGE = "CALIBRANT_STORAGE"


def of_systemd():
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(FOLDER / "calibrant-worker@.service", encoding="utf-8")
    assert STORAGE in (FOLDER / "calibrant-worker@.service").read_text(encoding="utf-8")
    assert unit["Service"]["KillMode"] == "mixed"
    return shlex.split(unit["Service"]["ExecStart"])


def of_slurm():
    (line,) = re.findall("^srun (.*)$", (FOLDER / "slurm.sh").read_text("utf-8"), re.MULTILINE)
    return shlex.split(line)


def of_compose(service):
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    service = read[service]
    assert service["depends_on"].keys() <= read.keys()
    assert STORAGE in service["environment"]
    assert (FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    return ["calibrant", *service["command"]]


def of_kubernetes():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((FOLDER / "job.yaml").read_text(encoding="utf-8"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert [variable["name"] for variable in container["env"]] == [STORAGE]
    return ["calibrant", *container["args"]]


def start(command, folder):
    """Run a command of a recipe to its end, as the place that it is written for would."""
    assert Path(command[0]).name == "calibrant"
    environment = {**os.environ, STORAGE: f"sqlite:///{folder}/study.db"}
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", *["calibrant", *command[1:]]], cwd=folder, env=environment,
        text=True, capture_output=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_recipes_start_shares_a_study(tmp_path):
    """`tune` of the composition begins it, and workers of all the others go on with it."""
    program = (FOLDER / "simulate.py").read_text("utf-8").replace("sleep(1)", "sleep(0)")
    (tmp_path / "simulate.py").write_text(program, encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    tune = of_compose("tune")
    tune[tune.index("--trials") + 1] = "6"
    start(tune, tmp_path)
    workers = (of_compose("worker"), of_systemd(), of_slurm(), of_kubernetes())
    for total, worker in enumerate(workers, start=7):
        start([*worker, "--trials", str(total)], tmp_path)
    study = optuna.load_study(study_name="calibrant", storage=f"sqlite:///{tmp_path}/study.db")
    settings = [tuple(t.params.values()) for t in study.trials if t.value is not None]
    assert len(settings) == len(set(settings)) == 10


def test_the_image_has_what_the_recipes_need():
    lines = (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == 'ENTRYPOINT ["calibrant"]'
    (copied,) = (line.split()[1] for line in lines if line.startswith("COPY examples"))
    assert (FOLDER.parent.parent / copied).exists()
