"""Draw the pictures of the README and of the documents: `make figures`. Needs Chrome or Chromium.

The gallery's pictures are drawn by its own code: a block that makes a `figure` is followed by its
picture. The README's picture leaves a record beside it, from which a test takes its figures.
"""

import json
import re
from pathlib import Path

import numpy as np

import calibrant
from calibrant import figures
from calibrant.cli.demo import TRIALS, boosted_trees, co2_stream, tree_settings

HERE = Path(__file__).parent
WIDTHS = {"slices": 900, "intervals": 900, "ribbon": 900}  # in pixels
_BLOCK = re.compile(r"```python\n(.*?)```\s*(?:!\[[^\]]*\]\((gallery/\w+\.png)\))?", re.DOTALL)


def main() -> None:
    """Draw all of them."""
    draw_demo()
    draw_stream()
    for picture, figure in gallery():
        path = HERE / picture
        path.parent.mkdir(exist_ok=True)
        figure.update_layout(width=WIDTHS.get(path.stem, 620), height=figure.layout.height or 400)
        figure.write_image(path, scale=1.5)
        print(picture)


def gallery():
    """Run the gallery's code, and yield each picture with its figure."""
    names = {"__name__": "gallery"}
    for code, picture in _BLOCK.findall((HERE / "gallery.md").read_text(encoding="utf-8")):
        exec(code, names)  # noqa: S102 - our own page
        if picture:
            yield picture, names.pop("figure")


def draw_stream() -> None:
    """Draw how reliable the stream demo's forecasts are."""
    stream = co2_stream()
    result = calibrant.replay(stream.forecast, stream.y, calibrant.ChainRecalibrator())
    figure = figures.reliability(
        {"fitted once, used for 34 years": result.raw_pits, "recalibrated online": result.pits}
    )
    figure.update_layout(width=620, height=560)
    figure.write_image(HERE / "reliability.png", scale=1.5)


def draw_demo() -> None:
    """Draw the intervals of the tuning demo, and keep what was drawn."""
    study = calibrant.minimize(boosted_trees(), tree_settings(), TRIALS, seed=0)
    found = calibrant.review(study)
    figure = figures.intervals(
        found.outcomes,
        {"raw": (found.raw_low, found.raw_high), "calibrated": (found.low, found.high)},
        found.forecast_numbers,
    )
    # Where nearly all outcomes are; a few tuned badly, on purpose, and would squeeze the rest.
    lowest, highest = (
        float(found.outcomes.min()) - 1.0,
        float(np.quantile(found.outcomes, 0.9)) + 2.0,
    )
    figure.update_layout(width=900, height=420, yaxis_title="cross-validated RMSE")
    figure.update_yaxes(range=[lowest, highest])
    beyond = found.outcomes > highest
    for x, y in zip(np.array(found.forecast_numbers)[beyond], found.outcomes[beyond], strict=True):
        figure.add_annotation(x=x, y=highest, text=f"{y:.0f} ↑", showarrow=False, yshift=8)
    figure.write_image(HERE / "forecasts.png", scale=1.5)
    columns = {
        "trial": found.forecast_numbers,
        "outcome": found.outcomes.tolist(),
        "raw_low": found.raw_low.tolist(),
        "raw_high": found.raw_high.tolist(),
        "low": found.low.tolist(),
        "high": found.high.tolist(),
    }
    rows = zip(*columns.values(), strict=True)
    lines = [json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
    (HERE / "forecasts.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"raw {found.raw_held.mean():.0%}, calibrated {found.held.mean():.0%}")


if __name__ == "__main__":
    main()
