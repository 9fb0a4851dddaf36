"""Figures hold the numbers they claim to show."""

import re
from pathlib import Path

import numpy as np
import pytest

from calibrant import figures

rng = np.random.default_rng(0)
PITS = {"raw": rng.beta(0.5, 0.5, 200), "calibrated": rng.uniform(size=200)}


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_reliability_shows_the_share_below_each_level():
    curve = trace(figures.reliability(PITS), "raw")
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
    assert curve.y[30] == np.mean(PITS["raw"] <= curve.x[30])


def test_pit_histogram_integrates_to_one():
    bars = trace(figures.pit_histogram(PITS, bins=10), "calibrated")
    assert np.mean(bars.y) == pytest.approx(1.0)


def test_coverage_over_time_runs_and_rolls():
    inside = np.array([1, 0, 1, 1, 0, 0], dtype=bool)
    running = trace(figures.coverage_over_time({"a": inside}, 0.8), "a").y
    np.testing.assert_allclose(running, [1, 1 / 2, 2 / 3, 3 / 4, 3 / 5, 1 / 2])
    rolling = trace(figures.coverage_over_time({"a": inside}, 0.8, window=2), "a").y
    np.testing.assert_allclose(rolling, [1, 1 / 2, 1 / 2, 1, 1 / 2, 0])
    longer = trace(figures.coverage_over_time({"a": inside}, 0.8, window=50), "a").y
    np.testing.assert_allclose(longer, running)


def test_ribbon_marks_what_lies_outside_and_draws_infinite_ends():
    y = np.array([0.0, 5.0, -5.0])
    low, high = np.array([-1.0, -1.0, -np.inf]), np.array([1.0, 1.0, 1.0])
    figure = figures.ribbon(y, {"80 %": (low, high)})
    assert list(trace(figure, "outside").y) == [5.0]
    assert list(trace(figure, "inside").y) == [0.0, -5.0]
    assert all(np.isfinite(np.asarray(t.y, dtype=float)).all() for t in figure.data)


@pytest.mark.parametrize("draw", [figures.reliability, figures.pit_histogram])
def test_series_must_be_labelled(draw):
    with pytest.raises(ValueError, match="labelled"):
        draw({})
    with pytest.raises(ValueError, match="labelled"):
        draw([0.5, 0.6])


def test_many_series_get_a_colour_each():
    many = {str(k): PITS["raw"] for k in range(15)}
    assert sum(t.name in many for t in figures.reliability(many).data) == 15


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.reliability({"a": []}), "At least one outcome"),
        (lambda: figures.pit_histogram(PITS, bins=0), "`bins >= 1`"),
        (lambda: figures.coverage_over_time({"a": [True]}, 0.8, window=0), "`window >= 1`"),
        (lambda: figures.ribbon([1.0, 2.0], {"a": ([0.0], [1.0])}), "one lower and upper end"),
        (lambda: figures.ribbon([], {"a": ([], [])}), "not empty"),
    ],
)
def test_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_convergence_draws_values_and_the_best_so_far():
    figure = figures.convergence([3.0, 1.0, 2.0], [3.0, 1.0, 1.0])
    values, best = figure.data
    assert list(values.y) == [3.0, 1.0, 2.0]
    assert list(best.y) == [3.0, 1.0, 1.0]
    assert best.line.shape == "hv"
    with pytest.raises(ValueError, match="equally long"):
        figures.convergence([1.0], [1.0, 2.0])


def test_intervals_draws_a_bar_an_outcome_and_marks_those_outside():
    figure = figures.intervals(
        [1.0, 2.0, 5.0], {"raw": ([0.0, 0.0, 0.0], [2.0, 3.0, 4.0])}, x=[7, 8, 9]
    )
    bars, inside, outside = figure.data
    assert len(bars.y) == 9
    assert np.isnan(bars.y[2::3]).all()
    assert list(inside.x) == [7, 8]
    assert list(outside.x) == [9]


def test_infinite_intervals_are_drawn_to_the_edge():
    figure = figures.intervals([1.0, 2.0], {"raw": ([-np.inf, 0.0], [2.0, np.inf])})
    floor, ceiling = figure.layout.yaxis.range
    assert figure.data[0].y[0] == floor
    assert figure.data[0].y[4] == ceiling
    with pytest.raises(ValueError, match="1-D"):
        figures.intervals([1.0], {"raw": ([0.0, 0.0], [1.0, 1.0])})


def test_a_line_of_poor_coverage_ends_inside_the_picture():
    figure = figures.coverage_over_time({"raw": [0, 0, 1, 0, 0, 0, 1, 0], "true": [1] * 8}, 0.8)
    low, high = figure.layout.yaxis.range
    assert low < trace(figure, "raw").y[-1] < high
    usual = figures.coverage_over_time({"raw": [0, 1, 1, 1, 1, 0, 1, 1]}, 0.8)
    assert usual.layout.yaxis.range[0] == pytest.approx(0.4)


def test_the_fan_starts_at_the_best_and_is_nested():
    best, levels = [3.0, 2.0, 2.0], [0.1, 0.5, 0.9]
    ahead = np.array([[1.5, 1.9, 2.0], [1.0, 1.8, 2.0]])
    figure = figures.fan(best, ahead, levels, delta=0.5)
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert list(named) == ["80% of cases", "median", "best so far"]
    np.testing.assert_allclose(named["median"].y, [2.0, 1.9, 1.8])
    np.testing.assert_allclose(named["median"].x, [3, 4, 5])
    assert figure.layout.shapes[0].y0 == 1.5
    with pytest.raises(ValueError, match="a column per level"):
        figures.fan(best, ahead, [0.1, 0.9])


def test_promises_shows_the_share_that_happened_in_each_bin():
    stated = np.repeat([0.2, 0.9], 50)
    happened = np.concatenate([np.arange(50) < 10, np.arange(50) < 30])
    drawn = trace(figures.promises(stated, happened, bins=2), "happened")
    assert list(drawn.x) == pytest.approx([0.2, 0.9])
    assert list(drawn.y) == pytest.approx([0.2, 0.6])
    chance = trace(figures.promises(stated, happened, bins=2), "chance")
    assert chance.error_y.array[0] == pytest.approx(1.96 * np.sqrt(0.2 * 0.8 / 50))
    with pytest.raises(ValueError, match="One outcome per statement"):
        figures.promises([0.5], [True, False])


def test_slices_draw_a_band_a_parameter_and_mark_the_setting():
    x = np.linspace(1.0, 100.0, 20)
    bands = {
        "lr": (x, x - 1.0, x, x + 2.0),
        "act": (["relu", "tanh"], [0.0, 1.0], [1.0, 2.0], [2.0, 4.0]),
    }
    figure = figures.slices(bands, here={"lr": (10.0, 10.0), "act": ("relu", 1.0)}, log=["lr"])
    low, high, median, here, choices, relu = figure.data
    np.testing.assert_array_equal(low.y, x - 1.0)
    np.testing.assert_array_equal(high.y, x + 2.0)
    assert high.fill == "tonexty"
    np.testing.assert_array_equal(median.y, x)
    assert (here.x[0], relu.x[0]) == (10.0, "relu")
    assert list(choices.error_y.array) == [1.0, 2.0]
    assert list(choices.error_y.arrayminus) == [1.0, 1.0]
    assert (figure.layout.xaxis.type, figure.layout.xaxis2.type) == ("log", None)
    assert sum(bool(t.showlegend) for t in figure.data if t.name == "median") == 1
    with pytest.raises(ValueError, match="`lr` must have a lower end"):
        figures.slices({"lr": (x, x[1:], x, x)})


def test_a_contour_draws_the_better_the_darker():
    x, y = np.arange(3.0), np.array([1.0, 2.0])
    z = x[:, None] + y
    low = figures.contour(x, y, z, ("a", "b"), points=([1.0], [0.0]), here=(2.0, 1.0))
    surface, evaluated, here = low.data
    np.testing.assert_array_equal(surface.z, z.T)
    assert surface.reversescale
    assert (evaluated.x[0], here.y[0]) == (1.0, 1.0)
    assert low.layout.xaxis.title.text == "a"
    high = figures.contour(x, y, z, maximise=True, log=(False, True))
    assert not high.data[0].reversescale
    assert high.layout.yaxis.type == "log"
    with pytest.raises(ValueError, match="shape"):
        figures.contour(x, y, z.T)
    with pytest.raises(ValueError, match="positive values, but got 0"):
        figures.contour(x, y, z, log=(True, False))


def test_every_figure_has_its_picture_in_the_gallery():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "gallery.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\((gallery/(\w+)\.png)\)", page)
    assert {name for _, name in pictures} == {
        name for name in figures.__all__ if callable(getattr(figures, name))
    }
    assert all((docs / path).stat().st_size < 300_000 for path, _ in pictures)
