"""The report of a stream."""

import numpy as np

from calibrant import LeaderRecalibrator, Normal, replay
from calibrant.reporting.stream import write_stream_report


def test_it_is_one_small_page_that_says_what_the_replay_says(tmp_path):
    y = np.random.default_rng(0).standard_normal(60)
    result = replay(Normal(np.zeros(60), 1.0 + np.zeros(60)), y, LeaderRecalibrator())
    path = write_stream_report(result, tmp_path / "page.html", "A <title> & more")
    page = path.read_text(encoding="utf-8")
    assert "A &lt;title&gt; &amp; more" in page
    assert page.count("<figure>") == 4
    assert "http" not in page.replace("http-equiv", "")  # opens without a network
    assert f"{result.summary()['calibrated']['CRPS']:.4g}" in page
    low, high = result.interval(0.8)
    assert f"{int(((low <= y) & (y <= high)).sum())} of 60 intervals held" in page
    assert len(page) < 100_000


def test_one_outcome_is_enough(tmp_path):
    result = replay(Normal([0.0], [1.0]), [0.3], LeaderRecalibrator())
    assert "too few to judge" in write_stream_report(result, tmp_path / "p.html", "t").read_text()
