"""Examples in docstrings are run as they are read: with no names but those they define."""

import doctest
import importlib
import warnings
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
WITH_EXAMPLES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
# What a module needs that is no dependency of the tests; `make test-torch` or `test-doors` has it.
NEEDS = {"calibrant.bridges.ax": "ax", "calibrant.bridges.botorch": "botorch",
         "calibrant.bridges.gest": "gest_api",
         "calibrant.bridges.networks": "torch", "calibrant.bridges.training": "torch"}  # fmt: skip


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name):
    for start, library in NEEDS.items():
        if name.startswith(start):
            pytest.importorskip(library, reason=f"needs {library}: see `make test-torch`")
            warnings.simplefilter("ignore")  # theirs; pytest puts the filters back
    result = doctest.testmod(importlib.import_module(name), globs={"__name__": "__main__"})
    assert result.attempted > 0
    assert result.failed == 0  # what went wrong is in the captured output


def test_the_front_doors_have_examples():
    for name in ("calibrant.search.optimizer", "calibrant.studies.minimize",
                 "calibrant.studies.sampler", "calibrant.recalibration.online"):  # fmt: skip
        assert name in WITH_EXAMPLES
