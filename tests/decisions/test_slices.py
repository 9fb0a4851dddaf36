"""Slices and contours: forecasts of the settings that they show."""

import numpy as np
import pytest
from tests.reporting.studies import STUDIES, searched

import calibrant


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_slice_is_the_forecast_of_each_of_its_settings(direction):
    study = searched(14, direction=direction)
    found = calibrant.slices(study)
    assert found.params == calibrant.recommend(study).params
    assert {part.scale.name for part in found.parts} == {"lr", "layers", "act"}
    (part,) = (part for part in found.parts if part.scale.name == "lr")
    assert part.scale.log
    asked = calibrant.forecast(study, {**found.params, "lr": float(part.at[7])})
    low, high = asked.interval(0.8)
    assert (part.low[7], part.high[7]) == pytest.approx((low, high))
    assert part.middle[7] == pytest.approx(asked.median)
    (act,) = (part for part in found.parts if part.scale.name == "act")
    assert act.scale.words(act.at) == ["relu", "tanh"]


def test_a_slice_through_a_setting_of_ones_own():
    study = searched(14)
    mine = {"lr": 1e-2, "layers": 7, "act": "tanh"}
    found = calibrant.slices(study, mine)
    assert found.params == mine
    (layers,) = (part for part in found.parts if part.scale.name == "layers")
    assert layers.here == 7
    assert layers.expected == pytest.approx(calibrant.forecast(study, mine).median)
    assert "layers" in str(found)
    assert "<table>" in found._repr_html_()


def test_a_contour_is_the_forecast_of_each_of_its_settings():
    study = searched(14)
    found = calibrant.contour(study, "layers", "lr")
    assert [scale.name for scale in found.scales] == ["layers", "lr"]
    setting = {**calibrant.recommend(study).params}
    setting |= {"layers": int(found.at[0][2]), "lr": float(found.at[1][5])}
    assert found.middle[2, 5] == pytest.approx(calibrant.forecast(study, setting).median)
    assert found.middle.shape == (found.at[0].size, found.at[1].size)
    assert sorted(found.points[1]) == pytest.approx(sorted(t.params["lr"] for t in study.trials))
    with pytest.raises(ValueError, match=r"two of the parameters .* but got 'lr' and 'lr'"):
        calibrant.contour(study, "lr", "lr")
    with pytest.raises(ValueError, match="'nothing'"):
        calibrant.contour(study, "lr", "nothing")


@pytest.mark.parametrize("kind", ["conditional", "two objectives", "by another sampler"])
def test_studies_of_other_kinds_are_drawn(kind):
    study = STUDIES[kind]()
    found = calibrant.slices(study, objective=len(study.directions) - 1)
    assert found.figure().data
    assert calibrant.contour(study).figure().data
    for part in found.parts:
        assert np.all(part.low <= part.high)
    with pytest.raises(ValueError, match="`0 <= objective <"):
        calibrant.slices(study, objective=5)
