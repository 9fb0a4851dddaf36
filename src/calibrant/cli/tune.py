"""``calibrant tune``: parse the arguments, run the study, print the result."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.bridges.dashboard import publisher, serving
from calibrant.cli.closing import print_next, print_result
from calibrant.cli.inputs import (
    parse_fixed,
    parse_parameters,
    parse_renamed,
    read_candidates,
    read_earlier,
    split_earlier,
)
from calibrant.cli.live_table import live_table
from calibrant.cli.rescue import save
from calibrant.cli.terminal import EXIT_INTERRUPTED, check_writable, console, fail, say
from calibrant.cli.worker import more_workers
from calibrant.core import validate
from calibrant.core.words import count, number
from calibrant.decisions import StopWhen
from calibrant.decisions.outlook import TRIALS
from calibrant.reporting import report as write_report
from calibrant.studies.budget import Budget
from calibrant.studies.candidates import NAME, Candidates
from calibrant.studies.domain import domain_of
from calibrant.studies.job import record_run, same_job
from calibrant.studies.limits import parse_limits
from calibrant.studies.minimize import (
    at_most,
    most_trials,
    open_study,
    placeholders,
    tune_command,
)
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.runner import Listener, both, evaluated
from calibrant.studies.sharing import Plan, announce
from calibrant.studies.space_text import describe_all, parse_space
from calibrant.studies.storage import StorageLost, hidden
from calibrant.studies.structure import Parameters

_ALIKE = 5  # results that are all the same: then it is hardly the result that was read


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
    jobs: Annotated[int, typer.Option(help="Programs to run at the same time.")] = 1,
    workers: Annotated[
        int,
        typer.Option(help="Processes that tune, each with its own jobs; see `calibrant worker`."),
    ] = 1,
    storage: Annotated[
        str,
        typer.Option(
            envvar="CALIBRANT_STORAGE",
            help="Where the study is stored; run the same again to resume it. A password is better "
            "given in the environment, where other users do not see it.",
        ),
    ] = "sqlite:///calibrant.db",
    study_name: Annotated[str, typer.Option(help="Its name in the storage.")] = "calibrant",
    maximize: Annotated[bool, typer.Option("--maximize", help="Higher is better.")] = False,
    json_field: Annotated[
        str | None,
        typer.Option(help="Read this field of the JSON printed last, instead of the last number."),
    ] = None,
    result_regex: Annotated[
        str | None,
        typer.Option(
            help="Read the last match of this regular expression, or of the group in it: "
            "'loss ([-.\\d]+)'."
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
        typer.Option(help="memory=8: the most that this field of the JSON printed last may be."),
    ] = None,
    min_feasible: Annotated[
        float | None,
        typer.Option(help="Try only settings that keep to all limits with this probability."),
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
            help="What all evaluations may take together, as 90s, 30m or 2h; or what they may cost "
            "in the unit of --cost-field."
        ),
    ] = None,
    cost_field: Annotated[
        str | None,
        typer.Option(help="The field of the JSON that says what the evaluation has cost."),
    ] = None,
    such_that: Annotated[
        list[str] | None,
        typer.Option(help="'a + b <= 1': what every setting keeps to."),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="CSV of the only settings to try, each once; {name} and {column} go into the "
            "program, and -p may give a column's range."
        ),
    ] = None,
    names: Annotated[
        str, typer.Option(help="The column of candidates that holds their names.")
    ] = NAME,
    fix: Annotated[
        list[str] | None,
        typer.Option(help="batch=A: tune for this; trials with other values are learned from."),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STORAGE[::STUDY]",
            help="A study of a related problem, trusted as far as its forecasts of this one hold; "
            "may be given several times.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="learning_rate=lr: what a parameter of earlier studies is called now."),
    ] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an evaluation counts as failed.")
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(help="Seconds after which no new evaluation starts."),
    ] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Folder in which the output of each trial is kept.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    dashboard: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Serve Optuna's dashboard on this port while it runs, with calibrant's figures.",
        ),
    ] = None,
    stop_below: Annotated[
        float | None,
        typer.Option(help="Stop when an improvement is less probable than this, such as 0.05."),
    ] = None,
    min_gain: Annotated[
        float | None, typer.Option(help="The improvement that --stop-below asks about.")
    ] = None,
    look_ahead: Annotated[
        int, typer.Option(help="Within how many more trials, for --stop-below or --value.")
    ] = TRIALS,
    value: Annotated[
        float | None,
        typer.Option(help="What an improvement by 1 is worth: stop when trials cost more."),
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
            json_std_field, cost_field,
        )  # fmt: skip
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
        how_read = [json_field, result_file, *([result_regex] if result_regex else [])]
        same_job(study, parameters=sorted(space), program=program, result=how_read, limits=limits)
        options = {
            "--param": param, "--jobs": jobs if jobs > 1 else None,
            "--workers": workers if workers > 1 else None,
            "--storage": hidden(storage), "--study-name": study_name,
            "--maximize": maximize, "--json-field": json_field, "--result-regex": result_regex,
            "--result-file": result_file, "--limit": limit, "--min-feasible": min_feasible,
            "--json-std-field": json_std_field, "--cost-field": cost_field,
            "--such-that": such_that, "--candidates": candidates,
            "--names": None if names == NAME else names, "--fix": fix,
            "--earlier": [_found_again(text) for text in earlier or []], "--rename": rename,
            "--trial-timeout": trial_timeout,
            "--time-budget": time_budget, "--logs": logs, "--seed": seed,
            "--stop-below": stop_below, "--min-gain": min_gain,
            "--look-ahead": None if look_ahead == TRIALS else look_ahead,
            "--value": value, "--price": price,
        }  # fmt: skip
        until = {"--trials": total if purse is None else trials, "--budget": budget}
        record_run(study, _command_line({**until, **options}, program), seed)
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
            tuple(_found_again(text) for text in earlier or ()), renamed,
        )  # fmt: skip
        announce(study, plan)
        total = at_most(total, study, domain)
        others = more_workers(workers - 1, storage, study_name, jobs, logs or Path.cwd())
        table = live_table(study, total, console, jobs * workers, purse)
        watched = _watched(dashboard, storage)
        with others as stop_others, watched as publish, table as listener:
            listeners = both(both(_remarks(command, listener), publish), stop)
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
        finish(study, report, f"Tuning {' '.join(program)}", stop)
        more = {**until, **_more(study, total, purse)}
        go_on = _command_line({**more, **options}, program)
        print_next(_ways_on(go_on, hidden(storage), study_name))
        if interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
    except StorageLost as error:
        fail(f"{error} {save(error)}")
    except (ImportError, ValueError, TypeError, OSError, CommandFailed) as error:
        fail(str(error))


def _found_again(text: str) -> str:
    """Return an earlier study as another process finds it, from any folder, without a password."""
    storage, name = split_earlier(text)
    file = storage.removeprefix("sqlite:///")
    place = f"sqlite:///{Path(file).resolve()}" if Path(file).is_file() else hidden(storage)
    return place if name is None else f"{place}::{name}"


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


def _more(study: Study, total: int, purse: Budget | None) -> dict[str, object]:
    """Return the options that go on with a study that has ended: twice as far."""
    if purse is None:
        return {"--trials": total if evaluated(study) < total else 2 * total}
    return {"--budget": f"{2.0 * purse.most:g}{'s' if purse.is_time else ''}"}


@contextmanager
def _watched(port: int | None, storage: str) -> Iterator[Listener | None]:
    """Serve the dashboard, and yield what keeps it up to date; without a port, do nothing."""
    if port is None:
        yield None
        return
    with serving(storage, port) as address:
        console.print(f"Dashboard: {address}")
        yield publisher()


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


def _remarks(command: Command, listener: Listener) -> Listener:
    """Return a listener that also says, once each, what was read and that all results are alike."""
    said: set[str] = set()

    def listen(study: Study, trial: FrozenTrial) -> None:
        if "read" not in said and command.first_reading is not None:
            said.add("read")
            say(f"Trial {trial.number}: {command.first_reading}")
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        values = {trial.value for trial in complete}
        if "alike" not in said and len(complete) >= _ALIKE and len(values) == 1:
            said.add("alike")
            say(
                f"Warning: all {len(complete)} results are {number(complete[0].value or 0.0, 6)}. "
                "Is that the number to tune? --result-regex or --json-field reads another one.",
                "yellow",
            )
        listener(study, trial)

    return listen


def _command_line(options: Mapping[str, object], program: list[str]) -> list[str]:
    """Return the command that runs the same study, without what is the default."""
    words = ["calibrant", "tune"]
    defaults = {"--storage": "sqlite:///calibrant.db", "--study-name": "calibrant"}
    for name, value in options.items():
        if value is None or value is False or defaults.get(name) == value:
            continue
        if value is True:
            words.append(name)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [name, str(one)]
    return [*words, "--", *program]


def _ways_on(go_on: list[str], storage: str, study_name: str) -> list[tuple[str, str]]:
    """Return the commands with which to go on, each with its purpose."""
    name = [] if study_name == "calibrant" else ["--study", study_name]
    look = ["calibrant", "report", storage, *name]
    watch = ["optuna-dashboard", storage]
    ways = {"Go on": go_on, "Report": look, "Watch": watch}
    return [(purpose, shlex.join(command)) for purpose, command in ways.items()]


def _print_space(space: Parameters, listed: Candidates | None = None) -> None:
    """Print how the parameters were understood."""
    if listed is not None:
        say(f"{count(len(listed), 'candidate')}, modelled by {', '.join(space)}")
        return
    for name, words in describe_all(space).items():
        say(f"  {name}: {words}")


def finish(study: Study, report: Path | None, title: str, stop: StopWhen | None = None) -> None:
    """Print the result of a study and write its report, or fail if there is no result."""
    try:
        print_result(study, stop)
    except ValueError as error:
        fail(str(error))
    if report is not None:
        console.print(f"Report: {write_report(study, report, title)}")
