"""See a graph: one page with the user's lines, the graph and the kernel, linked to each other."""

from staticgraph.view.view import View, view

__all__ = ["View", "view"]
