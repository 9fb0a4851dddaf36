"""What is put into Optuna's dashboard."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import optuna
import pytest
from tests.browser import Browser, find
from tests.reporting.studies import EVIL, STUDIES, searched
from typer.testing import CliRunner

from calibrant.bridges import dashboard
from calibrant.cli.main import app
from calibrant.reporting.findings import findings


@pytest.mark.parametrize("kind", STUDIES)
def test_every_study_has_a_note_and_figures_that_can_be_stored(kind):
    found = findings(STUDIES[kind]())
    for figure in dashboard._figures(found).values():
        json.loads(figure.to_json())
    text = dashboard.note(found)
    assert text.startswith("# Study ")
    assert "<script" not in text.replace("\\<", "")
    assert EVIL not in text


def test_a_note_says_what_the_report_says():
    found = findings(searched(20))
    text = dashboard.note(found)
    assert found.verdict.sentence in text
    assert "## What next?" in text


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(dashboard, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install optuna-dashboard"):
        dashboard.publish(optuna.create_study())


TITLES = {
    "80 % intervals and outcomes",
    "Share of 80 % intervals that held",
    "Reliability at every level",
    "What more trials would bring",
}


def test_a_study_of_another_sampler_has_an_outlook_and_no_intervals():
    drawn = dashboard._figures(findings(STUDIES["by another sampler"]()))
    assert list(drawn) == ["outlook"]
    assert dashboard._figures(findings(STUDIES["three objectives"]())) == {}


def stored(path, trials=30):
    """Return the address of a stored study with forecasts."""
    url = f"sqlite:///{path}/study.db"
    study = optuna.create_study(storage=url, study_name="shown")
    study.add_trials(searched(trials).trials)
    return url


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def told(address, seconds=60):
    """Return what the dashboard tells about its first study, once it is there and has a note."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # not up yet
            with urllib.request.urlopen(f"{address}api/studies/1?after=0") as answer:
                found = json.load(answer)
            if found["note"]["body"]:
                return found
        time.sleep(0.3)
    raise AssertionError("The dashboard shows no note.")


def check_overview(browser, address, width, dark):
    """Open the study's page, and check our figures on it."""
    browser.open(f"{address}dashboard/studies/1", width, 900, dark)
    ours = (
        "[...document.querySelectorAll('.js-plotly-plot')].filter(p => p.querySelector('.gtitle'))"
    )
    titles = f"{ours}.map(p => p.querySelector('.gtitle').textContent)"
    browser.wait(f"{ours}.length === {len(TITLES)}")
    assert set(browser.run(titles)) == TITLES
    drawn = "p.querySelectorAll('.scatterlayer path').length && p.clientHeight > 200"
    assert browser.run(f"{ours}.every(p => {drawn})")
    apart = (
        "(a, b) => { const [r, s] = [a, b].map(e => e.getBoundingClientRect()); return r.right <= "
        "s.left || s.right <= r.left || r.bottom <= s.top || s.bottom <= r.top }"
    )
    parts = "['.gtitle', '.modebar', '.xtitle', '.legend'].map(s => p.querySelector(s))"
    assert browser.run(
        f"{ours}.every(p => {{ const parts = {parts}.filter(e => e); return parts.every((a, i) => "
        f"parts.slice(i + 1).every(b => ({apart})(a, b))) }})"
    )


@pytest.fixture
def browser():
    if find() is None:
        pytest.skip("needs Chromium or Chrome on the PATH")
    with Browser() as running:
        yield running


def check_quiet(browser, address):
    """Check that nothing was complained about, and that nothing was asked of others."""
    visit = browser.happened()
    assert visit.complaints == []
    assert all(url.startswith((address, "data:", "blob:")) for url in visit.requests)


@pytest.mark.slow
def test_the_dashboard_shows_what_was_published(browser, tmp_path):
    pytest.importorskip("optuna_dashboard", reason="needs calibrant[dashboard]")
    url = stored(tmp_path)
    assert CliRunner().invoke(app, ["publish", url]).exit_code == 0
    verdict = findings(optuna.load_study(study_name="shown", storage=url)).verdict.sentence
    with dashboard.serving(url, free_port()) as address:
        assert verdict in told(address)["note"]["body"]
        for width in (390, 1200):
            for dark in (False, True):
                check_overview(browser, address, width, dark)
                check_quiet(browser, address)
                browser.open(f"{address}dashboard/studies/1/note", width, 900, dark)
                browser.wait(f"document.body.innerText.includes({json.dumps(verdict)})")
                assert browser.run("document.documentElement.scrollWidth") <= width
                check_quiet(browser, address)


@pytest.mark.slow
def test_tune_serves_a_dashboard_that_follows_it(browser, tmp_path):
    pytest.importorskip("optuna_dashboard", reason="needs calibrant[dashboard]")
    port = free_port()
    command = [
        sys.executable, "-m", "calibrant", "tune", "--trials", "60", "--seed", "0",
        "--param", "x=0.0..1", "--dashboard", str(port), "--",
        sys.executable, "-c", "import time; time.sleep(0.5); print(({x} - 0.3) ** 2)",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as tuning:
        address = f"http://127.0.0.1:{port}/"
        first = told(address)["note"]["body"]
        later = told(address)["note"]["body"]
        deadline = time.monotonic() + 60
        while later == first or "intervals held" not in later:  # five more trials have finished
            assert time.monotonic() < deadline
            time.sleep(0.3)
            later = told(address)["note"]["body"]
        check_overview(browser, address, 1200, False)
        check_quiet(browser, address)
        tuning.send_signal(signal.SIGINT)
        printed = tuning.communicate(timeout=60)[0]
    assert f"Dashboard: {address}" in printed
    with pytest.raises(OSError):  # it ends with the run
        urllib.request.urlopen(address)
