"""Optuna's dashboard: calibrant's verdict, advice and figures beside its own.

The study keeps them, so whoever opens its storage with optuna-dashboard sees them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.core.words import count, number
from calibrant.reporting.findings import Findings, findings
from calibrant.studies.shown import COVERAGE

_EVERY = 5  # trials after which what is published is made anew: it takes about a second
_GREY = "#808890"  # legible on white and on black
_FAINT = "rgba(128, 136, 144, 0.25)"

_SERVE = (
    "import sys; from optuna_dashboard import run_server; "
    "run_server(sys.argv[1], host='127.0.0.1', port=int(sys.argv[2]))"
)


def publish(study: Study) -> None:
    """Put the verdict, the recommendation, the outlook and the figures into a study's dashboard.

    They are stored with the study, as its note and as figures, and replace those published before.

    Raises:
        ImportError: if optuna-dashboard is not installed.
    """
    check_installed()
    from optuna_dashboard import save_note, save_plotly_graph_object

    found = findings(study)
    save_note(study, note(found))
    for name, figure in _figures(found).items():
        save_plotly_graph_object(study, figure, graph_object_id=f"calibrant-{name}")


def check_installed() -> None:
    """Raise if optuna-dashboard is not installed."""
    if find_spec("optuna_dashboard") is None:
        raise ImportError("The dashboard is a package of its own: pip install optuna-dashboard.")


def note(found: Findings) -> str:
    """Return what is to be said about a study, as Markdown."""
    parts = [f"# {_escaped(found.title)}"]
    if found.recommendation is not None:
        parts += ["## What did I get?", *map(_escaped, found.recommendation.sentences())]
    elif found.best:
        words = ", ".join(number(value, 6) for value in found.best[0].values)
        parts += ["## What did I get?", f"{count(len(found.best), 'best trial')}: {words}."]
    else:
        parts.append("No trial has a finite value yet.")
    if found.verdict.total:
        parts += ["## Can I trust it?", found.verdict.sentence]
    parts += _ahead(found)
    return "\n\n".join(parts) + "\n"


def _ahead(found: Findings) -> list[str]:
    if found.outlook is None:
        return []
    return ["## What next?", *map(_escaped, found.outlook.sentences()[1:])]


def _escaped(text: str) -> str:
    """Return text as Markdown that shows it as it is."""
    for mark in "\\`*_{}[]()<>#+!|":
        text = text.replace(mark, f"\\{mark}")
    return text


def _figures(found: Findings) -> dict[str, Any]:
    from calibrant.evaluation import figures  # loads plotly

    drawn = {}
    review = found.review
    if review is not None and review.held.size:
        ends = {"raw": (review.raw_low, review.raw_high), "calibrated": (review.low, review.high)}
        held = {"raw": review.raw_held, "calibrated": review.held}
        pits = {"raw": review.raw_pits, "calibrated": review.pits}
        drawn = {
            "intervals": (
                "80 % intervals and outcomes",
                figures.intervals(review.outcomes, ends, review.forecast_numbers),
            ),
            "coverage": (
                "Share of 80 % intervals that held",
                figures.coverage_over_time(held, COVERAGE),
            ),
            "reliability": ("Reliability at every level", figures.reliability(pits)),
        }
    if found.outlook is not None:
        drawn["outlook"] = ("What more trials would bring", found.outlook.figure())
    return {name: _on_a_card(figure, title) for name, (title, figure) in drawn.items()}


def _on_a_card(figure: Any, title: str) -> Any:
    """Return a figure that can be read on the dashboard's light cards and on its dark ones."""
    figure.update_layout(
        title={"text": title, "font": {"size": 16}, "yref": "paper", "y": 1.0, "yanchor": "bottom",
               "pad": {"b": 12}},
        paper_bgcolor="rgba(0, 0, 0, 0)",
        plot_bgcolor="rgba(0, 0, 0, 0)",
        font={"color": _GREY, "size": 12},
        legend={"y": -0.22, "yanchor": "top"},
        margin={"t": 80, "b": 90},  # above is room for plotly's buttons
        modebar={"bgcolor": "rgba(0, 0, 0, 0)", "color": _FAINT, "activecolor": _GREY},
    )  # fmt: skip
    figure.update_xaxes(gridcolor=_FAINT, zerolinecolor=_FAINT)
    figure.update_yaxes(gridcolor=_FAINT, zerolinecolor=_FAINT)
    figure.update_traces(marker={"color": _GREY}, selector={"name": "inside"})
    return figure


def publisher(every: int = _EVERY) -> Callable[[Study, FrozenTrial], None]:
    """Return a callback for ``study.optimize`` that publishes as trials finish."""

    def listen(study: Study, trial: FrozenTrial) -> None:
        if trial.number % every == every - 1:
            publish(study)

    return listen


@contextmanager
def serving(storage: str, port: int) -> Iterator[str]:
    """Serve the dashboard of a storage on this machine, and yield its address."""
    check_installed()
    command = [sys.executable, "-c", _SERVE, storage, str(port)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()
