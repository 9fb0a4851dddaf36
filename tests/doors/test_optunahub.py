"""OptunaHub's door: the package folder for its registry, loaded without a network."""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_readme import NAMES, README, rows

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "optunahub-registry" / "package"
PACKAGE = REGISTRY / "samplers" / "calibrant"
PAGE = (PACKAGE / "README.md").read_text(encoding="utf-8")

needs_optunahub = pytest.mark.skipif(
    importlib.util.find_spec("optunahub") is None, reason="needs pip install optunahub"
)


def test_the_folder_has_what_the_registry_asks_for():
    import optuna

    assert {"LICENSE", "README.md", "__init__.py", "example.py", "requirements.txt"} <= {
        path.name for path in PACKAGE.iterdir()
    }
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    front = dict(re.findall(r"^(\w+): (.+)$", PAGE.split("---")[1], re.MULTILINE))
    assert set(front) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert front["tags"].startswith("[sampler, ")
    assert front["license"] == "MIT License"
    assert optuna.__version__ in front["optuna_versions"]
    assert not re.search(r"</?[a-z]+[ >]", PAGE)  # HTML is not shown
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", PAGE):
        assert (PACKAGE / picture).exists()


def test_its_figures_are_those_of_the_readme():
    shown, ours = rows(PAGE), rows(README)
    assert {name: shown[name] for name in NAMES} == {name: ours[name] for name in NAMES}
    text, known = (re.sub(r"\s+", " ", page) for page in (PAGE, README))
    for claim in (
        "calibrant has 0.37",
        "GPSampler 0.57",
        "own 80 % intervals held 64 % of the time, the calibrated ones 82 %",
        "t left 97 % of 720 searches of the suite exactly as they were",
    ):
        assert claim.replace("calibrant has 0.37", "has 0.37") in text
        assert claim in known


@needs_optunahub
def test_its_own_tests_pass():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("..")  # none was skipped


@needs_optunahub
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_example_and_the_page_run(tmp_path, monkeypatch, capsys):
    import optunahub

    def load(package):
        return optunahub.load_local_module(package, registry_root=str(REGISTRY))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(optunahub, "load_module", load)
    runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "intervals, promised with 80 %" in said
    assert float(re.search(r"best value (\S+)", said)[1]) < 0.1
    assert (tmp_path / "reliability.html").exists()

    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code.replace(".show()", ".to_json()"), {})  # noqa: S102 - our own page
    assert "intervals, promised with 80 %" in capsys.readouterr().out
