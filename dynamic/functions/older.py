"""Functions of the main package that newer names have taken the place of, and rarely used ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.transforms.effects import check
from staticgraph.dynamic import linalg
from staticgraph.dynamic.core.dtypes import as_numpy_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.no_tensors import of_tensors
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.linalg import decompositions, triangles
from staticgraph.dynamic.operations.arranging import broadcast_tensors
from staticgraph.dynamic.tensors import creation, drawn
from staticgraph.dynamic.tensors.keyed_draws import drawn_binomial
from staticgraph.dynamic.tensors.outputs import taking_out
from staticgraph.dynamic.tensors.storage import TypedStorage
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap

_NO_CHANCE = "binomial: probabilities are from 0 to 1"

__all__ = [
    "binomial",
    "detach",
    "empty_strided",
    "fill",
    "frobenius_norm",
    "frombuffer",
    "get_device",
    "is_same_size",
    "is_signed",
    "is_storage",
    "lu_unpack",
    "nuclear_norm",
    "qr",
    "randint_like",
    "range",
    "scalar_tensor",
    "spmm",
    "svd",
    "typename",
]  # fmt: skip


def scalar_tensor(s: Any, *, dtype: object = None, **options: Any) -> Any:
    """A tensor without axes, of the default dtype unless another is given.

    Example:
        >>> dynamic.scalar_tensor(2)
        tensor(2.)
    """
    return creation.full((), float(s) if dtype is None else s, dtype=dtype, **options)


@taking_out
def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Any:
    """The numbers from `start` to `end`, with it, by `step`: old, `arange` leaves the end out.

    Example:
        >>> dynamic.range(1, 3)
        tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end)."
    )
    count = int((end - start) / step) + 1
    values = start + step * np.arange(count)
    return creation.tensor(values.astype(float).tolist(), **options)


def randint_like(input: Any, low: int = 0, high: int | None = None, **options: Any) -> Any:
    """Integers in [low, high), or [0, low), of the shape and dtype of a tensor.

    Example:
        >>> x = dynamic.randint_like(dynamic.zeros(2, 3), 5)
        >>> x.shape, x.dtype
        (torch.Size([2, 3]), torch.float32)
    """
    bounds = (0, low) if high is None else (low, high)
    options.setdefault("dtype", input.dtype)
    return drawn.randint(*bounds, tuple(input.shape), **options)


def empty_strided(size: Any, stride: Any, *, dtype: object = None, **options: Any) -> Any:
    """An uninitialised tensor of this shape, with these steps in memory.

    Example:
        >>> dynamic.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    shape, steps = tuple(size), tuple(stride)
    reach = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    last = -1 if 0 in shape else reach
    memory = creation.empty(last + 1, dtype=dtype, **options)
    return memory.as_strided(shape, steps) if last >= 0 else memory.reshape(shape)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A tensor on the memory of an object with a buffer, such as a bytearray.

    Example:
        >>> dynamic.frombuffer(bytearray([1, 2]), dtype=dynamic.uint8)
        tensor([1, 2], dtype=torch.uint8)
    """
    array = np.frombuffer(buffer, as_numpy_dtype(dtype), count, offset)
    if not array.flags.writeable:
        warn("The given buffer is not writable: the tensor is a copy of it")
        array = array.copy()
    return wrap(array).requires_grad_(requires_grad)


def fill(input: Any, value: Any) -> Any:
    """One value in the shape of a tensor.

    Example:
        >>> dynamic.fill(dynamic.zeros(2), 7.0)
        tensor([7., 7.])
    """
    return input.clone().fill_(value)


@of_tensors
def detach(input: Any) -> Any:
    """The tensor on its memory, not recorded.

    Example:
        >>> dynamic.detach(dynamic.ones(2, requires_grad=True))
        tensor([1., 1.])
    """
    return input.detach()


def get_device(input: Any) -> int:
    """The number of the GPU that the tensor is on: -1.

    Example:
        >>> dynamic.get_device(dynamic.ones(2))
        -1
    """
    return -1


def is_signed(input: Any) -> bool:
    """Whether elements of the dtype can be negative.

    Example:
        >>> dynamic.is_signed(dynamic.ones(2, dtype=dynamic.uint8))
        False
    """
    return bool(input.is_signed())


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape.

    Example:
        >>> dynamic.is_same_size(dynamic.ones(2), dynamic.zeros(2))
        True
    """
    return bool(input.is_same_size(other))


def is_storage(obj: object) -> bool:
    """Whether an object is the memory of a tensor.

    Example:
        >>> dynamic.is_storage(dynamic.ones(2).storage())
        True
    """
    return isinstance(obj, TypedStorage)


def typename(obj: Any) -> str:
    """The name of a tensor's type, or of the class of anything else.

    Example:
        >>> dynamic.typename(dynamic.ones(2)), dynamic.typename("word")
        ('torch.FloatTensor', 'str')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None) or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


def binomial(count: Any, prob: Any, generator: object = None) -> Any:
    """How many of `count` trials succeed with probability `prob`, element by element.

    Example:
        >>> dynamic.binomial(dynamic.tensor([3.0, 5.0]), dynamic.tensor([1.0, 0.0]))
        tensor([3., 0.])
    """
    count, prob = broadcast_tensors(count, prob)
    if not has_values(prob):
        check(ops.logical_and(prob >= 0, prob <= 1), _NO_CHANCE)
    elif np.any((prob._array < 0) | (prob._array > 1)):
        raise AutogradError(_NO_CHANCE)
    return drawn_binomial(count, prob, generator)


def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    """The sums of the singular values of matrices.

    Example:
        >>> dynamic.nuclear_norm(dynamic.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(7.)
    """
    return linalg.matrix_norm(input, "nuc", dim, keepdim)


@of_tensors
def frobenius_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The square roots of the sums of squares.

    Example:
        >>> dynamic.frobenius_norm(dynamic.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    return input.norm(2, dim, keepdim)


def spmm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, which are dense: none here is sparse.

    Example:
        >>> dynamic.spmm(dynamic.eye(2), dynamic.ones(2, 2))
        tensor([[1., 1.],
                [1., 1.]])
    """
    return input.mm(mat2)


class QR(decompositions.QR):
    """Orthonormal columns, and an upper triangle."""

    def __repr__(self) -> str:
        return f"torch.return_types.qr(\nQ={self.Q!r},\nR={self.R!r})"


@taking_out
def qr(input: Any, some: bool = True) -> QR:
    """A = Q R: see `linalg.qr`; all columns of Q unless `some`.

    Example:
        >>> x = dynamic.tensor([[3.0, 0.0], [4.0, 5.0]])
        >>> q, r = dynamic.qr(x)
        >>> dynamic.allclose(q @ r, x, atol=1e-5)
        True
    """
    return QR(*linalg.qr(input, "reduced" if some else "complete"))


@taking_out
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """A = U diag(S) V^T: see `linalg.svd`, which gives V^T.

    Example:
        >>> dynamic.svd(dynamic.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    if not compute_uv:
        values = linalg.svdvals(input)
        lead, (m, n) = tuple(input.shape[:-2]), tuple(input.shape[-2:])
        return SVD(input.new_zeros(*lead, m, m), values, input.new_zeros(*lead, n, n))
    u, s, vh = linalg.svd(input, full_matrices=not some)
    return SVD(u, s, vh.mH if hasattr(vh, "mH") else vh.transpose(-2, -1))


class SVD(decompositions.SVD):
    """Orthonormal columns, singular values from the largest on, orthonormal columns."""

    @property
    def V(self) -> Any:  # noqa: N802 - PyTorch's name
        """The orthonormal columns behind."""
        return self[2]

    def __repr__(self) -> str:
        return f"torch.return_types.svd(\nU={self[0]!r},\nS={self[1]!r},\nV={self[2]!r})"


@taking_out
def lu_unpack(
    LU_data: Any,
    LU_pivots: Any,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Any, Any, Any]:
    """P, L and U of the factors that `lu` returns; what is not unpacked is empty.

    Example:
        >>> a = dynamic.tensor([[2.0, 1.0], [4.0, 4.0]])
        >>> p, l, u = dynamic.lu_unpack(*dynamic.lu(a))
        >>> p @ l @ u
        tensor([[2., 1.],
                [4., 4.]])
    """
    found = triangles.unpacked(LU_data, LU_pivots)
    empty = wrap(np.empty(0, LU_data._array.dtype))
    data = (found.L, found.U) if unpack_data else (empty, empty)
    return found.P if unpack_pivots else empty, *data
