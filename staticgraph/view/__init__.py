"""See a graph: one page with the user's lines, the graph and the kernel, linked to each other."""

from staticgraph.view.view import Inputs, View, view, view_of

__all__ = ["Inputs", "View", "view", "view_of"]
