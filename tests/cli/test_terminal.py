"""Prose on a terminal."""

import io

from rich.console import Console

from calibrant.cli import terminal


def printed(words, width, monkeypatch, is_terminal=True):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=is_terminal, color_system=None)
    monkeypatch.setattr(terminal, "console", console)
    terminal.say(words)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_lines_that_follow_are_indented_as_the_first(monkeypatch):
    assert printed("  out of memory on device", 16, monkeypatch) == [
        "  out of memory",
        "  on device",
    ]
    assert printed("out of memory", 8, monkeypatch) == ["out of", "memory"]


def test_a_file_has_it_in_one_line(monkeypatch):
    words = "  out of memory on device"
    assert printed(words, 16, monkeypatch, is_terminal=False) == [words]
