"""The command `staticgraph diff`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from staticgraph.compare.own.subject import Subject
    from staticgraph.differences.records import Diff

SIZE = 16  # of an axis of the inputs that has a name, if none is given
FAR = 1
"""The exit status if a value is farther apart than the bound allows."""


def add_commands(commands: Any) -> None:
    """Add it to the subparsers of the command line."""
    command = commands.add_parser(
        "diff",
        help="run a function in both paradigms, and compare value by value",
        description="Runs a function eagerly and compiled on the same inputs, and compares every "
        "value, in units in the last place. Exit status 1: one is farther apart than rounding "
        "explains, or the graph is not the function.",
    )
    add = command.add_argument
    add("function", help="a function, module or executable of a file: my.py:loss")
    add("--inputs", metavar="SPEC",
        help="its arguments: x=f32[n,64],y=i64[0..9][n],k=3; a tuple or dict that the file calls "
        "`inputs` if not given")  # fmt: skip
    add("--size", action="append", default=[], metavar="NAME=N",
        help=f"of a size that has a name in the inputs; {SIZE} if not given")  # fmt: skip
    add("--seed", type=int, default=0, metavar="S", help="of the inputs (%(default)s)")
    add("--gradient", action="store_true", help="compare gradients by all floating inputs too")
    add("--exact", action="store_true", help="compile with numerics exact: every bit is the same")
    add("--bound", type=float, default=1.0, metavar="B",
        help="how far apart values may be, of what rounding explains (%(default)s)")  # fmt: skip
    command.set_defaults(run=run_diff)


def run_diff(given: argparse.Namespace) -> int:
    """`staticgraph diff`."""
    from staticgraph.compare.own.contender import load
    from staticgraph.compare.own.subject import read_subject
    from staticgraph.differences.diff import diff

    try:
        subject = read_subject(given.function)
        sys.path.insert(0, str(subject.file.parent))  # as `python my.py` does
        names = vars(load(str(subject.file), f"_{subject.file.stem}"))
        args, named = _arguments(given, subject, names)
    except OptionError as error:
        raise OptionError(str(error).replace("compare: ", "diff: ", 1)) from None
    options = {"gradient": given.gradient, "exact": given.exact, "bound": given.bound}
    found = diff(names[subject.name], *args, **named, **options)
    _show(found)
    return 0 if found.agrees else FAR


def _arguments(
    given: argparse.Namespace, subject: Subject, names: Mapping[str, Any]
) -> tuple[Sequence[object], dict[str, Any]]:
    """By position and by name what the function is called with."""
    from staticgraph.compare.own.specs import read_inputs
    from staticgraph.compare.own.subject import check_arguments

    if given.inputs is None:
        if given.size:
            raise OptionError("diff: --size is of a size that --inputs names")
        inputs = names.get("inputs", ())
        if isinstance(inputs, dict):
            return (), inputs
        if not isinstance(inputs, list | tuple):
            raise OptionError(
                f"diff: {subject.file}: inputs is a tuple or a dict, not {inputs!r:.80}"
            )
        return inputs, {}
    spec = read_inputs(given.inputs)
    arrays = spec.make(_sizes(given.size, spec.size_names), given.seed)
    check_arguments(subject, [*arrays, *spec.constants])
    return (), {**arrays, **spec.constants}


def _sizes(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    found = dict.fromkeys(names, SIZE)
    for text in texts:
        name, _, number = text.partition("=")
        if name not in found or not number.isdecimal() or not int(number):
            known = ", ".join(names) or "none"
            raise OptionError(f"diff: --size {text!r}: NAME=N expected, of the sizes {known}")
        found[name] = int(number)
    return found


def _show(found: Diff) -> None:
    """The table, those that are too far apart in red, and the verdict; to pipes as text."""
    if not sys.stdout.isatty():
        print(found)
        return
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        raise MissingExtraError(
            "diff: rich is missing: pip install 'staticgraph[compare]'"
        ) from None
    from staticgraph.differences.records import HEADS

    table = Table(box=None, pad_edge=False)
    for i, head in enumerate(HEADS):
        table.add_column(head, justify="right" if i in (3, 4) else "left", overflow="fold")
    for row in found.rows():
        style = "bold red" if found.is_far(row) else "dim" if row.equal else ""
        table.add_row(*map(Text, row.cells()), style=style)
    console = Console()
    console.print(table)
    console.print(Text(found.verdict))
