"""The part of the page about recommendations: what was chosen, what was said, what was true."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.decisions import choosing
from benchmarks.decisions.recommend import (
    AGAIN,
    CHOSEN_ON,
    FUNCTIONS,
    NOISES,
    REPETITIONS,
    RESULTS,
    RIVALS,
    TRIALS,
)
from benchmarks.kit.lines import read_lines
from benchmarks.kit.statistics import Estimate, estimate
from benchmarks.kit.words import interval, markdown_table, number, signed

TIE = 1e-3  # std of the function: settings that differ by less are as good


def section() -> list[str]:
    """Return the part of the page about recommendations."""
    records = with_rivals(list(read_lines(RESULTS)))
    if not records:
        return []
    now = list(read_lines(AGAIN))
    return [
        "## Recommendation under noise",
        "",
        f"{len(records)} searches of {TRIALS} trials by calibrant on six held-out functions; noise "
        "in std of the function's values in its box, or growing from 0.1 to 1 std with the first "
        "parameter. True value: the mean outcome of the setting chosen less that of "
        "`study.best_trial`, in std of the function; below 0 is better. BoTorch: the best "
        "posterior mean of its default model of the same trials, in "
        f"{_asked(records, 'botorch')}. Ax: the best setting by its client, with its model, in "
        f"{_asked(records, 'ax')}. Stated: what is said of the "
        "chosen setting less its truth, in std of the noise there. All with 95 % intervals "
        f"over searches. {REPETITIONS * len(FUNCTIONS)} searches per row were planned; the "
        "command goes on where it stopped. How a setting is chosen was decided on "
        f"{len(CHOSEN_ON)} other functions, and on functions and landscapes drawn at random.",
        "",
        markdown_table(
            ["noise", "searches", "recommended", "better / worse", "best posterior mean",
             "better / worse", "BoTorch's", "better / worse", "Ax's", "better / worse"],
            [_value_row(noise, group) for noise, group in _by_noise(records)],
        ),
        "",
        markdown_table(
            ["noise", "`recommend` states", "`best_value` states", "BoTorch states",
             "Ax states", "expected loss", "true loss"],
            [_bias_row(noise, group) for noise, group in _by_noise(records) if noise != "none"],
        ),
        "",
        *_goals(records),
        "",
        *_changed(records, now),
    ]  # fmt: skip


def _changed(records: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """Return what is said of settings, before the rule was changed and now."""
    asked = set(map(_search, now))
    before = [r for r in records if _search(r) in asked]
    return [
        "What is said of a setting beside its value was changed after these results were known. "
        f"{_decided(list(read_lines(choosing.ANSWERS)))} "
        "The choice and the value stated are as before. Below, "
        f"{len(now)} of the {sum(r['noise'] != 'none' for r in records)} held-out searches with "
        "noise, answered by the old rule and, from the same trials, by the new one "
        "(`python -m benchmarks.decisions.recommend --again`).",
        "",
        markdown_table(
            ["noise", "searches", "80 % intervals held, before", "now"],
            [
                [noise, str(len(group)), *(_held(g) for g in (_of(before, noise), group))]
                for noise, group in [*_by_noise(now), ("all", now)]
            ],
        ),
        "",
        "How often a setting listed with P(best) was the best of those evaluated, where the choice "
        "was by the model. Before:",
        "",
        _chances(before),
        "",
        "Now:",
        "",
        _chances(now),
        "",
        *_repeats(before, "Before, one setting: in"),
        "",
        *_repeats(now, "Now, each of the five listed: in"),
        "So `recommend` says what to evaluate again to be surer, and promises no gain.",
        "",
    ]


def _decided(records: list[dict[str, Any]]) -> str:
    """Return what the rule was changed by: what came true on tasks to choose by."""
    searches = len(choosing.runs())
    changed = (
        "A tenth of what the model takes for noise now counts as structure that it does not see, "
        "which widens intervals and levels P(best); and what is to be evaluated again, if "
        "anything, is each of the settings listed."
    )
    decided = (
        f"The change was decided on {searches} searches with noise on the {len(CHOSEN_ON)} "
        "functions to choose by; `python -m benchmarks.decisions.choosing` answers them by both "
        "rules and prints what came true"
    )
    if len(records) < searches:
        return f"{decided} ({len(records)} answered so far: no figures yet). {changed}"
    before, now = (choosing.held(records, rule) for rule in choosing.RULES)
    often, rarely = (choosing.sure(records, rule, 0.4) for rule in choosing.RULES)
    one, five = choosing.of_one(records), choosing.promises(list(read_lines(choosing.REPEATS)))
    alone, together = choosing.share(one), choosing.share(five)
    return (
        f"{decided}. {changed} 80 % intervals "
        f"held {_share(before)} there before and {_share(now)} now; "
        f"{sum(r['now']['exact'] for r in records)} searches are left out that were taken to be "
        f"without noise. Of {often[0]} settings called best with 20 to 40 %, {often[2]:.0%} were "
        f"({often[1]:.0%} on average had been stated), and now {rarely[2]:.0%} of {rarely[0]} "
        f"({rarely[1]:.0%}). Evaluating one setting again, which was the advice before, promised "
        f"{number(one[:, 0].mean())} std of the function and gained {number(one[:, 1].mean())}: of "
        f"what the model promised {interval(alone, 2)} came. Evaluating each of the five settings "
        f"listed again, {five[:, 2].mean():.1f} times on average, in the {len(five)} searches in "
        f"which that was worth it, gained {number(five[:, 1].mean())}: of what the model promised "
        f"{interval(together, 2)} came. 0.4 of it was to be stated; on the "
        "held-out searches below that did not come, so no gain is stated."
    )


def _of(records: list[dict[str, Any]], noise: str) -> list[dict[str, Any]]:
    return records if noise == "all" else [r for r in records if r["noise"] == noise]


def _held(group: list[dict[str, Any]]) -> str:
    return _share(estimate([r["held"] for r in group]))


def _share(value: Estimate) -> str:
    return f"{value.mean:.0%} ({value.low:.0%} to {value.high:.0%})"


def with_rivals(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records with what :mod:`benchmarks.decisions.recommend_rivals` found, if any."""
    for name, path in RIVALS.items():
        answers = {_search(r): r for r in read_lines(path)}
        for record in records:
            answer = answers.get(_search(record), {})
            record[f"true_of_{name}"] = answer.get("true")
            record[f"stated_by_{name}"] = answer.get("stated")
    return records


def _asked(records: list[dict[str, Any]], rival: str) -> str:
    return f"{sum(r[f'true_of_{rival}'] is not None for r in records)} of these searches"


def _search(record: dict[str, Any]) -> tuple[str, str, int]:
    return record["task"], record["noise"], record["seed"]


def _by_noise(records: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    groups = [(noise, [r for r in records if r["noise"] == noise]) for noise in NOISES]
    return [(noise, group) for noise, group in groups if group]


def _gains(group: list[dict[str, Any]], which: str) -> np.ndarray:
    known = [r for r in group if r.get(which) is not None]
    return np.array([(r[which] - r["true_of_best"]) / r["std"] for r in known])


def _value_row(noise: str, group: list[dict[str, Any]]) -> list[str]:
    cells = [noise, str(len(group))]
    for which in ("true", "true_of_posterior", *(f"true_of_{name}" for name in RIVALS)):
        gains = _gains(group, which)
        if not gains.size:
            cells += ["–", "–"]
            continue
        better, worse = int((gains < -TIE).sum()), int((gains > TIE).sum())
        cells += [signed(estimate(gains)), f"{better} / {worse}"]
    return cells


def _bias(group: list[dict[str, Any]], value: str, truth: str) -> np.ndarray:
    known = [r for r in group if r.get(value) is not None]
    return np.array([(r[value] - r[truth]) / r["noise_std"] for r in known])


def _bias_row(noise: str, group: list[dict[str, Any]]) -> list[str]:
    rivals = [_bias(group, f"stated_by_{name}", f"true_of_{name}") for name in RIVALS]
    losses = [[r["expected_loss"] / r["std"] for r in group]]
    losses.append([(r["true"] - r["lowest"]) / r["std"] for r in group])
    return [
        noise,
        signed(estimate(_bias(group, "stated", "true")), 2),
        signed(estimate(_bias(group, "best_value", "true_of_best")), 2),
        *(signed(estimate(rival), 2) if rival.size else "–" for rival in rivals),
        *(number(float(np.mean(loss))) for loss in losses),
    ]


def _goals(records: list[dict[str, Any]]) -> list[str]:
    biased = [
        noise
        for noise, group in _by_noise(records)
        if noise != "none" and abs(np.mean(_bias(group, "stated", "true"))) > 0.1
    ]
    losses = [(n, float(np.mean(_gains(group, "true")))) for n, group in _by_noise(records)]
    worse = [f"{n} (by {loss:.1g} std)" for n, loss in losses if loss > 1e-9]
    return [
        "Goal: the stated value within 0.1 noise std of the truth on average: "
        + (f"missed at noise {', '.join(biased)}." if biased else "reached at every noise."),
        "Goal: the setting recommended on average never worse than the best observation: "
        + (f"missed at noise {', '.join(worse)}." if worse else "reached at every noise."),
    ]


def _chances(records: list[dict[str, Any]]) -> str:
    by_model = [r for r in records if r["by"] == "posterior"]
    stated = np.concatenate([r["probabilities"] for r in by_model])
    true = np.concatenate([r["is_best"] for r in by_model]).astype(float)
    rows = []
    for low, high in ((0.0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 1.01)):
        inside = (stated >= low) & (stated < high)
        if inside.any():
            happened = estimate(true[inside])
            rows.append(
                [f"{low:.0%} to {min(high, 1.0):.0%}", str(int(inside.sum())),
                 f"{stated[inside].mean():.0%}",
                 f"{happened.mean:.0%} ({happened.low:.0%} to {happened.high:.0%})"]
            )  # fmt: skip
    return markdown_table(["stated", "settings", "mean stated", "was the best"], rows)


def _repeats(records: list[dict[str, Any]], words: str = "In") -> list[str]:
    told = [r for r in records if r["repeat"] is not None]
    if not told:
        return []
    expected = estimate([r["repeat"][1] / r["std"] for r in told])
    came = estimate([r["repeat"][2] / r["std"] for r in told])
    return [
        f"{words} {len(told)} of {len(records)} searches that was said to be worth evaluating "
        f"again, {np.mean([r['repeat'][0] for r in told]):.1f} times on average. Done so, and "
        f"asked again, the true value of the recommended setting improved by {interval(came)} std "
        f"of the function; {interval(expected)} was expected."
    ]
