"""``calibrant tune``: parse the arguments, run the study, print the result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from optuna.study import Study
from optuna.trial import TrialState

from calibrant.bridges.dashboard import publisher, serving
from calibrant.cli.again import command_line, found_again, twice_as_far, ways_on
from calibrant.cli.closing import finish, print_next
from calibrant.cli.inputs import (
    parse_fixed,
    parse_parameters,
    parse_renamed,
    read_candidates,
    read_earlier,
)
from calibrant.cli.live_table import live_table
from calibrant.cli.options import STUDY, Jobs, Logs, Maximize, Names, Report, Seed
from calibrant.cli.remarks import remarks
from calibrant.cli.rescue import save
from calibrant.cli.terminal import EXIT_INTERRUPTED, check_writable, console, fail, say
from calibrant.cli.worker import more_workers
from calibrant.core import validate
from calibrant.core.words import count
from calibrant.decisions import CalibratedPruner, StopWhen
from calibrant.decisions.outlook import TRIALS
from calibrant.studies.budget import Budget
from calibrant.studies.candidates import NAME, Candidates
from calibrant.studies.domain import domain_of
from calibrant.studies.job import record_run, same_job
from calibrant.studies.limits import parse_limits
from calibrant.studies.opening import open_study
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.runner import Listener, both, evaluated
from calibrant.studies.sharing import Plan, announce
from calibrant.studies.space_text import describe_all, parse_space
from calibrant.studies.storage import StorageLost, hidden
from calibrant.studies.structure import Parameters
from calibrant.studies.totals import at_most, most_trials
from calibrant.studies.tuning import placeholders, tune_command


def tune(
    program: Annotated[
        list[str],
        typer.Argument(
            help="After `--`: the program and its arguments, with {name} where a parameter goes; "
            "{trial} is the number of the trial."
        ),
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            help="lr=1e-5..1e-1:log, layers=1..8, drop=0..0.5:0.1 (steps), n=16,32,64, "
            "act=relu,tanh",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Total evaluations of the study; by default 50 or, with --budget, as many as that "
            "allows."
        ),
    ] = None,
    jobs: Jobs = 1,
    workers: Annotated[
        int,
        typer.Option(
            help="Worker processes to start here, each with its own jobs; see `calibrant worker`."
        ),
    ] = 1,
    storage: Annotated[
        str,
        typer.Option(
            envvar="CALIBRANT_STORAGE",
            help="Where the study is stored; the same command resumes it. Give a URL with a "
            "password in the environment, where other users do not see it.",
        ),
    ] = "sqlite:///calibrant.db",
    study_name: Annotated[
        str, typer.Option(*STUDY, help="Name of the study in the storage.")
    ] = "calibrant",
    maximize: Maximize = False,
    json_field: Annotated[
        str | None,
        typer.Option(help="Read this field of the JSON printed last, instead of the last number."),
    ] = None,
    result_regex: Annotated[
        str | None,
        typer.Option(
            help="Read the last match of this regular expression, or of the group in it: "
            "'loss (\\S+)'."
        ),
    ] = None,
    result_file: Annotated[
        str | None,
        typer.Option(
            help="Read the result from this file; {trial} in its name keeps several jobs, or "
            "processes, apart."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="memory=8: the upper limit of this field of the JSON printed last."),
    ] = None,
    min_feasible: Annotated[
        float | None,
        typer.Option(help="Try only settings that meet all limits with this probability."),
    ] = None,
    json_std_field: Annotated[
        str | None,
        typer.Option(
            help="The field of the JSON with the standard deviation of the result's noise. Without "
            "JSON, print `0.83 ± 0.02` or `0.83 +- 0.02`."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Total time of all evaluations, as 90s, 30m or 2h; or their total cost, in the "
            "unit of --cost-field."
        ),
    ] = None,
    cost_field: Annotated[
        str | None,
        typer.Option(help="The field of the JSON that holds the cost of the evaluation."),
    ] = None,
    such_that: Annotated[
        list[str] | None,
        typer.Option(help="'a + b <= 1': a constraint between parameters."),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="CSV of the only settings to try, each once. {name} and {column} stand for its "
            "cells in the program; -p may give a column's range."
        ),
    ] = None,
    names: Names = NAME,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            help="batch=A: fix a parameter. Trials with other values are still learned from."
        ),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STORAGE[::STUDY]",
            help="A study of a related problem to learn from, as far as it predicts this one; "
            "may be given several times.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="learning_rate=lr: the old and the new name of a parameter of earlier studies."
        ),
    ] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an evaluation counts as failed.")
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(help="Seconds after which no new evaluation starts."),
    ] = None,
    logs: Logs = None,
    seed: Seed = None,
    report: Report = None,
    dashboard: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Serve Optuna's dashboard on this port while it runs, with calibrant's figures.",
        ),
    ] = None,
    stop_below: Annotated[
        float | None,
        typer.Option(
            help="Stop when the risk of missing an improvement is below this, such as 0.05. It was "
            "counted for the default --min-gain and --look-ahead; for others it is a guide."
        ),
    ] = None,
    min_gain: Annotated[
        float | None, typer.Option(help="The smallest improvement that counts for --stop-below.")
    ] = None,
    look_ahead: Annotated[
        int, typer.Option(help="Within how many more trials, for --stop-below or --value.")
    ] = TRIALS,
    report_regex: Annotated[
        str | None,
        typer.Option(
            help="Reports on the way, such as the loss of each epoch: what this regular "
            "expression, or the group in it, matches in each line of the output: "
            "'epoch loss (\\S+)'."
        ),
    ] = None,
    prune_below: Annotated[
        float | None,
        typer.Option(
            help="Give up a trial when it is less probable than this, such as 0.05, that it "
            "becomes one of the best; with --report-regex."
        ),
    ] = None,
    value: Annotated[
        float | None,
        typer.Option(
            help="Worth of an improvement by 1: stop when trials cost more than they gain."
        ),
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="What a trial costs, in the currency of --value.")
    ] = None,
) -> None:
    """Tune any program: minimise the last number that it prints.

    calibrant tune -p lr=1e-5..1e-1:log -p layers=1..8 -- python train.py --lr {lr} -n {layers}
    """
    try:
        limits = parse_limits(limit or [])
        command = Command(
            program, json_field, result_file, trial_timeout, result_regex, logs, limits,
            json_std_field, cost_field, report_regex,
        )  # fmt: skip
        pruner = _pruner(report_regex, prune_below)
        purse = _purse(budget, cost_field)
        total = most_trials(trials, purse)
        if min_feasible is not None and not limits:
            raise ValueError("--min-feasible is about limits: give these too, as --limit memory=8.")
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            ranges = parse_parameters(param or [])
            listed = None if candidates is None else read_candidates(candidates, names, ranges)
        if listed is None and not ranges:
            raise ValueError("There is nothing to tune: give parameters (-p) or --candidates.")
        space = parse_space(ranges) if listed is None else listed.distributions
        domain = domain_of(space, such_that, listed, parse_fixed(fix or [], space))
        processes = jobs * validate.at_least("workers", workers, 1)
        command.check(list(space), processes, placeholders(listed))
        check_writable(report)
        stop = _stop(stop_below, min_gain, look_ahead, value, price)
        if logs is not None and logs.is_file():
            raise ValueError(f"{logs} is a file; give the folder to keep logs in.")
        renamed = parse_renamed(rename or [])
        if renamed and not earlier:
            raise ValueError("--rename is about earlier studies: give these too, as --earlier.")
        before = read_earlier(earlier or [], renamed)
        direction = "maximize" if maximize else "minimize"
        study = open_study(
            domain, storage, study_name, direction, seed=seed, min_feasible=min_feasible,
            budget=purse, earlier=before,
        )  # fmt: skip
        if pruner is not None:
            study.pruner = pruner
        how_read = [json_field, result_file, *([result_regex] if result_regex else [])]
        same_job(study, parameters=sorted(space), program=program, result=how_read, limits=limits)
        options = {
            "--param": param, "--jobs": jobs if jobs > 1 else None,
            "--workers": workers if workers > 1 else None,
            "--storage": hidden(storage), "--study": study_name,
            "--maximize": maximize, "--json-field": json_field, "--result-regex": result_regex,
            "--result-file": result_file, "--limit": limit, "--min-feasible": min_feasible,
            "--json-std-field": json_std_field, "--cost-field": cost_field,
            "--such-that": such_that, "--candidates": candidates,
            "--names": None if names == NAME else names, "--fix": fix,
            "--earlier": [found_again(text) for text in earlier or []], "--rename": rename,
            "--trial-timeout": trial_timeout,
            "--time-budget": time_budget, "--logs": logs, "--seed": seed,
            "--stop-below": stop_below, "--min-gain": min_gain,
            "--look-ahead": None if look_ahead == TRIALS else look_ahead,
            "--report-regex": report_regex, "--prune-below": prune_below,
            "--value": value, "--price": price,
        }  # fmt: skip
        until = {"--trials": total if purse is None else trials, "--budget": budget}
        record_run(study, command_line({**until, **options}, program), seed)
        _print_space(Parameters(space, domain.structure), listed)
        for doubt in doubts:
            say(f"Note: {doubt.message}", "yellow")
        if evaluated(study):
            console.print(f"Resuming with {evaluated(study)} evaluations in {hidden(storage)}.")
        plan = Plan(
            space, total, tuple(program), json_field, result_file, result_regex, trial_timeout,
            limits, min_feasible, json_std_field, cost_field, budget,
            tuple(such_that or ()), domain.fixed,
            None if candidates is None else (str(candidates.resolve()), names),
            tuple(found_again(text) for text in earlier or ()), renamed,
            report_regex, prune_below,
        )  # fmt: skip
        announce(study, plan)
        total = at_most(total, study, domain)
        others = more_workers(workers - 1, storage, study_name, jobs, logs or Path.cwd())
        table = live_table(study, total, console, jobs * workers, purse)
        watched = _watched(dashboard, storage)
        with others as stop_others, watched as publish, table as listener:
            listeners = both(both(remarks(command, listener), publish), stop)
            interrupted = tune_command(
                command, domain, study, total, jobs, listeners, time_budget, budget=purse
            )
            if evaluated(study) < total:  # whatever ended this process ends the others
                stop_others()
        if interrupted and not study.get_trials(states=(TrialState.COMPLETE,)):
            raise typer.Exit(EXIT_INTERRUPTED)
        if stop is not None and stop.reason is not None:
            say(stop.reason)
        if purse is not None:
            say(f"Budget: {purse.words(study)}.")
        if pruner is not None:
            say(_pruned(pruner, study))
        finish(study, report, f"Tuning {' '.join(program)}", stop)
        more = {**until, **twice_as_far(study, total, purse)}
        go_on = command_line({**more, **options}, program)
        print_next(ways_on(go_on, hidden(storage), study_name))
        if interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
    except StorageLost as error:
        fail(f"{error} {save(error)}")
    except (ImportError, ValueError, TypeError, OSError, CommandFailed) as error:
        fail(str(error))


def _purse(budget: str | None, cost_field: str | None) -> Budget | None:
    if budget is None:
        if cost_field is not None:
            raise ValueError("--cost-field is about a budget: give that too, as --budget 100.")
        return None
    purse = Budget(budget)
    if cost_field is None and not purse.is_time:
        raise ValueError(
            f"--budget {budget} has no unit: write a time, such as {budget}s or {budget}h, or say "
            "which field of the JSON holds what an evaluation has cost: --cost-field."
        )
    return purse


@contextmanager
def _watched(port: int | None, storage: str) -> Iterator[Listener | None]:
    """Serve the dashboard, and yield what keeps it up to date; without a port, do nothing."""
    if port is None:
        yield None
        return
    with serving(storage, port) as address:
        console.print(f"Dashboard: {address}")
        yield publisher()


def _pruner(report_regex: str | None, prune_below: float | None) -> CalibratedPruner | None:
    if (report_regex is None) != (prune_below is None):
        raise ValueError("--report-regex and --prune-below belong together: give both, or neither.")
    return None if prune_below is None else CalibratedPruner(prune_below)


def _pruned(pruner: CalibratedPruner, study: Study) -> str:
    if any(trial.intermediate_values for trial in study.get_trials(deepcopy=False)):
        return str(pruner.review(study))
    return (
        "No trial has reported anything, so none could be pruned: --report-regex matches no line "
        "of the output."
    )


def _stop(
    below: float | None,
    min_gain: float | None,
    look_ahead: int,
    value: float | None,
    price: float | None,
) -> StopWhen | None:
    if below is None and min_gain is not None:
        raise ValueError("--min-gain belongs to --stop-below: give both, or neither.")
    if value is None and price is None:
        return None if below is None else StopWhen(below, min_gain, look_ahead)
    if value is None or price is None:
        raise ValueError("--value and --price belong together: give both, or neither.")
    if below is not None:
        raise ValueError("--stop-below and --value are two ways to stop: give one of them.")
    return StopWhen(trials=look_ahead, value=value, price=price)


def _print_space(space: Parameters, listed: Candidates | None = None) -> None:
    """Print how the parameters were understood."""
    if listed is not None:
        say(f"{count(len(listed), 'candidate')}, modelled by {', '.join(space)}")
        return
    for name, words in describe_all(space).items():
        say(f"  {name}: {words}")
