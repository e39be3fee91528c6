"""SparseTensor: the places of the elements that are not zero, and what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.autograd.wrappers import Overload, make_wrapper_subclass
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import as_numpy_dtype
from staticgraph.dynamic.core.errors import AutogradError, MissingKernelError
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.devices import sparse_coo
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of

_MISSING = "{}: there is no form of it for sparse tensors: use to_dense() first"


class SparseTensor(Tensor):
    """A tensor as the places and values of its elements; places that occur twice are added.

    Products with matrices, sums, multiples, casts and exchanged axes are here; NotImplementedError
    for every other op: `to_dense()` leads on.

    Example:
        >>> x = dynamic.eye(2).to_sparse()
        >>> isinstance(x, dynamic.sparse.SparseTensor), x.values()
        (True, tensor([1., 1.]))
    """

    __slots__ = ("_coalesced", "_numbers", "_places")

    _places: Any
    """(axes, count), int64."""
    _numbers: Any
    """(count,)."""
    _coalesced: bool
    is_sparse = True
    layout = sparse_coo

    def __init__(self, *arguments: object) -> None:
        """It is made by `sparse_coo_tensor`."""

    @classmethod
    def __torch_dispatch__(
        cls, func: Overload, types: object, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        rule = RULES.get(func.op)
        if rule is None:
            raise MissingKernelError(_MISSING.format(func.op.name))
        return rule(*args, **(kwargs or {}))

    def indices(self) -> Any:
        """The places, (axes, count), in row-major order; RuntimeError unless coalesced."""
        self._require_coalesced("indices")
        return wrap(self._places)

    def values(self) -> Any:
        """The elements at the places; RuntimeError unless coalesced."""
        self._require_coalesced("values")
        return wrap(self._numbers)

    def _require_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise AutogradError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
            )

    def _indices(self) -> Any:
        return wrap(self._places)

    def _values(self) -> Any:
        return wrap(self._numbers)

    def _nnz(self) -> int:
        return int(self._numbers.shape[0])

    def is_coalesced(self) -> bool:
        """Whether the places are in order, and none is there twice."""
        return self._coalesced

    def coalesce(self) -> SparseTensor:
        """The same with each place once, in row-major order."""
        if self._coalesced:
            return self
        shape = tuple(self.shape)
        flat, inverse = np.unique(
            np.ravel_multi_index(tuple(self._places), shape), return_inverse=True
        )
        total = np.zeros(len(flat), self._numbers.dtype)
        np.add.at(total, inverse, self._numbers)
        return _made(np.stack(np.unravel_index(flat, shape)), total, shape, True)

    def __reduce_ex__(self, protocol: object) -> Any:
        return _made, (self._places, self._numbers, tuple(self.shape), self._coalesced)

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        found = memo[id(self)] = _made(
            self._places.copy(), self._numbers.copy(), self.shape, self._coalesced
        )
        return found

    def sparse_dim(self) -> int:
        """The number of axes that places have: all."""
        return len(self._places)

    def dense_dim(self) -> int:
        """The number of axes that elements have: none."""
        return 0

    def to_sparse(self, *arguments: object, **options: object) -> SparseTensor:
        """The tensor itself."""
        return self

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """The tensor with its zeros, in a dtype."""
        found = wrap(_dense(self))
        return found if dtype is None else found.to(dtype)

    def __repr__(self) -> str:
        places = repr(wrap(self._places)).replace("\n", "\n" + " " * 15)
        numbers, _, dtype = repr(wrap(self._numbers)).partition(", dtype=")
        values = (numbers + ")" if dtype else numbers).replace("\n", "\n" + " " * 14)
        kind = f"dtype={dtype[:-1]}, " if dtype else ""
        return (
            f"tensor(indices={places},\n       values={values},\n"
            f"       size={tuple(self.shape)}, nnz={self._nnz()}, {kind}layout=torch.sparse_coo)"
        )


def _made(places: Any, numbers: Any, shape: Sequence[int], coalesced: bool) -> SparseTensor:
    made: Any = make_wrapper_subclass(SparseTensor, tuple(shape), dtype=numbers.dtype)
    made._places, made._numbers, made._coalesced = places, numbers, coalesced
    return made


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    **options: Any,
) -> SparseTensor:
    """The tensor of `size` that has `values` at `indices`, one column each, and 0 elsewhere.

    RuntimeError for places outside, another number of values, and for what requires grad.

    Example:
        >>> x = dynamic.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        >>> x.to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    check_options("sparse_coo_tensor", options)
    recorded = mode.enabled and isinstance(values, Tensor) and values.requires_grad
    if requires_grad or recorded:
        raise AutogradError("sparse_coo_tensor: sparse tensors have no gradient here")
    places = np.asarray(values_of(as_tensor(indices))).astype(np.int64)
    numbers = np.array(values_of(as_tensor(values)))
    if dtype is not None:
        numbers = numbers.astype(as_numpy_dtype(dtype))
    if places.ndim != 2 or numbers.shape != places.shape[1:]:
        raise AutogradError(
            f"sparse_coo_tensor: indices of shape {list(places.shape)} need as many values as they "
            f"have columns, but got {list(numbers.shape)}"
        )
    found = tuple(places.max(1, initial=-1) + 1)
    shape = tuple(map(int, found if size is None else sizes_of((size,))))
    if len(shape) != len(places):
        raise AutogradError(
            f"sparse_coo_tensor: indices of {len(places)} axes for a size of {len(shape)}"
        )
    if (places < 0).any() or any(n > limit for n, limit in zip(found, shape, strict=True)):
        raise AutogradError(f"sparse_coo_tensor: indices are outside of the size {list(shape)}")
    return _made(places, numbers, shape, bool(is_coalesced))


def to_sparse(input: Any, axes: int | None = None, layout: object = None) -> SparseTensor:
    """The tensor as the places and values of its non-zeros; RuntimeError if it requires grad.

    And unless all `axes` are those of the places, and the layout, if given, is `sparse_coo`.

    Example:
        >>> dynamic.sparse.to_sparse(dynamic.tensor([0.0, 5.0])).indices()
        tensor([[1]])
    """
    if axes not in (None, input.ndim) or layout not in (None, sparse_coo):
        raise AutogradError(
            f"to_sparse: {axes} sparse axes of {input.ndim}, layout {layout}: here all axes are "
            "sparse, and the layout is torch.sparse_coo"
        )
    if input.requires_grad and mode.enabled:
        raise AutogradError("to_sparse: sparse tensors have no gradient here: use detach() first")
    array = values_of(input)
    places = np.stack(np.nonzero(array)) if array.ndim else np.zeros((0, 1), np.int64)
    return _made(places, array[tuple(places)], array.shape, True)


def _dense(x: Any) -> Any:
    if not isinstance(x, SparseTensor):
        return x._array
    array = np.zeros(tuple(x.shape), x._numbers.dtype)
    np.add.at(array, tuple(x._places), x._numbers)
    return array


def _matmul(a: Any, b: Any, **attrs: object) -> Any:
    if isinstance(b, SparseTensor):
        if not isinstance(a, SparseTensor):
            return _turned(_matmul(_turned(b), a.mT))
        return to_sparse(_matmul(a, wrap(_dense(b))))
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[1] != b.shape[0]:
        raise AutogradError(
            f"mat1 and mat2 shapes cannot be multiplied ({tuple(a.shape)} and {tuple(b.shape)})"
        )
    a = a.coalesce()
    rows, columns = a._places
    weights = a._numbers if b.ndim == 1 else a._numbers[:, None]
    products = weights * b._array[columns]
    found = np.zeros((a.shape[0], *tuple(b.shape)[1:]), products.dtype)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    if len(starts):
        found[rows[starts]] = np.add.reduceat(products, starts, axis=0)
    return wrap(found)


def _turned(x: Any, axes: Sequence[int] | None = None) -> Any:
    if not isinstance(x, SparseTensor):
        return x.mT
    order = list(axes) if axes is not None else list(reversed(range(x.ndim)))
    shape = [x.shape[i] for i in order]
    return _made(x._places[order], x._numbers, shape, False).coalesce()


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor) and a.shape == b.shape:
        places = np.concatenate([a._places, b._places], 1)
        numbers = np.concatenate([a._numbers, b._numbers])
        return _made(places, numbers, tuple(a.shape), False).coalesce()
    return wrap(_dense(a) + _dense(b))


def _scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(a: Any, b: Any) -> Any:
        if not isinstance(b, SparseTensor) and not b.ndim:
            return _made(a._places, function(a._numbers, b._array), tuple(a.shape), a._coalesced)
        if function is np.multiply:
            if not isinstance(a, SparseTensor):
                return rule(b, a)
            return to_sparse(wrap(_dense(a) * _dense(b)))
        raise MissingKernelError(
            f"{function.__name__}: of sparse tensors by numbers alone: use to_dense() first"
        )

    return rule


def _same(x: Any, **attrs: Any) -> Any:
    if attrs and tuple(attrs["shape"]) != tuple(x.shape):
        raise MissingKernelError(
            "reshape: there is no form of it for sparse tensors: use to_dense()"
        )
    return _made(x._places, x._numbers, tuple(x.shape), x._coalesced)


RULES: Mapping[Op, Callable[..., Any]] = {
    ops.matmul: _matmul,
    ops.transpose: _turned,
    eager_ops.swap: _turned,
    eager_ops.transpose_2d: _turned,
    ops.add: _added,
    ops.subtract: lambda a, b: _added(a, -b),
    ops.negative: lambda x: _made(x._places, -x._numbers, tuple(x.shape), x._coalesced),
    ops.multiply: _scaled(np.multiply),
    ops.divide: _scaled(np.divide),
    ops.astype: lambda x, dtype: _made(
        x._places, x._numbers.astype(dtype), tuple(x.shape), x._coalesced
    ),
    eager_ops.clone: lambda x: _made(
        x._places.copy(), x._numbers.copy(), tuple(x.shape), x._coalesced
    ),
    ops.reshape: _same,
    ops.sum: lambda x, axes, keepdims: wrap(np.sum(_dense(x), axes, keepdims=keepdims)),
    eager_ops.sum_dim: lambda x, axes, keepdims: wrap(np.sum(_dense(x), axes, keepdims=keepdims)),
}
"""What ops of sparse tensors are."""
