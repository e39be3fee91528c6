"""The commands `staticgraph ops` and `staticgraph promotion`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_commands(commands: Any) -> None:
    """Add `ops` and `promotion` to the commands."""
    command = commands.add_parser("ops", help="list the ops, and NumPy's and PyTorch's names")
    command.add_argument("--markdown", metavar="FILE", help="write the page to a file")
    command.set_defaults(run=_run)
    promotion = commands.add_parser("promotion", help="say which dtypes operands become")
    promotion.add_argument("--markdown", metavar="FILE", help="write the page to a file")
    promotion.set_defaults(run=_promotion)


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


def _promotion(given: argparse.Namespace) -> int:
    from staticgraph.listing.promotion import markdown

    if given.markdown is None:
        print(markdown(), end="")
    else:
        Path(given.markdown).write_text(markdown(), encoding="utf-8")
    return 0
