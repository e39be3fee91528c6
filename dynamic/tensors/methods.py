"""PyTorch's methods of a tensor, where they differ from the ops of the shared library."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.annotated import as_float
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import AxisError, OutOfRangeError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core import eager_ops, provided
from staticgraph.dynamic.core.dtypes import (
    BOOL,
    DTYPES,
    F32,
    F64,
    INT64,
    DType,
    as_element,
    bfloat16,
    require_mask,
)
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, SizeError
from staticgraph.dynamic.core.named_operands import taking_numpys_words
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import Max, Min, Size, no_view_of_nothing, sizes_of
from staticgraph.dynamic.tensors.bits import bitwise
from staticgraph.dynamic.tensors.conversions import Conversions
from staticgraph.dynamic.tensors.devices import check_format
from staticgraph.dynamic.tensors.dims import axes_of, axis_of, exchanged, some_axes
from staticgraph.dynamic.tensors.division import Division
from staticgraph.dynamic.tensors.indexing import Indexing, slices_at
from staticgraph.dynamic.tensors.reductions import (
    extremum,
    over,
    spread,
    total,
    truth,
    with_numpy_names,
)
from staticgraph.dynamic.tensors.reinterpreted import view_of_dtype
from staticgraph.dynamic.tensors.shapes import refuse_expanding, reshaped
from staticgraph.dynamic.tensors.views import pieces, shares_memory


def _cast(dtype: Any) -> Any:
    def method(self: Any, memory_format: object = None) -> Any:
        check_format("to", memory_format)
        return self.to(dtype=dtype)

    method.__doc__ = f"The tensor cast to {dtype}; itself if it has that dtype."
    return method


class _Made:
    """Those that are made by functions, and have the names of Python's own."""

    __slots__ = ()

    sum = total(ops.sum, eager_ops.sum_dim)
    mean = total(ops.mean, eager_ops.mean_dim)
    prod = total(ops.prod, eager_ops.prod_dim)
    max = extremum(ops.max, ops.argmax, eager_ops.largest_at, ops.maximum, Max)
    min = extremum(ops.min, ops.argmin, eager_ops.smallest_at, ops.minimum, Min)
    var = spread(ops.var)
    std = spread(ops.std)
    any = truth(ops.any)
    all = truth(ops.all)
    half = _cast(np.dtype(np.float16))
    bfloat16 = _cast(bfloat16)
    float = _cast(F32)
    double = _cast(F64)
    long = _cast(INT64)
    int = _cast(np.dtype(np.int32))
    bool = _cast(BOOL)
    __and__ = bitwise(ops.logical_and, np.bitwise_and)
    __rand__ = bitwise(ops.logical_and, np.bitwise_and)
    __or__ = bitwise(ops.logical_or, np.bitwise_or)
    __ror__ = bitwise(ops.logical_or, np.bitwise_or)
    __xor__ = bitwise(ops.logical_xor, np.bitwise_xor)
    __rxor__ = bitwise(ops.logical_xor, np.bitwise_xor)
    __invert__ = bitwise(ops.logical_not, np.invert)

    def neg(self) -> Any:
        """-a."""
        return ops.negative(self)


for _name, _method in vars(_Made).items():
    if "<" in getattr(_method, "__qualname__", ""):  # made by a function, for this name
        _method.__name__ = _method.__qualname__ = _name


class Methods(_Made, Division, Indexing, Conversions):
    """PyTorch's methods on shapes, indices and values."""

    __slots__ = ()

    _array: Any
    _overwritten: Any

    _overrides = False
    """Whether its class says what functions of it are, by a `__torch_function__` of its own."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What `func` gives of these, with the tensors of classes that override it as plain ones.

        Tensors that come out are of this class. NotImplemented if one of `types` is none of its
        base classes.
        """
        return provided.as_plain(cls, func, types, args, kwargs or {})

    @property
    def shape(self) -> Size:
        """The sizes of the axes."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> DType:
        """The dtype, which prints as PyTorch's and equals NumPy's."""
        return DTYPES[self._array.dtype]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        ndim: int = self._array.ndim
        return ndim

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        shape = self._array.shape
        return Size(shape) if dim is None else shape[axis_of("size", dim, len(shape), False)]

    def numel(self) -> int:
        """The number of elements.

        Example:
            >>> dynamic.numel(dynamic.ones(2, 3))
            6
        """
        return int(self._array.size)

    nelement = numel

    def transpose(self, dim0: int, dim1: int) -> Any:
        """A view with two axes exchanged.

        Example:
            >>> dynamic.swapaxes(dynamic.tensor([[1.0, 2.0]]), 0, 1)
            tensor([[1.],
                    [2.]])
        """
        return self._apply(eager_ops.swap, (self,), {"axes": exchanged(dim0, dim1, self.ndim)})

    swapaxes = transpose

    def permute(self, *axes: object, dims: object = None) -> Any:
        """A view with the axes in another order.

        Example:
            >>> dynamic.permute(dynamic.tensor([[1.0, 2.0]]), 1, 0)
            tensor([[1.],
                    [2.]])
        """
        order = sizes_of(axes if dims is None else (dims,), "permute", "dims")
        if len(order) != self.ndim:
            raise AutogradError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                f"length of the desired ordering of dimensions i.e. input.dim() = {self.ndim} is "
                f"not equal to len(dims) = {len(order)}"
            )
        places = tuple([axis_of("permute", dim, self.ndim) for dim in order])
        if len(set(places)) < len(places):
            raise AutogradError("permute(): duplicate dims are not allowed.")
        return ops.transpose(self, places)

    def flip(self, *axes: object, dims: object = None) -> Any:
        """The elements in reverse order along the given axes."""
        given = axes if dims is None else (dims,)
        return ops.flip(self, sizes_of(given, "flip", "dims"))

    def t(self) -> Any:
        """A view of a matrix with its axes exchanged; of a vector the vector.

        Example:
            >>> dynamic.t(dynamic.ones(2, 3)).shape
            torch.Size([3, 2])
        """
        if self._array.ndim > 2:
            raise SizeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D"
            )
        axes = tuple(reversed(range(self._array.ndim)))
        return self._apply(eager_ops.transpose_2d, (self,), {"axes": axes})

    @property
    def mT(self) -> Any:  # noqa: N802 - PyTorch's name
        """A view with the last two axes exchanged; of a number the number."""
        if not self.ndim:
            return ops.transpose(self, ())
        if self.ndim == 1:
            raise AutogradError(
                "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."
            )
        return self.transpose(-2, -1)

    def view(self, *shape: object) -> Any:
        """A view of another shape, or the tensor in another dtype.

        Example:
            >>> dynamic.zeros(2, 3).view(6).shape
            torch.Size([6])
        """
        if not shape:
            raise no_view_of_nothing()
        first = shape[0]
        if isinstance(first, DType):
            return view_of_dtype(self, first)
        result = reshaped("view", self, shape)
        if self._overwritten is None and not shares_memory(result._array, self._array):
            raise SizeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two contiguous subspaces). Use .reshape(...) instead: view "
                f"as {list(result.shape)} of a tensor of shape {list(self._array.shape)} and "
                f"strides {[one // self._array.itemsize for one in self._array.strides]}"
            )
        return result

    def view_as(self, other: Any) -> Any:
        """A view of the shape of another tensor."""
        return self.view(other._array.shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Any:
        """The axes from `start_dim` to `end_dim` as one."""
        shape = self._array.shape or (1,)
        first, last = (axis_of("flatten", dim, len(shape)) for dim in (start_dim, end_dim))
        if first == last and self._array.ndim:
            return self
        if first > last:
            raise AutogradError(
                f"flatten() has invalid args: start_dim cannot come after end_dim: {start_dim} and "
                f"{end_dim} of a tensor of {self._array.ndim} axes"
            )
        merged = (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :])
        return ops.reshape(self, merged)

    def expand(self, *sizes: object, size: object = None, implicit: bool = False) -> Any:
        """A view repeated along axes of size 1 and new leading ones; -1 keeps a size."""
        wanted = sizes_of(sizes if size is None else (size,), "expand")
        if len(wanted) < self.ndim:
            raise SizeError(
                f"expand({self.type()}{{{list(self.shape)}}}, size={list(wanted)}): the number of "
                f"sizes provided ({len(wanted)}) must be greater or equal to the number of "
                f"dimensions in the tensor ({self.ndim})"
            )
        refuse_expanding(self, wanted)
        own = (1,) * (len(wanted) - self._array.ndim) + self._array.shape
        shape = tuple(have if size == -1 else size for have, size in zip(own, wanted, strict=True))
        return ops.broadcast_to(self, shape)

    def expand_as(self, other: Any) -> Any:
        """A view broadcast to the shape of another tensor."""
        return ops.broadcast_to(self, other._array.shape)

    @taking_numpys_words
    def unsqueeze(self, dim: int) -> Any:
        """A view with a new axis of size 1.

        Example:
            >>> dynamic.unsqueeze(dynamic.ones(2), 0).shape
            torch.Size([1, 2])
        """
        return ops.expand_dims(self, axis_of("unsqueeze", dim, self._array.ndim + 1))

    @taking_numpys_words
    def squeeze(self, dim: object = None) -> Any:
        """A view without the axes of size 1: all, or those of `dim` that have size 1."""
        shape = self._array.shape
        if dim is None:
            return ops.squeeze(self)
        ones = tuple(axis for axis in axes_of("squeeze", dim, len(shape)) if shape[axis] == 1)
        return eager_ops.squeeze_dim(self, ones)

    def select(self, dim: int, index: int) -> Any:
        """The view at `index` of one axis, which it loses."""
        if not self.ndim:
            raise AxisError("select() cannot be applied to a 0-dim tensor.")
        key = self._at(dim, index)
        size = self._array.shape[len(key) - 1]
        if not -size <= index < size:
            raise OutOfRangeError(
                f"select(): index {index} out of range for tensor of size "
                f"{list(self._array.shape)} at dimension {len(key) - 1}"
            )
        return self[key]

    def narrow(self, dim: int, start: Any, length: int) -> Any:
        """The view of `length` elements from `start` along one axis.

        Example:
            >>> dynamic.narrow(dynamic.arange(5), 0, 1, 3)
            tensor([1, 2, 3])
        """
        if not self.ndim:
            raise AutogradError("narrow() cannot be applied to a 0-dim tensor.")
        axis = axis_of("narrow", dim, self._array.ndim)
        size = self._array.shape[axis]
        if isinstance(start, np.integer):  # of few bits it has no room for the sum
            start = int(start)
        if isinstance(length, np.integer):
            length = int(length)
        if type(length) is int and length < 0:  # a size that is computed may be unknown
            raise AutogradError(f"narrow(): length must be non-negative, not {length}.")
        if start < 0 <= start + size:
            start += size
        if start < 0 or start + length - size > 0:  # one question of the size, which may be unknown
            if start < 0 or start > size:
                raise OutOfRangeError(
                    f"start out of range (expected to be in range of [{-size}, {size}], but got "
                    f"{start})"
                )
            raise AutogradError(
                f"start ({start}) + length ({length}) exceeds dimension size ({size})."
            )
        return self._selected(self._at(axis, slice(start, start + length)))

    def _at(self, dim: int, key: object) -> tuple[Any, ...]:
        axis = axis_of("select", dim, self._array.ndim)
        return (slice(None),) * axis + (key,)

    def split(self, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
        """Views of so many elements along `dim`, the last one shorter; or of the listed sizes.

        Example:
            >>> dynamic.split(dynamic.tensor([1.0, 2.0, 3.0, 4.0]), 2)
            (tensor([1., 2.]), tensor([3., 4.]))
        """
        size = split_size
        if not self.ndim:
            raise AutogradError("split expects at least a 1-dimensional tensor")
        axis = axis_of("split", dim, self._array.ndim)
        total = self._array.shape[axis]
        if hasattr(size, "__index__"):
            size = int(size)
            if size < 0:
                raise AutogradError(
                    f"split expects split_size be non-negative, but got split_size={size}"
                )
            if not size and total:
                raise AutogradError(
                    "split_size can only be 0 if dimension size is 0, but got dimension size of "
                    f"{total}"
                )
            sizes = [min(size, total - start) for start in range(0, total, size or 1)] or [0]
            return pieces(self, "SplitBackward0", axis, sizes)
        sizes = list(size)
        if sum(sizes) != total:
            raise SizeError(
                f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's "
                f"size at dimension {axis}), but got split_sizes={sizes}"
            )
        return pieces(self, "SplitWithSizesBackward0", axis, sizes)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        """At most `chunks` views of equal size along `dim`, the last one shorter.

        Example:
            >>> dynamic.chunk(dynamic.arange(5), 2)
            (tensor([0, 1, 2]), tensor([3, 4]))
        """
        if not self.ndim:
            raise AutogradError("chunk expects at least a 1-dimensional tensor")
        chunks = operator.index(chunks)  # of few bits it has no room for what is computed of it
        if chunks < 1:
            raise AutogradError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        return self.split(max(1, -(-self.size(dim) // chunks)), dim)

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        """The views at each index of one axis.

        Example:
            >>> dynamic.unbind(dynamic.tensor([[1, 2], [3, 4]]))
            (tensor([1, 2]), tensor([3, 4]))
        """
        axis = axis_of("unbind", dim, self._array.ndim, of_number=False)
        return pieces(self, "UnbindBackward0", axis, None)

    def norm(
        self, p: Any = 2, dim: object = None, keepdim: bool = False, dtype: object = None
    ) -> Any:
        """The p-norm of the elements; its gradient at 0 is 0.

        Example:
            >>> dynamic.norm(dynamic.tensor([3.0, 4.0]))
            tensor(5.)
        """
        if dtype is not None:
            return self.to(dtype=dtype).norm(p, dim, keepdim)
        if p in (2, 2.0, "fro"):
            return over(eager_ops.norm, self, dim, keepdim)
        axes = axes_of(
            "norm", None if isinstance(dim, list | tuple) and not dim else dim, self._array.ndim
        )
        attrs = {"p": as_float("norm", "p", p), "axes": axes, "keepdims": keepdim}
        return self._apply(ops.vector_norm, (self,), attrs)

    @with_numpy_names
    def amax(self, dim: object = None, keepdim: bool = False) -> Any:
        """The largest elements along `dim`; ties share the gradient evenly."""
        return over(ops.max, self, some_axes(self, "amax", dim), keepdim)

    @with_numpy_names
    def amin(self, dim: object = None, keepdim: bool = False) -> Any:
        """The smallest elements along `dim`; ties share the gradient evenly."""
        return over(ops.min, self, some_axes(self, "amin", dim), keepdim)

    def clamp(self, min: object = None, max: object = None) -> Any:
        """The elements limited to [min, max]."""
        if min is None and max is None:
            raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
        return ops.clip(self, min, max)

    def round(self, *, decimals: int = 0) -> Any:
        """The nearest integers, or multiples of 10**-decimals; halves to even.

        Example:
            >>> dynamic.round(dynamic.tensor([0.5, 1.5, -1.7]))
            tensor([ 0.,  2., -2.])
        """
        if type(decimals) is not int:
            require_int("round", "decimals", 2, decimals)
        if not decimals:
            return ops.round(self)
        scale = 10.0**decimals
        return ops.divide(ops.round(ops.multiply(self, scale)), scale)

    def polygamma(self, n: int) -> Any:
        """The n-th derivative of digamma."""
        return ops.polygamma(n, self)

    def index_select(self, dim: int, index: Any) -> Any:
        """The slices at `index` along one axis.

        Example:
            >>> dynamic.index_select(dynamic.tensor([5, 6, 7]), 0, dynamic.tensor([2, 0]))
            tensor([7, 5])
        """
        if not hasattr(index, "_array"):
            raise ArgumentError(
                "index_select(): argument 'index' (position 2) must be Tensor, not "
                f"{type(index).__name__}"
            )
        if not self.ndim and index.numel() != 1:
            raise AutogradError(
                "index_select(): Index to scalar can have only 1 value, got "
                f"{index.numel()} value(s)"
            )
        if not index.ndim and self.ndim:
            index = ops.reshape(index, (1,))
        return slices_at(self, dim, index)

    def masked_fill(self, mask: object, value: object) -> Any:
        """`value` where the mask holds, the elements elsewhere.

        Example:
            >>> dynamic.masked_fill(dynamic.tensor([1.0, 2.0]), dynamic.tensor([True, False]), -1.0)
            tensor([-1.,  2.])
        """
        if not isinstance(mask, Operand):
            given = type(mask).__name__
            raise ArgumentError(
                f"masked_fill(): argument 'mask' (position 1) must be Tensor, not {given}"
            )
        require_mask(mask)
        if isinstance(value, Operand) and not is_inexact(self._array.dtype):
            value = ops.astype(value, self._array.dtype)  # it never promotes
        return eager_ops.masked_fill(mask, as_element(value, self), self)

    def where(self, condition: object, other: object) -> Any:
        """The elements where the condition holds, else those of `other`."""
        return ops.where(condition, self, other)


def is_overriding(kind: Any) -> bool:
    """Whether a class has a `__torch_function__` of its own."""
    default = vars(Methods)["__torch_function__"]
    return kind.__torch_function__.__func__ is not default.__func__
