"""Code that all kernels share, made beside the passes of the first one that needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.lowering import Matmul
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.reference.blas_library import SCALARS
from staticgraph.compiler.runtime.blas import find_blas
from staticgraph.compiler.runtime.cache.common import PRODUCTS, TRAMPOLINE, trampoline_code


def shared_code(definition: Definition) -> Callable[[], None]:
    """What makes the code that a kernel of this definition will call.

    LLVM takes longer for products than for most kernels, so they begin before it is known which
    there are, and come first: the passes, which are Python, go on beside LLVM. What makes them is
    imported here: a thread would wait for what is imported meanwhile.
    """
    dtypes = dict.fromkeys(_multiplied(definition))
    fork.imported(TRAMPOLINE)
    if dtypes:
        fork.imported(PRODUCTS)

    def make() -> None:
        for dtype in dtypes:
            find_blas().gemm[dtype]
        trampoline_code()

    return make


def _multiplied(definition: Definition) -> Iterator[str]:
    """The dtypes of products of two matrices."""
    nodes = definition.nodes
    for node in nodes:
        multiplies = isinstance(node.op.lowering, Matmul) and node.type.dtype.name in SCALARS
        if multiplies and all(_is_matrix(nodes[operand]) for operand in node.operands):
            yield node.type.dtype.name


def _is_matrix(node: Node) -> bool:
    """Whether a value has rows and columns; a vector's products are sums."""
    return node.type.ndim > 1 and 1 not in node.type.shape[-2:]
