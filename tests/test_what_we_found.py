"""docs/what-we-found.md: every figure in its tables is one that a benchmark page prints."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "what-we-found.md").read_text(encoding="utf-8").replace("−", "-")
PROSE = re.sub(r"\s+", " ", PAGE)
MODELS = {"the paper's": "rbf", "ours": "calibrant"}
BOUNDS = {"mean - 2 std": "LCB", "mean - 1.28 std": "LCB-10%", "EI": "EI", "PI": "PI"}


def benchmark(name):
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    return text.replace("−", "-")


def tables(text):
    """Return the tables of a text: rows of cells, without headings."""
    found = re.findall(r"^\|[-:|]+\|\n((?:\|.*\n)+)", text + "\n", re.MULTILINE)
    return [
        [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in rows.splitlines()]
        for rows in found
    ]


def section(text, heading):
    """Return what is under a heading, up to the next one of any kind."""
    return re.split(r"^#+ ", text.split(f"# {heading}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_nothing_is_of_searches_that_are_gone():
    assert "†" not in PAGE


def test_the_acquisition_decides_as_the_paper_page_says():
    pooled = tables(section(benchmark("paper/README.md"), "where: "))[0]
    expected = {(row[0], row[1]): row[4:9] for row in pooled if row[2] == "calibrated"}
    shown = tables(section(PAGE, "The acquisition decides"))[0]
    assert {(MODELS[m], BOUNDS[a]): cells for m, a, *cells in shown} == expected


def test_gains_by_problem_are_those_of_the_paper_page():
    by_problem = tables(section(benchmark("paper/README.md"), "where: "))[1]
    shares = {row[1]: row[3] for row in by_problem if row[0] == "LCB" and row[1] != "all"}
    shown = tables(section(PAGE, "The acquisition decides"))[1]
    for problem, share, _ in shown:
        name = problem.split(",")[0].lower()
        assert f"0.{share.split()[0]} /" in shares.pop(name)
    assert shares == {}


def test_stuck_searches_are_freed_as_often_as_the_pages_say():
    verdicts = section(benchmark("paper/README.md"), "forrester: ")
    said = r"of (\d+) searches that got stuck it frees (\d+), and it loses (\d+) others"
    (stuck, freed, lost), (same, all_freed, none_lost) = re.findall(said, verdicts)
    assert (same, all_freed, none_lost) == (stuck, stuck, "0")
    assert f"{stuck} uncalibrated searches got stuck" in PROSE
    assert f"freed all {stuck} and lost none" in PROSE
    assert f"Algorithms 3 + 4 freed {freed} and lost {lost}" in PROSE

    areas = r"By the area: \*\*(\w+)\*\*.*?, (-?[\d.]+ \([^)]*\)), p < 0.001"
    word, difference = re.search(areas, verdicts).groups()
    assert word == "Reproduced"
    assert f"a difference of {difference}, p < 0.001" in PROSE
    raw, literal = (row[4] for row in tables(verdicts)[0][:2])
    assert f"{raw} → {literal}" in PROSE

    rows = tables(section(benchmark("forrester/README.md"), "Found within 25 evaluations"))[0]
    names = {
        "the paper's model": "the paper's",
        "one process": "one process of ours",
        "the default model": "the default model",
    }
    levels = {"0.0228": "mean - 2 std", "0.1": "10 % quantile"}
    # raw, default, limited with refits, leave-one-out with refits
    found = {
        f"{names[row[0]]}, {levels[row[1]]}": [row[k].split()[0] for k in (2, 3, 5, 7)]
        for row in rows
    }
    shown = tables(section(PAGE, "Stuck searches"))[0]
    assert all(found[name] == cells for name, *cells in shown)


def test_theorem_1_is_judged_as_the_paper_page_says():
    verdicts = section(benchmark("paper/README.md"), "theorem1: ")
    (shares,) = re.search(r"infinite in (\d+ to \d+ %) of steps", verdicts).groups()
    assert f"in {shares} of their steps the calibrated expectation" in PROSE
    kinds, raw, calibrated = re.search(
        r"of (\d+) kinds of search (\d+) break the bound before calibration and (\d+) after",
        verdicts,
    ).groups()
    assert f"broken by {raw} of {kinds} kinds of search before calibration" in PROSE
    assert calibrated == "0"


def test_the_controls_are_those_of_the_calibrated_page():
    page = benchmark("calibrated/README.md")
    names = {"the default before it": "predecessor", "the paper's algorithms": "paper"}
    controls = [
        {row[0]: row for row in tables(section(page, heading))[0]}
        for heading in ("Control 1, std × 0.1\n", "Control 2, lengthscale held at 2\n")
    ]
    for name, sure, wrong, repetitions in tables(section(PAGE, "Other ways to calibrate"))[1]:
        rows = [control[names.get(name, name)] for control in controls]
        assert [sure, wrong] == [row[4] for row in rows], name
        assert {int(row[1]) for row in rows} == {6 * int(repetitions)}


def test_rivals_on_tasks_fare_as_the_calibrated_page_says():
    page = benchmark("calibrated/README.md")
    short = section(page, "In short")
    for part in ("24 tasks of the suite", "12 held-out tasks"):
        ahead, behind = re.search(rf"- {part}: ahead .*?: (.*?); behind: (.*?)\.\n", short).groups()
        assert ahead == "none"
        rows = {row[0]: row for row in tables(section(page, part + "\n"))[0]}
        for name, change in re.findall(r"([\w-]+) \(([+-][\d.]+)\)", behind):
            assert rows[name][4].split()[0] == change
            assert change in section(PAGE, "Other ways to calibrate"), (part, name)
        shown = {"bcr-GP", "reGP", "OSCBO"} | ({"LOCBO"} if "held" in part else set())
        assert {name for name, _ in re.findall(r"([\w-]+) \(([+-])", behind)} == shown
        for name in ("paper", "tcGP"):
            assert rows[name][4].split()[0] in section(PAGE, "Other ways to calibrate")


def test_networks_and_tables_end_as_the_paper_page_says():
    page = benchmark("paper/README.md")
    networks, lda = tables(section(PAGE, "Real tuning"))
    measured = [tables(section(page, f"{name}: "))[0] for name in ("cifar10", "svhn")]
    rows = tables(section(page, "lda: "))[0]
    # The best value at the end of networks, the area of tables.
    for shown, parts, column in ((networks, measured, 3), (lda, [rows[:3], rows[3:]], 4)):
        for (_, repetitions, *cells), part in zip(shown, parts, strict=True):
            raw, literal, literal_p, calibrated, calibrated_p = cells
            assert {row[2] for row in part} == {repetitions}
            assert [raw, literal, calibrated] == [row[column].split()[0] for row in part]
            for p, row in zip((literal_p, calibrated_p), part[1:], strict=True):
                assert p == row[6] or abs(float(p) - float(row[6])) < 0.006  # two digits of it


def test_the_default_fares_as_the_peers_page_says():
    peers = benchmark("peers/README.md")
    heading = "Calibrated against uncalibrated, everything else equal"
    pairs = tables(section(peers, heading))[0]
    areas, errors, changes = tables(section(PAGE, "With calibrant's default"))
    for row, area, error in zip(pairs, areas, errors, strict=True):
        assert area[1:] == row[2:6]
        assert error[1] == row[7]
        assert error[2:] == row[9].split(" (")[0].split(", ")
    ablation = {row[2]: row for row in tables(section(peers, "One thing changed at a time"))[0]}
    for name, change, p in changes:
        assert p in (ablation[change][4], "< 0.001"), name
        assert p != "< 0.001" or float(ablation[change][4]) < 0.001


def test_families_of_models_are_judged_as_their_page_says():
    said = re.sub(r"\s+", " ", section(benchmark("models/README.md"), "In short"))
    rows, times = re.search(r"in (\d+ of \d+) rows, ([\d.]+) times in the median", said).groups()
    assert f"better calibrated in {rows} cases, {times} times in the median" in PROSE
    lower, higher = re.search(r"CRPS is lower in (\d+) of them and higher in (\d+)", said).groups()
    assert f"their CRPS is higher in {higher} of them and lower in {lower}" in PROSE
    assert "lowered the regret in 0 of the rows and raised it in 2" in said
    assert "corrected): deep ensemble on branin, deep ensemble on hartmann-6;" in said
    (held,) = re.search(r"own 80 % intervals of deep ensembles (\d+)% held", said).groups()
    assert f"{held} % of their own 80 % intervals held" in PROSE


def test_shown_intervals_hold_as_their_page_says():
    row = tables(section(benchmark("peers/shown-intervals.md"), "All 30 tasks"))[0][0]
    assert row[:2] == ["1", "all"]
    own, shown = (round(float(row[k].split("%")[0])) for k in (2, 3))
    assert f"hold {shown} % where the model's own hold {own} %" in PROSE
    assert f"with a median CRPS of × {float(row[5]):.2f}" in PROSE


def test_calibration_costs_what_the_speed_page_says():
    (share,) = re.search(
        r"Calibration adds up to (\d+)% to an ask", benchmark("speed/README.md")
    ).groups()
    assert f"It adds up to {share} % to the time of a suggestion" in PROSE
