"""The README: short, and every figure in it is one that a benchmark page prints."""

import json
import re
import shutil
import subprocess
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from scipy.stats import binomtest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PEERS = ROOT / "benchmarks" / "peers"
NAMES = {  # in the README: on the benchmark's page
    "calibrant, uncalibrated": "calibrant-raw",
    "calibrant": "calibrant",
    "Ax": "ax",
    "SMAC, black-box facade": "smac-blackbox",
    "Optuna GPSampler": "optuna-gp",
    "BoTorch": "botorch",
    "bayes_opt": "bayes_opt",
    "GPyOpt": "gpyopt",
    "HEBO": "hebo",
    "Optuna TPE": "optuna-tpe",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def rows(text):
    """Return the rows of the tables of a text, by what stands first in them."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    return {first: rest for first, *rest in cells if set(first) - set("-: ")}


def section(page, heading):
    """Return the part of a page under a heading."""
    text = page.read_text(encoding="utf-8")
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


def hundredths(text):
    """Return a printed number with two decimals; a half goes up, as in 0.565 → 0.57."""
    return str(Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP))


def prose():
    return re.sub(r"\s+", " ", README).replace("−", "-")


def test_it_is_short():
    assert len(README.splitlines()) <= 90
    (install,), (code,) = blocks(""), blocks("python")
    assert len(install.strip().splitlines()) == 3
    assert len([line for line in code.splitlines() if line]) == 5
    assert README.count("![") == 1
    assert len(re.findall(r"^\|[-:|]+\|$", README, re.MULTILINE)) == 1


def test_the_table_is_that_of_the_benchmark():
    page = rows(section(PEERS / "README.md", "30 evaluations, 12 tasks, slow systems too"))
    shown = rows(README)
    del shown["system"]
    assert set(shown) == set(NAMES)
    for system, (regret, time) in shown.items():
        measured = page[NAMES[system]]
        assert regret == hundredths(measured[0])
        number, unit = time.split()
        seconds = float(number) * {"ms": 1e-3, "s": 1.0}[unit]
        assert seconds == pytest.approx(float(measured[4]) / 1e3, rel=0.25)  # one digit of it
    regrets = sorted(cells[0] for cells in page.values() if re.fullmatch(r"[\d.]+", cells[0]))
    assert [hundredths(regret) for regret in regrets[: len(shown)]] == [
        regret for regret, _ in shown.values()
    ]  # in order, and no system that did better is left out


def test_the_leads_are_those_of_the_benchmark():
    def against(text, words):
        """Return a lead, its interval over repetitions and over tasks too, and the runs."""
        number = r"([-+][.\d]+)"
        pattern = (
            rf"{words}[^\n]*?mean regret {number} \({number} to {number} over repetitions, "
            rf"{number} to {number} over tasks[^\n]*? of (\d+) runs"
        )
        return [float(group) for group in re.search(pattern, text).groups()]

    some = section(PEERS / "README.md", "30 evaluations, 12 tasks, slow systems too")
    lead, low, high, wide_low, wide_high, _ = against(some, "other system of this table, ax")
    assert f"is {-lead:.3f} (95 % interval {-high:.3f} to {-low:.3f} for these tasks, " in prose()
    assert f"{-wide_high:.3f} to {-wide_low:.3f} for tasks like them" in prose()

    held_out = section(PEERS / "README.md", "30 evaluations, 12 held-out tasks")
    lead, low, high, _, _, runs = against(held_out, "more\\), ax has")
    assert f"Ax is {-lead:.3f} ({-high:.3f} to {-low:.3f}, {runs:.0f} runs)" in prose()

    ours, rival = (hundredths(rows(held_out)[name][0]) for name in ("calibrant", "optuna-gp"))
    assert f"calibrant has {ours}, GPSampler {rival}" in prose()


def test_what_calibration_does_to_a_search_is_what_its_page_says():
    page = ROOT / "benchmarks" / "calibrated" / "README.md"
    kinds = rows(section(page, "The default beside raw, by kind of task"))
    suite, held_out = (kinds[f"{part}: all"] for part in ("suite", "held out"))
    percent = [cells[4].replace("%", " %") for cells in (suite, held_out)]
    assert (
        f"It left {percent[0]} of {suite[1]} searches of the suite exactly as they were, and "
        f"{percent[1]} of {held_out[1]} on held-out tasks"
    ) in prose()
    chances = [hundredths(cells[-1]) for cells in (suite, held_out)]
    assert f"(p = {chances[0]} and {chances[1]})" in prose()
    areas = [
        rows(section(page, f"Control 1, std × {factor}"))[method][1].split()[0]
        for factor, method in (("0.1", "raw"), ("0.1", "default"), ("1", "raw"))
    ]
    assert f"falls from {areas[0]} to {areas[1]}; with the right std it is {areas[2]}" in prose()


def test_other_kinds_of_problems_are_as_their_page_says():
    page = (ROOT / "benchmarks" / "kinds" / "README.md").read_text(encoding="utf-8")
    of = rows(page.split("\n## ")[0])
    assert f"{of['long'][1]} of the best rival's regret with 300 evaluations" in prose()
    assert f"{of['mixed'][1]} in mixed spaces" in prose()
    assert f"{of['workers'][1]} with eight workers" in prose()
    assert f"{of['dimensions'][1]} in 50 to 100 dimensions" in prose()
    rival, ratio, p, *_ = of["noise"]
    assert f"with noise level with {rival.title()} ({ratio}, p = {float(p):.2f})" in prose()


def test_the_intervals_held_as_the_benchmark_says():
    lines = (PEERS / "shown-intervals.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    own = {}
    for row in cells:
        if len(row) == 7 and row[1] == "all":  # of the first table: all tasks
            own.setdefault(row[0], [round(float(row[k].split("%")[0])) for k in (2, 3)])
    assert f"held {own['1'][0]} % of the time, the calibrated ones {own['1'][1]} %;" in prose()
    assert f"16 evaluations at a time {own['16'][0]} % and {own['16'][1]} %" in prose()


def test_the_picture_shows_what_its_caption_says():
    """The record beside the picture is written when it is drawn: `make figures`."""
    lines = (ROOT / "docs" / "forecasts.jsonl").read_text(encoding="utf-8").splitlines()
    drawn = [json.loads(line) for line in lines]
    raw = sum(row["raw_low"] <= row["outcome"] <= row["raw_high"] for row in drawn) / len(drawn)
    held = sum(row["low"] <= row["outcome"] <= row["high"] for row in drawn) / len(drawn)
    assert (
        f"Of these {len(drawn)} outcomes the model's own intervals held {100 * raw:.0f} %, the "
        f"calibrated ones {100 * held:.0f} %"
    ) in prose()
    # The picture shows intervals that hold about 80 %: as far as chance goes in so few outcomes.
    assert binomtest(round(held * len(drawn)), len(drawn), 0.8).pvalue > 0.2


def commands():
    (install,) = blocks("")
    return [line.split("#")[0].strip() for line in install.splitlines()]


def test_the_first_two_commands_are_targets_that_do_what_they_say():
    for command, done in zip(commands(), ("calibrant demo", "-m pytest"), strict=False):
        program, target = command.split()
        planned = subprocess.run(
            [program, "--dry-run", target], cwd=ROOT, check=True, capture_output=True, text=True
        )
        assert done in planned.stdout


@pytest.mark.slow
def test_what_it_says_to_install_installs(tmp_path):
    """The third command, in a copy of what is installed: needs a package index."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    script = f"python3 -m venv new && . new/bin/activate && {commands()[2]} && calibrant --version"
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
