"""Simplifications of a failing function, beside leaving steps out."""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.capture.program import mend
from staticgraph.fuzz.eager.simplify import simplify as simplified


def simplify(program: Program) -> Iterator[Program]:
    """One call, fewer results, straight code, and what makes a program of tensors simpler."""
    if program.get("again"):
        yield {**program, "again": None}
    for name in program["results"]:
        rest = [one for one in program["results"] if one != name]
        if rest:
            yield {**program, "results": rest}
    for i, step in enumerate(program["steps"]):
        plain = {key: value for key, value in step.items() if key not in ("if", "loop")}
        if plain != step:
            yield {**program, "steps": [*program["steps"][:i], plain, *program["steps"][i + 1 :]]}
    for simpler in simplified(program):
        mended = mend(simpler)
        if mended is not None:
            yield mended
