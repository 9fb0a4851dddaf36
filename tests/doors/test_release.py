"""A release that anybody can make: the files, what they say, and the same bytes twice."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PARTS = ("src", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "ARCHITECTURE.md")


def build(folder):
    """Build sdist and wheel from a copy of the checkout; return them by name, as bytes."""
    for part in (*PARTS, "pyproject.toml"):
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copyfile(ROOT / part, folder / part)  # with a time of its own
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in sorted((folder / "dist").iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build", reason="needs pip install build hatchling")
    pytest.importorskip("hatchling", reason="needs pip install build hatchling")
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder / "dist"


def test_the_same_source_gives_the_same_bytes(built, tmp_path):
    again = build(tmp_path)
    assert len(again) == 2
    assert again == {path.name: path.read_bytes() for path in built.iterdir()}


def test_the_wheel_holds_the_library_alone(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"calibrant-{calibrant.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "calibrant", "hydra_plugins", f"calibrant-{calibrant.__version__}.dist-info"
    }  # fmt: skip
    assert "calibrant/py.typed" in names
    assert "hydra_plugins/calibrant_sweeper/__init__.py" in names
    assert "hydra_plugins/__init__.py" not in names  # it is shared with other packages
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2].split("/")[0] for name in archive.getnames()}
    assert set(PARTS) <= inside
    assert not inside & {"tests", "benchmarks", "docs", ".github"}


def test_twine_and_check_wheel_contents_have_no_complaint(built):
    pytest.importorskip("twine", reason="needs pip install twine")
    pytest.importorskip("check_wheel_contents", reason="needs pip install check-wheel-contents")
    files = sorted(map(str, built.iterdir()))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    command = [sys.executable, "-m", "check_wheel_contents", "--config", "pyproject.toml"]
    wheels = [file for file in files if file.endswith(".whl")]
    subprocess.run([*command, *wheels], check=True, cwd=ROOT)


def test_every_file_names_this_version():
    version = calibrant.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version = "{version}"' in (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == version


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    listed = {re.sub(r"[ -]", "", line) for line in run.splitlines()}
    assert listed == {
        f"python{PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]
    }  # fmt: skip


def test_workflows_and_forms_are_yaml_and_run_what_exists():
    yaml = pytest.importorskip("yaml", reason="needs pip install pyyaml")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    files = sorted((ROOT / ".github").rglob("*.yml"))
    assert {path.stem for path in files} >= {"test", "docs", "publish", "bug"}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert isinstance(yaml.safe_load(text), dict), path
        for target in re.findall(r"run: make (\S+)", text):
            assert f"\n{target}:" in makefile, (path, target)
    test = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    tried = test["jobs"]["test"]["strategy"]["matrix"]["python"]
    classifiers = " ".join(PROJECT["project"]["classifiers"])
    assert tried == re.findall(r"Python :: (3\.\d+)", classifiers)
    yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_no_message_names_an_extra_that_there_is_not():
    extras = set(PROJECT["project"]["optional-dependencies"])
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(r"(?:calibrant|'\.)\[([\w,]+)\]", path.read_text(encoding="utf-8"))
        for extra in {one for names in named for one in names.split(",")}:
            assert extra in extras, (path, extra)
        # A message names the package that is missing, which can be found whatever calibrant's is.
        assert not named or path.suffix == ".md", path
