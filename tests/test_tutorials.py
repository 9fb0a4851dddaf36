"""The commands of the documents, run as a reader would: files as shown, then line by line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
_COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILES = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if _COMMANDS.search(page.read_text("utf-8"))]


@pytest.fixture
def shell(tmp_path):
    """Run commands in an empty folder, where `calibrant` and `python` are those of the tests."""
    programs, folder = tmp_path / "bin", tmp_path / "here"
    programs.mkdir()
    folder.mkdir()
    for name, words in (("python", ""), ("calibrant", " -m calibrant")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100"}

    def run(files, commands):
        for name, text in files:
            (folder / name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["bash", "-e", "-c", commands], cwd=folder, env=environment, text=True,
            capture_output=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, shell):
    text = page.read_text(encoding="utf-8")
    printed = shell(_FILES.findall(text), "\n".join(_COMMANDS.findall(text)))
    said = plain(printed)
    for shown in re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in shown.splitlines():
            assert plain(line) in said, printed


def plain(text):
    """Return words with every number as 0: settings differ from machine to machine."""
    return " ".join(re.sub(r"-?\d[\d.,]*(?:e-?\d+)?", "0", text).split())
