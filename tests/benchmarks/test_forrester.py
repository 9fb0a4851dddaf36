"""The Forrester benchmark: what its results are of, and its picture."""

import json

from benchmarks.forrester import draw, run
from benchmarks.forrester.problem import search, settings
from plotly.subplots import make_subplots


def test_the_searches_on_disk_are_of_the_settings_of_today():
    """Otherwise the next run would drop them."""
    assert json.loads(run.SETTINGS.read_text()) == settings()


def test_a_panel_shows_what_was_believed_at_a_step():
    searched = search(*draw.SEARCH, "default", seed=0, until_found=False)
    figure = make_subplots(rows=1, cols=1)
    draw.add_panel(figure, 1, 1, searched, step=5)
    names = {trace.name for trace in figure.data}
    assert {"80 % interval", "true function", "evaluated", "chosen next"} <= names
    scale = searched.belief(5).residual.std()
    assert figure.layout.annotations[0].text.startswith(f"std × {scale:.2f}<br>best ")
