"""The value of an op on arrays by a kernel of its own: the same bits as in any other kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.compile import compile_graph
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.protocols import ArrayRunner
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.expression import Expression, at_line
from staticgraph.compiler.ops import leaves


def by_kernel(op: str, arrays: Sequence[Any]) -> Any:
    """The value of an elementwise op without attributes on arrays that broadcast."""
    given = [np.asarray(one) for one in arrays]
    shape = given[0].shape
    if any(one.shape != shape for one in given):
        shape = np.broadcast_shapes(*(one.shape for one in given))
    flat = [
        np.full(shape, one).reshape(-1)
        if one.shape != shape
        else np.ascontiguousarray(one).reshape(-1)
        for one in given
    ]
    (found,) = _kernel(op, *(one.dtype for one in given)).run(flat, {})
    return found.reshape(shape)


@cache
def _kernel(name: str, *dtypes: Any) -> ArrayRunner:
    """For vectors of any length; of one thread, since a host step of another kernel may call it."""
    with at_line("-"):
        shape = (unknown(),)
        inputs = [
            Expression(leaves.placeholder, (), leaves.leaf_attrs(shape, dtype, i), f"operand {i}")
            for i, dtype in enumerate(dtypes)
        ]
        value = op_named(name)(*inputs)
    return compile_graph(define(inputs, [value]), list, name, Options(threads=1))
