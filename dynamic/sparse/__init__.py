"""Sparse tensors of coordinates, for data: graphs, and features of few non-zeros (torch.sparse).

They are made by `sparse_coo_tensor` or `to_sparse`, and require no grad; products with dense
tensors are differentiated by these. What is not here says so, and `to_dense` leads on.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.dtypes import DType, float32, float64, int64
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.sparse.coordinates import (
    SparseTensor,
    sparse_coo_tensor,
    to_sparse,
)
from staticgraph.dynamic.tensors.devices import sparse_coo

__all__ = [
    "DoubleTensor", "FloatTensor", "LongTensor", "SparseTensor", "addmm", "mm", "sparse_coo",
    "sparse_coo_tensor", "sum", "to_sparse",
]  # fmt: skip


def mm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and another one.

    Example:
        >>> x = dynamic.eye(2).to_sparse()
        >>> dynamic.sparse.mm(x, dynamic.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return ops.matmul(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """beta * mat + alpha * mat1 @ mat2, of which mat1 is sparse.

    Example:
        >>> x = dynamic.eye(2).to_sparse()
        >>> dynamic.sparse.addmm(dynamic.ones(2, 1), x, dynamic.ones(2, 1), alpha=3)
        tensor([[4.],
                [4.]])
    """
    return mat * beta + ops.matmul(mat1, mat2) * alpha


def sum(input: Any, dim: int | None = None) -> Any:
    """The sum of all elements, or a dense one along an axis.

    RuntimeError for a tensor that is not sparse.

    Example:
        >>> dynamic.sparse.sum(dynamic.eye(3).to_sparse())
        tensor(3.)
    """
    if not isinstance(input, SparseTensor):
        raise AutogradError("sparse.sum: expected a sparse tensor, but got a dense one")
    return input._values().sum() if dim is None else input.to_dense().sum(dim)


def _typed(name: str, dtype: DType) -> Any:
    def make(indices: Any, values: Any, size: Any = None) -> Any:
        return sparse_coo_tensor(indices, values, size, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"The old name of `sparse_coo_tensor` for {dtype}.\n\n"
        f"Example:\n    >>> dynamic.sparse.{name}([[1]], [2], (3,)).dtype\n    {dtype}\n"
    )
    return make


FloatTensor, DoubleTensor = _typed("FloatTensor", float32), _typed("DoubleTensor", float64)
LongTensor = _typed("LongTensor", int64)
