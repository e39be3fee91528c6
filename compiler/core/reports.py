"""What passes report of what they do, to whoever collects it: `executable.explain()`.

A pass asks once for the collector, and reports to it if there is one:

    reports = collector()
    ...
    if reports is not None:
        reports.append(Report("hoisted", node.source, node.op.name, "hoist_invariants"))

Without a collector, as in every call of `compile`, that is all that happens. Sources say which
nodes are meant, in loops and branches too: who collects marks them before
(`compiler.core.source`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Named: TypeAlias = "tuple[str, str]"
"""An op's name and the source of a node that applies it."""


class Report:
    """What a pass did to a node, or why it did not.

    Attributes:
        kind: rewritten, expanded, folded, merged, hoisted, sunk, dropped, recomputed, copied or
            apart (not fused).
        source, op: of the node, its source and the name of its op.
        by: the name of the rule or pass.
        text: what it did; of `apart` the reason.
        others: the nodes that it has to do with: what it was merged with, or not fused with.
    """

    __slots__ = ("by", "kind", "op", "others", "source", "text")

    # written out, since every start makes the class: a dataclass takes a hundred times as long
    def __init__(
        self,
        kind: str,
        source: str,
        op: str,
        by: str,
        text: str = "",
        others: tuple[Named, ...] = (),
    ) -> None:
        self.kind = kind
        self.source = source
        self.op = op
        self.by = by
        self.text = text
        self.others = others


_collector: ContextVar[list[Report] | None] = ContextVar("reports", default=None)


def collector() -> list[Report] | None:
    """Where reports go; None if nobody collects them."""
    return _collector.get()


def report_all(
    kind: str, by: str, nodes: Iterable[Named], text: str = "", others: tuple[Named, ...] = ()
) -> None:
    """Report the same of several nodes, if somebody collects it."""
    reports = _collector.get()
    if reports is not None:
        reports.extend([Report(kind, source, op, by, text, others) for op, source in nodes])


@contextmanager
def collecting() -> Iterator[list[Report]]:
    """Collect what is reported in the block."""
    found: list[Report] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


@contextmanager
def on_trial() -> Iterator[list[Report]]:
    """What is reported in the block is of a trial: `accept` it, or it is forgotten."""
    found: list[Report] = []
    token = _collector.set(None if _collector.get() is None else found)
    try:
        yield found
    finally:
        _collector.reset(token)


def accept(found: Sequence[Report]) -> None:
    """What was reported on trial is what happens."""
    reports = _collector.get()
    if reports is not None:
        reports.extend(found)
