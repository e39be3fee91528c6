"""Draw a computation graph as SVG, PNG or PDF, with values and gradients on its nodes."""

from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.draw.drawing import Drawing, draw

__all__ = ["Drawing", "MissingExtraError", "draw"]
