"""The command line: `staticgraph COMMAND`, or `python -m staticgraph COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.settings import SETTINGS
from staticgraph.compiler.runtime.cache import settings
from staticgraph.compiler.runtime.cache.store import Store

BROKEN_PIPE = 141
"""The status of a process that ended as nobody reads what it prints, as shells tell it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status, or 2 with a message if it cannot be done."""
    from staticgraph.compare.command import add_commands
    from staticgraph.compare.records import INTERRUPTED
    from staticgraph.differences.command import add_commands as add_diff
    from staticgraph.fuzz.command import add_commands as add_fuzz
    from staticgraph.listing.command import add_commands as add_listing

    parser = argparse.ArgumentParser("staticgraph", description="Tools for compiled graphs.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_cache(commands)
    models = commands.add_parser("onnx", help="run ONNX's tests of its operators through load")
    models.add_argument("--check", action="store_true", required=True, help="print the counts")
    models.add_argument("--markdown", metavar="FILE", help="put them into a page, at its end")
    models.set_defaults(run=_check_onnx)
    environment = commands.add_parser("env", help="list the environment variables")
    environment.set_defaults(run=_show_environment)
    add_commands(commands)
    add_fuzz(commands)
    add_diff(commands)
    add_listing(commands)
    given = parser.parse_args(arguments)
    try:
        status: int = given.run(given)
        print(end="", flush=True)
    except StaticGraphError as error:
        print(f"staticgraph: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("staticgraph: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # of the flush at the end
        return BROKEN_PIPE
    return status


def _add_cache(commands: Any) -> None:
    command = commands.add_parser("cache", help="show or empty the on-disk kernel cache")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="say where it is, what it holds and how large it may be")
    info.set_defaults(run=_show_cache)
    clear = actions.add_parser("clear", help="remove every entry")
    clear.set_defaults(run=_clear_cache)


def _check_onnx(given: argparse.Namespace) -> int:
    from staticgraph.onnx.checking import cases, check, put_counts

    outcome = check(cases())
    print("\n".join(outcome.lines()))
    if given.markdown:
        put_counts(Path(given.markdown), outcome)
    return 1 if outcome.failed else 0


def _show_environment(_given: argparse.Namespace) -> int:
    for one in SETTINGS:
        given = f"default: {one.default}" if one.given is None else repr(one.given)
        print(f"{one.name}  {given}\n    {one.meaning}")
    return 0


def _show_cache(_given: argparse.Namespace) -> int:
    store = Store(settings.directory(), settings.limit())
    usage = store.usage()
    print(f"directory  {store.directory}")
    print(f"entries    {usage.entries}")
    print(f"size       {usage.bytes / 1e6:.2f} MB of at most {store.limit / 1e6:.0f} MB")
    print(f"state      {settings.state()}")
    return 0


def _clear_cache(_given: argparse.Namespace) -> int:
    store = Store(settings.directory(), settings.limit())
    removed = store.clear()
    print(f"removed {removed.entries} entries, {removed.bytes / 1e6:.2f} MB: {store.directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
