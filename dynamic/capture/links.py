"""How a traced tensor is a view of another."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.compiler.core.op import Attrs, Op


class Link(NamedTuple):
    """How a tensor is a view of another.

    Attributes:
        parent: the other.
        op: what makes it of the parent, with `attrs`; None: what cannot be told in an op.
        sure: whether it is on the memory of the parent; else it may be a copy.
    """

    parent: Any
    op: Op | None
    attrs: Attrs
    sure: bool
