"""Stores what PyTorch makes of programs beside them: `python -m staticgraph.fuzz.eager FILE...`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from staticgraph.compiler.core.errors import OptionError
from staticgraph.fuzz.eager.program import mend
from staticgraph.fuzz.eager.reference import expected
from staticgraph.fuzz.failures import load_failure


def main(paths: list[str]) -> None:
    """Rewrite files of failures, so that they are checked where there is no PyTorch."""
    for path in map(Path, paths):
        failure = load_failure(path)
        program = mend(failure.program)
        answer = None if program is None else expected(program)
        if program is None or answer is None:
            raise OptionError(
                f"fuzz: {path}: no environment has PyTorch, or it died of the program"
            )
        replace(failure, program={**program, "expected": answer}).save(path)


if __name__ == "__main__":
    main(sys.argv[1:])
