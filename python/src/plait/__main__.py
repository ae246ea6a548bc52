# SPDX-License-Identifier: Apache-2.0
"""The command line. Each command's work is in its own module of `commands`, loaded when called."""

from __future__ import annotations

import os
import sys
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.core
import typer.main
from typer.models import CommandInfo

from plait._environment import Readers, help_of
from plait._errors import PlaitError, Status
from plait.cli import (
    accelerate,
    balance,
    build,
    checkpoint,
    completion,
    export,
    fit,
    import_,
    predict,
    record,
    replay,
    simulate,
)
from plait.cli import map as map_command
from plait.cli.options import (
    CallPath,
    Counters,
    FewerRanks,
    JsonFile,
    LauncherLine,
    Profile,
    ProfileWindow,
    Quiet,
    Restart,
    Sample,
    Window,
    hushed,
    output_option,
    parse_ranks,
    printed_into,
    ranks_option,
    require_profile,
    results_in,
)

_RUN_OPTIONS = f"""
The program sees these variables. Options given here win over what the shell has set; `plait run`
passes all PLAIT_ variables on.

{help_of(Readers.programs)}

These are read by plait itself:

{help_of(Readers.command)}
"""

app = typer.Typer(
    name="plait",
    help="Run asynchronous MPI programs, and see where their time went.\n\n"
    "Typical use:\n\n"
    "  plait doctor                          is everything here?\n\n"
    "  plait run -n 2 --name first ./ring    run on two ranks, with a trace in runs/first\n\n"
    "  plait accelerate -- mpirun -n 2 ./any  run any MPI program with its messages on the engine\n\n"
    "  plait record -- mpirun -n 2 ./any      record a program that knows nothing of plait\n\n"
    "  plait report runs/first --open        a page with task plots, messages, the critical path\n\n"
    "  plait graph runs/first -o graph.svg   which tasks come before which",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _load(command: str) -> Any:
    """The module of a command: what it needs takes long to import, and --help must be quick."""
    return import_module(f"plait.commands.{command}")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"plait {import_module('plait').__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    epilog=_RUN_OPTIONS,
)
def run(
    program: Annotated[str, typer.Argument(help="The program: a path, or a name on the PATH.")],
    args: Annotated[
        list[str] | None, typer.Argument(help="Its own arguments; nothing here is read by plait.")
    ] = None,
    ranks: Annotated[int, ranks_option("Number of MPI ranks.", most=1_000_000)] = 1,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", "-w", min=1, max=1024, help="Computing threads a rank (PLAIT_WORKERS)."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Trace into runs/NAME. [default: the program's name and the time]"),
    ] = None,
    output: Annotated[Path | None, output_option("RUN", "Trace into this folder instead.")] = None,
    trace: Annotated[bool, typer.Option("--trace/--no-trace", help="Record, or only run.")] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the trace of an earlier run there.")
    ] = False,
    mpiexec: LauncherLine = None,
    bind: Annotated[
        str,
        typer.Option(help="auto, none or core: tie each rank to cores; auto does when they suffice."),
    ] = "auto",
    record_mpi: Annotated[
        bool,
        typer.Option("--record-mpi", help="Also record the program's own MPI calls."),
    ] = False,
    call_path: CallPath = 1,
    counters: Counters = None,
    sample: Sample = None,
    profile: Profile = False,
    window: ProfileWindow = None,
    restart: Restart = 0,
    fewer_ranks: FewerRanks = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print which settings were chosen at the start.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a program under MPI and record where its time goes.

    Options for plait come before the program, everything after it is the program's.

    Examples:

      plait run -n 2 build/release/apps/ring/plait-ring run ring.hdf5 --steps 100

      plait run -n 4 -w 2 --name test --force ./my_program input.yml

      plait run -n 2 --record-mpi build/release/apps/pic/plait-pic --steps 20     (MPI calls, too)

      plait run -n 2 --sample 100 ./my_program     (and which functions the tasks spend their time in)

      plait run -n 512 --profile --window 10s/1000s ./long_run     (sums, and all events at times)

      plait run -n 2 --no-trace ./my_program     (only start it)

      plait run -n 64 --restart 5 plait-pic --steps 9000 --checkpoint-every 100 --restart

    With --restart, a run that fails is started again with the same command: the program must continue
    by itself, as plait-pic does with an option of this name. Wrong options, a program that cannot be
    started, and Ctrl-C end at once. RUN has the last trace, RUN/attempt-1 that of the first attempt.
    """
    require_profile(profile, window)
    status = _load("run").run_program(
        _load("run").Job(
            program=program,
            arguments=tuple(args or ()),
            ranks=ranks,
            workers=workers,
            name=name,
            output=output,
            trace=trace,
            force=force,
            mpiexec=mpiexec,
            bind=bind,
            verbose=verbose,
            quiet=quiet,
            record_mpi=record_mpi,
            call_path=call_path,
            counters=counters,
            sample=sample,
            profile=profile,
            window=window,
            restarts=_load("run").Restarts(restart, fewer_ranks),
        )
    )
    raise typer.Exit(status)


@app.command()
def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="The run's folder, as `plait run` names it.")
    ] = None,
    output: Annotated[
        Path | None,
        output_option("DIR", "Where to write. [default: RUN/report, or B/compare]"),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Instead of one run, hold two side by side."),
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the trace for ui.perfetto.dev."),
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Report on this step only.")
    ] = None,
    window: Window = None,
    ranks: Annotated[
        str | None, typer.Option("--only-ranks", metavar="LIST", help="Read these ranks only: 0-3,8.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Write a page and pictures that show where a run's time went.

    The page, report.html, is one file that needs no network: task plots of each rank, data in
    flight, data rate, send against receive times, dead time, phases, the critical path of each step,
    the task graph. The same figures are beside it as PNG files, their numbers as CSV, task graphs as
    DOT and SVG. Unfinished and killed runs can be reported too.

    With --compare, compare.html and the output report which of two runs is faster, and what changed
    most: time in tasks and calls, waiting, messages, data in flight.

    Examples:

      plait report runs/first --open

      plait report runs/first --step 12 -o step-12

      plait report runs/first --perfetto first.pftrace

      plait report runs/long --window 3     (a window of plait record --profile)

      plait report --compare runs/first runs/second

      plait report runs/first --json - | jq .summary.idle_share
    """
    if (folder is None) == (compare is None):
        raise typer.BadParameter("give the folder of one run, or --compare with those of two")
    if compare is not None and perfetto is not None:
        raise typer.BadParameter("--perfetto is for one run; leave out --compare")
    if compare is not None and ranks is not None:
        raise typer.BadParameter("--only-ranks is for one run; leave out --compare")
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        same = {
            **{"output": output, "step": step, "window": window},
            **{"open_page": open_page, "results": results},
        }
        if compare is not None:
            _load("compare").compare_runs(*compare, **same)
        else:
            chosen = None if ranks is None else parse_ranks(ranks)
            _load("report").report(folder, perfetto=perfetto, ranks=chosen, **same)


@app.command()
def graph(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The run's folder, as `plait run` names it.")
    ],
    output: Annotated[Path, output_option("FILE", "What to write: .svg or .dot.")] = Path("graph.svg"),
    by: Annotated[
        str, typer.Option(help="A node for each kind, or for each task of one step.")
    ] = "kind",
    step: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="This step. [default: kinds all, tasks a typical one]"),
    ] = None,
    rank: Annotated[
        list[int] | None, typer.Option(min=0, help="Tasks of this rank; may be given again.")
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(metavar="FROM-TO", help="Tasks of this part of the step, such as 1.5ms-4ms."),
    ] = None,
    around: Annotated[
        str, typer.Option(metavar="path|RANK:TASK", help="Where to begin when not all have room.")
    ] = "path",
    distance: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only tasks at most N edges from there.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, max=20_000, metavar="N", help="At most so many nodes.")
    ] = 150,
    each: Annotated[bool, typer.Option("--each", help="Do not draw like tasks as one node.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw the tasks of a run and what ordered them.

    By kind: which kind of task comes before which, how often, and how long they took. By task: one
    step, or a part of it, with its messages between ranks and its critical path. Tasks that have the
    same before and after them are drawn as one. SVG needs Graphviz; its hover text has details.

    Examples:

      plait graph runs/first

      plait graph runs/first --by task --step 12 -o step-12.svg

      plait graph runs/first --by task --rank 1 --between 1.5ms-4ms --each -o part.dot

      plait graph runs/first --by task --around 0:123 --distance 2 -o near.svg
    """
    module = _load("graph")
    ranks = tuple(rank or ())
    wishes = module.Wishes(by, step, ranks, between, around, distance, most, each)
    with hushed(quiet):
        module.graph(folder, output, wishes)


class _DoctorCommand(typer.core.TyperCommand):
    """`--json` without a file is an earlier spelling of `--json -`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        whole = list(args)
        for index, word in reversed(list(enumerate(args))):
            following = args[index + 1] if index + 1 < len(args) else "-q"
            if word == "--json" and following != "-" and following.startswith("-"):
                whole.insert(index + 1, "-")
        return super().parse_args(ctx, whole)


_MeasuredHosts = Annotated[
    str | None,
    typer.Option(
        metavar="A,B|N",
        help="Measure with a rank on each of these, A is this host; or, with --collectives, on N "
        "hosts of a lab.",
    ),
]


@app.command(cls=_DoctorCommand)
def doctor(
    json_file: JsonFile = None,
    quiet: Quiet = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="No message test between two ranks; with the others, a shorter one."
        ),
    ] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure settings between two ranks, and keep the better ones."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Keep also what was measured on a busy machine.")
    ] = False,
    collectives: Annotated[
        bool,
        typer.Option("--collectives", help="Measure which collectives of the MPI are slow here."),
    ] = False,
    ranks: Annotated[
        int | None, ranks_option("With --collectives. [default: one for each core or host]")
    ] = None,
    hosts: _MeasuredHosts = None,
) -> None:
    """Check what is installed here, and whether two ranks can talk.

    Names what is missing, what it would be good for, and how to install it. The exit status is 0
    when all that plait needs is here; optional parts may be missing.

    With --collectives, all collectives of the MPI are compared, by number of ranks, datatype and size,
    with what their messages need (a LogGP network that is fitted to messages of the same run), with
    plait's own, and non-blocking ones with the blocking. The slow ones come first, each with what to
    try. The exit status is 1 when a collective of contiguous data is slow. Reports of runs on the same
    hosts then compare with this network.

    With --measure, two ranks exchange messages for half a minute, with different sizes of packets, ways
    of packing and of progress. What beats the defaults is kept in the user's cache folder, and programs
    use it from then on where neither they nor PLAIT_ variables set the option.

    Examples:

      plait doctor

      plait doctor --json machine.json

      plait doctor --measure

      plait doctor --measure --hosts node1,node2

      plait doctor --collectives --hosts 2 -n 4
    """
    if force and not (measure or collectives):
        raise typer.BadParameter("--hosts and --force are for --measure and --collectives")
    _check_hosts(hosts, measure=measure, collectives=collectives)
    _check_ranks(ranks, measure=measure, collectives=collectives)
    as_json = json_file is not None
    with hushed(quiet and not as_json), printed_into(json_file):
        if measure:
            module = _load("measure")
            wishes = module.Wishes(quick=quick, as_json=as_json, force=force, hosts=hosts)
            status = module.measure(wishes)
        elif collectives:
            module = _load("collectives")
            status = module.measure_collectives(module.Wishes(quick, as_json, force, hosts, ranks))
        else:
            status = _load("doctor").doctor(as_json=as_json, quick=quick)
    raise typer.Exit(status)


def _check_hosts(hosts: str | None, *, measure: bool, collectives: bool) -> None:
    if hosts is not None and not (measure or collectives):
        raise typer.BadParameter("--hosts and --force are for --measure and --collectives")
    if measure and hosts is not None and hosts.isdecimal():
        raise typer.BadParameter(f"--hosts {hosts} is a lab, whose network is not this machine's")


def _check_ranks(ranks: int | None, *, measure: bool, collectives: bool) -> None:
    if measure and collectives:
        raise typer.BadParameter("--measure and --collectives are two measurements; give one")
    if ranks is not None and not collectives:
        raise typer.BadParameter("--ranks is for --collectives")
    if ranks == 1:
        raise typer.BadParameter("--ranks is at least 2 with --collectives")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The benchmark; see --list.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Name all benchmarks built.")] = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
    ranks: Annotated[int | None, ranks_option("Ranks to start it on. [default: its own number]")] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Not in a lab, even if the benchmark wants one.")
    ] = False,
    hosts: Annotated[
        int | None, typer.Option(help="Hosts of the lab. [default: one for each rank]")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Of the lab's links. [default: 1gbit]")] = None,
    links: Annotated[
        int | None, typer.Option(help="Links of each host of the lab. [default: what it wants]")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(metavar="openmpi|mpich", help="Build and run with it. [default: that of mpiexec]"),
    ] = None,
) -> None:
    """Run one of the benchmarks, with its peers.

    Some want a network that is slower than memory: they run in a lab (see `plait lab --help`), or on a
    modelled network where this machine may have none. --hosts, --rate and --links bring any of them into
    one.
    Where a row has a wanted figure, the table has it, and whether it is reached; so has the JSON.
    Arguments that plait does not know go to the benchmark.

    Examples:

      plait bench --list

      plait bench pingpong --json pingpong.json

      plait bench pingpong --hosts 2 --rate 2.5gbit --mpi mpich
    """
    module = _load("bench")
    if list_all or name is None:
        module.list_benches()
        return
    wishes = module.Wishes(ranks, hosts, rate, here, mpi, links)
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        status = module.run_bench(name, tuple(context.args), json_file=results, wishes=wishes)
    raise typer.Exit(status)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def lab(
    program: Annotated[
        str | None, typer.Argument(help="The program. [default: only measure the links]")
    ] = None,
    args: Annotated[
        list[str] | None, typer.Argument(help="Its own arguments; nothing here is read by plait.")
    ] = None,
    hosts: Annotated[int, typer.Option(help="Hosts: two share a cable, more have a switch.")] = 2,
    rate: Annotated[
        str, typer.Option(help="Of each link, in each direction: 100mbit, 1gbit, 2.5gbit.")
    ] = "1gbit",
    ranks: Annotated[int | None, ranks_option("Ranks in all. [default: one a host]")] = None,
    mpi: Annotated[
        str | None, typer.Option(metavar="openmpi|mpich", help="[default: that of mpiexec]")
    ] = None,
    links: Annotated[
        int, typer.Option(help="Links of each host, each a network of its own: rails.")
    ] = 1,
    bind: Annotated[
        bool, typer.Option("--bind/--no-bind", help="Give each host cores of its own, if enough.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Run an MPI program on a small cluster inside this machine.

    Its hosts are network namespaces, joined by links with a rate limit; messages between hosts cross
    TCP. The links are measured first. Needs root, or a kernel that lets users make namespaces; status
    77 means that this machine does not allow it. Everything is removed when the program ends. Programs
    see PLAIT_LAB (what the lab is), PLAIT_LAB_BITS_PER_S (the rate of a link), PLAIT_HOST and
    PLAIT_OFI_ADDRESS (their host, and its address on each link).

    Examples:

      plait lab                                           only make it, and measure its links

      plait lab -- build/release/bench/bench_pingpong

      plait lab --hosts 4 --rate 2.5gbit -n 8 -- ./my_program input.yml

      plait lab --links 2 -- env PLAIT_NETWORK=ofi ./my_program     on two rails

      plait lab --mpi mpich -- build/bench-mpich/bench/bench_pingpong
    """
    command = () if program is None else (program, *(args or ()))
    module = _load("lab")
    status = module.run_lab(
        command, hosts=hosts, rate=rate, ranks=ranks, mpi=mpi, binds=bind, links=links, quiet=quiet
    )
    raise typer.Exit(status)


accelerate.add(app)
balance.add(app)
build.add(app)
checkpoint.add(app)
completion.add(app)
export.add(app)
fit.add(app)
import_.add(app)
map_command.add(app)
predict.add(app)
record.add(app)
replay.add(app)
simulate.add(app)


def _with_only(words: list[str]) -> typer.Typer:
    """The command line with the command that is called; with all where it is none. To build all of them
    takes as long as to print the help of one."""
    called = [one for one in app.registered_commands if words == [_name_of(one)]]
    if not called or completion.VARIABLE in os.environ:
        return app
    chosen = copy(app)
    chosen.registered_commands, chosen.registered_groups = called, []
    return chosen


def _print_help(called: typer.Typer) -> None:
    """Prints the help of the only command. To let typer read the two words would load pydantic, which
    takes as long as all the rest."""
    group: Any = typer.main.get_command(called)
    outer = group.context_class(group, info_name=completion.PROGRAM, **group.context_settings)
    ((name, command),) = group.commands.items()
    inner = command.context_class(command, info_name=name, parent=outer, **command.context_settings)
    typer.echo(command.get_help(inner))


def _name_of(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def main() -> NoReturn:
    """Runs a command; what the user can mend is one sentence on stderr and a status that is not 0."""
    try:
        called = _with_only(sys.argv[1:2])
        if called is not app and sys.argv[2:] in (["--help"], ["-h"]):
            _print_help(called)
        else:
            called(prog_name=completion.PROGRAM, standalone_mode=True)
    except PlaitError as error:
        color = False if os.environ.get("NO_COLOR") else None  # None: on a terminal
        typer.secho("plait: ", err=True, nl=False, fg=typer.colors.RED, bold=True, color=color)
        typer.echo(str(error), err=True)
        sys.exit(error.status)
    except KeyboardInterrupt:
        sys.exit(Status.interrupted)
    except BrokenPipeError:
        # The reader of our output has gone (head, less): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(0)


if __name__ == "__main__":
    main()
