"""Reports of programs that run: what is found in their output, and giving them up."""

import math
import sys
import threading
import time

import pytest

from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.reported import GivenUp, Reported

EPOCHS = "import time\nfor e in range(40):\n print('loss', 1 / (e + 1))\n time.sleep(0.05)\n"


class Watcher:
    def __init__(self, most=math.inf):
        self.seen, self.most = [], most

    def report(self, value):
        self.seen.append(value)

    def hopeless(self):
        return len(self.seen) >= self.most


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_numbers_are_found_in_lines_that_have_ended(size):
    reported = Reported(r"loss[= ]([-.\d\u2212e]+)")
    read = reported.stream()
    text = "\x1b[1mloss=0.5\x1b[0m\rloss 1e-3\nacc 7\nloss \u22122, loss 3\nloss 4".encode()
    for start in range(0, len(text), size):
        read(text[start : start + size])
    assert reported.take() == [0.5, 1e-3, -2.0, 3.0]
    assert reported.take() == []
    read(b"5")
    assert reported.take() == []
    reported.end()
    assert reported.take() == [45.0]


def test_without_a_group_the_match_is_the_number():
    reported = Reported(r"\d+\.\d+")
    reported.stream()(b"epoch 3: 0.25\n")
    assert reported.take() == [0.25]


def test_what_is_no_number_is_said_once(caplog):
    reported = Reported(r"loss (\S+)")
    reported.stream()(b"loss high\nloss low\nloss 2\nloss nan\n")
    two, missing = reported.take()
    assert two == 2.0
    assert math.isnan(missing)
    assert caplog.text.count("is no number") == 1


def test_lines_of_two_streams_do_not_mix():
    reported = Reported(r"loss (\S+)", source=1)
    printed, complaints = reported.stream(), reported.stream()
    printed(b"lo")
    complaints(b"warning\nloss 1\nlos")
    printed(b"ss 9\n")  # the same, printed to both
    complaints(b"s 2\n")
    assert reported.take() == [1.0, 2.0]
    printed(b"loss 9")
    complaints(b"loss 3")
    reported.end()
    assert reported.take() == [3.0]


def test_the_second_stream_waits_for_the_end_of_the_first():
    reported = Reported(r"loss (\S+)")
    printed, complaints = reported.stream(), reported.stream()
    complaints(b"loss 1\nloss 2\n")
    assert reported.take() == []
    printed(b"loss 9\n")
    complaints(b"loss 3\n")
    assert reported.take() == [9.0]
    reported.end()
    assert (reported.take(), reported.source) == ([], 0)


def test_the_second_stream_is_read_if_the_first_has_nothing():
    reported = Reported(r"loss (\S+)")
    printed, complaints = reported.stream(), reported.stream()
    printed(b"hi\n")
    complaints(b"loss 1")
    assert reported.take() == []
    reported.end()
    assert (reported.take(), reported.source) == ([1.0], 1)


def test_logged_reports_are_read_and_from_the_second_trial_on_at_once():
    said = "import logging, sys, time\nlogging.basicConfig(level=20)\n"
    epochs = "for e in range(5):\n logging.info('loss %s', 1 / (e + 1))\n time.sleep({nap})\n"
    program = [sys.executable, "-c", said + epochs + "print(0.5)"]
    command, watcher = Command(program, report_regex=r"loss ([.\d]+)"), Watcher()
    assert command.reading({"nap": 0.0}, 0, watcher).value == 0.5
    assert watcher.seen == pytest.approx([1 / (e + 1) for e in range(5)])
    with pytest.raises(GivenUp):
        command.reading({"nap": 0.5}, 1, Watcher(most=2))


@pytest.mark.parametrize(
    "stray",
    ["warning: loss nan seen", "deprecated: loss 1.24", "3/10 loss 903\\r4/10 loss 904"],
)
def test_what_a_progress_bar_or_a_warning_says_is_no_report(stray):
    printed = "for e in range(3):\n print('loss', e)\n"
    program = f"import sys\nsys.stderr.write('{stray}\\n')\n{printed}"
    command = Command([sys.executable, "-c", program], report_regex=r"loss (\S+)")
    for trial in range(2):
        watcher = Watcher()
        command.reading({}, trial, watcher)
        assert watcher.seen == [0.0, 1.0, 2.0]


def test_a_program_that_fails_does_not_tell_where_reports_are():
    program = "import sys\nif {fails}:\n sys.exit('loss 7')\nprint('loss 1')"
    command, watcher = (
        Command([sys.executable, "-c", program], report_regex=r"loss (\S+)"),
        Watcher(),
    )
    with pytest.raises(CommandFailed):
        command.reading({"fails": 1}, 0, Watcher())
    command.reading({"fails": 0}, 1, watcher)
    assert watcher.seen == [1.0]


def test_nothing_is_left_open_where_a_log_cannot_be_written(tmp_path):
    (tmp_path / "trial-0.err").mkdir()
    before = threading.active_count()
    with pytest.raises(IsADirectoryError):
        Command([sys.executable, "-c", "print(1)"], logs=tmp_path).reading({}, 0)
    assert threading.active_count() == before


def test_a_hopeless_program_is_killed():
    command = Command([sys.executable, "-c", EPOCHS], report_regex=r"loss ([.\d]+)")
    watcher, began = Watcher(most=3), time.monotonic()
    with pytest.raises(GivenUp):
        command.reading({}, 0, watcher)
    assert time.monotonic() - began < 1.8  # of the two seconds
    assert watcher.seen[:3] == [1.0, 0.5, pytest.approx(1 / 3)]


def test_a_program_that_ends_has_reported_all():
    quick = EPOCHS.replace("0.05", "0.001").replace("40", "9") + "print(7)"
    command = Command([sys.executable, "-c", quick], report_regex=r"loss ([.\d]+)")
    watcher = Watcher()
    assert command.reading({}, 0, watcher).value == 7.0
    assert len(watcher.seen) == 9
    assert command.run({}, 1) == 7.0  # nobody watches


def test_it_may_still_take_too_long():
    command = Command(
        [sys.executable, "-c", EPOCHS], report_regex=r"loss ([.\d]+)", trial_timeout=0.5
    )
    with pytest.raises(CommandFailed, match=r"no result after 0.5 s"):
        command.reading({}, 0, Watcher())


@pytest.mark.parametrize(("regex", "message"), [("(a", "is not valid"), ("(a)(b)", "2 groups")])
def test_what_an_expression_cannot_be(regex, message):
    with pytest.raises(ValueError, match=message):
        Command([sys.executable, "{x}"], report_regex=regex).check(["x"])
