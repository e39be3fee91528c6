"""In-place operations: the value is computed, recorded as any op, then written over the tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.op_arguments import refuse_more
from staticgraph.compiler.ops.elementwise.complex_numbers import warn_of_lost_part
from staticgraph.compiler.reference.copies import apart, copy_into
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES, MASKS, element, known_array
from staticgraph.dynamic.core.errors import AutogradError, MissingKernelError, SizeError
from staticgraph.dynamic.core.places import user_place
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused
from staticgraph.dynamic.tape.tape import Node, record
from staticgraph.dynamic.tape.versions import UNTRACKED
from staticgraph.dynamic.tensors.indexing import is_whole, keep_key
from staticgraph.dynamic.tensors.strided import may_overlap
from staticgraph.dynamic.tensors.views import OVERLAPPING, rebase, refusal, writable


def touch(tensor: Any) -> None:
    """Count a change of the tensor's memory and note the user's line that made it."""
    counter = tensor._cell
    if counter is None:  # nobody will ask for the line, since nobody has saved the tensor
        tensor._cell = [1, None]
    elif counter is not UNTRACKED:
        counter[0] += 1
        counter[1] = user_place()


def check_writable(tensor: Any, others: Sequence[object] = (), overlapping: bool = False) -> None:
    """Raise unless the tensor may be overwritten by an op on it and `others` (PyTorch's rules).

    What the tape forbids comes first, then what the memory does. `overlapping`: whether the op may
    overwrite elements that are one in memory.
    """
    if mode.capture is not None:
        mode.capture.refuse_write()
    if mode.enabled:
        _check_recorded(tensor, others)
    if not tensor._array.flags.writeable:
        if not overlaps(tensor._array):
            tensor._array = writable(tensor._array)
        elif not overlapping:
            raise AutogradError(OVERLAPPING)
    if tensor._counter is UNTRACKED and not mode.inference:
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update."
        )
    if copying and mode.mutation is not None:
        mode.mutation.before_write(tensor._counter)


def _check_recorded(tensor: Any, others: Sequence[object]) -> None:
    """Raise unless the tape allows that the tensor is overwritten."""
    view = tensor._view
    if view is None:
        if type(tensor._maker) is AccumulateGrad:
            raise AutogradError(LEAF.format("a leaf Variable"))
        return
    if view.origin is not None and any(
        getattr(one, "requires_grad", False) for one in (tensor, *others)
    ):
        raise AutogradError(refusal(tensor))
    base = view.base._maker
    if type(base) is AccumulateGrad or (base is None and tensor._maker is not None):
        raise AutogradError(LEAF.format("a view of a leaf Variable"))


def overlaps(array: Any) -> bool:
    """Whether elements of an array are one in memory, as `expand` makes them."""
    return bool(array.size) and any(
        not stride and size > 1 for size, stride in zip(array.shape, array.strides, strict=True)
    )


def fill(tensor: Any, op: Op, value: Any) -> Any:
    """Set all elements to one number; those of an expanded tensor too."""
    value = element(value, tensor._array.dtype).item()
    return replace(tensor, op, (), {"value": value}, value, overlapping=True)


LEAF = "{} that requires grad is being used in an in-place operation."


def traced_form(tensor: Any) -> Any:
    """What stands for a tensor in a function that is captured; elsewhere the tensor."""
    if paused and mode.capture is not None:
        return mode.capture.lifted(tensor)
    return tensor


def checked(tensor: Any, others: Sequence[object] = (), overlapping: bool = False) -> Any:
    """What stands for a tensor; RuntimeError unless it may be overwritten: see `check_writable`."""
    found = traced_form(tensor)
    if found._overwritten is None:
        check_writable(found, others, overlapping)
    return found


def overwrite(
    tensor: Any,
    op: Op,
    others: Sequence[object] = (),
    attrs: Attrs | None = None,
    written: object = None,
) -> Any:
    """Set `tensor` to `op(tensor, *others)`, recorded if any of them requires grad.

    `written` is the mask of the elements that the op changes, if they may be one in memory.
    """
    tensor = traced_form(tensor)
    if tensor._overwritten is not None:  # a tracer
        return tensor._overwritten(op, others, attrs or {})
    refuse_more(op.name, op.evaluate, 1 + len(others))
    check_writable(tensor, others, written is not None)
    return _overwrite(tensor, op, others, attrs or {}, written)


def _overwrite(tensor: Any, op: Op, others: Sequence[object], attrs: Attrs, written: object) -> Any:
    """`overwrite` of a tensor that is known to be writable."""
    before = _alias(tensor)
    if mode.packing:  # what a pack function gets must not change afterwards
        before._array, before._counter = tensor._array.copy(), [0, None]
    # an operand that is the tensor itself would make the node and the tensor hold each other
    operands = (before, *(_alias(tensor) if other is tensor else other for other in others))
    result = before._apply(op, operands, attrs)
    if result._overwritten is not None:
        result._taken_over(tensor)
        return tensor._overwritten(op, others, attrs)
    check_result(tensor, result)
    cast = result._array.dtype != tensor._array.dtype
    if cast:
        result = ops.astype(result, tensor._array.dtype)
    node = result._node
    if type(node) is Node and node.saved is not None and node.saved[0] is tensor._array:
        # the rule reads the values from before
        node.saved = (tensor._array.copy(), *node.saved[1:])
        node.guards = (None, *node.guards[1:])
    if written is None:
        copy_into(tensor._array, result._array)
    else:
        np.copyto(writable(tensor._array), result._array, where=written)
    touch(tensor)
    if mode.enabled:
        if type(node) is Node and node.recipe.keeps_output:
            assert node.saved is not None
            node.saved = (*node.saved[:-1], tensor._array)
            node.guards = (*node.guards[:-1], tensor._counter)
            node.versions = (*node.versions[:-1], tensor._counter[0])
        if node is None and before._node is not None:  # no gradient flows through the op
            node = record(eager_ops.zero, {"value": 0}, (before,), tensor, False)
        if node is not None:
            rebase(tensor, node, not cast)
    return tensor


def replace(
    tensor: Any,
    op: Op,
    others: Sequence[object],
    attrs: Attrs,
    values: Any,
    overlapping: bool = False,
) -> Any:
    """Set `tensor` to `values`, which are those of `op(tensor, *others)`; op saves nothing.

    RuntimeError if the values do not broadcast to the shape. `overlapping`: see `check_writable`.
    """
    if paused and mode.capture is not None:
        tensor = mode.capture.lifted(tensor)
    if any(getattr(one, "_overwritten", None) is not None for one in (tensor, *others)):
        return overwrite(tensor, op, others, attrs)
    check_writable(tensor, others, overlapping)
    node = None
    if mode.enabled and is_inexact(tensor._array.dtype):  # integers have no gradient
        # before the version changes, and with it the nodes of views
        node = record(op, attrs, (tensor, *others), tensor, False)
    if tensor._array.dtype.kind != "c" and np.asarray(values).dtype.kind == "c":
        warn_of_lost_part()
        values = np.real(values)
    try:
        out = writable(tensor._array)
        np.copyto(out, apart(values, out), casting="unsafe")
    except ValueError:
        raise SizeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast "
            f"to indexing result of shape {list(tensor._array.shape)}"
        ) from None
    touch(tensor)
    if node is not None:
        rebase(tensor, node, True)
    return tensor


def _alias(tensor: Any) -> Any:
    """Another tensor on the same memory, with the same history and version."""
    alias = tensor._constant(tensor._array)
    alias._node = tensor._node
    alias._counter = tensor._counter
    return alias


def check_result(tensor: Any, result: Any) -> None:
    """RuntimeError unless `tensor` may be overwritten by a result of this shape and dtype."""
    array, value = tensor._array, result._array
    if value.shape != array.shape:
        raise AutogradError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape "
            f"{list(value.shape)}"
        )
    kept, made = DTYPES[array.dtype], DTYPES[value.dtype]
    if made.category > kept.category:
        raise AutogradError(
            f"result type {made.legacy} can't be cast to the desired output type {kept.legacy}"
        )


def into(name: str, out: Any, result: Any, operands: Sequence[object]) -> Any:
    """`out`, overwritten by the result of an op on `operands` and resized to its shape.

    RuntimeError if anything would have to be recorded, or `out` has a dtype of a lower category.
    """
    tensors = [one for one in (out, *operands) if isinstance(one, Operand)]
    tracers = any(getattr(one, "_overwritten", None) is not None for one in tensors)
    if tracers and mode.capture is None:
        raise MissingKernelError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an "
            "out= function"
        )
    if mode.enabled and any(getattr(one, "_node", None) is not None for one in tensors):
        raise AutogradError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if out._array.shape != result._array.shape:
        if out._array.size:
            warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out._array.shape)}, which does not match the required output shape "
                f"{list(result._array.shape)}."
            )
        out._move(np.empty(result._array.shape, out._array.dtype))
    check_writable(out)
    check_result(out, result)
    np.copyto(out._array, result._array, casting="unsafe")
    touch(out)
    return out


def _without_leading_ones(value: Any, ndim: int) -> Any:
    """A value that has more axes than what it is written to: without the first ones of size 1."""
    extra = value.ndim - ndim
    if extra <= 0 or any(size != 1 for size in value.shape[:extra]):
        return value
    return ops.reshape(value, tuple(value.shape[extra:]))


def refuse_axes(array: Any, source: Any) -> None:
    """RuntimeError for a source that has more axes than what it is copied to."""
    try:
        shape = np.broadcast_shapes(array.shape, tuple(source.shape))
    except ValueError:
        return  # another error says why
    raise AutogradError(
        f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(shape)}"
    )


def assign(tensor: Any, key: object, value: Any, exact: bool = False) -> None:
    """`tensor[key] = value`: recorded on the tensor, which the key makes a view of.

    `exact`: whether the values may have no axes of size 1 in front that their place has not.
    """
    if key is False:
        return
    if paused and mode.capture is not None:
        tensor = mode.capture.lifted(tensor)
    basic, advanced = tensor._parts(None if key is True else key)
    if not is_whole(basic, tensor._array):
        tensor = tensor._selected(basic)
    if advanced is not None:
        _refuse_bytes(key, advanced, value)
        _put(tensor, advanced, value, exact)
        keep_key(tensor, key)
    elif isinstance(value, bool | int | float | complex):
        value = element(value, tensor._array.dtype).item()
        replace(tensor, eager_ops.fill_of_tensor, (), {"value": value}, value)
    else:
        if not isinstance(value, Operand):
            value = tensor._constant(known_array("__setitem__", value))
        value = _without_leading_ones(value, tensor._array.ndim)
        if value.ndim > tensor._array.ndim:
            raise AutogradError(
                f"expand({value.type()}{{{list(value.shape)}}}, "
                f"size={list(tensor._array.shape)}): the number of sizes provided "
                f"({tensor._array.ndim}) must be greater or equal to the number of dimensions in "
                f"the tensor ({value.ndim})"
            )
        tensor.copy_(value)


def _put(tensor: Any, key: tuple[object, ...], value: Any, exact: bool) -> None:
    """Set the elements that tensors, lists and masks select."""
    if isinstance(value, bool | int | float | complex):
        value = tensor._constant(element(value, tensor._array.dtype))
    elif not isinstance(value, Operand):
        value = known_array("__setitem__", value)
        value = tensor._constant(np.asarray(value, tensor._array.dtype))
    if tensor._overwritten is not None:  # a tracer
        places = tensor._places(key)
        given = _as_given(value, np.shape(places), tensor._array.dtype, exact)
        overwrite(tensor, ops.put, (given, tensor._constant(places)))
        return
    check_writable(tensor, (value,), overlapping=True)
    array = tensor._array
    if array.dtype is not value._array.dtype:
        kept, given = DTYPES[array.dtype], DTYPES[value._array.dtype]
        if kept is not given and not (value._array.size == 1 and _is_mask(key)):
            raise AutogradError(
                "Index put requires the source and destination dtypes match, got "
                f"{kept.legacy} for the destination and {given.legacy} for the source."
            )
    places = tensor._places(key)
    written = None
    if not array.flags.c_contiguous and may_overlap(array.shape, array.strides):
        written = np.zeros(array.shape, np.bool_)
        written.reshape(-1)[places] = True
    given = _as_given(value, np.shape(places), tensor._array.dtype, exact)
    _overwrite(tensor, ops.put, (given, tensor._constant(places)), {}, written)


def _as_given(value: Any, shape: tuple[int, ...], dtype: object, exact: bool) -> Any:
    """A value of the dtype that is written to places of this shape; RuntimeError if it has more.

    `exact`: see `assign`.
    """
    array = value._array
    if array.dtype is dtype and (not array.ndim or array.shape == shape):
        return value
    given = value if exact else _without_leading_ones(value, len(shape))
    pairs = zip(reversed(given.shape), reversed(shape), strict=False)
    if given.ndim > len(shape) or any(a not in (1, b) for a, b in pairs):
        raise SizeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )
    return given if given._array.dtype == dtype else ops.astype(given, dtype)


def _refuse_bytes(key: object, advanced: tuple[object, ...], value: object) -> None:
    """RuntimeError for one number where a mask of uint8 holds: PyTorch fills where bools do."""
    if _is_mask(advanced) and (not isinstance(value, Operand) or math.prod(value.shape) == 1):
        for one in key if isinstance(key, tuple | list) else (key,):
            array = getattr(one, "_array", one)
            if isinstance(array, np.ndarray) and array.ndim and array.dtype == np.uint8:
                raise AutogradError(MASKS.format("Byte", "unsigned char"))


def _is_mask(key: tuple[object, ...]) -> bool:
    """Whether a key is that of one mask, which may be filled with a number of any dtype."""
    arrays = [one for one in key if isinstance(one, np.ndarray)]
    return len(arrays) == 1 and bool(arrays[0].dtype.kind == "b")
