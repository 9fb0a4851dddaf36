"""Draw forrester.png: `python -m benchmarks.forrester.draw`. Needs Chrome or Chromium.

Raw and calibrated search from one start. The start is the first seed from which raw does not find
the minimum, and calibrated does while the picture lasts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.forrester.problem import FOUND, LEVELS, Searched, forrester, search
from benchmarks.forrester.run import SEEDS, load
from calibrant.evaluation.figures import PALETTE
from calibrant.forecasts.residual import compose

PICTURE = Path(__file__).parent / "forrester.png"
SEARCH = ("rbf", LEVELS[1])  # model and level
WAY = "loo-refit"
STEPS = (4, 9, 11, 14)
GRID = np.linspace(0.0, 1.0, 501)
ORANGE, BLUE, GREEN, _ = PALETTE


def main() -> None:
    results = load()
    seed = chosen_seed(results)
    figure = make_subplots(
        rows=2,
        cols=len(STEPS),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.015,
        vertical_spacing=0.05,
        column_titles=[f"step {step}" for step in STEPS],
        row_titles=["raw", "calibrated"],
    )
    for row, way in enumerate(("raw", WAY), start=1):
        searched = search(*SEARCH, way, seed, until_found=False)
        check_same(results, way, seed, searched.x)
        for column, step in enumerate(STEPS, start=1):
            add_panel(figure, row, column, searched, step)
    finish(figure)
    figure.write_image(PICTURE, scale=1.4)
    print(PICTURE)


def chosen_seed(results: list[dict]) -> int:
    """Return the first seed from which raw stays stuck and calibrated finds the minimum."""
    best = {
        (r["way"], r["seed"]): (min(r["y"]), min(r["y"][: STEPS[-1]]))
        for r in results
        if (r["model"], r["level"]) == SEARCH
    }
    return next(s for s in SEEDS if best["raw", s][0] >= FOUND and best[WAY, s][1] < FOUND)


def check_same(results: list[dict], way: str, seed: int, x: np.ndarray) -> None:
    """Raise unless the search just run is the one on record."""
    wanted = (*SEARCH, way, seed)
    for r in results:
        if (r["model"], r["level"], r["way"], r["seed"]) == wanted:
            np.testing.assert_allclose(x[: len(r["x"])], r["x"], atol=1e-5)


def add_panel(figure: go.Figure, row: int, column: int, searched: Searched, step: int) -> None:
    x, y, bound = searched
    known, belief = step - 1, searched.belief(step)

    def add(name: str, x: np.ndarray, y: np.ndarray, legend: bool = True, **style: object) -> None:
        legend = legend and row == column == 1  # once for all panels
        style |= {"name": name, "showlegend": legend, "row": row, "col": column}
        figure.add_scatter(x=x, y=y, **style)

    raw = belief.fitted.predict(GRID[:, None])
    low, high = compose(raw, belief.residual).interval(0.8)
    chosen = x[known:step]
    ribbon = {"line": {"width": 0, "simplify": False}, "mode": "lines"}
    add("", GRID, low, legend=False, **ribbon)
    add("80 % interval", GRID, high, fill="tonexty", fillcolor="rgba(0, 114, 178, 0.2)", **ribbon)
    add("true function", GRID, forrester(GRID), **curve(GREEN))
    add("model's mean", GRID, raw.quantile(0.5), **curve("#555555", dash="dash"))
    add(
        f"acquisition: {100 * SEARCH[1]:g} % quantile",
        GRID,
        bound.lower(belief, GRID),
        **curve(BLUE),
    )
    add("evaluated", x[:known], y[:known], **markers("#222222", "circle", 7))
    add("chosen next", chosen, bound.lower(belief, chosen), **markers(ORANGE, "triangle-up", 12))
    figure.add_annotation(
        x=0.03, y=17.0, xanchor="left", yanchor="top", align="left", showarrow=False,
        text=f"std × {belief.residual.std():.2f}<br>best {y[:known].min():.2f}".replace("-", "−"),
        row=row, col=column,
    )  # fmt: skip


def curve(colour: str, dash: str = "solid") -> dict:
    line = {"color": colour, "width": 2, "dash": dash, "simplify": False}
    return {"mode": "lines", "line": line}


def markers(colour: str, symbol: str, size: int) -> dict:
    return {"mode": "markers", "marker": {"color": colour, "symbol": symbol, "size": size}}


def finish(figure: go.Figure) -> None:
    figure.update_xaxes(range=[-0.03, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_xaxes(title_text="x", row=2)
    figure.update_yaxes(range=[-13, 18])
    figure.update_layout(
        template="plotly_white",
        width=1000,
        height=560,
        font={"size": 13},
        margin={"l": 40, "r": 40, "t": 75, "b": 50},
        legend={"orientation": "h", "y": 1.08, "yanchor": "bottom", "traceorder": "normal"},
    )


if __name__ == "__main__":
    main()
