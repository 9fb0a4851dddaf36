"""The Forrester benchmark: what its results are of, and its picture."""

import json
import re
from xml.etree import ElementTree

from benchmarks.forrester import animate, draw, run
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


def test_the_animation_is_small_and_needs_nothing_else():
    text = animate.PICTURE.read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert not re.search(r"href|url\(|@import|<script", text)
    drawing = ElementTree.fromstring(text)
    frames = drawing.findall(".//{*}g[@class]")
    assert len(frames) == 2 * len(animate.FRAMES)


def test_a_frame_shows_what_was_known_and_what_came_next():
    searched = search(*draw.SEARCH, "raw", seed=0, until_found=False)
    shown = animate.frame(searched, 6)
    assert shown.count('class="dot"') == 5
    assert f"best so far {animate.minus(round(float(searched.y[:5].min()), 2))}" in shown
    x = f"{animate.WIDTH * searched.x[5]:.1f}"
    assert f'class="next" cx="{x}"' in shown
