"""Ops that are ONNX operators with attributes, or with sizes among the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.types import neutral
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import leaves
from staticgraph.onnx.writer import Form, Names, Writer

NODES: dict[str, Form] = {}
"""Per op how it is written."""

_INT64 = np.dtype(np.int64)


def _writes(*ops: str) -> Callable[[Form], Form]:
    """Register how ops of these names are written."""

    def register(form: Form) -> Form:
        NODES.update(dict.fromkeys(ops, form))
        return form

    return register


def _expanded(writer: Writer, one: Expression) -> Names:
    assert one.op.expand is not None
    return writer.rewritten(one, one.op.expand(*one.operands, **one.attrs))


def reduction(operator: str) -> Form:
    """An op along axes."""

    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        axes, (operand,) = one.attrs["axes"], one.operands
        dtype = np.dtype(np.uint8) if one.dtype.kind == "b" else one.dtype
        x = inputs[0] if operand.dtype == dtype else writer.cast(inputs[0], dtype)
        if axes:
            chosen = writer.array(np.array(axes, np.int64), "axes")
            x = writer.node(operator, x, chosen, keepdims=int(one.attrs["keepdims"]))
        made: Names = x if dtype == one.dtype else writer.cast(x, one.dtype)
        return made

    return write


# -- leaves -----------------------------------------------------------------------------------


@_writes("constant")
def _constant(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return writer.array(one.attrs["value"].array)


@_writes("variable")
def _variable(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return writer.variable(one)


@_writes("iota")
def _iota(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    size = one.attrs["size"]
    if isinstance(size, int):
        return writer.array(np.arange(size))
    zero, step = (writer.array(np.array(i, np.int64)) for i in (0, 1))
    made: Names = writer.node("Range", zero, _scalar(writer, size), step)
    return made


@_writes("size_of")
def _size_of(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return _scalar(writer, one.attrs["size"])


def _scalar(writer: Writer, size: Any) -> str:
    made: str = writer.node("Squeeze", writer.sizes([size]))
    return made


# -- what moves elements ----------------------------------------------------------------------


@_writes("after", "recompute")
def _first(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return str(inputs[0])


@_writes("astype")
def _astype(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return writer.cast(inputs[0], one.dtype)


@_writes("reshape")
def _reshape(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    made: Names = writer.node("Reshape", inputs[0], writer.sizes(one.shape), allowzero=1)
    return made


@_writes("broadcast_to")
def _broadcast_to(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    made: Names = writer.node("Expand", inputs[0], writer.sizes(one.shape))
    return made


@_writes("transpose")
def _transpose(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    made: Names = writer.node("Transpose", inputs[0], perm=list(one.attrs["axes"]))
    return made


@_writes("expand_dims", "squeeze")
def _axes_of_one(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    operator = "Unsqueeze" if one.op.name == "expand_dims" else "Squeeze"
    axes = writer.array(np.array(one.attrs["axes"], np.int64), "axes")
    made: Names = writer.node(operator, inputs[0], axes)
    return made


@_writes("flip")
def _flip(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    axes = np.array(one.attrs["axes"], np.int64)
    bounds = (np.full_like(axes, bound) for bound in (-1, np.iinfo(np.int64).min))
    starts, ends, chosen, steps = map(writer.array, (*bounds, axes, np.full_like(axes, -1)))
    made: Names = writer.node("Slice", inputs[0], starts, ends, chosen, steps)
    return made


@_writes("strided_slice")
def _strided_slice(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    starts, sizes, steps = (one.attrs[key] for key in ("starts", "sizes", "steps"))
    if not starts:
        return str(inputs[0])
    ends = [start + size * step for start, size, step in zip(starts, sizes, steps, strict=True)]
    axes = writer.array(np.arange(len(starts)), "axes")
    strides = writer.array(np.array(steps, np.int64), "steps")
    made: Names = writer.node(
        "Slice", inputs[0], writer.sizes(starts), writer.sizes(ends), axes, strides
    )
    return made


@_writes("concatenate")
def _concatenate(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    made: Names = writer.node("Concat", *inputs, axis=one.attrs["axis"])
    return made


@_writes("embed")
def _embed(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    (x,) = one.operands
    if not x.ndim:
        return str(inputs[0])
    name, sizes = inputs[0], list(x.shape)
    for axis, step in enumerate(one.attrs["steps"]):
        if step > 1:
            name = _apart(writer, one, name, sizes, axis, step)
            sizes[axis] = sizes[axis] * step
    starts, shape = one.attrs["starts"], one.attrs["shape"]
    # a negative pad takes away what was put behind the last element
    after = [all - at - size for all, at, size in zip(shape, starts, sizes, strict=True)]
    value = writer.array(np.array(one.attrs["value"], one.dtype))
    made: Names = writer.node("Pad", name, writer.sizes([*starts, *after]), value)
    return made


def _apart(
    writer: Writer, one: Expression, name: str, sizes: list[Any], axis: int, step: int
) -> str:
    """The elements of an axis, each with `step - 1` others behind it."""
    column = writer.node("Unsqueeze", name, writer.array(np.array([axis + 1]), "axes"))
    pads = np.zeros(2 * len(sizes) + 2, np.int64)
    pads[len(sizes) + 1 + axis + 1] = step - 1
    value = writer.array(np.array(one.attrs["value"], one.dtype))
    padded = writer.node("Pad", column, writer.array(pads, "pads"), value)
    joined = writer.sizes([*sizes[:axis], sizes[axis] * step, *sizes[axis + 1 :]])
    made: str = writer.node("Reshape", padded, joined, allowzero=1)
    return made


# -- by indices -------------------------------------------------------------------------------


def _index(writer: Writer, name: str, index: Expression) -> str:
    return name if index.dtype in (np.int32, _INT64) else writer.cast(name, _INT64)


@_writes("take", "take_along_axis")
def _take(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    operator = "Gather" if one.op.name == "take" else "GatherElements"
    index = _index(writer, inputs[1], one.operands[1])
    made: Names = writer.node(operator, inputs[0], index, axis=one.attrs["axis"])
    return made


@_writes("along_add", "along_prod", "along_extremum")
def _along(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    start, how = _SCATTERED.get(one.op.name, ("", ""))
    if not how:
        start = how = "max" if one.attrs["largest"] else "min"
    first = writer.array(np.array(neutral(start, one.dtype), one.dtype))
    empty = writer.node("Expand", first, writer.sizes(one.shape))
    index = _index(writer, inputs[1], one.operands[1])
    axis = one.attrs["axis"]
    made: Names = writer.node("ScatterElements", empty, index, inputs[0], axis=axis, reduction=how)
    return made


_SCATTERED = {"along_add": ("sum", "add"), "along_prod": ("prod", "mul")}


@_writes("argsort", "first_places")
def _argsort(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    axis = one.attrs["axis"]
    (x,) = one.operands
    name = writer.cast(inputs[0], np.dtype(np.uint8)) if x.dtype.kind == "b" else inputs[0]
    count = writer.sizes([one.shape[axis]])
    largest = int(one.attrs["descending"])
    _, places = writer.node("TopK", name, count, count=2, axis=axis, largest=largest, sorted=1)
    return str(places)


@_writes("sort")
def _sort(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    axis = one.attrs["axis"]
    (x,) = one.operands
    name = writer.cast(inputs[0], np.dtype(np.uint8)) if x.dtype.kind == "b" else inputs[0]
    count = writer.sizes([x.shape[axis]])
    largest = int(one.attrs["descending"])
    values, _ = writer.node("TopK", name, count, count=2, axis=axis, largest=largest, sorted=1)
    return writer.cast(values, x.dtype) if x.dtype.kind == "b" else str(values)


@_writes("cumsum")
def _cumsum(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    x = inputs[0] if one.operands[0].dtype == one.dtype else writer.cast(inputs[0], one.dtype)
    made: Names = writer.node("CumSum", x, writer.array(np.array(one.attrs["axis"])))
    return made


# -- neural networks --------------------------------------------------------------------------


@_writes("softmax", "log_softmax")
def _softmax(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    operator = "Softmax" if one.op.name == "softmax" else "LogSoftmax"
    made: Names = writer.node(operator, inputs[0], axis=one.attrs["axis"])
    return made


@_writes("leaky_relu", "elu")
def _of_slope(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    if one.dtype != np.float32:  # the attribute has its precision
        return _expanded(writer, one)
    operator = "LeakyRelu" if one.op.name == "leaky_relu" else "Elu"
    (slope,) = one.attrs.values()
    made: Names = writer.node(operator, inputs[0], alpha=float(slope))
    return made


@_writes("gelu")
def _gelu(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    if writer.opset < 20:
        return _expanded(writer, one)
    made: Names = writer.node("Gelu", inputs[0], approximate=one.attrs["approximate"])
    return made


@_writes("layer_norm")
def _layer_norm(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    x, weight, bias = one.operands
    axes = one.attrs["axes"]
    if not weight.shape == bias.shape == x.shape[x.ndim - axes :] or x.dtype != np.float32:
        return _expanded(writer, one)
    made: Names = writer.node(
        "LayerNormalization", *inputs, axis=-axes, epsilon=float(one.attrs["eps"])
    )
    return made


@_writes("conv2d", "conv_transpose2d")
def _conv(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    attrs, (_, _, bias) = dict(one.attrs), one.operands
    attributes = {
        "strides": attrs["stride"], "dilations": attrs["dilation"],
        "pads": attrs["padding"] * 2, "group": attrs["groups"],
    }  # fmt: skip
    operator = "Conv"
    if one.op.name == "conv_transpose2d":
        operator, attributes["output_padding"] = "ConvTranspose", attrs["output_padding"]
    x, weight, shift = inputs
    if bias.op is leaves.constant and not bias.ndim and not bias.attrs["value"].array:
        inputs = (x, weight)
    elif not bias.ndim:
        inputs = (x, weight, writer.node("Expand", shift, writer.sizes([one.shape[1]])))
    made: Names = writer.node(operator, *inputs, **attributes)
    return made


@_writes("max_pool2d", "avg_pool2d")
def _pool(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    attributes: dict[str, Any] = {
        "kernel_shape": one.attrs["size"], "strides": one.attrs["stride"],
        "pads": one.attrs["padding"] * 2,
    }  # fmt: skip
    operator = "MaxPool"
    if one.op.name == "avg_pool2d":
        operator, attributes["count_include_pad"] = "AveragePool", 1
    made: Names = writer.node(operator, inputs[0], **attributes)
    return made


@_writes("det")
def _det(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    made: Names = writer.node("Det", inputs[0])
    return made


# -- numbers ----------------------------------------------------------------------------------


@_writes("isnan", "isinf")
def _asks(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    (x,) = one.operands
    if x.dtype.kind in "iub":  # which are never so, in the shape of the operand
        made: Names = writer.node("Not", writer.node("Equal", inputs[0], inputs[0]))
        return made
    return writer.node("IsNaN" if one.op.name == "isnan" else "IsInf", inputs[0])


@_writes("fmod")
def _fmod(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    return _remainder(writer, one, inputs, 1)


def _remainder(writer: Writer, one: Expression, inputs: tuple[Any, ...], fmod: int) -> str:
    divisor = inputs[1] if one.dtype.kind == "f" else _nonzero(writer, one, inputs[1])
    made: str = writer.node("Mod", inputs[0], divisor, fmod=fmod)
    return made if one.dtype.kind == "f" else _or_zero(writer, one, inputs[1], made)


def _nonzero(writer: Writer, one: Expression, name: str) -> str:
    """Integers with 1 for 0, by which others are divided: a division by 0 ends the process."""
    zero, unit = (writer.array(np.array(i, one.dtype)) for i in (0, 1))
    made: str = writer.node("Where", writer.node("Equal", name, zero), unit, name)
    return made


def _or_zero(writer: Writer, one: Expression, divisor: str, quotient: str) -> str:
    zero = writer.array(np.array(0, one.dtype))
    made: str = writer.node("Where", writer.node("Equal", divisor, zero), zero, quotient)
    return made


@_writes("remainder", "floor_divide")
def _floor_divide(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    if one.dtype.kind == "f":
        from staticgraph.onnx.written import floor_divide, remainder

        function = remainder if one.op.name == "remainder" else floor_divide
        return writer.rewritten(one, function(*one.operands))
    rest = _remainder(writer, one, inputs, 0)
    if one.op.name == "remainder":
        return rest
    left = writer.node("Sub", inputs[0], rest)  # is divided without a rest
    quotient = writer.node("Div", left, _nonzero(writer, one, inputs[1]))
    return _or_zero(writer, one, inputs[1], quotient)


@_writes("left_shift", "right_shift")
def _shift(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    unsigned = np.dtype(f"u{one.dtype.itemsize}")
    signed = one.dtype != unsigned

    def moved(name: str, direction: str) -> str:
        x, by = (writer.cast(part, unsigned) if signed else part for part in (name, inputs[1]))
        made = writer.node("BitShift", x, by, direction=direction)
        return writer.cast(made, one.dtype) if signed else str(made)

    if one.op.name == "left_shift":
        return moved(inputs[0], "LEFT")
    if not signed:
        return moved(inputs[0], "RIGHT")
    below = writer.node("Less", inputs[0], writer.array(np.array(0, one.dtype)))
    # of a negative number the complement is moved, into which come zeros
    bits = writer.node("Where", below, writer.node("BitwiseNot", inputs[0]), inputs[0])
    found = moved(bits, "RIGHT")
    made: Names = writer.node("Where", below, writer.node("BitwiseNot", found), found)
    return made
