"""Candidates, constraints and given values on the command line."""

import csv
import sys

import optuna
import pytest
from typer.testing import CliRunner

from calibrant import minimize
from calibrant.cli.inputs import parse_renamed, read_earlier, split_earlier
from calibrant.cli.main import app

runner = CliRunner()
PRINT = [sys.executable, "-c", "import sys; print(sum(map(float, sys.argv[1:])))"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("molecules.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "weight", "charge", "group"])
        writer.writerows([f"M{i}", 100 + i, (7 * i) % 30 / 30, "acid" if i % 2 else "base"]
                         for i in range(30))  # fmt: skip
    return tmp_path


def calibrant(*words):
    return runner.invoke(app, list(words))


def table():
    with open("data.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def trials():
    return optuna.load_study(study_name="calibrant", storage="sqlite:///calibrant.db").trials


def test_tune_keeps_to_constraints():
    found = calibrant(
        "tune", "-p", "a=0.0..1", "-p", "b=0.0..1", "--such-that", "a + b >= 1.5", "--trials", "7",
        "--seed", "0", "--", *PRINT, "{a}", "{b}",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert len(trials()) == 7
    assert all(trial.params["a"] + trial.params["b"] >= 1.5 for trial in trials())


def test_tune_tries_candidates_by_name():
    found = calibrant(
        "tune", "--candidates", "molecules.csv", "--names", "id", "--fix", "group=acid",
        "--trials", "6", "--", sys.executable, "-c", "import sys; print(sys.argv[1][1:])", "{name}",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "30 candidates, modelled by weight, charge, group" in found.output
    names = [trial.user_attrs["candidate"] for trial in trials()]
    assert len(set(names)) == 6
    assert all(int(name[1:]) % 2 for name in names)
    assert [trial.value for trial in trials()] == [float(name[1:]) for name in names]


def test_suggest_a_plate_of_candidates_and_read_it_back():
    options = ["suggest", "data.csv", "--candidates", "molecules.csv", "--names", "id", "-n", "6"]
    first = calibrant(*options, "--seed", "0")
    assert first.exit_code == 0, first.output
    rows = table()
    assert len({row["name"] for row in rows}) == 6
    for row in rows:
        row["value"] = row["charge"]
    with open("data.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    second = calibrant(*options, "--seed", "1")
    assert second.exit_code == 0, second.output
    assert len({row["name"] for row in table()}) == 12


def test_what_is_written_keeps_to_the_constraints():
    rule = "a + b + c == 1"
    found = calibrant(
        "suggest", "data.csv", "-p", "a=0.0..1", "-p", "b=0.0..1", "-p", "c=0.0..1",
        "--such-that", rule, "--such-that", "a <= 0.1", "-n", "5",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    for row in table():
        assert abs(sum(float(row[name]) for name in "abc") - 1.0) < 1e-9
        assert float(row["a"]) <= 0.1


def test_suggest_for_a_batch():
    found = calibrant(
        "suggest", "data.csv", "-p", "x=0.0..1", "-p", "batch=A,B", "--fix", "batch=B", "-n", "3"
    )
    assert found.exit_code == 0, found.output
    assert [row["batch"] for row in table()] == ["B"] * 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--candidates", "none.csv"], "none.csv does not exist"),
        (["--candidates", "molecules.csv", "--names", "key"], "must have a column `key`"),
        (["--candidates", "molecules.csv", "-p", "wait=0.0..1"], "`wait` is not a column"),
        (["-p", "x=0.0..1", "--fix", "batch=A"], "`batch` is given"),
        (["-p", "x=0.0..1", "--fix", "x"], "must be `name=value`"),
        (["-p", "x=0.0..1", "--fix", "x=7"], "but '7' is given"),
        (["-p", "x=0.0..1", "--such-that", "x > 2"], "No setting keeps to `x > 2`"),
        (["-p", "x=0.0..1", "--such-that", "y > 2"], "is about `y`"),
        ([], "nothing to choose"),
    ],
)
def test_bad_words_are_explained(words, message):
    found = calibrant("suggest", "data.csv", *words)
    assert found.exit_code != 0
    assert message in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("old.db", ("old.db", None)),
        ("sqlite:///old.db::first", ("sqlite:///old.db", "first")),
        ("postgresql://me@[::1]/db", ("postgresql://me@[::1]/db", None)),
        ("postgresql://me@[::1]/db::a::b", ("postgresql://me@[::1]/db", "a::b")),
    ],
)
def test_an_earlier_study_is_a_storage_and_a_name(text, expected):
    assert split_earlier(text) == expected


def test_earlier_studies_are_opened_and_their_parameters_renamed(tmp_path):
    url = f"sqlite:///{tmp_path}/old.db"
    minimize(
        lambda p: p["rate"], {"rate": (0.0, 1.0)}, 3, storage=url, study_name="a", progress=False
    )
    (one,) = read_earlier([f"{url}::a"], {"rate": "lr"})
    assert one.study.study_name == "a"
    assert one.rename == {"rate": "lr"}
    with pytest.raises(ValueError, match="which are rate, but names nope"):
        read_earlier([url], {"nope": "lr"})
    with pytest.raises(ValueError, match="has no study 'b'"):
        read_earlier([f"{url}::b"], {})


@pytest.mark.parametrize("text", ["lr", "=lr", "lr=", ""])
def test_a_new_name_needs_an_old_one(text):
    with pytest.raises(ValueError, match="`old=new`"):
        parse_renamed([text])


def test_tune_takes_earlier_studies():
    tune = ["tune", "--trials", "6", "--seed", "0", "-p", "b=0.0..1"]
    first = runner.invoke(
        app, [*tune, "-p", "a=0.0..1", "--storage", "sqlite:///old.db", "--", *PRINT, "{a}", "{b}"]
    )
    assert first.exit_code == 0, first.output
    told = [*tune, "-p", "c=0.0..1", "--earlier", "old.db", "--rename", "a=c"]
    second = runner.invoke(app, [*told, "--", *PRINT, "{c}", "{b}"])
    assert second.exit_code == 0, second.output
    study = optuna.load_study(study_name="calibrant", storage="sqlite:///calibrant.db")
    assert study.trials[0].value < 0.5
    alone = runner.invoke(app, [*tune, "--rename", "a=c", "--", *PRINT, "{b}"])
    assert alone.exit_code != 0
    assert "--rename is about earlier studies" in alone.output


SPACE = [
    "-p", "booster=tree,linear", "-p", "size=s,m,l:ordered",
    "-p", "steps=cut,fold,glue:permutation", "-p", "depth=2..12 if booster=tree",
]  # fmt: skip
# The number of arguments tells whether --depth came along.
COUNT = [sys.executable, "-c", "import sys; print(len(sys.argv) + sys.argv[1].index('g'))"]


def test_tune_takes_orders_permutations_and_conditions():
    found = calibrant(
        "tune", *SPACE, "--trials", "9", "--workers", "2", "--seed", "0", "--", *COUNT,
        "{steps}", "{size}", "{booster}", "--depth", "{depth}",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "depth: an integer from 2 to 12, if booster=tree" in found.output
    assert "steps: an order of cut, fold, glue" in found.output
    evaluated = [t for t in trials() if t.values]  # not one that was one too many
    assert len(evaluated) == 9
    for trial in evaluated:
        assert ("depth" in trial.params) == (trial.params["booster"] == "tree")
        options = 2 if "depth" in trial.params else 0
        assert trial.value == 4 + options + trial.params["steps"].index("g")
    shown = calibrant("recommend", "sqlite:///calibrant.db")
    assert shown.exit_code == 0, shown.output


def test_suggest_leaves_cells_of_parameters_empty_that_do_not_exist():
    for _ in range(3):
        found = calibrant("suggest", "data.csv", *SPACE, "-n", "4", "--seed", "0")
        assert found.exit_code == 0, found.output
        rows = table()
        with open("data.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            for row in rows:
                assert bool(row["depth"]) == (row["booster"] == "tree")
                writer.writerow({**row, "value": "smlg".index(row["size"]) + len(row["depth"])})
    assert len(rows) == 12
