"""Diagonals, and what lies above and below them."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.operations.arranging import atleast_2d, movedim
from staticgraph.dynamic.tensors import strided
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.narrowing import widening as _wide
from staticgraph.dynamic.tensors.tensor import PLAIN, as_one_node, strided_view
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "block_diag", "diag", "diag_embed", "diagonal", "trace", "tril", "tril_indices", "triu",
    "triu_indices",
]  # fmt: skip


def _lower(x: Any, *, diagonal: int) -> Any:
    rows, columns = x.shape[-2:]
    return ops.where(np.tri(rows, columns, diagonal, dtype=np.bool_), x, _zero(x))


def _upper(x: Any, *, diagonal: int) -> Any:
    rows, columns = x.shape[-2:]
    return ops.where(np.tri(rows, columns, diagonal - 1, dtype=np.bool_), _zero(x), x)


def _zero(x: Any) -> int:
    """0 in the kind of a tensor: with the number 0 bools become integers."""
    return False if np.dtype(x.dtype).kind == "b" else 0


def _triangle_op(name: str, function: Any, doc: str) -> Op:
    """The op of a triangle, which is its own gradient and saves nothing."""

    def vjp(g: object, o: object, a: object, *, diagonal: int) -> Any:
        return as_one_node(op, g, diagonal=diagonal)

    op = Op(
        name=name, infer_type=lambda x, diagonal: x, evaluate=function, vjp=(vjp,), saves=("",),
        expand=function, complex="linear", doc=doc,
    )  # fmt: skip
    return op


_tril = _triangle_op("tril", _lower, "Matrices with zeros above a diagonal.")
_triu = _triangle_op("triu", _upper, "Matrices with zeros below a diagonal.")


def _triangle(op: Op, input: Any, diagonal: int) -> Any:
    if input.ndim < 2:
        raise AutogradError(f"{op.name}: input tensor must have at least 2 dimensions")
    if type(diagonal) is not int:
        require_int(op.name, "diagonal", 2, diagonal)
        diagonal = int(diagonal) if isinstance(diagonal, np.integer) else diagonal
    return as_one_node(op, input, diagonal=diagonal)


def tril(input: object, diagonal: int = 0) -> Any:
    """Matrices with zeros above a diagonal.

    Example:
        >>> dynamic.tril(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 0.],
                [3., 4.]])
    """
    return _triangle(_tril, input, diagonal)


def triu(input: object, diagonal: int = 0) -> Any:
    """Matrices with zeros below a diagonal.

    Example:
        >>> dynamic.triu(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 2.],
                [0., 4.]])
    """
    return _triangle(_triu, input, diagonal)


def _require_ints(name: str, row: object, col: object, offset: object) -> None:
    require_int(name, "row", 1, row, 0)
    require_int(name, "col", 2, col, 0)
    require_int(name, "offset", 3, offset)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = None, **options: Any
) -> Any:
    """The rows and columns of the elements on and below a diagonal: (2, n).

    Example:
        >>> dynamic.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    check_options("tril_indices", options)
    _require_ints("tril_indices", row, col, offset)
    return as_tensor(np.stack(np.tril_indices(row, offset, col)), dtype)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = None, **options: Any
) -> Any:
    """The rows and columns of the elements on and above a diagonal: (2, n).

    Example:
        >>> dynamic.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    check_options("triu_indices", options)
    _require_ints("triu_indices", row, col, offset)
    return as_tensor(np.stack(np.triu_indices(row, offset, col)), dtype)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A view of the diagonals of the planes of two axes, along a new last axis.

    Example:
        >>> dynamic.diagonal(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
    """
    first, second = (axis_of("diagonal", dim, input.ndim) for dim in (dim1, dim2))
    if first == second:
        raise AutogradError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if type(input) in PLAIN:
        x = input._array
        apart = strided.told_apart(x)
        region = strided.Region(apart.diagonal(offset, first, second), apart)
        return strided_view(strided.diagonal, input, x.diagonal(offset, first, second), region)
    return as_view(_copied_diagonal(input, offset, first, second), input)


_diagonal = diagonal  # `diag` has an argument of that name


def as_view(result: object, input: object) -> Any:
    """What a tracer computed in place of a view; where it is written to, a capture refuses."""
    return result.as_view_of(input) if hasattr(result, "as_view_of") else result


def _copied_diagonal(input: object, offset: int, first: int = 0, second: int = 1) -> Any:
    planes = movedim(input, (first, second), (-2, -1))
    rows, columns = planes.shape[-2:]
    places = np.arange(rows * columns).reshape(rows, columns).diagonal(offset)
    return ops.take(ops.reshape(planes, (*planes.shape[:-2], rows * columns)), places, -1)


def _planes(x: Any, *, offset: int) -> Any:
    size = x.shape[-1] + abs(offset)
    widths = [(0, 0)] * (x.ndim - 1) + [(max(-offset, 0), max(offset, 0))]
    rows = ops.expand_dims(ops.pad(x, widths), -1)
    return ops.where(np.eye(size, k=offset, dtype=np.bool_), rows, 0)


def _planes_type(x: TensorType, *, offset: int) -> TensorType:
    size = x.shape[-1] + abs(offset)
    return TensorType((*x.shape[:-1], size, size), x.dtype)


_diagonal_planes = Op(
    name="diag_embed",
    infer_type=_planes_type,
    evaluate=_planes,
    vjp=(lambda g, o, a, *, offset: g.diagonal(offset, -2, -1),),
    saves=("",),
    expand=_planes,
    complex="linear",
    doc="Planes of two new last axes with the last axis on a diagonal, zeros elsewhere.",
)


@called("DiagEmbed")
@computed
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Planes of two new axes with the elements of the last axis on a diagonal, zeros elsewhere.

    Example:
        >>> dynamic.diag_embed(dynamic.tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    axis_of("diag_embed", -1, input.ndim, of_number=False)
    planes = as_one_node(_diagonal_planes, input, offset=offset)
    return movedim(planes, (-2, -1), (dim1, dim2))


@computed
def diag(input: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix; of a vector the matrix with it on a diagonal.

    Example:
        >>> dynamic.diag(dynamic.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise AutogradError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return _diagonal(input, diagonal)


@called("Trace")
@_wide
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix.

    Example:
        >>> dynamic.trace(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
    """
    if input.ndim != 2:
        raise AutogradError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return ops.sum(diagonal(input))


@called("BlockDiag")
def block_diag(*tensors: object) -> Any:
    """Matrices on the diagonal of a larger one, zeros elsewhere; vectors are rows.

    Example:
        >>> dynamic.block_diag(dynamic.ones(1, 2), dynamic.ones(1, 1)).shape
        torch.Size([2, 3])
    """
    blocks = [atleast_2d(as_tensor(one)) for one in tensors]
    if any(block.ndim != 2 for block in blocks):
        raise OptionError("block_diag: expects tensors of at most 2 axes")
    width, at, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        after = width - at - block.shape[1]
        rows.append(ops.pad(block, [(0, 0), (at, after)]))
        at += block.shape[1]
    return ops.concatenate(rows, 0)
