"""The page of the problems, from stored results: python -m benchmarks.problems.tables"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import paired_p
from benchmarks.kit.words import markdown_table, number, p_value
from benchmarks.problems.costs import LEARNED, LEARNING
from benchmarks.problems.kinds import Kind, regrets
from benchmarks.problems.run import KINDS, results

PAGE = Path(__file__).parent / "README.md"

HEAD = """# Problems as people have them

Each kind of problem has a file here: its tasks, its systems and what counts. `python -m benchmarks.problems.run` runs what is missing of the results in `results/`, and `python -m benchmarks.problems.tables` writes this page from them.

Cells are median regrets: 0 is the minimum, 1 the mean of random points. "Won" and "lost" count the pairs of runs, same task and same seed, in which calibrant ended lower or higher than the other system. p-values are those of Wilcoxon's signed-rank test on the logarithms of paired regrets, uncorrected. A system that has not been run is left out. Twenty repetitions of each task are planned; "runs" says how many are there, and fewer decide nothing.
"""


def main() -> None:
    parts = [HEAD, *(_section(kind) for kind in KINDS.values()), _learned()]
    PAGE.write_text("\n".join(parts))


def _section(kind: Kind) -> str:
    scales = kind.scales()
    ended = {
        (system, task, seed): float(regrets(record["values"], *scales[task])[-1])
        for (system, task, seed), record in results(kind.name).items()
    }
    rows = []
    for system in kind.systems:
        own = {run: regret for run, regret in ended.items() if run[0] == system}
        if not own:
            continue
        medians = [_median([r for run, r in own.items() if run[1] == task]) for task in scales]
        rows.append([system, *medians, str(len(own)), *_against(ended, system)])
    head = ["system", *scales, "runs", "won", "lost", "p"]
    about = f"```text\n{kind.text}\n```"
    return f"## {kind.title}\n\n{about}\n\n{markdown_table(head, rows)}\n"


def _median(found: list[float]) -> str:
    return number(float(np.median(found)), 4) if found else "–"


def _against(ended: dict[tuple[str, str, int], float], system: str) -> list[str]:
    """Return how many pairs calibrant won and lost, and the p-value of that."""
    pairs = [
        (regret, ended[system, task, seed])
        for (who, task, seed), regret in ended.items()
        if who == "calibrant" and (system, task, seed) in ended
    ]
    if system == "calibrant" or not pairs:
        return ["", "", ""]
    ours, theirs = np.log(np.maximum(np.array(pairs), 1e-12)).T
    won, lost = int(np.sum(ours < theirs)), int(np.sum(ours > theirs))
    return [str(won), str(lost), p_value(paired_p(ours, theirs))]


def _learned() -> str:
    """Return what the weight of prices was chosen on."""
    found = {(r["system"], r["task"], r["seed"]): r["regret"] for r in read_lines(LEARNED)}
    rows = []
    for task in LEARNING:
        seeds = [seed for who, name, seed in found if (who, name) == ("cooled", task)]
        ours, cooled = (
            np.log([found[who, task, seed] for seed in seeds]) for who in ("calibrant", "cooled")
        )
        means = [number(float(np.exp(np.mean(logs))), 5) for logs in (ours, cooled)]
        rows.append(
            [task, *means, str(int(np.sum(ours < cooled))), str(int(np.sum(ours > cooled)))]
        )
    table = markdown_table(["task", "calibrant", "cooled", "won", "lost"], rows)
    return f"""### How the weight of prices was chosen

Improvement is divided by the price to a power. On tasks of their own (`python -m benchmarks.problems.costs`), that power was 1 to the end ("calibrant"), or fell from 1 to 0 as the budget was spent ("cooled"; Lee et al. 2020). Cells are geometric means of regrets, in the units of each task; "dear" has its minimum where prices are high, and "wide" prices that differ by a factor of 1,000. The difference is no more than a hint; the simpler rule was taken.

{table}
"""


if __name__ == "__main__":
    main()
