"""staticgraph: define a computation graph once, compile it, run it many times."""

from compiler import ops as _ops
from compiler.dims import Dim
from compiler.errors import (
    DTypeError,
    FeedError,
    GraphError,
    OptionError,
    OutOfRangeError,
    ShapeError,
    StaticGraphError,
)
from compiler.graph.expression import Expression
from compiler.runtime.executable import Executable
from staticgraph import optim
from staticgraph.compilation import compile, grad, run
from staticgraph.leaves import (
    Variable,
    arange,
    constant,
    full,
    ones,
    placeholder,
    variable,
    zeros,
)

__version__ = "0.1.0"

globals().update({name: getattr(_ops, name) for name in _ops.PUBLIC})

__all__ = [
    "DTypeError", "Dim", "Executable", "Expression", "FeedError", "GraphError", "OptionError",
    "OutOfRangeError", "ShapeError", "StaticGraphError", "Variable", "arange", "compile",
    "constant", "full", "grad", "ones", "optim", "placeholder", "run", "variable", "zeros",
    *_ops.PUBLIC,
]  # fmt: skip
