"""Draw the pictures of the README: `make figures`. Needs Chrome or Chromium for the PNG export."""

from pathlib import Path

import calibrant
from calibrant import figures
from calibrant.cli.demo import TRIALS, boosted_trees, co2_stream, tree_settings

HERE = Path(__file__).parent


def main() -> None:
    """Run both demos, and save the intervals of one and the reliability diagram of the other."""
    stream = co2_stream()
    result = calibrant.replay(stream.forecast, stream.y, calibrant.ChainRecalibrator())
    figure = figures.reliability(
        {"fitted once, used for 34 years": result.raw_pits, "recalibrated online": result.pits}
    )
    figure.update_layout(width=620, height=560)
    figure.write_image(HERE / "reliability.png", scale=2)

    study = calibrant.minimize(boosted_trees(), tree_settings(), TRIALS, seed=0)
    found = calibrant.review(study)
    figure = figures.intervals(
        found.outcomes,
        {"raw": (found.raw_low, found.raw_high), "calibrated": (found.low, found.high)},
        found.forecast_numbers,
    )
    figure.update_layout(width=900, height=420, yaxis_title="cross-validated RMSE")
    figure.write_image(HERE / "forecasts.png", scale=2)
    print(f"raw {found.raw_held.mean():.0%}, calibrated {found.held.mean():.0%}")


if __name__ == "__main__":
    main()
