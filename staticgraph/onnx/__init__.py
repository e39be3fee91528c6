"""Models of ONNX: graphs written for other runtimes, and read into both paradigms."""

from staticgraph.onnx.saving import save as save

__all__ = ["save"]
