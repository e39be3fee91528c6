"""Models of ONNX: graphs written for other runtimes, and read into both paradigms."""

from staticgraph.onnx.model import Model as Model, load as load
from staticgraph.onnx.saving import save as save

__all__ = ["Model", "load", "save"]
