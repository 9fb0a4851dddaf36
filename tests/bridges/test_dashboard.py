"""What is put into Optuna's dashboard."""

import json
import time
import urllib.request

import optuna
import pytest
from tests.reporting.studies import EVIL, STUDIES, searched

from calibrant.bridges import dashboard
from calibrant.reporting.findings import findings


@pytest.mark.parametrize("kind", STUDIES)
def test_every_study_has_a_note(kind):
    text = dashboard.note(findings(STUDIES[kind]()))
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
    with pytest.raises(ImportError, match=r"calibrant\[dashboard\]"):
        dashboard.publish(optuna.create_study())


@pytest.mark.slow
def test_the_dashboard_shows_what_was_published(tmp_path):
    pytest.importorskip("optuna_dashboard", reason="needs calibrant[dashboard]")
    url = f"sqlite:///{tmp_path}/study.db"
    stored = optuna.create_study(storage=url, study_name="shown")
    stored.add_trials(searched(14).trials)
    dashboard.publish(stored)
    with dashboard.serving(url, 8643) as address:
        told = None
        for _ in range(60):
            time.sleep(0.5)
            try:
                with urllib.request.urlopen(f"{address}api/studies/1?after=0") as answer:
                    told = json.load(answer)
                break
            except OSError:  # not up yet
                continue
    assert "intervals held" in told["note"]["body"]
    ids = {graph["id"] for graph in told["plotly_graph_objects"]}
    assert ids == {"calibrant-intervals", "calibrant-reliability", "calibrant-coverage"}
