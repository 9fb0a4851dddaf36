"""``calibrant suggest``: the next experiments, as rows of a table that a person fills in."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import optuna
import typer
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.cli.inputs import cell as cell_value
from calibrant.cli.inputs import parse_fixed, parse_parameters, read_candidates
from calibrant.cli.options import Maximize, Names, Seed
from calibrant.cli.tables import Table, read_table, write_table
from calibrant.cli.terminal import check_writable, console, fail, say
from calibrant.core import validate
from calibrant.core.words import count, number
from calibrant.decisions.suggest import Proposal
from calibrant.decisions.suggest import suggest as next_settings
from calibrant.evaluation.verdict import verdict
from calibrant.studies.candidates import NAME, Candidates
from calibrant.studies.domain import Domain, domain_of
from calibrant.studies.measured import STD
from calibrant.studies.optuna_private import contains
from calibrant.studies.runner import quiet_optuna
from calibrant.studies.shown import COVERAGE
from calibrant.studies.space_text import describe, parse_space

LOW, HIGH = "low80", "high80"  # the columns of forecasts
_NEAR = 1e-4  # of its range: a number in a table is no further from the one that was meant
_PLUS_MINUS = re.compile(r"(.+?)\s*(?:±|\+/?-)\s*(.+)")
_DIGITS = (5, 8, 12, 17)  # of numbers in a table: the fewest with which constraints still hold
_FAILED = {"failed", "fail", "error", "x"}  # how a person writes that there is no outcome


def suggest(
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV with a column per parameter and one for the outcome; it is made if there is "
            "none. Leave the outcome empty until it is known; `failed` means there is none, and "
            "`>100` or `<0.1` that it is beyond what can be measured."
        ),
    ],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="temperature=20.0..80, cycles=1..8, buffer=A,B,C"),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Fill up to this many rows without an outcome.")] = 1,
    value: Annotated[str, typer.Option(help="The column of the outcome.")] = "value",
    maximize: Maximize = False,
    such_that: Annotated[
        list[str] | None,
        typer.Option(help="'acid + base <= 1': a constraint between parameters."),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="CSV of the only settings to suggest; -p may give a column's range."),
    ] = None,
    names: Names = NAME,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            help="batch=A: fix a parameter. Rows with other values are still learned from."
        ),
    ] = None,
    seed: Seed = None,
    std: Annotated[
        str | None,
        typer.Option(
            help="The column of the standard deviation of an outcome's noise, where it is known; "
            "by default `std`, if there is one. An outcome may also be written as `0.83 ± 0.02`."
        ),
    ] = None,
) -> None:
    """Add the next experiments to a table. Fill in their outcomes, and run the same again.

    calibrant suggest data.csv -p temperature=20.0..80 -p pH=4.0..9 -n 8 --maximize
    """
    try:
        validate.at_least("n", n, 1)
        check_writable(data)
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            ranges = parse_space(given) if (given := parse_parameters(param or [])) else {}
            listed = None if candidates is None else read_candidates(candidates, names, ranges)
        for doubt in doubts:
            say(f"Note: {doubt.message}", "yellow")
        if listed is None and not ranges:
            raise ValueError("There is nothing to choose: give parameters (-p) or --candidates.")
        space = ranges if listed is None else listed.distributions
        domain = domain_of(space, such_that, listed, parse_fixed(fix or [], space))
        conditional = domain.structure.conditions.keys()
        columns = [*space] if listed is None else [NAME, *listed.columns]
        _check_names(columns, value)
        table = read_table(data) if data.exists() else _new_table(columns, value)
        if std is None and "std" in table.header and "std" not in space:
            std = "std"
        study = study_of(table, space, value, maximize, str(data), std, listed, conditional)
        _print_so_far(study, table, value)
        waiting = len(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))
        if waiting >= n:
            say(
                f"{count(waiting, 'row')} of {data} wait for a `{value}`: fill them in, then run "
                "this again."
            )
            return
        proposals = next_settings(
            study,
            n - waiting,
            space=space,
            such_that=domain.constraints,
            candidates=domain.candidates,
            fixed=domain.fixed,
            seed=seed,
        )
        _append(table, proposals, value, domain)
        write_table(data, table)
        _print_proposals(proposals, data, value)
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))


def _check_names(columns: Sequence[str], value: str) -> None:
    """Raise where a parameter would share its column with something else."""
    if value in columns:
        raise ValueError(
            f"`{value}` is the column of the outcome and of a parameter, or of candidates; rename "
            "that, or give another column of the outcome, as --value yield."
        )
    for name in (LOW, HIGH):
        if name in columns:
            raise ValueError(f"`{name}` is a column of forecasts; give the parameter another name.")


def _new_table(columns: Sequence[str], value: str) -> Table:
    return Table(list(dict.fromkeys([*columns, value, LOW, HIGH, "note"])))


def study_of(
    table: Table,
    space: Mapping[str, BaseDistribution],
    value: str,
    maximize: bool,
    path: str,
    std: str | None = None,
    candidates: Candidates | None = None,
    conditional: Set[str] = frozenset(),
) -> Study:
    """Return the experiments of a table as a study: measured, failed, or still to be done.

    Of candidates, only the name is read: their columns are known. The cell of a ``conditional``
    parameter may be empty: then it does not exist in that row.
    """
    needed = [*space] if candidates is None else [NAME]
    needed += [value] if std is None else [value, std]
    missing = [name for name in needed if name not in table.header]
    if missing:
        raise ValueError(
            f"{path} must have a column `{missing[0]}`, but its columns are "
            f"{', '.join(table.header)}."
        )
    trials = [
        _trial(
            table,
            row,
            _there(row, space, conditional),
            value,
            f"{path}, line {line}",
            std,
            candidates,
        )
        for row, line in zip(table.rows, table.lines, strict=True)
    ]
    with quiet_optuna():
        study = optuna.create_study(direction="maximize" if maximize else "minimize")
        study.add_trials(trials)
    return study


def _there(
    row: Mapping[str, str], space: Mapping[str, BaseDistribution], conditional: Set[str]
) -> dict[str, BaseDistribution]:
    """Return the parameters that exist in a row."""
    return {n: d for n, d in space.items() if n not in conditional or row.get(n, "").strip()}


def _trial(
    table: Table,
    row: Mapping[str, str],
    space: Mapping[str, BaseDistribution],
    value: str,
    where: str,
    std: str | None,
    candidates: Candidates | None = None,
) -> FrozenTrial:
    if candidates is None:
        params = {name: _setting(table, row[name], name, d, where) for name, d in space.items()}
    else:
        params = _of_candidate(row[NAME].strip(), candidates, where)
    outcome = row[value].strip()
    common: dict[str, Any] = {"params": params, "distributions": dict(space)}
    if not outcome:
        return optuna.create_trial(state=TrialState.RUNNING, **common)
    if outcome.lower() in _FAILED:
        return optuna.create_trial(state=TrialState.FAIL, **common)
    noise = "" if std is None else row[std].strip()
    if pair := _PLUS_MINUS.fullmatch(outcome):
        outcome, noise = pair[1], noise or pair[2]
    try:
        # Beyond what can be measured: its limit is all that is known, and counts as the outcome.
        known = table.number(outcome.lstrip("<>≤≥ "))
    except ValueError:
        known = math.nan
    if not math.isfinite(known):
        raise ValueError(
            f"{where}: `{value}` must be a number, `failed`, or empty while it is not known, but "
            f"got {outcome!r}."
        )
    told = {} if not noise else {STD: _std(table, noise, std or value, where)}
    return optuna.create_trial(value=known, user_attrs=told, **common)


def _std(table: Table, cell: str, column: str, where: str) -> float:
    """Return a cell as the std of an outcome."""
    try:
        found = table.number(cell)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found >= 0.0):
        raise ValueError(
            f"{where}: the std in `{column}` must be a number of at least 0, or empty where it is "
            f"not known, but got {cell!r}."
        )
    return found


def _setting(table: Table, cell: str, name: str, distribution: BaseDistribution, where: str) -> Any:
    """Return a cell as a value of its parameter."""
    found = cell_value(table, cell, distribution)
    if found is not None:
        return found
    raise ValueError(
        f"{where}: `{name}` must be {describe(distribution)}, but got {cell.strip()!r}; correct "
        "the cell, or change `--param`."
    )


def _of_candidate(name: str, candidates: Candidates, where: str) -> dict[str, Any]:
    for place, one in enumerate(candidates.names):
        if str(one) == name:
            row = candidates.row(place)
            return {column: row[column] for column in candidates.distributions}
    raise ValueError(f"{where}: {name!r} is none of the {len(candidates)} candidates.")


def _rounded(table: Table, setting: Mapping[str, Any], domain: Domain) -> dict[str, str]:
    """Return a setting as cells, with as many digits as its ranges and constraints need."""
    for digits in _DIGITS:
        cells = {
            name: table.text(one, digits) if isinstance(one, float) else str(one)
            for name, one in setting.items()
        }
        if domain.candidates is not None:
            continue
        read = {
            name: table.number(cells[name]) if isinstance(one, float) else one
            for name, one in setting.items()
        }
        same = all(_same(domain.distributions[n], one, setting[n]) for n, one in read.items())
        if same and all(rule.holds(read) for rule in domain.constraints):
            break
    return cells


def _same(distribution: BaseDistribution, read: Any, meant: Any) -> bool:
    """Whether a number that was rounded is still a value of its parameter, and as good as meant."""
    if read == meant or not isinstance(distribution, FloatDistribution):
        return bool(read == meant)
    if not contains(distribution, read):
        return False
    if distribution.log:
        return bool(
            abs(math.log(read / meant)) <= _NEAR * math.log(distribution.high / distribution.low)
        )
    return bool(abs(read - meant) <= _NEAR * (distribution.high - distribution.low))


def _append(table: Table, proposals: tuple[Proposal, ...], value: str, domain: Domain) -> None:
    """Add a row for each proposal, with its forecast."""
    for column in (LOW, HIGH):
        if column not in table.header:
            table.header.append(column)
    for proposal in proposals:
        row = _rounded(table, proposal.params, domain)
        if proposal.interval is not None:
            row |= dict(zip((LOW, HIGH), map(table.text, proposal.interval), strict=True))
        table.rows.append({**row, value: ""})


def _print_so_far(study: Study, table: Table, value: str) -> None:
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not complete:
        return
    best = study.best_trial
    settings = ", ".join(f"{name}={cell}" for name, cell in best.params.items())
    line = table.lines[best.number]
    say(f"Best of {len(complete)}: {number(best.value or 0.0, 6)} in line {line}: {settings}")
    held = []
    for row, trial in zip(table.rows, study.get_trials(deepcopy=False), strict=True):
        if trial.state == TrialState.COMPLETE and row.get(LOW) and row.get(HIGH):
            low, high = table.number(row[LOW]), table.number(row[HIGH])
            held.append(low <= (trial.value or 0.0) <= high)
    if held:
        say(verdict(sum(held), len(held), COVERAGE).sentence)


def _print_proposals(proposals: tuple[Proposal, ...], data: Path, value: str) -> None:
    for proposal in proposals:
        console.print(f"  {proposal}", soft_wrap=True)
    added = count(len(proposals), "row")
    say(f"{added} added to {data}. Fill in `{value}`, then run the same command again.")
