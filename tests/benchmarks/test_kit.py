"""What the benchmarks share: results on disk."""

import json

import pytest
from benchmarks.kit.lines import append, read_lines, rewrite, whole_lines

# Lines


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
    assert list(whole_lines(path)) == [(1, b'{"a":1}\n'), (3, b'{"a":2}\n')]


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
