"""Draw the pictures of the README: `make figures`. Needs Chrome or Chromium for the PNG export."""

from pathlib import Path

import calibrant
from calibrant import figures
from calibrant.demo import co2_stream

HERE = Path(__file__).parent


def main() -> None:
    """Replay the demo's stream and save its reliability diagram."""
    stream = co2_stream()
    result = calibrant.replay(stream.forecast, stream.y, calibrant.ChainRecalibrator())
    figure = figures.reliability(
        {"fitted once, used for 34 years": result.raw_pits, "recalibrated online": result.pits}
    )
    figure.update_layout(width=620, height=560)
    figure.write_image(HERE / "reliability.png", scale=2)


if __name__ == "__main__":
    main()
