"""Pruners on real learning curves: the value found, the epochs spent, and what was pruned wrongly.

    python -m benchmarks.decisions.pruning    # what is missing, then the page

Each repetition draws an order of the settings of a table; all pruners meet the same settings in
the same order, report after each epoch, and are asked whether to go on. What a pruned setting
would have reached is in the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
from scipy.stats import binomtest

from benchmarks.decisions import curves
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.kit.statistics import estimate, holm, paired_p
from benchmarks.kit.words import interval, markdown_table, p_value, signed
from calibrant import CalibratedPruner

PATH = Path(__file__).parent / "results" / "pruning.jsonl"
TRIALS = 60
SEEDS = range(3, 33)  # of the first three orders, the pruner's details were chosen
BEST = 0.1  # the share of trials that count as the best
LEVELS = (0.05, 0.2)
WILCOXON = 2  # repetitions: it takes ten seconds for each
PRUNERS = {
    "none": lambda seed: optuna.pruners.NopPruner(),
    **{
        f"calibrant, {level:.0%}": lambda seed, level=level: CalibratedPruner(level, seed=seed)
        for level in LEVELS
    },
    "median": lambda seed: optuna.pruners.MedianPruner(),
    "Hyperband": lambda seed: optuna.pruners.HyperbandPruner(max_resource=curves.EPOCHS),
    "Wilcoxon": lambda seed: optuna.pruners.WilcoxonPruner(),
}
OURS = "calibrant, 5%"


def execute(job: str, table: np.ndarray, name: str, seed: int) -> dict[str, Any]:
    """Return what a pruner did on one order of settings."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    order = np.random.default_rng([seed, 3]).permutation(len(table))[:TRIALS]
    pruner = PRUNERS[name](seed)
    study = optuna.create_study(
        pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0), study_name=f"study {seed}"
    )
    epochs, found, pruned = 0, np.inf, []
    for row in table[order]:
        trial = study.ask()
        for step, error in enumerate(row, start=1):
            epochs += 1
            trial.report(error, step)
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                pruned.append(trial.number)
                break
        else:
            study.tell(trial, row[-1])
            found = min(found, float(row[-1]))
    finals = table[order, -1]
    goal = np.sort(finals)[round(BEST * TRIALS) - 1]
    wrong = int(np.sum(finals[pruned] <= goal))
    line = {"job": job, "pruner": name, "seed": seed, "epochs": epochs, "found": found}
    line |= {"least": float(finals.min()), "pruned": len(pruned), "wrong": wrong}
    if isinstance(pruner, CalibratedPruner):
        said = pruner.review(study)
        line |= {"audited": said.audited, "audited_wrong": said.wrong}
    return line


def run() -> None:
    """Run what is missing."""
    done = {(r["job"], r["pruner"], r["seed"]) for r in read_lines(PATH)}
    for seed in SEEDS:
        for job, table in curves.load().items():
            for name in PRUNERS:
                if (job, name, seed) not in done and (name != "Wilcoxon" or seed < SEEDS[WILCOXON]):
                    append(PATH, {**execute(job, table, name, seed), "commit": commit()})


def section() -> list[str]:
    """Return the lines of the page about pruning."""
    lines = list(read_lines(PATH))
    if not lines:
        return []
    tables = curves.load()
    text = [
        "## Pruning",
        "",
        f"Three tables of {len(next(iter(tables.values())))} real learning curves of "
        f"{curves.EPOCHS} epochs (a network and a linear model on digits, a network on diabetes), "
        f"{len({r['seed'] for r in lines})} orders of {TRIALS} settings, the same for all "
        "pruners; three other orders served to choose the details of ours. "
        "Loss: how much the best value found lies above the best that no pruning finds, in % of "
        "it. Wrong: pruned trials that would have been among the best tenth. Wilcoxon's pruner is "
        f"made for scores of many instances, not for curves, and slow: {WILCOXON} orders.",
        "",
    ]
    rows, tests = [], []
    cells = {(r["job"], r["pruner"], r["seed"]): r for r in lines}

    def keys(name: str) -> list[tuple[str, int]]:
        return sorted({(r["job"], r["seed"]) for r in lines if r["pruner"] == name})

    def loss(name: str, of: str = "") -> np.ndarray:
        found = [cells[job, name, seed] for job, seed in keys(of or name)]
        return np.array([100.0 * (r["found"] / r["least"] - 1.0) for r in found])

    def epochs(name: str, of: str = "") -> np.ndarray:
        spent = [cells[job, name, seed]["epochs"] for job, seed in keys(of or name)]
        return np.array(spent) / (TRIALS * curves.EPOCHS)

    for name in PRUNERS:
        mine = [cells[job, name, seed] for job, seed in keys(name)]
        pruned, wrong = (sum(r[key] for r in mine) for key in ("pruned", "wrong"))
        ends = binomtest(wrong, pruned).proportion_ci() if pruned else None
        share = f"{wrong / pruned:.1%} ({ends.low:.1%} to {ends.high:.1%})" if ends else "–"
        rows.append(
            [
                name,
                f"{epochs(name).mean():.0%}",
                interval(estimate(loss(name)), 2),
                str(pruned),
                share,
            ]
        )
    head = ["pruner", "epochs", "loss, % (95 %)", "pruned", "wrong (95 %)"]
    text += [markdown_table(head, rows), ""]
    others = ["median", "Hyperband", "Wilcoxon"]
    p = holm([paired_p(loss(OURS, name), loss(name)) for name in others])
    tests = [
        [
            name,
            signed(estimate(loss(OURS, name) - loss(name)), 2),
            p_value(value),
            signed(estimate(100.0 * (epochs(OURS, name) - epochs(name))), 1),
        ]
        for name, value in zip(others, p, strict=True)
    ]
    head = [f"{OURS}, against", "loss, % (95 %)", "p (Holm)", "epochs, points (95 %)"]
    text += [markdown_table(head, tests), ""]
    ours = [cells[job, OURS, seed] for job, seed in keys(OURS)]
    audited, wrong = sum(r["audited"] for r in ours), sum(r["audited_wrong"] for r in ours)
    ends = binomtest(wrong, audited).proportion_ci()
    text += [
        f"What the pruner says of itself at 5 %: of {audited} trials that it would have pruned and "
        f"let finish, {wrong} became one of the best of that time: {wrong / audited:.1%} "
        f"({ends.low:.1%} to {ends.high:.1%}).",
        "",
    ]
    return text


if __name__ == "__main__":
    run()
    from benchmarks.decisions.tables import write

    write()
