"""Ray Tune, whose OptunaSearch takes our sampler."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_tune.py"

# Not imported here: Ray warns, and starts threads.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs pip install 'ray[tune]'"
)


def test_the_example_finds_a_good_classifier(tmp_path):
    # Ray writes its results and a token into the home directory.
    environment = os.environ | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    printed = subprocess.check_output(
        [sys.executable, str(EXAMPLE)], text=True, timeout=300, env=environment
    )
    assert float(re.search(r"error (\S+) with", printed)[1]) < 0.12
    assert "80 % intervals held" in printed
