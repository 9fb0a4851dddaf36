"""The pages in a real browser: nothing is refused, nothing leaves, everything fits and works."""

import numpy as np
import pytest
from tests.browser import Browser, find
from tests.reporting.studies import STUDIES, imported

import calibrant
from calibrant.reporting.stream import write_stream_report

pytestmark = pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome on the PATH")


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def check(browser, path, width, dark):
    visit = browser.open(path, width, 900, dark)
    assert visit.complaints == []
    assert visit.requests == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.covered() == []
    # One of the two drawings of a figure is shown, at a size that can be read.
    sizes = browser.run(
        "[...document.querySelectorAll('figure')].filter(f => f.offsetParent).map(f => "
        "[...f.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height).filter(h => h))"
    )
    assert all(len(shown) == 1 and shown[0] > 100 for shown in sizes)
    # Each has marks beside its axes, and no row of a table is stretched by a text beside it.
    assert browser.run(
        "[...document.querySelectorAll('figure svg')].every(s => s.querySelector(':scope > "
        "path, :scope > g:not(.axes) > circle'))"
    )
    heights = "[...document.querySelectorAll('table.sortable tr')].map(r => r.offsetHeight)"
    assert max(browser.run(heights), default=0) < 60
    return len(sizes)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_of_a_search(browser, tmp_path, width, dark):
    path = calibrant.report(STUDIES["searched"](), tmp_path / "page.html")
    check(browser, path, width, dark)
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark


WITHOUT_FIGURES = {"empty", "all failed", "without parameters", "nothing to choose"}


@pytest.mark.parametrize("kind", [kind for kind in STUDIES if kind != "searched"])
def test_reports_of_other_studies(browser, tmp_path, kind):
    path = calibrant.report(STUDIES[kind](), tmp_path / "page.html")
    for width, dark in ((390, True), (1200, False)):
        figures = check(browser, path, width, dark)
        assert bool(figures) == (kind not in WITHOUT_FIGURES)
        # However long the names, the page is one to scroll through by hand.
        assert browser.run("document.documentElement.scrollHeight") < 9_000


@pytest.mark.slow
def test_the_report_of_five_thousand_trials(browser, tmp_path):
    path = calibrant.report(imported(5000), tmp_path / "page.html")
    for width, dark in ((390, True), (1200, False)):
        assert check(browser, path, width, dark)


@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_of_a_stream(browser, tmp_path, width):
    y = np.random.default_rng(0).standard_normal(200)
    normal = calibrant.Normal(np.zeros(200), 0.6 + np.zeros(200))
    replayed = calibrant.replay(normal, y, calibrant.ChainRecalibrator())
    check(browser, write_stream_report(replayed, tmp_path / "page.html", "A stream"), width, False)


def test_the_table_sorts_by_keyboard(browser, tmp_path):
    study = imported(15)
    browser.open(calibrant.report(study, tmp_path / "page.html"))
    head = "document.querySelectorAll('table.sortable th button')[1]"
    rows = "[...document.querySelectorAll('table.sortable tbody tr')]"
    column = f"{rows}.map(r => Number(r.cells[1].dataset.v))"
    values = [trial.value for trial in study.trials]
    assert browser.run(column) == values
    browser.run(f"{head}.focus()")
    browser.press("Enter", 13)
    assert browser.run(column) == sorted(values)
    assert browser.run(f"{head}.closest('th').ariaSort") == "ascending"
    browser.press("Enter", 13)
    assert browser.run(column) == sorted(values, reverse=True)


def test_copying_and_saving(browser, tmp_path):
    browser.open(calibrant.report(imported(5), tmp_path / "page.html"))
    click = "document.querySelector('button[data-copy]')"
    browser.run(f"{click}.click()")
    browser.run("new Promise(r => setTimeout(r, 200))")
    assert browser.run(f"{click}.textContent") in ("Copied", "Selected")
    browser.run(
        "HTMLAnchorElement.prototype.click = function() { saved = [this.download, this.href] }; "
        "var saved"
    )
    browser.run("document.querySelector('button[data-save]').click()")
    name, address = browser.run("saved")
    assert name == "trials.csv"
    assert address.startswith("blob:")
    assert browser.happened().complaints == []


def test_a_script_in_a_name_does_not_run(browser, tmp_path):
    browser.open(calibrant.report(STUDIES["badly named"](), tmp_path / "page.html"))
    assert browser.run("document.scripts.length") == 1
    blocked = browser.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.evil = 1';"
        "document.body.append(s); return window.evil === undefined })()"
    )
    assert blocked
