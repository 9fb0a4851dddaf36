"""What the benchmarks share: results on disk, statistics, words, runs."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import product

import numpy as np
import pytest
from benchmarks.kit import running, statistics, words
from benchmarks.kit.lines import append, files, pack, packed, read_lines, rewrite, whole_lines
from scipy.stats import wilcoxon

# Lines


def test_packed_lines_are_read_before_new_ones_and_packed_with_them(tmp_path):
    path = tmp_path / "x.jsonl"
    for value in range(3):
        append(path, {"a": value})
        pack(path)
        assert not path.exists()
        assert files(tmp_path) == [path]
    append(path, {"a": 3})
    assert files(tmp_path) == [path]
    assert list(read_lines(path)) == [{"a": value} for value in range(4)]
    places = [place for place, _ in whole_lines(path)]
    assert places[2:] == [f"Line 3 of {packed(path)}", f"Line 1 of {path}"]
    with path.open("a") as file:
        file.write('{"a": 4')
    pack(path)
    assert list(read_lines(path)) == [{"a": value} for value in range(4)]
    rewrite(path, [{"a": 9}])
    assert list(read_lines(path)) == [{"a": 9}]
    assert not packed(path).exists()


def test_what_cannot_be_packed_or_read_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    with pytest.raises(FileNotFoundError, match=r"x\.jsonl is not there"):
        pack(path)
    for value in range(1000):
        append(path, {"value": value**2})
    pack(path)
    whole = packed(path).read_bytes()
    packed(path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"x\.jsonl\.xz is damaged"):
        list(read_lines(path))


def test_a_line_that_was_cut_off_is_dropped_and_written_again(tmp_path):
    path = tmp_path / "x.jsonl"
    append(path, {"a": 1})
    with path.open("a") as file:
        file.write('{"a": 2')
    assert list(read_lines(path)) == [{"a": 1}]
    append(path, {"a": 3})
    assert list(read_lines(path)) == [{"a": 1}, {"a": 3}]
    path.write_text('{"a"')
    append(path, {"a": 4})
    assert list(read_lines(path)) == [{"a": 4}]


@pytest.mark.parametrize("cut", range(1, 9))
def test_wherever_a_line_is_cut_off_the_lines_before_it_stay(tmp_path, cut):
    path = tmp_path / "x.jsonl"
    for value in (1, 2):
        append(path, {"a": value})
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert list(read_lines(path)) == [{"a": 1}]
    append(path, {"a": 2})
    assert path.read_bytes() == whole


def test_without_a_file_there_are_no_lines_and_its_folder_is_made(tmp_path):
    path = tmp_path / "results" / "of" / "x.jsonl"
    assert list(read_lines(path)) == []
    append(path, {"a": "µ"})
    assert list(read_lines(path)) == [{"a": "µ"}]


def test_empty_lines_do_not_matter_and_are_counted(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a":1}\n\n{"a":2}\n')
    assert list(whole_lines(path)) == [
        (f"Line 1 of {path}", b'{"a":1}\n'),
        (f"Line 3 of {path}", b'{"a":2}\n'),
    ]


def test_a_whole_line_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a":1}\noops\n')
    with pytest.raises(ValueError, match=r"Line 2 of .*x\.jsonl is not JSON"):
        list(read_lines(path))


def test_a_file_of_something_else_is_not_shortened(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("a letter to my mother")
    for attempt in (lambda: list(read_lines(path)), lambda: append(path, {"a": 1})):
        with pytest.raises(ValueError, match="ends with b'a letter"):
            attempt()
    assert path.read_text() == "a letter to my mother"


def test_all_lines_are_replaced_at_once(tmp_path):
    path = tmp_path / "x.jsonl"
    for value in range(3):
        append(path, {"a": value})
    rewrite(path, [record for record in read_lines(path) if record["a"] != 1])
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"a": 0}, {"a": 2}]
    assert [file.name for file in tmp_path.iterdir()] == ["x.jsonl"]


# Statistics


def test_intervals_hold_the_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        found = statistics.estimate(rng.exponential(2.0, 60), draws=300)
        held += found.low <= 2.0 <= found.high
    assert 0.90 <= held / 400 <= 0.97


def test_an_interval_of_many_values_is_that_of_the_normal_distribution():
    values = np.random.default_rng(2).normal(3.0, 2.0, 500)
    found = statistics.estimate(values)
    width = 1.96 * values.std() / np.sqrt(500)
    assert found.mean == pytest.approx(values.mean())
    np.testing.assert_allclose(found[1:], values.mean() + np.array([-width, width]), atol=0.02)
    assert statistics.estimate(list(values)) == found  # the same every time


def test_an_interval_of_equal_values_is_a_point():
    assert statistics.estimate([0.25, 0.25, 0.25]) == (0.25, 0.25, 0.25)
    assert statistics.estimate([0.7]) == (0.7, 0.7, 0.7)


def test_p_values_are_those_of_scipy():
    rng = np.random.default_rng(3)
    ours, theirs = rng.random(25), rng.random(25) + 0.15
    expected = wilcoxon(ours, theirs, method="approx").pvalue
    assert statistics.paired_p(ours, theirs) == pytest.approx(expected)
    assert statistics.paired_p(theirs, ours) == pytest.approx(expected)
    assert statistics.paired_p(ours, ours + 1.0) < 1e-4


def test_p_values_are_about_those_of_all_signs():
    """Exactly, the ranks' signs are 2ⁿ equally likely ones."""
    differences = np.array([0.9, -0.1, 0.5, 0.7, -0.3, 1.1, 0.2, 0.8, -0.4, 1.3, 0.6])
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    signs = np.array(list(product([-1, 1], repeat=differences.size)))
    statistic = np.sign(differences) @ ranks
    exact = np.mean(np.abs(signs @ ranks) >= abs(statistic))
    assert statistics.paired_p(differences, np.zeros(11)) == pytest.approx(exact, abs=0.01)


def test_ties_are_no_evidence():
    assert statistics.paired_p([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert statistics.paired_p([0.0] * 20 + [1.0, 1.5], [0.0] * 22) == 0.5  # 2 of 4 assignments
    assert statistics.paired_p([1.0] + [0.0] * 29, [0.0] * 30) == 1.0
    assert statistics.paired_p([1.0, 0.0, 0.0, 0.0], [0.0] * 4) == 1.0


def test_a_few_pairs_that_differ_are_tested_exactly_among_many_that_do_not():
    differing = np.array([0.9, -0.1, 0.5, 0.7, -0.3, 1.1])
    exact = wilcoxon(differing, method="exact").pvalue
    many = np.concatenate([np.zeros(94), differing])
    assert statistics.paired_p(many) == pytest.approx(exact)


@pytest.mark.parametrize("count", [5, 7, 12])
def test_few_pairs_are_tested_exactly(count):
    rng = np.random.default_rng(count)
    ours, theirs = rng.random((2, count))
    exact = wilcoxon(ours, theirs, method="exact").pvalue
    assert statistics.paired_p(ours, theirs) == pytest.approx(exact)
    assert statistics.paired_p(np.zeros(5), np.ones(5)) == pytest.approx(2 / 32)


def test_intervals_over_other_tasks_are_wider():
    by_task = [np.array([m - 0.1, m, m + 0.1]) for m in (-2.0, 0.0, 1.0)]
    these = statistics.estimate_over_tasks(by_task)
    others = statistics.estimate_over_tasks(by_task, tasks_too=True)
    assert these.mean == others.mean == pytest.approx(-1 / 3)
    assert others.low < these.low < these.mean < these.high < others.high
    assert these.high - these.low == pytest.approx(4 * 0.1 * np.sqrt(2 / 3) / 3, rel=0.2)


def test_many_comparisons_are_corrected_for():
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([0.5, 0.9]) == [1.0, 1.0]


def test_bootstrap_draws_are_the_same_every_time():
    """These are the draws of the pages there are: other ones would change their intervals."""
    values = np.sqrt(np.arange(12))
    found = statistics.estimate(values)
    assert found == statistics.estimate(values)
    assert found == pytest.approx((2.1487419147, 1.5793931420, 2.6313506561), abs=1e-9)
    by_task = [values, -values[:4], 2.0 * values]
    these, others = (1.3544895301, 2.2258159844), (-0.8535533906, 4.2029472869)
    for tasks_too, interval in ((False, these), (True, others)):
        found = statistics.estimate_over_tasks(by_task, tasks_too)
        assert found == statistics.estimate_over_tasks(by_task, tasks_too)
        assert found == pytest.approx((1.8032198839, *interval), abs=1e-9)


def test_the_worst_tenth():
    assert statistics.worst_tenth(np.arange(30.0)) == pytest.approx(28.0)
    assert statistics.worst_tenth(np.array([3.0, 1.0])) == 3.0


def test_holm_by_hand():
    """Sorted: 0.001 × 5, 0.011 × 4, 0.012 × 3, 0.02 × 2, 0.9 × 1, and none below the one before."""
    p = [0.012, 0.9, 0.001, 0.02, 0.011]
    assert statistics.holm(p) == pytest.approx([0.044, 0.9, 0.005, 0.044, 0.044])
    assert statistics.holm([]) == []


def test_paired_successes_by_hand():
    """Of ten pairs, 1 lost and 6 gained: 2 · (1 + 7) / 2⁷."""
    old = np.array([True] * 3 + [False] * 7)
    new = np.array([True, True, False] + [True] * 6 + [False])
    assert statistics.mcnemar(new, old) == pytest.approx(2 * 8 / 128)
    assert statistics.mcnemar(old, new) == statistics.mcnemar(new, old)
    assert statistics.mcnemar(old, old) == 1.0
    assert statistics.sign_test(6, 1) == pytest.approx(2 * 8 / 128)
    assert statistics.sign_test(6, 1, "greater") == pytest.approx(8 / 128)
    assert statistics.sign_test(0, 0) == 1.0


def test_a_p_value_of_differences_is_that_of_pairs():
    ours, theirs = np.random.default_rng(0).random((2, 20))
    assert statistics.paired_p(ours - theirs) == statistics.paired_p(ours, theirs)


# Words


def test_numbers_are_written_as_people_do():
    assert words.number(-1.23456) == "−1.235"
    assert words.number(1271.34) == "1,271.3"
    assert words.number(-0.0001) == "0.000"
    assert words.number(3.2e9) == "3.2e+09"
    assert "-" not in words.interval(statistics.estimate([-1.0, -2.0, -3.0]))


def test_changes_have_signs():
    change = statistics.Estimate(-0.0312, -0.05, 0.0)
    assert words.signed(change) == "-0.031 (-0.050 to +0.000)"
    assert words.signed(change, 2) == "-0.03 (-0.05 to +0.00)"


@pytest.mark.parametrize(
    ("p", "value", "equation"),
    [
        (0.0004, "< 0.001", "p < 0.001"),
        (0.0414, "0.041", "p = 0.041"),
        (0.27, "0.270", "p = 0.27"),
    ],
)
def test_p_values_are_not_zero(p, value, equation):
    assert words.p_value(p) == value
    assert words.p_equation(p) == equation


def test_tables_have_text_to_the_left_and_numbers_to_the_right():
    rows = [("one", "1.0", "2"), ("two", "", "3")]
    assert words.markdown_table(("", "a", "b"), rows).splitlines() == [
        "|  | a | b |",
        "|---|---:|---:|",
        "| one | 1.0 | 2 |",
        "| two |  | 3 |",
    ]
    assert "|---|---|---:|" in words.markdown_table(("", "a", "b"), rows, text_columns=2)


def test_files_are_named_after_titles():
    assert words.file_name("one kernel, no turns: Matérn") == "one-kernel-no-turns-matern"
    assert words.file_name("Deep ensemble (5)") == "deep-ensemble-5"


# Runs; what goes to other processes is from the standard library, where they find it


def test_every_task_is_run_and_its_result_kept():
    kept, told = [], []
    running.run_all(math.comb, [(4, k) for k in range(5)], kept.append, 2, told.append)
    assert sorted(kept) == [1, 1, 4, 4, 6]
    assert told == [1, 2, 3, 4, 5]
    running.run_all(math.comb, [], kept.append)
    assert len(kept) == 5


def test_each_process_has_one_thread_and_this_one_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before, kept = dict(os.environ), []
    running.run_all(os.getenv, [(name,) for name in running.ONE_THREAD], kept.append)
    assert kept == ["1"] * len(running.ONE_THREAD)
    assert dict(os.environ) == before


def test_each_process_is_prepared_once():
    kept = []
    prepare = partial(os.putenv, "PREPARED", "yes")  # seen by what the process starts
    shell = (["sh", "-c", "echo $PREPARED"],)
    running.run_all(subprocess.check_output, [shell, shell], kept.append, initializer=prepare)
    assert kept == [b"yes\n", b"yes\n"]


def test_an_error_is_raised_and_what_is_finished_is_kept():
    kept = []
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        running.run_all(math.sqrt, [(4.0,), (-1.0,), (9.0,), (16.0,)], kept.append)
    assert kept[0] == 2.0
    assert set(kept) <= {2.0, 3.0, 4.0}
    assert len(set(kept)) == len(kept)


def test_a_run_that_is_interrupted_keeps_what_is_done(tmp_path):
    """Also what was finished and not yet kept, and each once."""
    source = tmp_path / "source"
    source.write_text("done")
    copies = [tmp_path / str(number) for number in range(3)]
    kept = []

    def interrupt(done):
        wait_for(lambda: all(copy.exists() for copy in copies))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        running.run_all(shutil.copy, [(source, copy) for copy in copies], kept.append, 3, interrupt)
    assert sorted(kept) == copies


def wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_has_not_begun_when_a_run_is_interrupted_is_not_run():
    kept = []

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        running.run_all(math.sqrt, [(float(k),) for k in range(50)], kept.append, 1, interrupt)
    assert 1 <= len(kept) < 50


SCRIPT = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
from benchmarks.kit.lines import append
from benchmarks.kit.running import run_missing

def work(seconds):
    if seconds > 1.0:
        Path(os.environ["BEGUN"]).touch()
    time.sleep(seconds)
    return {"slept": seconds}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start it with none
    tasks = [(0.0,), (0.01,), (600.0,), (0.02,)]
    run_missing(work, tasks, partial(append, Path(sys.argv[1])), jobs=1)
"""


def test_a_command_that_is_stopped_from_the_keyboard_keeps_what_is_done(tmp_path):
    (tmp_path / "command.py").write_text(SCRIPT)
    results, begun = tmp_path / "results.jsonl", tmp_path / "begun"
    command = [sys.executable, str(tmp_path / "command.py"), str(results)]
    paths = os.pathsep.join([str(running.CHECKOUT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": paths, "BEGUN": str(begun)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C goes to all processes of a terminal
    )
    try:
        wait_for(lambda: begun.exists() and len(list(read_lines(results))) == 2)
        time.sleep(0.2)  # the third is asleep
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    except BaseException:  # whatever went wrong, no process is left for another test to find
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 130
    assert running.INTERRUPTED in " ".join(said.split())
    assert list(read_lines(results)) == [{"slept": 0.0}, {"slept": 0.01}]


@pytest.mark.parametrize("jobs", [0, -2])
def test_at_least_one_process_is_needed(jobs):
    with pytest.raises(ValueError, match=f"`jobs >= 1` must hold, but got jobs={jobs}"):
        running.run_all(math.sqrt, [], print, jobs)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit of a module and a result."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # as a hook has them, of another repository
    (tmp_path / "module.py").write_text("x = 1\n")
    (tmp_path / "results.jsonl").write_text("{}\n")
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "One"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    running.commit.cache_clear()
    yield tmp_path
    running.commit.cache_clear()


def test_records_say_which_commit_they_are_of(checkout):
    head = subprocess.check_output(["git", "-C", str(checkout), "rev-parse", "HEAD"], text=True)
    found = running.commit(checkout)
    assert len(found) >= 4
    assert head.startswith(found)


@pytest.mark.parametrize(
    ("changed", "dirty"), [("module.py", True), ("new.py", True), ("results.jsonl", False)]
)
def test_a_commit_is_dirty_where_its_code_was_changed(checkout, changed, dirty):
    """Results do not count: the run itself appends to them."""
    (checkout / changed).write_text("x = 2\n")
    assert running.commit(checkout).endswith("-dirty") == dirty


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    shutil.rmtree(checkout / ".git")
    assert running.commit(checkout) is None
    running.commit.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert running.commit(running.CHECKOUT) is None
