"""What notebooks show of an expression or an executable: its graph, if that is small."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.draw.drawing import draw

MOST = 100
"""Nodes of a graph that is drawn without being asked, which takes about half a second."""


def picture(graph: Any) -> str | None:
    """The graph of an expression or an executable as SVG.

    None of a large one, which `draw` draws, and where matplotlib is not installed: notebooks then
    show what `repr` gives.
    """
    nodes = ancestors([graph]) if isinstance(graph, Expression) else graph.graph
    if len(nodes) > MOST:
        return None
    try:
        return draw(graph)._repr_svg_()
    except MissingExtraError:
        return None
