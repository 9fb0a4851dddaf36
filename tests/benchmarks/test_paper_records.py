"""Results of the paper's searches on disk: kept as they end, none run twice."""

import json
import os
import sys

import pytest
from benchmarks.paper import run
from benchmarks.paper.experiments import CALIBRATED, EXPERIMENTS, RAW, Block, Experiment
from benchmarks.paper.records import Records, Repetition, repetition_of
from benchmarks.paper.run import run_missing
from benchmarks.paper.search import search
from benchmarks.paper.setups import Setup

pytestmark = pytest.mark.slow  # of a benchmark, not of the library

TINY = Setup("forrester", initial=3, steps=2)
CAMEL = Setup("six-hump camel", initial=3, steps=1)
UNKNOWN = Setup("no such task")  # a setup is only words: what they stand for is looked up later
BROKEN = Repetition(TINY, -1)  # no generator of random numbers takes this seed


def made_up(setup, seed, seconds=0.5):
    """A record as a search leaves it, as far as keeping it goes."""
    return {
        "problem": setup.task,
        "method": setup.method,
        "seed": seed,
        "settings": setup.settings,
        "seconds": seconds,
        "best": [1.0, 0.5],
    }


def lines(folder):
    paths = sorted(folder.glob("*.jsonl"))
    return [line for path in paths for line in path.read_text().splitlines()]


def without_seconds(record):
    assert record["seconds"] >= 0.0
    return {key: value for key, value in record.items() if key != "seconds"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"  # not there yet


@pytest.fixture
def kept(folder):
    """Three records of one file on disk."""
    records = Records(folder)
    for seed in range(3):
        records.add(made_up(TINY, seed))
    return folder / "forrester.jsonl"


# On disk


def test_a_record_says_which_search_it_is_of():
    setup = Setup("ackley", "matern", "leader", "N-2", "pi", 4, "sobol", 7)
    assert repetition_of(made_up(setup, 5)) == Repetition(setup, 5)


def test_records_come_back_from_disk(folder):
    records = Records(folder)
    assert len(records) == 0
    added = [made_up(setup, seed) for setup in (TINY, CAMEL) for seed in (4, 1)]
    for record in added:
        records.add(record)
    for known in (records, Records(folder)):
        assert len(known) == 4
        assert known.of(TINY) == {1: added[1], 4: added[0]}
        assert list(known.of(TINY)) == [1, 4]
        assert Repetition(CAMEL, 4) in known
        assert Repetition(CAMEL, 2) not in known
        assert known.of(Setup("forrester")) == {}
    assert {path.name for path in folder.iterdir()} == {"forrester.jsonl", "six-hump-camel.jsonl"}
    assert len((folder / "forrester.jsonl").read_text().splitlines()) == 2


def test_what_is_missing_is_named_once_in_order(kept, folder):
    wanted = [Repetition(TINY, seed) for seed in (5, 1, 4, 5)] + [Repetition(CAMEL, 0)]
    missing = [Repetition(TINY, 5), Repetition(TINY, 4), Repetition(CAMEL, 0)]
    assert Records(folder).missing(wanted) == missing


def test_a_record_is_on_disk_as_soon_as_it_is_added(folder):
    records = Records(folder)
    records.add(made_up(TINY, 0))
    assert json.loads((folder / "forrester.jsonl").read_text()) == made_up(TINY, 0)


@pytest.mark.parametrize("cut", [1, 30, -1])
def test_a_last_line_that_was_cut_off_is_forgotten_and_replaced(kept, folder, cut):
    whole = kept.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    end = len(whole) - 2 if cut < 0 else last + cut
    kept.write_bytes(whole[:end])
    records = Records(folder)
    assert list(records.of(TINY)) == [0, 1]
    records.add(made_up(TINY, 9))
    assert kept.read_bytes().startswith(whole[:last])
    assert list(Records(folder).of(TINY)) == [0, 1, 9]


def test_a_last_line_that_lacks_only_its_end_is_not_lost(kept, folder):
    """What counts as run is still on disk after the next is added."""
    kept.write_bytes(kept.read_bytes()[:-1])
    records = Records(folder)
    records.add(made_up(TINY, 9))
    assert list(Records(folder).of(TINY)) == list(records.of(TINY))


def test_a_first_line_that_was_cut_off_is_forgotten(folder):
    folder.mkdir()
    (folder / "forrester.jsonl").write_text('{"problem": "forr')
    records = Records(folder)
    assert len(records) == 0
    records.add(made_up(TINY, 0))
    assert list(Records(folder).of(TINY)) == [0]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_line_that_is_no_json_is_named_with_its_file(kept, folder, number):
    broken = kept.read_text().splitlines()
    broken[number - 1] = '{"problem": oops'
    kept.write_text("\n".join(broken) + "\n")
    with pytest.raises(ValueError, match=rf"Line {number} of .*forrester\.jsonl is not a search"):
        Records(folder)


def test_empty_lines_do_not_matter(kept, folder):
    kept.write_text(kept.read_text().replace("\n", "\n\n"))
    assert list(Records(folder).of(TINY)) == [0, 1, 2]


# Runs


def repeats(*seeds, setup=TINY):
    return [Repetition(setup, seed) for seed in seeds]


@pytest.fixture
def said():
    """What progress was told, as a list that is also a callback."""

    class Said(list):
        def __call__(self, *numbers):
            self.append(numbers)

    return Said()


def test_nothing_is_run_twice(folder, said):
    run_missing(Records(folder), repeats(0, 1), progress=said)
    assert said == [(0, 2), (1, 2), (2, 2)]
    before = lines(folder)
    said.clear()
    run_missing(Records(folder), repeats(1, 0, 2, 0), progress=said)
    assert said == [(2, 3), (3, 3)]
    after = lines(folder)
    assert after[:2] == before
    assert len(after) == 3
    said.clear()
    run_missing(Records(folder), repeats(2, 1), progress=said)
    assert said == [(2, 2)]
    assert lines(folder) == after


def test_two_processes_find_what_one_does_and_what_a_call_does(tmp_path):
    wanted = [*repeats(0, 1), *repeats(0, setup=CAMEL)]
    found = []
    for jobs in (1, 2):
        records = Records(tmp_path / str(jobs))
        run_missing(records, wanted, jobs)
        found.append({one: without_seconds(records.of(one.setup)[one.seed]) for one in wanted})
    assert found[0] == found[1]
    assert found[0] == {one: without_seconds(search(*one)) for one in wanted}


def test_a_run_leaves_the_environment_as_it_was(folder, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    during = []

    def progress(*numbers):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        during.append([os.environ.get(name) for name in names])

    before = dict(os.environ)
    run_missing(Records(folder), repeats(0), progress=progress)
    assert during[-1] == ["1", "1", "1"]
    assert dict(os.environ) == before
    with pytest.raises(ValueError, match="non-negative"):
        run_missing(Records(folder), [BROKEN])
    assert dict(os.environ) == before


def test_an_error_in_a_search_is_raised_and_finished_ones_are_kept(folder, said):
    wanted = [*repeats(0), BROKEN, *repeats(1, 2)]
    with pytest.raises(ValueError, match="non-negative"):
        run_missing(Records(folder), wanted, progress=said)
    assert said[:2] == [(0, 4), (1, 4)]
    known = Records(folder)
    assert Repetition(TINY, 0) in known
    assert len(known) >= len(said) - 1
    run_missing(known, repeats(0, 1, 2))
    assert list(Records(folder).of(TINY)) == [0, 1, 2]
    assert len(lines(folder)) == 3


def test_an_unknown_task_is_named(folder):
    with pytest.raises(ValueError, match=r"`task` must be one of .* but got task='no such task'"):
        run_missing(Records(folder), repeats(0, setup=UNKNOWN))


def test_a_callback_that_stops_the_run_leaves_what_is_finished(folder):
    def impatient(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_missing(Records(folder), repeats(*range(6)), progress=impatient)
    known = len(Records(folder))
    assert 1 <= known < 6


@pytest.mark.parametrize("jobs", [0, -2])
def test_at_least_one_process_is_needed(folder, jobs):
    with pytest.raises(ValueError, match=f"`jobs >= 1` must hold, but got jobs={jobs}"):
        run_missing(Records(folder), repeats(0), jobs)
    assert not folder.exists()


@pytest.fixture
def tiny_experiment(monkeypatch):
    rows = {RAW: TINY, CALIBRATED: Setup("forrester", "rbf", "gaussian", initial=3, steps=2)}
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("Tiny", (Block("One", rows),), 2))
    return rows


@pytest.mark.parametrize(("more", "seeds"), [([], [0, 1]), (["--repetitions", "1"], [0])])
def test_from_a_shell(folder, tiny_experiment, monkeypatch, more, seeds):
    monkeypatch.setattr(sys, "argv", ["run", str(folder), "tiny", "--jobs", "1", *more])
    run.main()
    known = Records(folder)
    for setup in tiny_experiment.values():
        assert list(known.of(setup)) == seeds
    assert len(known) == 2 * len(seeds)


def test_some_recalibrators_are_left_for_later(folder, tiny_experiment, monkeypatch):
    arguments = ["run", str(folder), "tiny", "--jobs", "1", "--without", "gaussian"]
    monkeypatch.setattr(sys, "argv", arguments)
    run.main()
    raw, calibrated = (Records(folder).of(tiny_experiment[row]) for row in (RAW, CALIBRATED))
    assert (list(raw), list(calibrated)) == ([0, 1], [])


def test_a_shell_is_told_which_experiments_there_are(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run", str(folder), "table9"])
    with pytest.raises(SystemExit):
        run.main()
    said = capsys.readouterr().err
    assert all(name in said for name in ("table9", "table1", "sixhump"))
