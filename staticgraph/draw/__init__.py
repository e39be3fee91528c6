"""Draw a computation graph as SVG, PNG or PDF, with values and gradients on its nodes."""

from staticgraph.draw.drawing import Drawing, MissingExtraError, draw

__all__ = ["Drawing", "MissingExtraError", "draw"]
