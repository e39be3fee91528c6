"""The command `staticgraph fuzz`."""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from pathlib import Path
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.fuzz.campaign import CAMPAIGNS, load, module_of


def add_commands(commands: Any) -> None:
    """Add it to the subparsers of the command line."""
    command = commands.add_parser(
        "fuzz",
        help="run random programs in every way, and compare",
        description="Runs random programs in every way, and compares. A program that crashes, "
        "hangs or gives different results is made small and kept as a file and as a script. The "
        "same command goes on where it was interrupted. Exit status 1: there are failures; 130: "
        "interrupted.",
    )
    add = command.add_argument
    add(
        "campaign",
        nargs="?",
        help="which one, or a module that declares one; all are listed if none is named",
    )
    add("--seeds", type=str, default="0:1000", metavar="A:B", help="from A to B-1 (%(default)s)")
    add("--mode", metavar="NAME", help="which ways are compared")
    add("--jobs", type=int, metavar="N", help="processes; the cores if not given")
    add("--seconds", type=float, metavar="S", help="the longest that a program may take")
    add("--memory", type=float, default=0, metavar="GB", help="the most that a process may map")
    add("--idle", action="store_true", help="run only when nothing else wants to")
    add("--no-shrink", action="store_true", help="keep failing programs as they are")
    add("--directory", type=Path, metavar="DIR",
        help="where state and failures are kept (out/fuzz/CAMPAIGN-MODE)")  # fmt: skip
    add("--replay", type=Path, nargs="+", metavar="FILE", help="run the programs of failures")
    add("--show", type=int, metavar="SEED", help="print the program of a seed as a script")
    command.set_defaults(run=run_fuzz)


def run_fuzz(given: argparse.Namespace) -> int:
    """`staticgraph fuzz`."""
    from staticgraph.compiler.runtime.threads import get_num_threads
    from staticgraph.fuzz import session
    from staticgraph.fuzz.process import Limits

    if given.campaign is None:
        for name, module in CAMPAIGNS.items():
            print(f"{name:10} {load(module).title}")
        return 0
    module = module_of(given.campaign)
    campaign = load(module)
    mode = campaign.modes[0] if given.mode is None else given.mode
    if mode not in campaign.modes:
        raise OptionError(f"fuzz: --mode {mode!r} is none of {', '.join(campaign.modes)}")
    if given.show is not None:
        print(campaign.script({**campaign.generate(given.show), "mode": mode}))
        return 0
    seconds = campaign.seconds if given.seconds is None else _positive("--seconds", given.seconds)
    limits = Limits(seconds, int(_least_0("--memory", given.memory) * 1e9), idle=given.idle)
    if given.replay:
        with tempfile.TemporaryDirectory(prefix="staticgraph-fuzz-") as folder:
            return session.replay(given.replay, given.campaign, module, limits, Path(folder))
    jobs = get_num_threads() if given.jobs is None else int(_positive("--jobs", given.jobs))
    directory = given.directory or Path("out", "fuzz", f"{given.campaign}-{mode}")
    return session.run(
        session.Plan(
            name=given.campaign,
            module=module,
            seeds=_seeds(given.seeds),
            mode=mode,
            jobs=jobs,
            limits=limits,
            directory=directory,
            shrink=not given.no_shrink,
        )
    )


def _seeds(text: str) -> range:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise OptionError(f"fuzz: --seeds {text!r} is not A:B with A < B")
    return range(int(match[1]), int(match[2]))


def _positive(option: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise OptionError(f"fuzz: {option} {value} is not positive")
    return value


def _least_0(option: str, value: float) -> float:
    if not (value >= 0 and math.isfinite(value)):
        raise OptionError(f"fuzz: {option} {value} is negative")
    return value
