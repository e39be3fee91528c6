"""What traced functions return."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.expression import Expression, Handle, constant, construct
from staticgraph.compiler.ops import leaves


def as_output(name: str, value: object) -> Expression:
    """What a traced function returned, as an expression; OptionError for an eager tensor."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Handle):
        return value.expression
    if isinstance(value, Dim):
        return construct(leaves.size_of, (), {"size": value})
    if isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        return constant(value)
    raise OptionError(
        f"{name}: returned an eager tensor, but no argument is one, so that it is a function of "
        "arrays: pass a tensor it reads, or a module, as an argument, or use its numpy()"
    )
