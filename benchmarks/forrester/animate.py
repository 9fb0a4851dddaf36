"""Draw docs/forrester.svg, forrester.png's search moving: `python -m benchmarks.forrester.animate`.

The model as it is on the left, calibrated on the right, from the same three points. Each frame is a
group that the style sheet shows for a while; nothing but a browser is needed to look at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.forrester.draw import SEARCH, STEPS, WAY, check_same, chosen_seed
from benchmarks.forrester.problem import Searched, forrester, search
from benchmarks.forrester.run import load
from calibrant.forecasts.residual import compose

PICTURE = Path(__file__).parents[2] / "docs" / "forrester.svg"
FRAMES = range(4, STEPS[-1] + 2)  # evaluation numbers; the last shows what was found
SECONDS = 1.4  # for which a frame is shown
WIDTH, HEIGHT, GAP, TOP, BOTTOM = 400.0, 240.0, 40.0, 52.0, 34.0
LOWEST, HIGHEST = -13.0, 18.0
GRID = np.linspace(0.0, 1.0, 101)

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b2127; --muted: #59636e; --rule: #dde2e7;
  --accent: #1062a8; --soft: #c9def0; --next: #c2410c; --truth: #2a8f5c }
@media (prefers-color-scheme: dark) { :root { --paper: #13171b; --ink: #e4e9ee; --muted: #9ba7b3;
  --rule: #2d353d; --accent: #6fb3ea; --soft: #274864; --next: #ff9a5c; --truth: #69cc98 } }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif;
  fill: var(--muted) }
.title { font-weight: 600; font-size: 15px; fill: var(--ink) } .rule { stroke: var(--rule) }
.band { fill: var(--soft) } .mean, .truth { fill: none; stroke: var(--accent); stroke-width: 2 }
.truth { stroke: var(--truth); stroke-dasharray: 5 4; stroke-width: 1.6 } .dot { fill: var(--ink) }
.next { fill: var(--next) } .paper { fill: var(--paper) }
.frame { opacity: 0; animation: shown CYCLEs step-end infinite }
@keyframes shown { 0% { opacity: 1 } SHARE% { opacity: 0 } }
.frame.last { animation-name: stays } @keyframes stays { 0% { opacity: 1 } LAST% { opacity: 0 } }
@media (prefers-reduced-motion: reduce) {
  .frame { animation: none } .frame.last { opacity: 1 } }
"""

KEYS = (
    '<path class="truth" d="M0,-4h24"/><text x="30">the function</text>'
    '<path class="band" d="M130,-10h24v11h-24z"/><text x="160">80 % interval</text>'
    '<path class="mean" d="M262,-4h24"/><text x="292">median</text>'
    '<circle class="dot" cx="362" cy="-4" r="4"/><text x="372">evaluated</text>'
    '<circle class="next" cx="452" cy="-4" r="6"/><text x="464">evaluated next</text>'
)


def main() -> None:
    results = load()
    seed = chosen_seed(results)
    searches = {}
    for title, way in (("The model as it is", "raw"), ("Calibrated", WAY)):
        searches[title] = search(*SEARCH, way, seed, until_found=False)
        check_same(results, way, seed, searches[title].x)
    PICTURE.write_text(animation(searches), encoding="utf-8")
    print(PICTURE.name, f"{PICTURE.stat().st_size / 1000:.0f} kB")


def animation(searches: dict[str, Searched]) -> str:
    """Return the panels side by side, each with its frames."""
    width = len(searches) * WIDTH + GAP * (len(searches) + 1)
    height = TOP + HEIGHT + BOTTOM
    cycle = SECONDS * (len(FRAMES) + 2)  # the last one stays longer
    style = STYLE.replace("CYCLE", f"{cycle:.1f}").replace("SHARE", f"{100 * SECONDS / cycle:.2f}")
    style = style.replace("LAST", f"{300 * SECONDS / cycle:.2f}")
    delays = "".join(f".f{k} {{ animation-delay: {k * SECONDS:.1f}s }}" for k in range(len(FRAMES)))
    panels = "".join(
        f'<g transform="translate({GAP + column * (WIDTH + GAP):g} {TOP:g})">{panel(*one)}</g>'
        for column, one in enumerate(searches.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        "<title>A search of Forrester's function with the model as it is, which stays at the wrong "
        "minimum, and calibrated, which leaves it</title>"
        f"<style>{style}{delays}</style>"
        f'<rect class="paper" width="{width:g}" height="{height:g}"/>{panels}'
        f'<g transform="translate({GAP:g} {height - 12:g})">{KEYS}</g></svg>\n'
    )


def panel(title: str, searched: Searched) -> str:
    """Return one search: its axes, the true function, and a group for each evaluation."""
    parts = [f'<text class="title" y="-28">{title}</text>']
    for value in (-10, 0, 10):
        up = float(upwards(value))
        parts.append(f'<path class="rule" d="M0,{up:.1f}H{WIDTH:g}"/>')
        parts.append(f'<text x="-4" y="{up + 4:.1f}" text-anchor="end">{minus(value)}</text>')
    for k, number in enumerate(FRAMES):
        last = " last" if number == FRAMES[-1] else ""
        parts.append(f'<g class="frame f{k}{last}">{frame(searched, number)}</g>')
    truth = path(GRID, forrester(GRID))
    parts.append(f'<path class="truth" d="{truth}"/>')
    return "".join(parts)


def frame(searched: Searched, number: int) -> str:
    """Return what was believed before an evaluation, what was known, and where it was made."""
    x, y, _ = searched
    known = number - 1
    belief = searched.belief(number)
    raw = belief.fitted.predict(GRID[:, None])
    shown = compose(raw, belief.residual)
    low, high = shown.interval(0.8)
    band = path(
        np.concatenate([GRID, GRID[::-1]]),
        np.concatenate([np.asarray(low), np.asarray(high)[::-1]]),
    )
    dots = "".join(dot(a, b, "dot", 4) for a, b in zip(x[:known], y[:known], strict=True))
    words = f"evaluation {number}: best so far {minus(round(float(y[:known].min()), 2))}"
    words += f", std × {belief.residual.std():.1f}" if belief.residual.std() != 1.0 else ""
    return (
        f'<path class="band" d="{band}Z"/>'
        f'<path class="mean" d="{path(GRID, np.asarray(shown.quantile(0.5)))}"/>'
        f"{dots}{dot(x[known], y[known], 'next', 6)}"
        f'<text y="-8">{words}</text>'
    )


def path(x: Iterable[float], y: Iterable[float]) -> str:
    return "M" + "L".join(
        f"{WIDTH * a:.1f},{b:.1f}" for a, b in zip(x, upwards(np.asarray(y)), strict=True)
    )


def dot(x: float, y: float, kind: str, radius: float) -> str:
    return f'<circle class="{kind}" cx="{WIDTH * x:.1f}" cy="{upwards(y):.1f}" r="{radius:g}"/>'


def upwards(y: np.ndarray | float) -> np.ndarray:
    """Return heights from the top; what is beyond the axis is drawn at its end."""
    return HEIGHT * (HIGHEST - np.clip(y, LOWEST, HIGHEST)) / (HIGHEST - LOWEST)


def minus(value: float) -> str:
    return f"{value:g}".replace("-", "−")


if __name__ == "__main__":
    main()
