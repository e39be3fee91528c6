"""The commands `staticgraph ops`, `staticgraph promotion` and `staticgraph numpy`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any


def add_commands(commands: Any) -> None:
    """Add them to the commands."""
    command = commands.add_parser("ops", help="list the ops, and NumPy's and PyTorch's names")
    command.add_argument("--markdown", metavar="FILE", help="write the page to a file")
    command.set_defaults(run=_run)
    for name, page, said in (
        ("promotion", "promotion", "say which dtypes operands become"),
        ("numpy", "numpy_page", "call NumPy's functions on tensors and expressions"),
    ):
        made = commands.add_parser(name, help=said)
        made.add_argument("--markdown", metavar="FILE", help="write the page to a file")
        made.set_defaults(run=_page, page=page)


def _run(given: argparse.Namespace) -> int:
    from staticgraph.listing.table import comparisons, markdown

    if given.markdown is not None:
        Path(given.markdown).write_text(markdown(), encoding="utf-8")
        return 0
    for library, listed in comparisons().items():
        missing = [one for one in listed if not one.ours]
        print(f"{library}: {len(listed) - len(missing)} of {len(listed)}")
        for one in missing:
            print(f"  {one.name}: {one.reason}")
    return 0


def _page(given: argparse.Namespace) -> int:
    text = import_module(f"staticgraph.listing.{given.page}").markdown()
    if given.markdown is None:
        print(text, end="")
    else:
        Path(given.markdown).write_text(text, encoding="utf-8")
    return 0
