"""Programs: what they are given, and what is read from them."""

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from calibrant.studies.program import Command, CommandFailed, given

PYTHON = sys.executable


def program(code, *arguments, **options):
    return Command([PYTHON, "-c", code, *arguments], **options)


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("loss 0.25", 0.25),
        ("epoch 3: loss=1e-3, acc=97.5%", 97.5),
        ("0.5\ndone in 12 s\n-3", -3.0),
        ("v2 resnet50 err: .125", 0.125),
        ("5 then +7.", 7.0),
        ("1e300", 1e300),
        ("loss 0.25\ndone in 3.2s", 0.25),
        ("0.5 after 12.5ms, 3.5GiB", 0.5),
        ("loss=\N{MINUS SIGN}0.5", -0.5),
        ("\x1b[32m0.5\x1b[0;39m", 0.5),
        ("3,0.25", 0.25),
        ("9" * 100_000 + "x 2", 2.0),
        ("1,2,3", 3.0),
        ("1, 25", 25.0),
    ],
)
def test_the_last_number_counts(printed, number):
    assert program(f"print({printed!r})").run({}, 0) == number


def test_very_long_output():
    assert program("print('x' * 5_000_000, 7)").run({}, 0) == 7


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("print('no result')", "no number in the program's output"),
        ("print('v2')", "no number"),
        ("print('loss nan')", "is nan"),
        ("print('1\\nInf')", "is inf"),
        ("import sys; sys.exit(3)", "exit code 3: no output"),
        ("raise ValueError('boom')", "exit code 1: ValueError: boom"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("print('loss: 1,234.5')", "write it without commas"),
        ("print('Verlust: 0,25')", "write it without commas"),
    ],
)
def test_what_goes_wrong_is_said(code, complaint):
    with pytest.raises(CommandFailed, match=complaint):
        program(code).run({}, 0)


def test_a_program_that_does_not_exist():
    with pytest.raises(CommandFailed, match="does not start: No such file"):
        Command(["/no/such/program"]).run({}, 0)


def test_arguments_are_filled_in_and_never_seen_by_a_shell():
    code = "import sys; print(repr(sys.argv[1:])); print(1)"
    show = "import sys; sys.exit(repr(sys.argv[1:]))"
    texts = ["--lr={lr}", "{name} {trial}", "{{keep}}", '{"json": {"a": 1}}']
    command = Command([PYTHON, "-c", show, *texts])
    with pytest.raises(CommandFailed) as failure:
        command.run({"lr": 1e-05, "name": "$(rm -rf x); `ls` 'q'"}, 7)
    assert "--lr=1e-05" in str(failure.value)
    assert "$(rm -rf x); `ls`" in str(failure.value)
    assert "7" in str(failure.value)
    assert "'{keep}'" in str(failure.value)
    assert '{"json": {"a": 1}}' in str(failure.value)
    assert program(code).run({}, 0) == 1


@pytest.mark.parametrize(
    ("printed", "field"),
    [
        ('{"loss": 0.5}', "loss"),
        ('log line\n{"loss": 9}\n{"val": {"loss": 0.5}}\nbye', "val.loss"),
        ('{\n "loss": "0.5"\n}', "loss"),
        ('epoch 1\n{\n "loss": 0.5\n}\nbye', "loss"),
        ('result: {"loss": 0.5} in 3 s', "loss"),
        ('{"val.loss": 0.5}', "val.loss"),
        ('{"loss": 0.5}\n{"loss": true}', "loss"),
        ('{"loss": 0.5, "history": [{"epoch": 1, "loss": 5.0}, {"loss": 7.0}]}', "loss"),
        ('{"metrics": {"loss": 0.5}}', "loss"),
        ('{"of": [{"loss": 7.0}, {"loss": 0.5}]}', "loss"),
        ('set {1, 2} {"loss": 0.5} {"val": {"loss": 7.0}} }', "loss"),
    ],
)
def test_a_json_field(printed, field):
    assert program(f"print({printed!r})", json_field=field).run({}, 0) == 0.5


def test_a_json_field_that_is_not_there():
    with pytest.raises(CommandFailed, match="no JSON object with a number `loss`"):
        program("""print('{"acc": 1}\\n[1]\\n3')""", json_field="loss").run({}, 0)


@pytest.mark.parametrize("last", ["null", '"diverged"', "[]"])
def test_a_last_field_that_is_no_number_is_not_replaced_by_an_earlier_one(last):
    code = f"""print('{{"loss": 1.0}}\\n{{"loss": {last}}}')"""
    with pytest.raises(CommandFailed, match="the last `loss` in the program's output is "):
        program(code, json_field="loss").run({}, 0)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_limited_field_that_is_not_finite_is_named(number):
    code = f"""print('{{"loss": 0.5, "memory": {number}}}')"""
    with pytest.raises(
        CommandFailed, match=rf"`memory` in the program's output is {float(number)}"
    ):
        program(code, json_field="loss", limits={"memory": 8.0}).run({}, 0)


def test_a_json_object_longer_than_the_end_of_the_output():
    code = """
import json
history = [{"epoch": k, "loss": 9.0 + k} for k in range(60_000)]
print(json.dumps({"loss": 0.25, "history": history}))
"""
    assert program(code, json_field="loss").run({}, 0) == 0.25


def test_the_result_file_of_several_jobs_has_the_trial_in_its_name():
    command = program("pass", "{act}", result_file="res_{act}.txt")
    command.check(["act"])
    with pytest.raises(ValueError, match=r"put `\{trial\}` in its name"):
        command.check(["act"], jobs=2)


def test_a_result_file(tmp_path):
    path = str(tmp_path / "result-{trial}.txt")
    code = "import sys; open(sys.argv[1], 'w').write('loss 2.5'); print(99)"
    assert program(code, path, result_file=path).run({}, 4) == 2.5


def test_a_result_file_from_an_earlier_run_does_not_count(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("1.0")
    with pytest.raises(CommandFailed, match="was not written"):
        program("pass", result_file=str(path)).run({}, 0)
    with pytest.raises(CommandFailed, match="was not written"):
        program("pass", result_file=str(tmp_path / "none.txt")).run({}, 0)


def test_a_time_out_kills_the_program_and_its_children(tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    child = f"import time; open({str(begun)!r}, 'w'); time.sleep(4); open({str(ended)!r}, 'w')"
    start = f"subprocess.Popen([{PYTHON!r}, '-c', {child!r}])"
    code = f"import subprocess, time; {start}; time.sleep(60)"
    with pytest.raises(CommandFailed, match=r"no result after 2\.5 s"):
        program(code, trial_timeout=2.5).run({}, 0)
    assert begun.exists()
    time.sleep(4.5)
    assert not ended.exists()


def test_a_child_left_in_the_background_holds_nothing_up():
    code = f"import subprocess; subprocess.Popen([{PYTHON!r}, '-c', 'import time; time.sleep(60)'])"
    start = time.monotonic()
    assert program(f"{code}; print(0.5)", trial_timeout=20).run({}, 0) == 0.5
    assert time.monotonic() - start < 10


def test_an_argument_that_cannot_be_passed():
    with pytest.raises(CommandFailed, match="does not start: embedded null"):
        Command(["echo", "a\0b"]).run({}, 0)


def test_stop_kills_what_runs_and_starts_nothing_else():
    command = program("import time; time.sleep(60)")
    failures = []

    def run():
        try:
            command.run({}, 0)
        except CommandFailed as failure:
            failures.append(str(failure))

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and not command._running:
        time.sleep(0.01)
    command.stop()
    thread.join(timeout=10)
    assert failures == ["killed by signal 9: no output"]
    with pytest.raises(CommandFailed, match="stopped"):
        command.run({}, 1)


def test_placeholders_are_checked_before_anything_runs(tmp_path):
    Command(["true", "{a}", "--x={b}", "{trial}"]).check(["a", "b"])
    with pytest.raises(ValueError, match=r"`\{c\}` is not among the parameters"):
        Command(["true", "{a}", "{c}"]).check(["a"])
    with pytest.raises(ValueError, match="`b` is never used"):
        Command(["true", "{a}"]).check(["a", "b"])
    with pytest.raises(ValueError, match="`trial` is the number"):
        Command(["true", "{trial}"]).check(["trial"])
    with pytest.raises(ValueError, match="`pyton` was not found"):
        Command(["pyton", "{a}"]).check(["a"])
    Command(["{a}"]).check(["a"])  # which program it is, is part of the search
    with pytest.raises(ValueError, match="program is missing"):
        Command([]).check([])
    with pytest.raises(ValueError, match="trial_timeout > 0"):
        Command(["true", "{a}"], trial_timeout=0.0).check(["a"])
    with pytest.raises(ValueError, match="same result file"):
        Command(["true", "{a}"], result_file="out.txt").check(["a"], jobs=2)
    Command(["true", "{a}"], result_file="out-{trial}.txt").check(["a"], jobs=2)
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.parametrize(
    ("printed", "regex", "number"),
    [
        ("loss 0.482 after 12 epochs", r"loss ([-.\d]+)", 0.482),
        ("loss 3\nloss 0.5 done 9", r"loss ([-.\d]+)", 0.5),  # the last match
        ("a 1e-3 b", r"\d+e-\d+", 1e-3),  # no group: the match
        ("x=\N{MINUS SIGN}2.5;", r"x=(.*?);", -2.5),
        ("first 7\nsecond 8", r"^first (\d)", 7.0),  # lines have beginnings
    ],
)
def test_a_regular_expression_says_which_number(printed, regex, number):
    assert program(f"print({printed!r})", result_regex=regex).run({}, 0) == number


@pytest.mark.parametrize(
    ("regex", "complaint"),
    [
        ("acc ([.0-9]+)", "nothing in the program's output matches"),
        ("loss (.*)", "is no number: '0.5 after 3'"),
    ],
)
def test_a_regular_expression_that_finds_no_number(regex, complaint):
    with pytest.raises(CommandFailed, match=complaint):
        program("print('loss 0.5 after 3')", result_regex=regex).run({}, 0)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"result_regex": "("}, "is not valid"),
        ({"result_regex": "(a)(b)"}, "has 2 groups"),
        ({"result_regex": "a", "json_field": "b"}, "not both"),
    ],
)
def test_a_bad_regular_expression_is_refused_before_anything_runs(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        program("print(1)", **options).check([])


def test_what_was_read_first_is_told():
    command = program("import sys; print('loss', sys.argv[1], 'after 12 epochs')", "{a}")
    assert command.first_reading is None
    command.run({"a": 0.482}, 0)
    command.run({"a": 0.5}, 1)
    assert str(command.first_reading) == 'read 12 from "loss 0.482 after 12 epochs"'


def test_output_is_kept_where_logs_say(tmp_path):
    code = (
        "import sys; print('out', 0.5); print('err', file=sys.stderr); sys.exit(int(sys.argv[1]))"
    )
    command = program(code, "{code}", logs=tmp_path / "a" / "b")
    assert command.run({"code": 0}, 3) == 0.5
    with pytest.raises(CommandFailed, match="exit code 1: err"):
        command.run({"code": 1}, 4)
    kept = {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()}
    assert kept == {f"trial-{n}.{end}": text for n in (3, 4)
                    for end, text in (("out", "out 0.5\n"), ("err", "err\n"))}  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("tensor(0.25, device='cuda:0')", 0.25),
        ("loss 0.5 on cuda:1", 0.5),
        ("0.75 /job:localhost/device:GPU:0", 0.75),
        ("loss:0.125", 0.125),
        ("tensor(-3.5e-2, device='cuda:0', dtype=torch.float64)", -0.035),
    ],
)
def test_the_number_of_a_device_is_no_result(printed, value):
    command = Command([sys.executable, "-c", f"print({printed!r}, {{x}} and '')"])
    assert command.run({"x": 1}, 0) == value


def test_a_full_or_missing_temporary_folder_changes_nothing(monkeypatch):
    """Output used to go through files there: what a full disk had cut was read as the result."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    printing = "for k in range(100000): print('epoch', k)\nprint('loss', 0.48, {x} and '')"
    assert Command([sys.executable, "-c", printing]).run({"x": 1}, 0) == 0.48


MUCH = """
import json, sys
line = json.dumps({"epoch": 1, "history": [{"loss": 9.0}] * 1000}) + "\\n"
for _ in range(int(sys.argv[1]) * 2**20 // len(line)):
    sys.stdout.write(line)
"""


def test_much_output_is_not_held_in_memory():
    ending = "\nprint(json.dumps({'loss': 0.25, 'history': [{'loss': 8.0}]}))"
    command = Command([sys.executable, "-c", MUCH + ending, "60", "{x}"], json_field="loss")
    tracemalloc.start()
    try:
        assert command.run({"x": 1}, 0) == 0.25
        # of 60 MB; all of it, decoded, took 700 MB
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def test_an_object_that_was_cut_in_two_is_not_read_as_those_inside_it():
    one = "print('{' + '\"a\": [{\"loss\": 1.0}], ' * 500000 + '\"b\": 0}' + '{x}'[:0])"
    command = Command([sys.executable, "-c", one], json_field="loss")
    with pytest.raises(CommandFailed, match="no JSON object"):
        command.run({"x": 1}, 0)


KILLED = """
import os, signal, sys, threading, time
from calibrant.studies.program import Command
program = "import os, time; open('pid', 'w').write(str(os.getpid())); os.fork(); time.sleep(60)"
command = Command([sys.executable, "-c", program, "{x}"])
def kill():
    while not (os.path.exists("pid") and open("pid").read()):
        time.sleep(0.01)
    time.sleep(0.5)  # a loop that never rests keeps the tuner from watching at all
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=kill).start()
command.run({"x": 1}, 0)
"""


def test_programs_end_with_a_tuner_that_is_killed(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    group = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the program goes on")


def test_a_watchdog_that_was_killed_stops_nothing():
    command = Command([sys.executable, "-c", "print({x})"])
    assert command.run({"x": 1}, 0) == 1.0
    command._watchdog._dog.kill()
    command._watchdog._dog.wait()
    assert command.run({"x": 2}, 1) == 2.0


def test_arguments_of_a_parameter_that_does_not_exist_are_left_out():
    arguments = ["run", "-v", "--depth", "{depth}", "--rate={rate}", "{mode}", "--deep", "x{depth}"]
    assert given(arguments, {"mode": "fast", "rate": 0.1}) == [
        "run", "-v", "--rate=0.1", "fast", "--deep",
    ]  # fmt: skip
    assert given(arguments, {"mode": "fast", "depth": 3}) == [
        "run", "-v", "--depth", "3", "fast", "--deep", "x3",
    ]  # fmt: skip
