"""The package as a whole: what importing it costs, and that the documents' code runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WITH_OTHERS = {"frameworks.md", "botorch.md"}  # need torch: tests/bridges/test_frameworks.py
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if "```python" in page.read_text(encoding="utf-8") and page.name not in WITH_OTHERS
    ),
]


def test_importing_calibrant_loads_nothing_heavy():
    code = "import calibrant, sys; assert 'scipy.stats' not in sys.modules; "
    code += "print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    heavy = {
        "torch",
        "botorch",
        "sklearn",
        "pandas",
        "plotly",
        "optuna",
        "statsmodels",
        "rich",
        "typer",
    }
    assert not loaded & heavy


def test_every_public_name_exists():
    import calibrant

    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
        assert name in dir(calibrant)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = calibrant.nothing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_in_the_documents_runs(page, tmp_path, monkeypatch):
    """All Python blocks of a page, in order, as one program."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {"__name__": "__main__"})  # noqa: S102 - our own pages


# These need more packages, and have tests of their own: test_ray.py, test_search_cv.py,
# test_frameworks.py.
ELSEWHERE = {"botorch_loop.py", "dask_workers.py", "ray_tune.py", "search_cv.py"}
SLOW = {
    "compare_methods.py",
    "tune_classifier.py",
}  # seven methods, a search each; all have tests of their own
SCRIPTS = [
    pytest.param(path, marks=pytest.mark.slow if path.name in SLOW else (), id=path.name)
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.name not in ELSEWHERE
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_examples_run(script):
    printed = subprocess.check_output([sys.executable, str(script)], text=True)
    assert "80 % intervals held" in printed
