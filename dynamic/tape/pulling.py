"""Who sees the nodes of a reverse pass run: nobody, unless for an anomaly or a profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Pull = Callable[[Any, bool], Any]

around: list[Callable[[Any, Pull, Any, bool], Any]] = []
"""What nodes run in, `(node, pull, g, create_graph)`, of which `pull` makes the parts; the last is
the outermost. A reverse pass looks here when it begins."""


def pulled(node: Any, g: Any, create_graph: bool) -> Any:
    """The cotangents that a node finds, which is seen."""
    pull: Pull = node.pull
    for one in tuple(around):
        pull = partial(one, node, pull)
    return pull(g, create_graph)
