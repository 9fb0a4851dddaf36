"""The report page, of studies of every kind."""

import csv
import io
import re
import time
from html.parser import HTMLParser

import numpy as np
import optuna
import pytest
from tests.reporting.studies import EVIL, LONG, STUDIES, imported, searched

import calibrant
from calibrant.core.words import interval, number
from calibrant.reporting import everything
from calibrant.reporting.ahead import section as ahead_section
from calibrant.reporting.findings import findings
from calibrant.reporting.got import rounded
from calibrant.reporting.html import breakable, table, tag
from calibrant.reporting.report import report_html
from calibrant.studies.job import record_run

VOID = {"meta", "br", "wbr", "line", "rect", "circle", "path"}


class Page(HTMLParser):
    """A page as a browser reads it: its text, elements, and whether they are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def all(self, name):
        return [attributes for element, attributes in self.elements if element == name]


@pytest.mark.parametrize("kind", STUDIES)
def test_every_study_has_a_page(kind):
    study = STUDIES[kind]()
    begun = time.process_time()
    text = report_html(study)
    assert time.process_time() - begun < 5
    page = Page(text)
    assert [h["id"] for h in page.all("h2")] == [
        f"{name}-heading" for name in ("got", "trust", "next", "why", "everything")
    ]
    # Nothing from elsewhere, nothing that runs but our own script, nothing that the policy refuses.
    assert len(page.all("script")) == len(page.all("style")) == 1
    for name, attributes in page.elements:
        assert "style" not in attributes
        assert not any(key.startswith("on") for key in attributes)
        assert attributes.get("href", "#").startswith("#")
        assert "src" not in attributes
        assert not any(
            "nan" in (attributes.get(key) or "") for key in ("d", "x", "y", "cx", "cy")
        ), name
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for svg in page.all("svg"):
        assert svg.get("aria-label") or svg.get("aria-hidden") == "true"
    assert not re.search(r"\b(nan|None|inf)\b", page.text.replace(EVIL, ""))


def test_names_stay_text():
    text = report_html(STUDIES["badly named"]())
    assert "<script>alert" not in text
    page = Page(text)
    assert EVIL in page.text
    assert len(text) < 300_000
    headings = [words for words in page.words if words.startswith("nnnn") and words != LONG]
    assert max(map(len, headings)) < 10_100  # the CSV alone has it in full


def test_a_hundred_trials_take_less_than_300_kilobytes(tmp_path):
    path = calibrant.report(imported(100), tmp_path / "page.html")
    assert 30_000 < path.stat().st_size < 300_000


@pytest.mark.slow
def test_five_thousand_trials_take_seconds():
    study = imported(5000)
    begun = time.process_time()
    text = report_html(study)
    assert time.process_time() - begun < 30
    assert len(text) < 3_000_000
    page = Page(text)
    assert "the 500 best and the 500 latest of 5,000 trials" in page.text
    assert 500 <= len(page.all("tr")) <= 1100


def test_the_page_says_what_the_study_says():
    study = searched(20)
    found = calibrant.review(study)
    page = Page(report_html(study, "My title"))
    assert page.text.startswith("My title")
    assert f"Best observed, in trial {found.best_number}" in page.text
    held = f"{found.held.sum()} of {found.held.size} intervals held"
    assert held in page.text.replace("\xa0", " ")
    rows = [attributes.get("class") for attributes in page.all("tr")]
    assert rows.count("best") == 1


def test_the_interval_of_the_recommended_setting_is_its_forecast():
    """Not stretched to hold the luckiest value, and never without an end."""
    study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0))
    rng = np.random.default_rng(0)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) ** 2 + rng.normal(), n_trials=40)
    asked = calibrant.forecast(study, calibrant.recommend(study).params)
    low, high = asked.interval(0.8)
    assert np.isfinite([low, high]).all()
    assert study.best_value < low  # the luckiest of forty draws of pure noise
    page = Page(report_html(study))
    assert f"If evaluated again{interval(float(low), float(high))}calibrated" in page.text
    assert "looks lucky" in page.text


def test_the_csv_has_all_trials_with_all_digits():
    study = STUDIES["running"]()
    rows = list(csv.DictReader(io.StringIO(everything.as_csv(findings(study)))))
    assert len(rows) == len(study.trials)
    for row, trial in zip(rows, study.trials, strict=True):
        assert int(row["trial"]) == trial.number
        if trial.value is not None:
            assert float(row["value"]) == trial.value
            assert float(row["lr"]) == trial.params["lr"]
    assert [row["state"] for row in rows[-2:]] == ["running", "waiting"]
    assert float(rows[-2]["low80"]) < float(rows[-2]["high80"])


def test_reasons_of_failures_are_counted():
    page = Page(report_html(STUDIES["all failed"]()))
    assert "7 trials of 7 failed" in page.text
    assert "out of memory 0" in page.text
    assert "none of 7 trials has a finite value" in page.text


def test_a_setting_is_copied_as_the_command_that_uses_it():
    study = imported(6)
    study.set_user_attr("calibrant:job", {"program": ["python", "a b.py", "--lr={lr}", "{trial}"]})
    record_run(study, ["calibrant", "tune", "--", "python"], 3)
    page = Page(report_html(study))
    used = rounded(findings(study), calibrant.recommend(study).params)
    assert f"python 'a b.py' --lr={used['lr']} '{{trial}}'" in page.text
    assert "calibrant tune -- python" in page.text


def test_a_setting_is_rounded_to_what_matters():
    found = findings(searched(20))
    params = found.recommendation.params
    short = rounded(found, params)
    assert short["layers"] == params["layers"]
    assert len(str(short["lr"])) < len(str(params["lr"]))
    forecast = found.belief.objectives[0].outcome(found.belief.points([params, short]))
    low, high = forecast.interval(0.8)
    moved = np.ptp(forecast.quantile(0.5))
    assert moved <= 0.05 * (high[0] - low[0])


def test_a_front_is_drawn_and_listed():
    study = STUDIES["two objectives"]()
    page = Page(report_html(study))
    assert f"{len(study.best_trials)} trials of 30 on the front" in page.text
    assert "objective 1 (higher is better)" in page.text
    three = Page(report_html(STUDIES["three objectives"]()))
    assert "The first two of 3 objectives are drawn." in three.text


def test_text_is_escaped_unless_it_is_markup():
    assert tag("p", EVIL, title=EVIL) == (
        '<p title="&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;">'
        "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;</p>"
    )
    assert tag("p", tag("b", "x"), hidden=True, id=None) == "<p hidden><b>x</b></p>"


def test_the_gain_is_over_settings_that_meet_the_constraints():
    study = STUDIES["constrained"]()
    first = [t for t in study.trials[:5] if all(c <= 0 for c in t.constraints.values())]
    page = Page(report_html(study))
    start = min(trial.value for trial in first)
    assert min(trial.value for trial in study.trials[:5]) < start  # one that meets none is lower
    assert f"best of the first 5: {number(start)}" in page.text


def test_a_study_without_a_name_is_called_so():
    page = Page(report_html(imported(3, name=None)))
    assert page.text.startswith("Study without a name")


def test_the_whole_fan_of_the_outlook_is_on_its_axis():
    study = imported(300)
    ahead = calibrant.outlook(study)
    drawn = ahead_section(findings(study)).body
    labels = [float(text.replace(",", "")) for text in re.findall(r'"end">([-\d.,e]+)<', drawn)]
    # The past is nearly constant; an axis for it alone would leave the fan outside.
    assert min(labels) - ahead.best < 0.5 * (ahead.fan.min() - ahead.best) < 0


def test_names_break_where_their_words_do():
    assert breakable("max_leaf.nodes") == "max_<wbr>leaf.<wbr>nodes"
    assert breakable("<b>_x") == "&lt;b&gt;_<wbr>x"


def test_numbers_in_tables_are_not_broken():
    drawn = table(["", "value"], [["a", "8.6e-05"], ["b", "1,200.5"], ["c", "0.1 to 0.3"]])
    assert drawn.count('class="whole"') == 2


def test_the_next_settings_say_how_likely_they_meet_the_constraints():
    page = Page(report_html(STUDIES["constrained"]()))
    assert "chance to meet all constraints" in page.text
    assert "chance to meet all constraints" not in Page(report_html(searched(8))).text


def test_of_a_few_trials_the_page_says_no_more_than_they_tell():
    text = Page(report_html(searched(2))).text
    assert "Evaluate a few settings first" in text
    assert "evaluating a setting again" not in text


def test_with_several_objectives_the_page_names_the_trial_it_starts_from():
    study = STUDIES["two objectives"]()
    page = Page(report_html(study))
    first = min(trial.number for trial in study.best_trials)
    assert f"if one parameter of trial {first} is changed" in page.text
    assert "those on the front are in bold" in page.text


def test_predictions_are_counted_where_no_interval_was_stored():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2, n_trials=20)
    text = Page(report_html(study)).text
    assert "nor do those of another sampler" in text
    assert "Of 2 five-trial outlooks" in text


def test_the_outlook_of_trials_that_count_the_same_says_no_sizes():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) * 0.0, n_trials=8)
    text = Page(report_html(study)).text
    assert "By how much cannot be said" in text
    assert "Expected gain" not in text
