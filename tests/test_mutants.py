"""The tool that changes one thing at a time to see whether a test notices."""

import ast

from tools import mutants

SOURCE = '''
def clip(x: int = 3) -> int:
    """1 < 2"""
    if x < 0:
        raise ValueError(f"{x} < 0")
    seen[x] = max(x, 5)
    return -x
'''


def test_it_changes_what_is_done_and_not_what_is_said(tmp_path):
    (tmp_path / "clip.py").write_text(SOURCE)
    found = list(mutants.mutants(str(tmp_path / "clip.py")))
    assert {(mutant.before, mutant.after) for mutant in found} == {
        ("3", "4"),
        ("3", "2"),
        ("x < 0", "True"),
        ("x < 0", "False"),
        ("x < 0", "x <= 0"),
        ("0", "1"),
        ("seen[x] = max(x, 5)", "pass"),
        ("max", "min"),
        ("5", "6"),
        ("5", "4"),
        ("-x", "+x"),
    }
    original = ast.unparse(ast.parse(SOURCE))
    assert all(ast.unparse(ast.parse(mutant.source)) != original for mutant in found)
    assert len({mutant.source for mutant in found}) == len(found)


def test_the_files_and_tests_it_knows_exist():
    for file, tests in mutants.TESTS.items():
        assert next(mutants.mutants(file))
        assert all((mutants.ROOT / path).exists() for path in tests if path.startswith("tests/"))


def test_it_tells_survivors_from_what_is_noticed(tmp_path, monkeypatch):
    """In a checkout of one file with one test, which does not look at the ends."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "small.py").write_text("def small(x):\n    return x < 10\n")
    (tmp_path / "test_small.py").write_text(
        "from small import small\n\ndef test_small():\n    assert small(3) and not small(13)\n"
    )
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "SOURCE", tmp_path / "src")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    found = mutants.survivors("src/small.py", ["test_small.py"], jobs=2)
    assert [(mutant.before, mutant.after) for mutant in found] == [
        ("x < 10", "x <= 10"),
        ("10", "11"),
        ("10", "9"),
    ]
