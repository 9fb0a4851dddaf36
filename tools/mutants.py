"""Change one thing at a time in a source file, run its tests, and list the changes they miss.

    python tools/mutants.py                                     # the theorem and the step
    python tools/mutants.py src/calibrant/search/step.py --tests tests/search --jobs 2

A change that no test notices (a *survivor*) is either equivalent, that is, it makes no difference
that anybody could see, or it shows a test that is missing. Nothing is changed in the checkout: each
worker has a copy of the sources, which its tests import instead.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
_OF_SEARCH = ["tests/search", "tests/studies/test_failures.py", "tests/studies/test_reports.py"]
# Files that are tried unless others are named, and the tests that should notice, quick ones first.
TESTS = {
    "src/calibrant/recalibration/guarantee.py": ["tests/recalibration/test_guarantee.py"],
    "src/calibrant/recalibration/online.py": [
        "tests/recalibration/test_recalibrators.py",
        "tests/recalibration/test_guarantee.py",
        "tests/recalibration/test_online.py",
        "-k",
        "online or guarantee or state",  # of what is the same for every recalibrator
    ],
    "src/calibrant/search/history.py": _OF_SEARCH,
    "src/calibrant/search/step.py": _OF_SEARCH,
    "src/calibrant/search/stagnation.py": ["tests/search/test_stagnation.py"],
}
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
WORDS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
         "left": "right", "right": "left", "any": "all", "all": "any"}  # fmt: skip
SKIPPED = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)  # what is said, not what is done
PATIENCE = 4.0  # times as long as without a change, and the tests are taken to hang


class Mutant(NamedTuple):
    """One change to one file."""

    file: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  →  {self.after}"


def mutants(file: str) -> Iterator[Mutant]:
    """Yield every change of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for node in _code(tree):
        for field, value in _changes(node):
            old, before = getattr(node, field), _line(node)
            setattr(node, field, value)
            yield Mutant(file, node.lineno, before, _line(node), ast.unparse(tree))
            setattr(node, field, old)
        for field in ("body", "orelse"):  # leave a statement out
            statements = getattr(node, field, None)
            for k, statement in enumerate(statements if isinstance(statements, list) else ()):
                if _acts(statement):
                    setattr(node, field, [*statements[:k], ast.Pass(), *statements[k + 1 :]])
                    source = ast.unparse(tree)
                    yield Mutant(file, statement.lineno, _line(statement), "pass", source)
            if statements is not None:
                setattr(node, field, statements)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed: no annotations, decorators, docstrings or messages of errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            named_for_people = isinstance(child, ast.FunctionDef) and child.name == "__repr__"
            if isinstance(child, ast.AST) and not (
                text or named_for_people or isinstance(child, SKIPPED)
            ):
                if hasattr(child, "lineno"):
                    yield child
                yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield fields of a node, each with another value for it."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "test", ast.Constant(value=True)
        yield "test", ast.Constant(value=False)
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            yield "ops", [*node.ops[:k], SWAPS[type(op)](), *node.ops[k + 1 :]]
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield "op", SWAPS[type(node.op)]()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "op", ast.UAdd()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "value", not node.value
        elif isinstance(node.value, (int, float)):
            yield "value", node.value + 1
        if type(node.value) is int and node.value > 0:
            yield "value", node.value - 1
    for field in ("id", "attr", "value"):
        word = getattr(node, field, None)
        if isinstance(word, str) and word in WORDS:
            yield field, WORDS[word]


def _acts(statement: ast.stmt) -> bool:
    """Whether a statement does something, and does not just name a value or return it."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript)
    return isinstance(statement, (ast.AugAssign, ast.Continue, ast.Break))


def _line(node: ast.AST) -> str:
    """Return a node's code on one line; of a branch only its condition."""
    if isinstance(node, (ast.If, ast.While)):
        node = node.test
    return " ".join(ast.unparse(node).split())


def run(sources: Path, tests: list[str], limit: float | None = None) -> bool:
    """Return whether the tests pass, and in time, with these sources."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(sources)}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode > 3:  # no tests were found: that is no verdict
        sys.exit(done.stdout.decode() + done.stderr.decode())
    return done.returncode == 0


def survivors(file: str, tests: list[str], jobs: int) -> list[Mutant]:
    """Return the changes of a file that its tests do not notice."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as workers:
        copies: SimpleQueue[Path] = SimpleQueue()
        for k in range(jobs):
            copies.put(Path(shutil.copytree(SOURCE, Path(folder) / str(k))))
        start = time.monotonic()
        copy = copies.get()
        if not run(copy, tests):
            sys.exit(f"{' '.join(tests)}: they fail without any change.")
        copies.put(copy)
        limit = PATIENCE * (time.monotonic() - start) + 10.0

        def survives(mutant: Mutant) -> bool:
            copy = copies.get()
            changed = copy / Path(file).relative_to("src")
            changed.write_text(mutant.source, encoding="utf-8")
            found = run(copy, tests, limit)
            shutil.copy(ROOT / file, changed)
            copies.put(copy)
            return found

        tried = sorted(mutants(file), key=lambda mutant: mutant.line)
        found = []
        for k, (mutant, lives) in enumerate(
            zip(tried, workers.map(survives, tried), strict=True), start=1
        ):
            print(f"\r{file}: {k} of {len(tried)}", end="", file=sys.stderr, flush=True)
            if lives:
                found.append(mutant)
                print(f"\r{mutant}", flush=True)
    print(f"\r{file}: {len(found)} of {len(tried)} changes survived", flush=True)
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="sources, from the top of the checkout")
    parser.add_argument("--tests", nargs="+", help="those that should notice; pytest's arguments")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    for file in options.files or TESTS:
        room = "tests/" + Path(file).parent.name  # tests mirror the rooms
        survivors(file, options.tests or TESTS.get(file, [room]), options.jobs)


if __name__ == "__main__":
    main()
