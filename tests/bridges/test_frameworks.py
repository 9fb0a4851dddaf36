"""The code of documents about other frameworks, where these are installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "frameworks.md"
SECTIONS = {
    section.splitlines()[0]: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
}


@pytest.mark.filterwarnings("default")  # other libraries', which are theirs to mend
@pytest.mark.parametrize("title", [title for title, blocks in SECTIONS.items() if blocks])
def test_the_code_of_a_section_runs(title):
    code = "\n".join(SECTIONS[title])
    for package in set(re.findall(r"^(?:from|import) (\w+)", code, re.MULTILINE)) - {"calibrant"}:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: make test-torch")
    if "networks" in code and importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch: make test-torch")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - our own page


@pytest.mark.skipif(
    importlib.util.find_spec("botorch") is None, reason="needs BoTorch: make test-torch"
)
def test_a_loop_of_botorch():
    printed = subprocess.check_output(
        [sys.executable, "-W", "ignore", str(ROOT / "examples" / "botorch_loop.py")], text=True
    )
    assert float(re.search(r"best (\S+) of", printed)[1]) > 1.5
    assert "80 % intervals held" in printed


@pytest.mark.filterwarnings("default")  # other libraries', which are theirs to mend
@pytest.mark.skipif(
    importlib.util.find_spec("botorch") is None, reason="needs BoTorch: make test-torch"
)
def test_the_tutorial_of_botorch_runs(capsys):
    page = (ROOT / "docs" / "tutorials" / "botorch.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    exec(code, {"__name__": "__main__"})  # noqa: S102 - our own page
    assert "of 6 intervals of 80 % held" in capsys.readouterr().out
