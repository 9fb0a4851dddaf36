"""The paper's figures, drawn from records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.paper.experiments import CALIBRATED, LITERAL, RAW
from benchmarks.paper.metrics import calibration_by_step, curve
from benchmarks.paper.records import Runs
from benchmarks.paper.search import Exploration
from benchmarks.paper.setups import ACQUISITIONS, Setup
from benchmarks.paper.tasks import task
from calibrant.acquisition.base import Belief
from calibrant.core import Cube
from calibrant.core.typing import FloatArray
from calibrant.evaluation.figures import PALETTE
from calibrant.forecasts.residual import compose

STEPS = (4, 9, 11, 14)  # of the paper's snapshots, the first points counted
_ORANGE, _BLUE, _GREEN, _PINK = PALETTE
_OTHERS = (_PINK, "#56B4E9", "#E69F00", "#999999")
_GRID = np.linspace(0.0, 1.0, 401)
_LINE = {"color", "dash", "width"}  # what plotly wants of a line, apart from other style


def curves(blocks: Mapping[str, Runs]) -> go.Figure:
    """Draw calibration scores (top) and best values so far (bottom), with 95 % bands."""
    figure = _panels(list(blocks), ["calibration score (m = 20)", "best value so far"])
    for column, runs in enumerate(blocks.values(), start=1):
        for label, records in runs.items():
            scores = [calibration_by_step(r, "calibrated") for r in records.values()]
            _add_band(figure, label, np.array(scores), 1, column, first=1)
            best = [curve(record) for record in records.values()]
            _add_band(figure, label, np.array(best), 2, column, first=0)
    return _finished(figure, len(blocks))


def improvements(blocks: Mapping[str, Runs]) -> go.Figure:
    """Draw how far calibration is ahead (top) and the best values so far (bottom)."""
    figure = _panels(list(blocks), ["uncalibrated − calibrated", "best value so far"])
    for column, runs in enumerate(blocks.values(), start=1):
        seeds = sorted(set.intersection(*(set(records) for records in runs.values())))
        for label in (LITERAL, CALIBRATED):
            if label in runs:
                ahead = [curve(runs[RAW][s]) - curve(runs[label][s]) for s in seeds]
                _add_band(figure, label, np.array(ahead), 1, column, first=0)
        figure.add_hline(y=0, line={"color": "#888888", "dash": "dot"}, row=1, col=column)
        for label, records in runs.items():
            best = [curve(records[s]) for s in seeds]
            _add_band(figure, label, np.array(best), 2, column, first=0)
    return _finished(figure, len(blocks))


def best_curves(blocks: Mapping[str, Runs]) -> go.Figure:
    """Draw best values so far, with 95 % bands."""
    figure = _panels(list(blocks), ["best value so far"])
    for column, runs in enumerate(blocks.values(), start=1):
        for label, records in runs.items():
            best = [curve(record) for record in records.values()]
            _add_band(figure, label, np.array(best), 1, column, first=0)
    return _finished(figure, len(blocks), height=380)


def snapshots(setup: Setup, explorations: Mapping[str, Exploration]) -> go.Figure:
    """Draw what was believed about a function of one variable at some steps."""
    figure = make_subplots(
        rows=len(explorations),
        cols=len(STEPS),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.015,
        vertical_spacing=0.06,
        column_titles=[f"step {step}" for step in STEPS],
        row_titles=list(explorations),
    )
    true = np.array([task(setup.task).evaluate(np.array([x]), 0) for x in _GRID])
    for row, exploration in enumerate(explorations.values(), start=1):
        for column, step in enumerate(STEPS, start=1):
            belief = exploration.beliefs[step - setup.initial - 1]
            _add_snapshot(figure, row, column, setup, exploration, belief, step, true)
    figure.update_yaxes(range=_panel(true))
    figure.update_xaxes(title_text="x", row=len(explorations))
    return _styled(figure, 1000, 280 * len(explorations))


def _panel(true: FloatArray) -> list[float]:
    """Return the lowest and the highest value that a panel shows."""
    return [float(true.min()) - 8.0, float(true.max()) + 3.0]


def _add_snapshot(
    figure: go.Figure,
    row: int,
    column: int,
    setup: Setup,
    exploration: Exploration,
    belief: Belief,
    step: int,
    true: FloatArray,
) -> None:
    raw = belief.fitted.predict(_GRID[:, None])
    # An online level may be at infinity, which is drawn as reaching the edges of the panel.
    low, high = np.clip(compose(raw, belief.residual).interval(0.8), *_panel(true))
    x = np.array([float(point[0]) for point in exploration.x[:step]])
    y = np.array(exploration.y[:step])

    def add(name: str, x: FloatArray, y: FloatArray, legend: bool = True, **style: Any) -> None:
        shown = legend and row == column == 1
        figure.add_scatter(x=x, y=y, name=name, showlegend=shown, row=row, col=column, **style)

    def line(name: str, y: FloatArray, legend: bool = True, **style: Any) -> None:
        shape = {"simplify": False} | {key: style.pop(key) for key in _LINE & style.keys()}
        add(name, _GRID, y, legend, mode="lines", line=shape, **style)

    line("", low, legend=False, width=0)
    line("80 % interval", high, width=0, fill="tonexty", fillcolor=_see_through(_BLUE))
    line("true function", true, color=_GREEN, width=2)
    line("model's median", raw.quantile(0.5), color="#555", dash="dash")
    line("acquisition (scaled)", _acquisition(setup, belief), color=_BLUE, width=1)
    dots = {"color": "#222222", "size": 7}
    add("evaluated", x[:-1], y[:-1], mode="markers", marker=dots)
    chosen = {"color": _ORANGE, "size": 12, "symbol": "triangle-up"}
    add("chosen next", x[-1:], y[-1:], mode="markers", marker=chosen)
    learned = f"std × {float(belief.residual.std()):.2f}<br>best {y[:-1].min():.2f}"
    figure.add_annotation(
        x=0.03, y=0.97, xref="x domain", yref="y domain", showarrow=False, align="left",
        text=learned.replace("-", "−"), row=row, col=column,
    )  # fmt: skip


def _acquisition(setup: Setup, belief: Belief) -> FloatArray:
    """Return the acquisition on the grid, drawn between the bottom of the panel and 6 above it."""
    criterion = ACQUISITIONS[setup.acquisition].criterion(
        belief, np.random.default_rng(0), Cube.continuous(1)
    )
    values = criterion(_GRID[:, None])[0]
    low = task(setup.task).minimum - 8.0
    return np.asarray(low + 6.0 * (values - values.min()) / max(float(np.ptp(values)), 1e-12))


def _panels(columns: Sequence[str], rows: Sequence[str]) -> go.Figure:
    figure = make_subplots(
        rows=len(rows),
        cols=len(columns),
        subplot_titles=list(columns) + [""] * (len(columns) * (len(rows) - 1)),
        horizontal_spacing=0.08,
        vertical_spacing=0.09,
    )
    for row, title in enumerate(rows, start=1):
        figure.update_yaxes(title_text=title, row=row, col=1)
    figure.update_xaxes(title_text="step", row=len(rows))
    return figure


def _add_band(
    figure: go.Figure,
    label: str,
    runs: FloatArray,
    row: int,
    column: int,
    first: int,
    colour: str | None = None,
) -> None:
    """Add the mean of runs (repetitions, steps) and the 95 % interval of that mean."""
    names = [trace.name for trace in figure.data]
    colour = colour or _colour(label, names)
    steps = np.arange(first, first + runs.shape[1])
    mean = runs.mean(axis=0)
    half = 1.96 * runs.std(axis=0, ddof=1) / np.sqrt(runs.shape[0]) if len(runs) > 1 else 0.0
    outline = np.concatenate([mean + half, (mean - half)[::-1]])
    figure.add_scatter(
        x=np.concatenate([steps, steps[::-1]]), y=outline, fill="toself", mode="lines",
        fillcolor=_see_through(colour), line={"width": 0, "simplify": False}, hoverinfo="skip",
        showlegend=False, name=f"{label} band", row=row, col=column,
    )  # fmt: skip
    figure.add_scatter(
        x=steps, y=mean, mode="lines", name=label,
        line={"color": colour, "width": 2.2, "simplify": False},
        legendgroup=label, showlegend=label not in names, row=row, col=column,
    )  # fmt: skip


def _colour(label: str, names: Sequence[str]) -> str:
    fixed = {RAW: _ORANGE, CALIBRATED: _BLUE, LITERAL: _GREEN}
    if label in fixed:
        return fixed[label]
    others = [name for name in dict.fromkeys(names) if name not in fixed and "band" not in name]
    place = others.index(label) if label in others else len(others)
    return _OTHERS[place % len(_OTHERS)]


def _see_through(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"


def _finished(figure: go.Figure, columns: int, height: int = 620) -> go.Figure:
    return _styled(figure, max(560, 360 * columns), height)


def _styled(figure: go.Figure, width: int, height: int) -> go.Figure:
    figure.update_layout(
        template="plotly_white",
        width=width,
        height=height,
        font={"size": 13},
        margin={"l": 60, "r": 30, "t": 90, "b": 50},
        legend={"orientation": "h", "y": 1.08, "yanchor": "bottom", "traceorder": "normal"},
    )
    return figure
