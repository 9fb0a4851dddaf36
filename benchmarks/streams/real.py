"""Real streams: series that ship with statsmodels, forecast by autoregressions fitted once."""

from __future__ import annotations

import numpy as np

import calibrant
from calibrant.cli.demo import autoregression, co2_stream


def _series(dataset: str, column: str | None = None) -> np.ndarray:
    import statsmodels.datasets

    data = getattr(statsmodels.datasets, dataset).load_pandas().data
    return (data[column] if column else data).to_numpy(dtype=float)


def co2():
    stream = co2_stream()
    return stream.forecast, stream.y


def sea_temperature():
    """Monthly sea surface temperature (El Niño region), 1950–2010; fitted to eight years."""
    monthly = _series("elnino")[:, 1:].ravel()
    return autoregression(monthly, tuple(range(1, 25)), 96)


def sunspots():
    """Yearly sunspots, 1700–2008; fitted to the first hundred."""
    return autoregression(_series("sunspots", "SUNACTIVITY"), (1, 2, 9), 100)


def inflation():
    """Quarterly inflation in the US, 1959–2009; fitted to fifteen years."""
    return autoregression(_series("macrodata", "infl"), (1, 2, 3, 4), 60)


def interest():
    """Quarterly change of the three-month treasury bill rate, 1959–2009; fitted to ten years."""
    return autoregression(np.diff(_series("macrodata", "tbilrate")), (1, 2), 40)


STREAMS = {
    "CO₂, weekly": co2,
    "sea temperature, monthly": sea_temperature,
    "sunspots, yearly": sunspots,
    "inflation, quarterly": inflation,
    "interest rate, quarterly": interest,
}


def recalibrators() -> dict[str, calibrant.Recalibrator]:
    return {
        "chain: gaussian, then online": calibrant.ChainRecalibrator(),
        "online, rate 0.01 (default)": calibrant.OnlineRecalibrator(),
        "online, rate 0.05": calibrant.OnlineRecalibrator(rate=0.05),
        "leader": calibrant.LeaderRecalibrator(),
        "gaussian": calibrant.GaussianRecalibrator(),
        "isotonic": calibrant.IsotonicRecalibrator(),
    }
