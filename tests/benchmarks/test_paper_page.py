"""The page, its verdicts, and `python -m benchmarks.paper`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.kit.words import number
from benchmarks.paper import __main__ as command
from benchmarks.paper import charts, experiments, sections, tasks, texts, theorem
from benchmarks.paper.__main__ import app
from benchmarks.paper.experiments import (
    CALIBRATED,
    EXPERIMENTS,
    LITERAL,
    RAW,
    Block,
    Experiment,
)
from benchmarks.paper.page import markdown, write_page
from benchmarks.paper.records import Records
from benchmarks.paper.run import run_missing
from benchmarks.paper.search import explore, search
from benchmarks.paper.section import Section
from benchmarks.paper.setups import Setup
from benchmarks.paper.verdicts import (
    both_verdicts,
    calibration_verdict,
    none_verdict,
    tally,
    verdict,
)
from typer.testing import CliRunner

from calibrant import OnlineRecalibrator
from calibrant.forecasts import Normal

pytestmark = pytest.mark.slow  # a benchmark's page and data, not the library's

TINY = Setup("forrester", steps=12, initial=3)


def record(best, seed=0, minimum=0.0):
    """A repetition with given best values; forecasts are right on average."""
    rng = np.random.default_rng(seed)
    steps = len(best) - 1
    read = {
        "std": [1.0] * steps,
        "score": rng.standard_normal(steps).tolist(),
        "crps": [0.1] * steps,
    }
    return {
        "minimum": minimum,
        "initial": [best[0], best[0] + 1.0],
        "outcomes": list(best[1:]),
        "forecasts": {"raw": read, "calibrated": read},
    }


def runs(shift, count=20, noise=0.02):
    """Repetitions whose calibrated curve lies lower by ``shift``."""
    rng = np.random.default_rng(3)
    found = {RAW: {}, LITERAL: {}, CALIBRATED: {}}
    for seed in range(count):
        curve = np.linspace(1.0, 0.4, 11) - 0.05 * rng.random()
        found[RAW][seed] = record([1.0, *curve[1:]], seed)
        lower = curve[1:] - shift + noise * rng.standard_normal()
        found[CALIBRATED][seed] = record([1.0, *lower], seed)
        found[LITERAL][seed] = record([1.0, *lower], seed)
    return found


@pytest.mark.parametrize(
    ("parts", "word", "others"),
    [
        ({"a": 0.1}, "**Reproduced**", ["ahead in a"]),
        ({"a": -0.1}, "**Not reproduced**", ["behind in a"]),
        ({"a": 0.0}, "**Not reproduced**", ["no difference can be shown in a"]),
        ({"a": 0.1, "b": -0.1, "c": 0.0}, "**Reproduced only with** a", ["behind in b", "in c"]),
    ],
)
def test_a_verdict_says_what_the_intervals_say(parts, word, others):
    said = verdict({title: runs(shift) for title, shift in parts.items()})
    assert said.startswith(word)
    assert all(other in said for other in others)


def test_a_handful_of_repetitions_gives_no_verdict():
    few = {"a": runs(0.5, count=5)}
    assert verdict(few).startswith("**No verdict** from 5")
    assert calibration_verdict(few) == tally(few, [RAW]) == ""


def test_an_interval_alone_is_no_verdict():
    """One large loss among many small gains: the mean says one thing, the ranks another."""
    part = runs(0.01, noise=0.0)
    part[CALIBRATED][0] = record([1.0] * 11, 0)
    assert "no difference can be shown" in verdict({"a": part})


def test_the_same_searches_count_once():
    part = runs(0.0)
    said = verdict({"a": part, "the same again": part})
    assert "the same again" not in said


def test_a_verdict_on_calibration_compares_forecasts_of_the_same_points():
    part = runs(0.1)
    for seed, found in part[CALIBRATED].items():  # outcomes far below what the model forecast
        raw = dict(found["forecasts"]["raw"], score=[-3.0 - seed] * 10)
        found["forecasts"] = {"raw": raw, "calibrated": found["forecasts"]["calibrated"]}
    for found in part[RAW].values():  # of other searches: they do not matter
        found["forecasts"] = {"raw": dict(found["forecasts"]["raw"], score=[0.0] * 10)}
    said = calibration_verdict({"a": part})
    assert "of the same points" in said
    assert "Location and scale: **Reproduced**: lower in a." in said
    assert f"{LITERAL}: **Not reproduced**: no difference can be shown in a." in said


def test_verdicts_on_rivals_and_on_both_calibrations():
    part = runs(0.1)
    part["rival"] = part[RAW]
    assert f"Of 1 comparisons with rival, {LITERAL} is ahead in 1" in tally({"a": part}, ["rival"])
    assert "not a" not in verdict({"a": part}, others=("rival",))
    part[LITERAL] = part[RAW]
    said = both_verdicts({"a": part})
    assert said.startswith(f"{LITERAL}: **Not reproduced**: no difference can be shown in a.")
    assert said.endswith("Location and scale: **Reproduced**: ahead in a.")


def test_where_the_paper_found_nothing_nothing_is_a_reproduction():
    assert none_verdict({"a": runs(0.0)}).startswith("**Reproduced**, as far as it goes")
    assert "in 5 repetitions" in none_verdict({"a": runs(0.0, count=5)})
    assert f"{LITERAL}: **Not reproduced**: behind in a." in none_verdict({"a": runs(-0.2)})


def test_the_committed_results_make_the_committed_page():
    """All there is in the repository is of an experiment, and its page is of these results."""
    folder = Path(__file__).parents[2] / "benchmarks" / "paper"
    records = Records(folder / "results")
    wanted = {one for name in EXPERIMENTS for one in experiments.repetitions(name)}
    assert records.outside(wanted) == []
    for name in experiments.ALL:
        assert records.missing(list(experiments.repetitions(name))) == []
    page = (folder / "README.md").read_text(encoding="utf-8")
    for section in sections.sections(records, ["table2", "sensitivity", "alpine100"]):
        assert f"> {section.verdict}\n" in page
        for table in section.tables:
            for row in table.rows:
                assert "| " + " | ".join(row) + " |" in page
    assert all((folder / picture).exists() for picture in re.findall(r"\]\((\w+\.png)\)", page))


@pytest.fixture
def small(monkeypatch):
    """One experiment that takes a second, in the place of the real ones."""
    online = replace(TINY, recalibrator="calibrant", calibration_set="online")
    block = Block("Forrester, EI", {RAW: TINY, CALIBRATED: online})
    experiment = Experiment("A small one", (block,), repetitions=2)
    monkeypatch.setitem(EXPERIMENTS, "benchmarks", experiment)  # one dictionary, whoever reads it
    return experiment


def test_the_page_shows_text_tables_figures_and_verdict(small, tmp_path):
    records = Records(tmp_path / "results")
    run_missing(records, list(experiments.repetitions("benchmarks", 5)))
    found = sections.sections(records, ["benchmarks"])
    (tmp_path / "benchmarks.png").write_bytes(b"")
    page = write_page(found, tmp_path).read_text(encoding="utf-8")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "![" not in markdown(found)  # nothing has been drawn
    for part in (page, text):
        assert "A small one" in part
        assert "No verdict" in part
    assert "![A small one](benchmarks.png)" in text
    assert page.count("plotly.js v") == 1  # plotly itself is there, once
    assert len(re.findall(r'class="plotly-graph-div"', page)) == 1


def test_numbers_of_the_page_are_those_of_the_records(small, tmp_path):
    records = Records(tmp_path / "results")
    run_missing(records, list(experiments.repetitions("benchmarks", 5)))
    (section,) = sections.sections(records, ["benchmarks"])
    shown = {row[1]: row for row in section.tables[0].rows}
    for label, setup in small.blocks[0].rows.items():
        ends = [min(r["initial"] + r["outcomes"]) for r in records.of(setup).values()]
        assert shown[label][3].startswith(number(float(np.mean(ends))))


def test_what_was_run_is_on_the_page(small, tmp_path):
    records = Records(tmp_path / "results")
    run_missing(records, list(experiments.repetitions("benchmarks", 1)))
    section = sections.costs(records)
    (row,) = section.tables[0].rows
    assert row[:4] == ("benchmarks", "2", "1", "2")
    (stored,) = records.of(TINY).values()
    assert f"{stored['commit']} (2)" in section.text
    assert "Fewer repetitions than planned have: benchmarks (1 of 2)." in section.text
    page = markdown([section])
    assert "## costs: What was run" in page
    assert "| costs" not in page  # it has no verdict


def test_printed_numbers_are_found_and_absent_ones_are_none():
    assert sections.printed("table1", "forrester", "calibrated") == [-4.983, 0.894, 1, 0.8187]
    assert sections.printed("sensitivity", "kernel", "linear")[1] == 0.5221
    assert sections.printed("table1", "forrester", "nothing") is None


def test_every_experiment_has_a_writer_and_a_text():
    assert set(sections._WRITERS) == set(EXPERIMENTS)
    assert set(texts.TEXTS) == set(EXPERIMENTS)
    assert all("10,000 training" in texts.text_of(name) for name in ("cifar10", "svhn"))


def test_every_printed_row_of_tables_1_and_2_is_beside_one_of_ours():
    for name in ("table1", "table2"):
        rows = set(sections.printed(name)) - {"columns"}
        assert {block.printed[0] for block in EXPERIMENTS[name].blocks} == rows
    kinds = sections.printed("sensitivity")
    wanted = {(k, label) for k, rows in kinds.items() if k != "columns" for label in rows}
    assert wanted <= {block.printed for block in EXPERIMENTS["sensitivity"].blocks}


def test_where_no_search_is_stuck_nothing_can_be_freed():
    found = {
        way: {seed: record([0.0, -6.02], seed, -6.02) for seed in (0, 1)}
        for way in (RAW, LITERAL, CALIBRATED)
    }
    section = sections._forrester("forrester", EXPERIMENTS["forrester"], {"part": found})
    assert section.verdict == "No verdict: of 2 uncalibrated searches none got stuck."


def test_the_forrester_verdict_is_by_area_and_by_searches_freed(monkeypatch):
    """Two of 20 are stuck and none is freed, but all others arrive earlier."""
    monkeypatch.setattr(sections, "_snapshots", lambda *args: None)
    late, early = [0.0] * 9 + [-6.02], [0.0] * 4 + [-6.02] * 6
    raw = {seed: record(late, seed, -6.02) for seed in range(20)}
    ours = {seed: record(early, seed, -6.02) for seed in range(20)}
    for seed in (0, 1):
        raw[seed] = ours[seed] = record([0.0] * 10, seed, -6.02)
    found = {RAW: raw, LITERAL: ours, CALIBRATED: raw}
    section = sections._forrester("forrester", EXPERIMENTS["forrester"], {"part": found})
    literal, location = section.verdict.split(" Location and scale. ")
    assert "By the area: **Reproduced**: ahead in part" in literal
    assert "By the searches freed: **Not reproduced**: of 2 searches" in literal
    assert "By the area: **Not reproduced**: no difference" in location


def test_a_method_is_compared_on_all_that_both_have_run(tmp_path):
    few = replace(TINY, recalibrator="isotonic")
    blocks = (
        Block("a", {RAW: TINY, CALIBRATED: replace(TINY, recalibrator="leader"), "few": few}),
    )
    stored = Records(tmp_path)
    for seed in range(3):
        for setup in list(blocks[0].rows.values())[: 3 if seed == 0 else 2]:
            stored.add(search(replace(setup, steps=2), seed) | {"settings": setup.settings})
    for pooled, counts in ((False, [3, 3, 1]), (True, [1, 1, 1])):
        experiment = Experiment("x", blocks, pooled=pooled)
        part = sections._runs(stored, experiment, (RAW, CALIBRATED))["a"]
        assert [len(part[label]) for label in (RAW, CALIBRATED, "few")] == counts


def test_only_the_papers_method_to_the_letter_has_its_name():
    """Leave-one-out scores with refits through the online rule, at 19 levels and a rate of 0.05."""
    for experiment in EXPERIMENTS.values():
        for block in experiment.blocks:
            for label, setup in block.rows.items():
                if label == LITERAL:
                    assert (setup.recalibrator, setup.calibration_set) == (
                        "online",
                        "leave-one-out",
                    )


def test_snapshots_show_what_was_believed_at_some_steps():
    searched = explore(TINY, seed=0)
    figure = charts.snapshots(TINY, {RAW: searched})
    texts = [a.text for a in figure.layout.annotations if a.text.startswith("std ×")]
    scales = [searched.beliefs[s - TINY.initial - 1].residual.std() for s in charts.STEPS]
    assert [t.split("<br>")[0] for t in texts] == [f"std × {float(s):.2f}" for s in scales]


def test_an_infinite_end_is_drawn_at_the_edge_of_its_panel():
    searched = explore(TINY, seed=0)
    online = OnlineRecalibrator(rate=0.5)
    for _ in range(10):  # all above their forecasts: high levels go to infinity
        online = online.observe(Normal(0.0, 1.0), 9.0)
    sure = [replace(belief, residual=online.residual) for belief in searched.beliefs]
    figure = charts.snapshots(TINY, {RAW: searched._replace(beliefs=sure)})
    (high, *_) = (trace.y for trace in figure.data if trace.name == "80 % interval")
    assert np.all(high == figure.layout.yaxis.range[1])


# ---- the command


def test_the_command_runs_resumes_and_writes(small, tmp_path):
    arguments = ["benchmarks", "--folder", str(tmp_path), "--jobs", "2"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "4/4" in first.output
    assert "No verdict" in first.output
    lines = (tmp_path / "results" / "forrester.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert {json.loads(line)["problem"] for line in lines} == {"forrester"}
    again = CliRunner().invoke(app, [*arguments, "--repetitions", "1"])
    assert again.exit_code == 0
    assert len((tmp_path / "results" / "forrester.jsonl").read_text().splitlines()) == 4
    assert (tmp_path / "index.html").exists()


def test_pages_alone_can_be_written_anew(small, tmp_path):
    result = CliRunner().invoke(app, ["benchmarks", "--folder", str(tmp_path), "--no-run"])
    assert result.exit_code == 1
    assert "no results in" in " ".join(result.output.split())
    assert result.output.count("Error:") == 1
    records = Records(tmp_path / "results")
    run_missing(records, list(experiments.repetitions("benchmarks", 1)))
    result = CliRunner().invoke(app, ["benchmarks", "--folder", str(tmp_path), "--no-run"])
    assert result.exit_code == 0


@pytest.mark.parametrize("names", [["figure9"], []])
def test_unknown_experiments_are_listed(names):
    result = CliRunner().invoke(app, [*names])
    assert result.exit_code == 1
    assert "table1, table2" in " ".join(result.output.split())


def test_missing_data_is_said_and_left_out_of_all(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "torchvision", None)  # it would download
    alone = CliRunner().invoke(
        app, ["svhn", "--repetitions", "1", "--folder", str(tmp_path), "--jobs", "1"]
    )
    assert alone.exit_code == 1
    assert "svhn_10k_2k.npz" in " ".join(alone.output.split())
    monkeypatch.setattr(command, "ALL", ["benchmarks", "svhn"])
    both = CliRunner().invoke(
        app, ["all", "--repetitions", "1", "--folder", str(tmp_path), "--jobs", "1"]
    )
    assert both.exit_code == 0, both.output
    assert "Left out svhn" in " ".join(both.output.split())


def test_a_missing_library_leaves_out_one_experiment_and_not_the_others(
    small, tmp_path, monkeypatch
):
    def lacks(records, wanted, jobs, progress):
        if wanted[0].setup.task != "forrester":
            raise ImportError("RegressionRecalibrator needs scikit-learn")
        run_missing(records, wanted, jobs, progress)

    monkeypatch.setattr(command, "run_missing", lacks)
    arguments = ["conformal", "benchmarks", "--repetitions", "1", "--jobs", "1"]
    result = CliRunner().invoke(app, [*arguments, "--folder", str(tmp_path)])
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "Left out the rest of conformal: RegressionRecalibrator needs scikit-learn" in said
    assert f"benchmarks: {LITERAL}: No verdict" in said
    assert (tmp_path / "index.html").exists()


# ---- Theorem 1


def test_the_bound_of_theorem_1_holds_after_calibration_and_not_before():
    for stream in theorem.streams():
        found = theorem.shares(stream)
        np.testing.assert_allclose(found.allowed, 1.0 / np.array(theorem.RATIOS) + 20.0 / 600.0)
        assert np.all(found.calibrated <= found.allowed), stream.name
        assert found.calibration[1] <= 20.0 / 600.0
        np.testing.assert_allclose(found.finite * (1.0 - found.unbounded), found.calibrated)
        if stream.name == "std a tenth of the truth":
            assert np.all(found.raw[2:] > found.allowed[2:])


def test_a_loss_is_compared_with_its_expectation():
    forecast, y = Normal([0.0] * 4, [1.0] * 4), np.array([0.9, 0.7, -1.0, 0.6])
    stream = theorem.Stream("one", forecast, y, lambda _: 0.0)
    # E[Y₊] of a standard normal is 0.399: 0.9 is 2.26 times that, 0.7 is 1.75 and 0.6 1.50 times.
    np.testing.assert_allclose(theorem.shares(stream).raw, [0.75, 0.25, 0.0, 0.0])


def test_no_loss_where_none_is_expected_does_not_count():
    """As printed, with ≥, this breaks the bound at every ratio."""
    stream = theorem.Stream("none", Normal([-99.0], [1.0]), np.array([-98.0]), lambda _: 0.0)
    np.testing.assert_array_equal(theorem.shares(stream).raw, 0.0)


def test_forecasts_are_read_back_from_records():
    searches = [search(TINY, seed) for seed in (0, 1)]
    stream = theorem.searched("two", searches)
    assert stream.y.tolist() == searches[0]["outcomes"] + searches[1]["outcomes"]
    scores = [score for one in searches for score in one["forecasts"]["raw"]["score"]]
    np.testing.assert_allclose(stream.forecast.score(stream.y), scores, rtol=1e-6, atol=1e-9)
    assert stream.lowest(stream.forecast[0]) == pytest.approx(float(stream.forecast[0].mean()))
    regret = theorem.searched("two", searches, regret=True)
    assert regret.lowest(regret.forecast[0]) == searches[0]["minimum"]


def test_searches_of_a_model_that_is_too_sure_break_the_bound_and_calibration_keeps_it():
    sure = Setup("six-hump camel", model="rbf-sure", steps=20)
    found = theorem.shares(theorem.searched("sure", [search(sure, seed) for seed in range(8)]))
    assert np.all(found.raw[2:] > found.allowed[2:])
    assert np.all(found.calibrated <= found.allowed)


# ---- live LDA


def test_live_lda_trains_where_the_search_goes(monkeypatch):
    lda = pytest.importorskip("benchmarks.paper.lda")
    asked = []
    monkeypatch.setattr(lda, "corpus", lambda: None)
    monkeypatch.setattr(lda, "perplexity", lambda *args: asked.append(args[1:]) or 1000.0)
    goal = tasks._live_lda("live")
    assert goal.cube.size == 288
    assert goal.evaluate(np.array([0.0, 1.0, 1.0]), 0) == 1000.0
    assert goal.evaluate(goal.cube.every_point()[1], 0) == 1000.0
    assert asked[0] == (1, 1.0, 32)
    assert asked[1] == (1, 0.5, 2)


def test_a_picture_that_cannot_be_drawn_again_is_kept(tmp_path):
    (tmp_path / "forrester.png").write_bytes(b"drawn earlier")
    section = Section("forrester", "Step by step", "text", [], None, "")
    page = write_page([section], tmp_path)
    assert "![Step by step](forrester.png)" in (tmp_path / "README.md").read_text()
    assert "<img src='forrester.png'" in page.read_text()
