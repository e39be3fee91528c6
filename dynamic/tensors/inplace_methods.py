"""PyTorch's methods that end in an underscore, and the in-place operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import (
    as_element,
    element,
    known_array,
    require_dtype,
    require_index,
    require_mask,
    require_one,
    require_places,
)
from staticgraph.dynamic.core.errors import AutogradError, IndexValueError
from staticgraph.dynamic.core.older_forms import called_again
from staticgraph.dynamic.core.pytorch import PYTORCH
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.core.whole_numbers import refuse_difference
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.versions import UNTRACKED
from staticgraph.dynamic.tensors.devices import check_format
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.division import FLAT, quotient_of, refuse_zero
from staticgraph.dynamic.tensors.drawn_in_place import DrawnInPlace
from staticgraph.dynamic.tensors.indexing import is_whole, keep_key
from staticgraph.dynamic.tensors.inplace import (
    assign,
    check_result,
    checked,
    fill,
    overwrite,
    refuse_axes,
    replace,
    touch,
)
from staticgraph.dynamic.tensors.scaled import as_weight, scaled_operand
from staticgraph.dynamic.tensors.shapes import common_shape
from staticgraph.dynamic.tensors.slice_sizes import check_copied
from staticgraph.dynamic.tensors.strided import address, may_overlap
from staticgraph.dynamic.tensors.underived import no_inplace_form, not_derived, overwritten


def _method(op: Op) -> Any:
    def method(self: object, *others: object) -> Any:
        return overwrite(self, op, others)

    method.__doc__ = f"In place: {op.doc}"
    return method


def _with_options(op: Op, bind: Any) -> Any:
    """The method of an op that has a signature of its own, `bind`."""

    def method(self: object, *others: object, **options: object) -> Any:
        (_, *operands), attrs = bind(self, *others, **options)
        return overwrite(self, op, operands, attrs)

    method.__doc__ = f"In place: {op.doc}"
    return method


def _called(name: str, function: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    return function


def _operator(op: Op) -> Any:
    def method(self: object, other: object) -> Any:
        return overwrite(self, op, (other,))

    return method


def _without_derivative(op: Op) -> Any:
    """The method of an op whose form in place PyTorch does not differentiate."""
    name = PYTORCH[op].in_place[0]

    def method(self: object) -> Any:
        out_of_place = f"use x = x.{name}()"
        return overwritten(self, op, (), no_inplace_form(name), out_of_place)

    method.__doc__ = f"In place, without a derivative, as in PyTorch: {op.doc}"
    return method


def _heaviside(self: Any, values: Any) -> Any:
    """In place: 0 below 0, 1 above, and `values` at 0; differentiating it is a RuntimeError."""
    return overwritten(self, ops.heaviside, (values,), not_derived("heaviside_"), "detach() it")


def _floor_divided(self: object, other: object) -> Any:
    """In place: the quotient rounded down; differentiating it is a RuntimeError."""
    refuse_zero(self, other)
    return overwritten(self, ops.floor_divide, (other,), not_derived("floor_divide_"), FLAT)


def _divided_whole(op: Op) -> Any:
    """The method of an op that divides integers, of which 0 is a RuntimeError."""

    def method(self: object, other: object) -> Any:
        refuse_zero(self, other)
        return overwrite(self, op, (other,))

    method.__doc__ = f"In place: {op.doc}"
    return method


def _scaled(op: Op) -> Any:
    def method(self: object, other: object, *rest: object, alpha: Any = 1) -> Any:
        if rest:
            return called_again(method, method.__name__, (self, other, *rest), alpha)
        if op is ops.subtract:
            refuse_difference(self, other)
        return overwrite(self, op, (scaled_operand(self, other, alpha),))

    method.__doc__ = f"In place, with b scaled by `alpha`: {op.doc}"
    return method


class InPlace(DrawnInPlace):
    """What changes a tensor in place; the methods that PyTorch's table of ops names as well."""

    __slots__ = ()

    _array: Any
    _counter: Any
    _overwritten: Any = None
    """What `overwrite` does instead, for tensors that hold others: `(op, others, attrs)`."""
    _node: Any

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods of the table

    def __setitem__(self, key: object, value: object) -> None:
        assign(self, key, value)

    def zero_(self) -> Any:
        """Fill with zeros."""
        return fill(self, eager_ops.zero, 0)

    def fill_(self, value: object) -> Any:
        """Fill with one number or a 0-d tensor; RuntimeError for a tensor with axes."""
        if isinstance(value, Operand):
            if len(value.shape):
                raise AutogradError(
                    "fill_ only supports 0-dimension value tensor but got tensor with "
                    f"{len(value.shape)} dimensions."
                )
            return self.copy_(value)
        return fill(self, eager_ops.fill, value)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Copy from `src`, which broadcasts to the shape and is cast to the dtype."""
        source: Any = src if isinstance(src, Operand) else self._constant(known_array("copy_", src))
        same = False
        if self._overwritten is None:
            same = _is_same(self._array, source._array)
            if source.ndim > self._array.ndim:
                refuse_axes(self._array, source)
        return replace(self, eager_ops.copy, (source,), {}, source._array, same)

    def clamp_(self, min: object = None, max: object = None) -> Any:
        """Limit to [min, max]."""
        if min is None and max is None:
            raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
        dtype = self._array.dtype
        if is_float(dtype):
            low, high = -np.inf, np.inf
        elif max is None and isinstance(min, Operand):  # whose dtype may be wider
            return overwrite(self, ops.maximum, (min,))
        elif min is None and isinstance(max, Operand):
            return overwrite(self, ops.minimum, (max,))
        else:
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        bounds = (low if min is None else min, high if max is None else max)
        return overwrite(self, ops.clamp, bounds)

    clip_ = clamp_

    def clamp_min_(self, min: object) -> Any:
        """Limit from below."""
        return self.clamp_(min=min)

    def clamp_max_(self, max: object) -> Any:
        """Limit from above."""
        return self.clamp_(max=max)

    def masked_fill_(self, mask: Any, value: object) -> Any:
        """Set the elements where the mask holds to one number, or a 0-d tensor."""
        require_mask(mask)
        if mask.shape != self.shape:
            common_shape(self.shape, mask.shape)
        value = as_element(value, self)
        written = None
        if self._overwritten is None and may_overlap(self._array.shape, self._array.strides):
            written = np.broadcast_to(mask._array, self._array.shape)
        return overwrite(self, eager_ops.fill_where, (mask, value), written=written)

    def masked_scatter_(self, mask: Any, source: object) -> Any:
        """Set the elements where the mask holds to the first elements of `source`, in order."""
        text = "masked_scatter_ only supports boolean masks, but got mask with dtype {0}"
        require_mask(mask, text)
        require_dtype(
            "masked_scatter: expected self and source to have same dtypes but got {0} and {1}",
            self, source,
        )  # fmt: skip
        if self._overwritten is not None:
            held = ops.broadcast_to(mask, tuple(self.shape))
            order = ops.cumsum(ops.reshape(held, (-1,)).long(), 0) - 1
            flat = ops.reshape(source, (-1,))
            values = ops.take(flat, ops.clip(order, 0, flat.shape[0] - 1), 0)
            return self.copy_(ops.where(held, ops.reshape(values, tuple(self.shape)), self))
        places = np.flatnonzero(np.broadcast_to(mask._array, self._array.shape))
        values = ops.reshape(source, (-1,))[: len(places)]
        if len(places) > values._array.size:
            few = f"{values._array.size} < {len(places)}"
            raise AutogradError(f"Number of elements of source < number of ones in mask: {few}")
        return overwrite(self, ops.put, (values, self._constant(places)))

    def index_fill_(self, dim: int, index: object, value: Any) -> Any:
        """Set the slices at `index` along one axis to one number."""
        require_places(index)
        require_one(value)
        value = ops.astype(value, self._array.dtype) if isinstance(value, Operand) else value
        assign(*self._slices(dim, index, overlapping=True), value)
        return self

    def index_copy_(self, dim: int, index: Any, source: object) -> Any:
        """Set the slices at `index` along one axis to those of `source`."""
        require_dtype(
            "index_copy_(): self and source expected to have the same dtype, but got (self) {0} "
            "and (source) {1}", self, source,
        )  # fmt: skip
        text = "index_copy_(): Expected a long tensor for index, but got {0}"
        require_index(text, index, True, kind=OutOfRangeError)
        check_copied(self, axis_of("index", dim, self._array.ndim), index, source)
        assign(*self._slices(dim, index if index.ndim else index.reshape(1)), source)
        return self

    def index_put_(
        self, indices: Sequence[object], values: object, accumulate: bool = False
    ) -> Any:
        """`self[indices] = values`, or the values added there, all of them, if `accumulate`."""
        key = tuple(slice(None) if one is None else one for one in indices)
        if not accumulate:
            assign(self, key, values, exact=True)
            return self
        require_dtype(
            "Index put requires the source and destination dtypes match, got {0} for the "
            "destination and {1} for the source.",
            self,
            values,
        )
        basic, advanced = self._parts(key)
        view = self if is_whole(basic, self._array) else self._selected(basic)
        if advanced is None:
            overwrite(view, ops.add, (values,))
            return self
        places, shape = view._places(advanced), tuple(view._array.shape)
        flat = ops.take_add(
            ops.reshape(ops.broadcast_to(values, np.shape(places)), (-1,)),
            self._constant(np.reshape(places, -1)), 0, view._array.size,
        )  # fmt: skip
        keep_key(overwrite(view, ops.add, (ops.reshape(flat, shape),)), key)
        return self

    def scatter_(
        self, dim: int, index: Any, src: object = None, *, value: object = None, reduce: Any = None
    ) -> Any:
        """Set the elements at `index` along one axis to those of `src`, or one number.

        With `reduce`, "add" or "multiply", add them, or multiply by them.
        """
        src = value if src is None else src
        if reduce is not None:
            return self.copy_(self.scatter(dim, index, src, reduce=reduce))
        axis = axis_of("scatter_", dim, self._array.ndim)
        require_dtype("scatter(): Expected self.dtype to be equal to src.dtype", self, src)
        attrs = {"axis": axis, "wrap": False}
        if not self._array.ndim:
            return self.copy_(self.scatter(dim, index, src))
        if isinstance(src, Operand):
            src = src[tuple(slice(size) for size in index.shape)]  # type: ignore[index]
        else:
            src = self._constant(element(src, self._array.dtype))
        try:
            return overwrite(self, ops.scatter, (src, index), attrs)
        except OutOfRangeError as error:
            size, numbers = self._array.shape[axis], index._array
            bad = numbers[(numbers < 0) | (numbers >= size)].flat[0]
            text = f"index {bad} is out of bounds for dimension {axis} with size {size}: {error}"
            raise IndexValueError(text) from None

    def _slices(
        self, dim: int, index: object, overlapping: bool = False
    ) -> tuple[Any, tuple[Any, ...]]:
        """The tensor, as a vector if it is a number, and the key of its slices at `index`.

        RuntimeError if the tensor must not be overwritten: see `check_writable`.
        """
        self = checked(self, (), overlapping)  # noqa: PLW0642 - what stands for it
        key = (slice(None),) * axis_of("index", dim, self._array.ndim) + (index,)
        return (self if self._array.ndim else ops.reshape(self, (1,))), key

    def polygamma_(self, n: int) -> Any:
        """The n-th derivative of digamma."""
        return overwrite(self, ops.polygamma, (), {"n": n})

    def addcmul_(self, tensor1: object, tensor2: object, *, value: object = 1) -> Any:
        """Add value * tensor1 * tensor2."""
        return checked(self, (tensor1, tensor2)).add_(ops.multiply(tensor1, tensor2), alpha=value)

    def addcdiv_(self, tensor1: object, tensor2: object, *, value: object = 1) -> Any:
        """Add value * tensor1 / tensor2."""
        return checked(self, (tensor1, tensor2)).add_(ops.divide(tensor1, tensor2), alpha=value)

    def lerp_(self, end: Any, weight: object) -> Any:
        """Go a part of the way, `weight`, to `end`; RuntimeError if these have another dtype."""
        self = checked(self, (end, weight))  # noqa: PLW0642 - what stands for it
        require_dtype("expected dtype {2} for `end` but got dtype {3}", self, end)
        weight = as_weight(self, weight)
        require_dtype("expected dtype {2} for `weight` but got dtype {3}", self, weight)
        return self.add_(ops.multiply(end - self, weight))

    def resize_(self, *sizes: object, memory_format: object = None) -> Any:
        """Another shape; the elements stay, in row-major order, what is new is uninitialised.

        RuntimeError if the tensor requires grad, or is a view.
        """
        check_format("resize_", memory_format)
        if self._node is not None and not mode.inference:
            raise AutogradError("cannot resize variables that require grad")
        given = sizes_of(sizes, "resize_")
        for size in given:
            require_int("resize_", "size", 1, size, 0)
        shape = tuple(map(int, given))
        if shape == self._array.shape:
            return self
        touch(self)
        old = self._array.reshape(-1)
        new = np.empty(shape, self._array.dtype)
        kept = min(old.size, new.size)
        new.reshape(-1)[:kept] = old[:kept]
        tensor: Any = self
        tensor._move(new)
        return self

    def resize_as_(self, other: Any, memory_format: object = None) -> Any:
        """The shape of another tensor: see `resize_`.

        Example:
            >>> dynamic.ones(4).resize_as_(dynamic.ones(2, 2)).shape
            torch.Size([2, 2])
        """
        return self.resize_(other.shape, memory_format=memory_format)

    @property
    def _version(self) -> int:
        """How often the memory was changed in place; RuntimeError for an inference tensor."""
        counter = (self if mode.capture is None else mode.capture.lifted(self))._counter
        if counter is UNTRACKED:
            raise AutogradError("Inference tensors do not track version counter.")
        return int(counter[0])


def _is_same(array: Any, source: Any) -> bool:
    """Whether a source is the memory that it is copied to, be its elements one in memory or not."""
    if array.flags.writeable or address(array) != address(source):
        return False
    lead = array.ndim - source.ndim
    return array.shape == (1,) * lead + source.shape and array.strides[lead:] == source.strides


def _bitwise(op: Op, operator: str) -> Any:
    """In place: `op` on bools, what the operator returns on integers."""

    def method(self: Any, other: object) -> Any:
        value = getattr(self, operator)(other)
        check_result(self, value)
        if self._array.dtype.kind == "b":
            return overwrite(self, op, (other,))
        return self.copy_(value)

    method.__doc__ = f"In place: {op.doc} Bit by bit of integers."
    return method


def _rounded(self: Any, *, decimals: int = 0) -> Any:
    """In place: the nearest integers, or multiples of 10**-decimals; halves to even."""
    if not decimals:
        return overwrite(self, ops.round)
    return self.copy_(self.round(decimals=decimals))


def _divided(self: Any, other: object, *, rounding_mode: str | None = None) -> Any:
    """In place: divided by `other`; `rounding_mode` is None, "floor" or "trunc"."""
    if rounding_mode is None:
        return overwrite(self, ops.divide, (other,))
    result = quotient_of(self, other, rounding_mode=rounding_mode)
    check_result(self, result)
    return self.copy_(result)


def _methods() -> Iterator[tuple[str, Any]]:
    """The methods of PyTorch's table of ops."""
    for op, row in PYTORCH.items():
        for name in row.in_place:
            yield f"{name}_", _method(op) if op.bind is None else _with_options(op, op.bind)


for _name, _function in {
    **dict(_methods()),
    "add_": _scaled(ops.add), "sub_": _scaled(ops.subtract), "subtract_": _scaled(ops.subtract),
    "div_": _divided, "divide_": _divided, "true_divide_": _method(ops.divide),
    "round_": _rounded,
    "__iadd__": _operator(ops.add), "__isub__": _operator(ops.subtract),
    "__imul__": _operator(ops.multiply), "__itruediv__": _operator(ops.divide),
    "__ipow__": _operator(ops.power), "__imod__": _divided_whole(ops.remainder),
    "__ifloordiv__": _floor_divided, "floor_divide_": _floor_divided, "heaviside_": _heaviside,
    **{
        f"{name}_": _without_derivative(op)
        for op in (ops.acosh, ops.asinh, ops.atanh) for name in PYTORCH[op].in_place
    },
    "remainder_": _divided_whole(ops.remainder), "fmod_": _divided_whole(ops.fmod),
    "__iand__": _bitwise(ops.logical_and, "__and__"),
    "__ior__": _bitwise(ops.logical_or, "__or__"),
    "__ixor__": _bitwise(ops.logical_xor, "__xor__"),
    "bitwise_and_": _bitwise(ops.logical_and, "__and__"),
    "bitwise_or_": _bitwise(ops.logical_or, "__or__"),
    "bitwise_xor_": _bitwise(ops.logical_xor, "__xor__"),
}.items():  # fmt: skip
    setattr(InPlace, _name, _called(_name, _function))
