"""The commands `staticgraph compare` and `staticgraph peers`."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staticgraph.compare.own.subject import names_function
from staticgraph.compare.records import INTERRUPTED
from staticgraph.compiler.core.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from staticgraph.compare.own.contest import Task
    from staticgraph.compare.records import Settings

ROUNDS, SECONDS, STARTS = 9, 0.3, 3
ROUNDS_OF_A_SWEEP, SECONDS_OF_A_SWEEP = 5, 0.05  # at each of its sizes


def add_commands(commands: object) -> None:
    """Add both to the subparsers of the command line."""
    _add_compare(commands)
    _add_peers(commands)


def _add_compare(commands: Any) -> None:
    command = commands.add_parser(
        "compare",
        help="measure eager against compiled, and against peers",
        description="Measures eager against compiled, and both against the peers that are "
        "installed. Exit status 1: results differ, or one of ours has failed; 130: interrupted, "
        "what was measured is kept.",
    )
    add = command.add_argument
    add("workloads", nargs="*", metavar="workload",
        help="which ones, all if none is named; or your own function: my.py:loss")  # fmt: skip
    add("--inputs", metavar="SPEC",
        help="arguments of your function: x=f32[n,64],y=i64[0..9][n],k=3")  # fmt: skip
    add("--sweep", action="append", default=[], metavar="SIZES",
        help="values of a size of the inputs: n=1..4096, or n=1,10,100; once for each")  # fmt: skip
    add("--scale", default="1", metavar="FACTORS",
        help="multiply the size of each workload that can grow: 0.1,1,10")  # fmt: skip
    add("--gradient", metavar="NAMES", help="by which inputs; all of floating point if not given")
    add("--no-gradient", action="store_true", help="values alone")
    add("--claims", type=Path, metavar="FILE",
        help="measure what is said of static and dynamic graphs, and write a page; - prints; "
        "names then choose claims")  # fmt: skip
    add("--list", action="store_true", help="print the workloads and end")
    add(
        "--peers",
        metavar="NAMES",
        help="torch,jax,pytensor or none; if not given, those installed, of your own function none",
    )
    add("--peer", action="append", default=[], metavar="NAME=PYTHON",
        help="use this interpreter for a peer")  # fmt: skip
    add(
        "--threads",
        type=int,
        metavar="N",
        help="of ours; peers try 1 and N; the cores if not given",
    )
    add(
        "--seconds",
        type=float,
        metavar="S",
        help=f"per contender and round ({SECONDS}, at each size of a sweep {SECONDS_OF_A_SWEEP})",
    )
    add("--rounds", type=int, metavar="R",
        help=f"how many ({ROUNDS}, at each size of a sweep {ROUNDS_OF_A_SWEEP})")  # fmt: skip
    add("--starts", type=int, default=STARTS, metavar="K",
        help="processes that are started with empty caches (%(default)s)")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write everything that was measured")
    add("--markdown", type=Path, metavar="FILE", help="write a page with tables")
    add("--html", type=Path, metavar="FILE", help="write a report, with everything in one file")
    add("--plot", type=Path, metavar="FILE", help="draw the times against the limits (.svg, .png)")
    command.set_defaults(run=_ending_early)


def _add_peers(commands: Any) -> None:
    command = commands.add_parser("peers", help="show or make the environments of the peers")
    command.set_defaults(run=show_peers)
    actions = command.add_subparsers(title="actions", metavar="ACTION")
    install = actions.add_parser("install", help="make them, with pinned versions, by pip")
    install.add_argument(
        "names", nargs="*", metavar="peer", help="which ones; all if none is named"
    )
    install.set_defaults(run=install_peers)


def _ending_early(given: argparse.Namespace) -> int:
    """The same; what ends a process that takes too long keeps what was measured, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        return run_compare(given)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_compare(given)
    finally:
        signal.signal(signal.SIGTERM, before)


def run_compare(given: argparse.Namespace) -> int:
    """`staticgraph compare`."""
    from staticgraph.compare.workloads import WORKLOADS

    if given.list:
        for name, workload in WORKLOADS.items():
            print(f"{name:18} {workload.TITLE}")
        return 0
    _require("rich", *(["matplotlib"] if given.plot else []))
    if given.claims is not None:
        return _run_claims(given)
    if given.sweep or any(map(names_function, given.workloads)):
        return _run_over_sizes(given)
    _check_not_given(given)
    from staticgraph.compare.session import Plan, run

    return run(
        Plan(
            workloads=_workloads(given.workloads, list(WORKLOADS)),
            peers=_peers(given.peers, given.peer),
            threads=_threads(given.threads),
            seconds=_seconds(given),
            rounds=_rounds(given),
            starts=int(_positive("--starts", given.starts)),
            json=_writable(given.json),
            markdown=_writable(given.markdown),
            plot=_plot(given.plot),
            html=_writable(given.html),
            scales=_scales(given.scale),
        )
    )


def _run_claims(given: argparse.Namespace) -> int:
    """The page "static or dynamic?"."""
    from rich.console import Console
    from rich.markup import escape

    from staticgraph.compare.claims.page import chosen, write
    from staticgraph.compare.claims.records import Setup

    chosen(given.workloads)
    path = None if given.claims == Path("-") else _writable(given.claims)
    setup = Setup(_seconds(given), _peers(given.peers, given.peer).get("torch"))
    console = Console(stderr=True)
    with console.status("claims") as status:
        complete = write(path, given.workloads, setup, lambda name: status.update(escape(name)))
    if not complete:
        console.print("interrupted: what was measured is kept", style="yellow")
    return 0 if complete else INTERRUPTED


def _run_over_sizes(given: argparse.Namespace) -> int:
    """A function of the user's, or one workload over batch sizes."""
    from staticgraph.compare.own.run import Output, run
    from staticgraph.compare.own.tasks import task_of_workload

    if len(given.workloads) != 1:
        raise OptionError("compare: one function, or one workload, at a time has sizes or --inputs")
    for option, value in (("--markdown", given.markdown), ("--plot", given.plot)):
        if value is not None:
            raise OptionError(f"compare: {option} is for workloads in one size: there is --html")
    (name,) = given.workloads
    if names_function(name):
        task = _own_task(given, name)
    else:
        _check_not_given(given)
        task = task_of_workload(name, given.sweep, _settings(given))
    output = Output(_writable(given.json), _writable(given.html))
    peers = _peers(given.peers, given.peer, every=not names_function(name))
    return run(task, peers, output)


def _own_task(given: argparse.Namespace, name: str) -> Task:
    from staticgraph.compare.own.specs import read_inputs
    from staticgraph.compare.own.subject import read_subject
    from staticgraph.compare.own.tasks import task_of

    subject = read_subject(name)
    if given.inputs is None:
        takes = ", ".join(subject.parameters or subject.required)
        example = ",".join(f"{one}=f32[n,64]" for one in subject.required) or "x=f32[n,64]"
        raise OptionError(
            f"compare: what are the arguments of {subject.name}({takes})? --inputs '{example}'"
        )
    gradient: Sequence[str] | None = None
    if given.no_gradient:
        gradient = ()
    elif given.gradient is not None:
        gradient = [one for one in given.gradient.split(",") if one]
    return task_of(subject, read_inputs(given.inputs), given.sweep, gradient, _settings(given))


def _check_not_given(given: argparse.Namespace) -> None:
    """OptionError for options that a workload has no use for."""
    for option, value in (
        ("--inputs", given.inputs),
        ("--gradient", given.gradient),
        ("--no-gradient", given.no_gradient or None),
    ):
        if value is not None:
            raise OptionError(f"compare: {option} is for a function of your own: my.py:loss")


def _seconds(given: argparse.Namespace) -> float:
    if given.seconds is None:
        return SECONDS_OF_A_SWEEP if given.sweep else SECONDS
    return _positive("--seconds", given.seconds)


def _rounds(given: argparse.Namespace) -> int:
    if given.rounds is None:
        return ROUNDS_OF_A_SWEEP if given.sweep else ROUNDS
    return int(_positive("--rounds", given.rounds))


def _settings(given: argparse.Namespace) -> Settings:
    from staticgraph.compare.kinds import THREAD_VARIABLES
    from staticgraph.compare.records import Settings

    return Settings(
        threads=_threads(given.threads),
        seconds=_seconds(given),
        rounds=_rounds(given),
        starts=int(_positive("--starts", given.starts)),
        variables=THREAD_VARIABLES,
    )


def _require(*packages: str) -> None:
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError:
            raise MissingExtraError(
                f"compare: {package} is missing: pip install 'staticgraph[compare]'"
            ) from None


def _workloads(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise OptionError(f"compare: unknown workload {name!r}: known are {', '.join(known)}")
    return tuple(dict.fromkeys(names)) or tuple(known)


def _peers(names: str | None, given: Sequence[str], every: bool = True) -> dict[str, str | None]:
    """The interpreter of each peer that is wanted; None if it is not there.

    `every`: whether those that are installed are wanted where none is named.
    """
    from staticgraph.compare import peers

    interpreters: dict[str, str | None] = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not equals or not path:
            raise OptionError(f"compare: --peer {pair!r} is not NAME=PYTHON")
        peers.check([name])
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            raise OptionError(f"compare: --peer {name}: {path} is no interpreter")
        interpreters[name] = os.path.abspath(path)
    installed = {name: peers.interpreter(name) for name in peers.PEERS}
    if names is None:
        found = installed if every else {}
        wanted = [name for name in peers.PEERS if found.get(name) or name in interpreters]
    else:
        wanted = peers.check([name for name in names.split(",") if name and name != "none"])
    return {
        name: interpreters.get(name) or (str(installed[name]) if installed[name] else None)
        for name in dict.fromkeys(wanted)
    }


def _threads(given: int | None) -> int:
    if given is None:
        from staticgraph.compare.machine import available_cores

        return available_cores()
    return int(_positive("--threads", given))


def _scales(text: str) -> tuple[float, ...]:
    try:
        factors = [float(one) for one in text.split(",")]
    except ValueError:
        raise OptionError(f"compare: --scale {text}: factors are numbers: 0.1,1,10") from None
    return tuple(_positive("--scale", one) for one in factors)


def _positive(option: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise OptionError(f"compare: {option} {value} is not positive")
    return value


def _writable(path: Path | None) -> Path | None:
    """The path, if a file can be written there: known before the hours of measuring, not after."""
    if path is None:
        return None
    there = path if path.exists() else path.absolute().parent
    if path.is_dir() or not there.exists() or not os.access(there, os.W_OK):
        raise OptionError(f"compare: {path} cannot be written")
    return path


def _plot(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in (".svg", ".png", ".pdf"):
        raise OptionError(f"compare: --plot {path}: the name must end in .svg, .png or .pdf")
    return _writable(path)


def show_peers(_given: argparse.Namespace) -> int:
    """`staticgraph peers`: which environments there are."""
    from staticgraph.compare import peers

    print(f"directory  {peers.directory()}")
    for name, requirements in peers.PEERS.items():
        state = "installed" if peers.interpreter(name) else "not installed"
        print(f"{name:10} {state:14} {' '.join(requirements)}")
    return 0


def install_peers(given: argparse.Namespace) -> int:
    """`staticgraph peers install`."""
    from staticgraph.compare import peers

    names = peers.check(given.names) or list(peers.PEERS)
    _require("rich")
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    for name in names:
        found = peers.interpreter(name)
        try:
            if found is None:
                with console.status(name) as status:
                    found = peers.install(name, lambda line: status.update(escape(line)))
        except KeyboardInterrupt:
            console.print(f"{name}: interrupted; the same command goes on from here")
            return INTERRUPTED
        print(f"{name}: {found}")
    return 0
