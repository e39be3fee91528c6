"""Branches on values: refused with the arguments that they depend on."""

from __future__ import annotations

from typing import NoReturn

from compiler.core.refusals import refuse
from compiler.graph.expression import Expression
from compiler.graph.traversal import ancestors
from compiler.ops import leaves


def refuse_branch(value: Expression) -> NoReturn:
    """Refuse to tell the truth of a value, naming the arguments that it depends on."""
    names = sorted({str(x.name) for x in ancestors([value]) if x.op is leaves.placeholder})
    of = f", which depends on {', '.join(names)}," if names else ""
    refuse(
        f"a branch on a value{of} has no truth value before it runs",
        "use sg.cond or sg.where, or maximum, minimum or clip instead of if",
    )
