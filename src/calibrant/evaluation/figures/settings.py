"""Figures of what is believed about settings: slices with bands, and a contour."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

from calibrant.core import validate
from calibrant.evaluation.figures.frame import BLUE, PALETTE, add_band, labelled, styled

_COLUMNS = 3  # panels side by side
_HEIGHT = 260  # of a panel, in pixels
_FEW = 12  # values of a parameter up to which each is drawn by itself


def slices(
    bands: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]],
    here: Mapping[str, tuple[float | str, float]] | None = None,
    log: Collection[str] = (),
) -> go.Figure:
    """Draw forecasts along each parameter, as a median with a band.

    :func:`calibrant.slices` computes them from a study, and draws them with its ``figure`` method.

    Args:
        bands: parameter → its values, and the lower end, the median and the upper end there; the
            values of a parameter may be labels.
        here: parameter → a value and what is expected there, to be marked.
        log: parameters that are drawn on a logarithmic scale.
    """
    columns = min(_COLUMNS, len(labelled(bands)))
    rows = math.ceil(len(bands) / columns)
    figure = make_subplots(rows, columns, shared_yaxes=True, horizontal_spacing=0.04,
                           vertical_spacing=0.25 / rows)  # fmt: skip
    for k, (name, (values, low, middle, high)) in enumerate(bands.items()):
        panel = {"row": k // columns + 1, "col": k % columns + 1}
        legend = {"showlegend": k == 0, **panel}
        x, ends = np.asarray(values), [np.asarray(end, dtype=float) for end in (low, middle, high)]
        if not x.size or any(end.shape != x.shape for end in ends):
            raise ValueError(
                f"`{name}` must have a lower end, a median and an upper end for each of its "
                f"{x.size} values, and at least one."
            )
        if x.size <= _FEW:
            spread = {"array": ends[2] - ends[1], "arrayminus": ends[1] - ends[0], "width": 0,
                      "thickness": 10, "color": BLUE}  # fmt: skip
            figure.add_scatter(x=x, y=ends[1], mode="markers", name="median", error_y=spread,
                               marker={"color": PALETTE[1], "size": 8}, **legend)  # fmt: skip
        else:
            add_band(figure, x, ends[0], ends[2], BLUE, "80 % interval", **legend)
            figure.add_scatter(x=x, y=ends[1], mode="lines", name="median",
                               line={"color": PALETTE[1], "width": 2.5}, **legend)  # fmt: skip
        if here and name in here:
            figure.add_scatter(x=[here[name][0]], y=[here[name][1]], mode="markers", name="here",
                               marker=_RING, **legend)  # fmt: skip
        figure.update_xaxes(title_text=name, **_axis(x, name in log), **panel)
    return styled(figure).update_layout(height=_HEIGHT * rows + 80)


def contour(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    titles: tuple[str, str] = ("", ""),
    points: tuple[ArrayLike, ArrayLike] | None = None,
    here: tuple[float | str, float | str] | None = None,
    log: Sequence[bool] = (False, False),
    maximise: bool = False,
) -> go.Figure:
    """Draw a forecast over two parameters; the darker, the better.

    :func:`calibrant.contour` computes it from a study, and draws it with its ``figure`` method.

    Args:
        x: values of the first parameter, (m,).
        y: values of the second, (n,).
        z: the forecast, (m, n).
        titles: the names of the two.
        points: where outcomes are known, to be marked.
        here: a setting to be marked.
        log: which of the two are drawn on a logarithmic scale.
        maximise: whether higher is better.
    """
    x, y, z = np.asarray(x), np.asarray(y), validate.finite("z", z)
    if z.shape != (x.size, y.size) or not z.size:
        raise ValueError(f"`z` must have shape ({x.size}, {y.size}), but got {z.shape}.")
    figure = styled(go.Figure())
    figure.add_contour(
        x=x, y=y, z=z.T, colorscale="Blues", reversescale=not maximise, showscale=True,
        ncontours=12, line={"width": 0.5, "color": "rgba(255, 255, 255, 0.6)"},
        hovertemplate="%{x}, %{y}: %{z:.4g}<extra></extra>",
    )  # fmt: skip
    if points is not None:
        figure.add_scatter(x=points[0], y=points[1], mode="markers", name="evaluated",
                           marker=_KNOWN)  # fmt: skip
    if here is not None:
        figure.add_scatter(x=[here[0]], y=[here[1]], mode="markers", name="here", marker=_RING)
    figure.update_xaxes(title_text=titles[0], **_axis(x, log[0]))
    figure.update_yaxes(title_text=titles[1], **_axis(y, log[1]))
    return figure


def _axis(values: np.ndarray, log: bool) -> dict[str, object]:
    """Return how a parameter's axis looks."""
    if values.dtype.kind not in "iuf":  # labels: half a step around them
        return {"range": [-0.5, values.size - 0.5]}
    if not log:
        return {}
    if not values.min() > 0.0:
        raise ValueError(
            f"A logarithmic scale needs positive values, but got {values.min():g}; leave `log` out."
        )
    decades = math.log10(float(values.max()) / float(values.min()))
    return {"type": "log", "exponentformat": "power", "dtick": 1 if decades >= 2.0 else None}


# Light with a dark rim: seen on dark and on light ground.
_KNOWN = {"color": "white", "size": 6, "line": {"color": "#333333", "width": 1}}
_RING = {"color": "white", "size": 12, "line": {"color": PALETTE[0], "width": 3}}
