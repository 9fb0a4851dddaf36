"""Workers that are killed while they share a study: short runs of benchmarks/faults."""

import json
import subprocess
import sys

import pytest
from benchmarks.faults.postgres import missing

WHOLE = {"crashed": None, "evaluated": 16, "complete": 16, "invented": 0, "twice": 0, "stuck": 0}


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["postgresql", "sqlite", "journal"])
def test_killed_workers_lose_at_most_what_they_were_about_to_tell(storage):
    if storage == "postgresql" and (why := missing()):
        pytest.skip(why)
    command = [sys.executable, "-m", "benchmarks.faults.run", "--only", "kills", storage]
    command += ["--workers", "3", "--trials", "16"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {key: found.get(key) for key in WHOLE} == WHOLE, done.stderr
    assert found["killed"] >= 1
    assert found["lost"] <= found["killed"]
    # Intervals that a review reports are those that the workers were shown before they evaluated.
    assert found["reported"] >= 5
    assert found["misreported"] == 0
