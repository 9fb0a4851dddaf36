"""Dask, whose tasks are workers of one study."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "dask_workers.py"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs pip install 'dask[distributed]'"
)


def test_tasks_share_a_study_and_evaluate_each_setting_once(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path)}
    printed = subprocess.check_output(
        [sys.executable, str(EXAMPLE)], text=True, timeout=300, env=environment, cwd=tmp_path
    )
    trials, settings, best = re.search(
        r"(\d+) trials, (\d+) settings, best (\S+)", printed
    ).groups()
    assert int(trials) == int(settings) == 32
    assert float(best) < 0.1
