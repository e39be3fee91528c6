"""Collectives as they are written: means and sums over ranks, of values and of gradients."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.op import Operand, op_named
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.programs.collectives import all_reduce
from staticgraph.compiler.reference.ranks import current
from staticgraph.leaves import variable


def mean(x: Value, weight: Value = None) -> Value:
    """The mean over ranks of an array, expression or tensor: on all ranks the same.

    Of a loss it is what all ranks minimise together: gradients by *variables* of what depends on
    it, those of `minimize` and `sg.grad`, are means over ranks too. They are packed into one
    buffer, or into a few that are sent while the rest is computed (`set_bucket_bytes`). Gradients
    by anything else, such as placeholders and tensors, are of this rank's own operand alone.

    Args:
        x: floating point, of one shape and dtype on all ranks.
        weight: how much this rank counts, a number or scalar from 0, such as the rows of its batch,
            `x.shape[0]`, where the ranks have not as many each. A rank of weight 0 does not count,
            whatever its x is.

    Raises:
        DTypeError: it is not floating point.
        OptionError: a weight that is known is negative or nan.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> dist = sg.distributed
        >>> dist.simulate(lambda: float(dist.mean(np.array(dist.rank * 1.0))), size=3)
        [1.0, 1.0, 1.0]
        >>> dist.simulate(lambda: float(dist.mean(np.array(dist.rank * 1.0), dist.rank)), size=3)[0]
        1.6666666666666667
    """
    if weight is None:
        return all_reduce(x, "mean")
    x = as_operand(x)
    if not is_float(x.dtype):
        raise DTypeError(f"mean: {x.dtype} is not floating point")
    if not isinstance(weight, Dim | Operand) and not np.all(np.asarray(weight) >= 0):
        raise OptionError(f"mean: the weight is a number from 0, not {weight!r:.80}")
    if isinstance(weight, Dim):
        weight = size_value(weight, x)
    elif isinstance(x, Expression) and not isinstance(weight, Operand):
        weight = variable(weight, "weight")  # constants are the same on all ranks
    weight = op_named("astype")(as_operand(weight), x.dtype)
    # so that the cotangent of x needs no collective of its own
    factor = weight * x.dtype.type(current().size) / all_reduce(weight, "sum")
    where = op_named("where")
    return all_reduce(where(weight > 0, x * factor, x.dtype.type(0)), "mean")


def sum(x: Value) -> Value:
    """The sum over ranks of an array, expression or tensor: on all ranks the same.

    Raises:
        DTypeError: it is no number of 32 or 64 bits, nor an integer.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> sg.distributed.sum(np.array([1, 2]))
        array([1, 2])
    """
    return all_reduce(x, "sum")


def max(x: Value) -> Value:
    """Element by element the largest over ranks; the gradient is shared by those that are equal.

    Raises:
        DTypeError: it is no number of 32 or 64 bits, nor an integer.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> dist = sg.distributed
        >>> dist.simulate(lambda: int(dist.max(np.array(dist.rank))), size=3)
        [2, 2, 2]
    """
    return all_reduce(x, "max")


def min(x: Value) -> Value:
    """Element by element the smallest over ranks; the gradient is shared by those that are equal.

    Raises:
        DTypeError: it is no number of 32 or 64 bits, nor an integer.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> dist = sg.distributed
        >>> dist.simulate(lambda: int(dist.min(np.array(dist.rank))), size=3)
        [0, 0, 0]
    """
    return all_reduce(x, "min")


def average_gradients(parameters: Iterable[Value]) -> None:
    """Replace the gradients of eager parameters by their means over ranks, packed into buffers.

    It stands between `loss.backward()` and `optimizer.step()`. Parameters without a gradient are
    passed over; they are the same on all ranks.

    Args:
        parameters: tensors with `grad`, in the same order on all ranks.

    Raises:
        OptionError: one of them has no `grad`.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> import dynamic
        >>> w = dynamic.ones(2, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> sg.distributed.average_gradients([w])
        >>> w.grad
        tensor([2., 2.])
    """
    groups: dict[object, list[Value]] = {}
    for one in parameters:
        if not hasattr(one, "grad"):
            raise OptionError(f"average_gradients: a {type(one).__name__} has no grad: {one!r:.80}")
        if one.grad is not None:
            groups.setdefault(one.grad.dtype, []).append(one)
    for members in groups.values():
        flat = [op_named("reshape")(one.grad, (-1,)) for one in members]
        packed = all_reduce(op_named("concatenate")(flat), "mean")
        begin = 0
        for one in members:
            end = begin + int(np.prod(one.shape))
            one.grad = op_named("reshape")(packed[begin:end], tuple(one.shape))
            begin = end
