"""The rooms: import contracts that cannot be walked around, one table of public names."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "calibrant"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def lint_imports(source):
    """Check the contracts of pyproject.toml on a copy of the package; return code and output."""
    command = [
        sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()",
        "--no-cache", "--config", str(ROOT / "pyproject.toml"),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # no colours


@pytest.fixture(scope="module")
def linter():
    pytest.importorskip("importlinter", reason="needs import-linter: pip install 'calibrant[test]'")


@pytest.fixture
def source(linter, tmp_path):
    """A copy of the package that a test may spoil."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "src" / "calibrant", ignore=ignore)
    return tmp_path / "src"


ROOMS_CONTRACT = "Rooms: each knows only those below it"
OPTUNA = "Optuna is known to studies and to what stands on them"
HEAVY = "Heavy libraries stay in the bridges"
EVALUATION = "Evaluation looks on: a search does not know it"


def test_the_contracts_hold_for_what_is_there(source):
    code, output = lint_imports(source)
    assert code == 0, output
    assert "0 broken" in output


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        # files that exist
        ("acquisition/conformal.py", "import optuna", OPTUNA),
        ("search/argmax.py", "from calibrant.evaluation import figures", EVALUATION),
        ("models/bagging.py", "import torch", HEAVY),
        ("recalibration/leader.py", "from sklearn import isotonic", HEAVY),
        ("evaluation/replay.py", "import plotly.graph_objects", "Only figures"),
        ("studies/review.py", "from calibrant.decisions import believe", ROOMS_CONTRACT),
        ("decisions/belief.py", "import torch", HEAVY),
        ("decisions/belief.py", "from calibrant.reporting import report", ROOMS_CONTRACT),
        ("reporting/svg.py", "import plotly.graph_objects", "Only figures"),
        # inside a function, or for type checkers only
        ("core/cube.py", "def sneak():\n    from calibrant.search import step", ROOMS_CONTRACT),
        (
            "models/gp.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import optuna",
            OPTUNA,
        ),
        # by way of the package's front door, which loads any room
        ("forecasts/normal.py", "from calibrant import CalibratedSampler", ROOMS_CONTRACT),
        ("search/history.py", "import calibrant", ROOMS_CONTRACT),
        # a file that nobody listed
        ("forecasts/brand_new.py", "import pandas", HEAVY),
        ("acquisition/brand_new.py", "from calibrant.search import Optimizer", ROOMS_CONTRACT),
        ("models/kernels/brand_new.py", "import optuna.samplers", OPTUNA),
        # a room that nobody listed, even if it imports nothing
        ("attic/__init__.py", "", ROOMS_CONTRACT),
        ("attic.py", "", ROOMS_CONTRACT),
    ],
)
def test_a_forbidden_import_is_refused(source, file, line, contract):
    path = source / "calibrant" / file
    path.parent.mkdir(exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{before}\n{line}\n", encoding="utf-8")
    code, output = lint_imports(source)
    assert code == 1, output
    broken = [text for text in output.splitlines() if " BROKEN" in text]
    assert any(text.startswith(contract) for text in broken), output


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_owns_and_what_it_may_use(room):
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text("utf-8")))
    starts = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert "Owns" in starts
    assert "May use" in starts
    assert {"Public name", "Public names"} & set(starts)


def test_every_module_is_in_a_room():
    loose = {path.name for path in PACKAGE.iterdir() if path.suffix in (".py", ".typed")}
    assert loose == {"__init__.py", "__main__.py", "py.typed"}


def names_for_type_checkers():
    """Return what the TYPE_CHECKING block of the package imports: name, and where from."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imported = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            assert alias.asname == alias.name  # else it is not exported again
            assert alias.name not in imported
            imported[alias.name] = (statement.module, alias.name)
    return imported


def test_the_public_table_is_told_once_to_everybody():
    homes, modules = calibrant._HOMES, calibrant._MODULES
    assert not homes.keys() & modules.keys()
    assert calibrant.__all__ == sorted([*homes, *modules])
    assert set(calibrant.__all__) <= set(dir(calibrant))
    public = {name for name in dir(calibrant) if not name.startswith("_")}
    # Rooms appear once they are loaded; the rest of the module's own names are its imports.
    assert public <= {*calibrant.__all__, *ROOMS, "TYPE_CHECKING", "Any", "import_module"}
    lazy = {name: (f"calibrant.{room}", name) for name, room in homes.items()}
    for name, path in modules.items():
        package, _, module = f"calibrant.{path}".rpartition(".")
        assert module == name
        lazy[name] = (package, name)
    assert names_for_type_checkers() == lazy


def test_every_public_name_comes_from_its_room_and_is_public_there():
    for name, room in calibrant._HOMES.items():
        module = sys.modules[getattr(calibrant, name).__module__]
        assert f"{module.__name__}.".startswith(f"calibrant.{room}.")
        assert name in sys.modules[f"calibrant.{room}"].__all__
