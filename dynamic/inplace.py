"""In-place operations: the value is computed, recorded as any op, then written over the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler import ops
from compiler.graph.expression import user_line
from compiler.op import Attrs, Op, Operand
from dynamic import eager_ops
from dynamic.dtypes import DTYPES
from dynamic.errors import AutogradError
from dynamic.grad_mode import mode
from dynamic.tape import AccumulateGrad, Node
from dynamic.views import rebase


def touch(tensor: Any) -> None:
    """Count a change of the tensor's memory and note the user's line that made it."""
    counter = tensor._counter
    counter[0] += 1
    counter[1] = user_line()


def check_writable(tensor: Any) -> None:
    """Raise unless the tensor may be overwritten under the grad mode (PyTorch's rules)."""
    if not tensor._array.flags.writeable:
        raise AutogradError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if not mode.enabled:
        return
    if type(tensor._node) is AccumulateGrad:
        what = "a leaf Variable"
    elif tensor._view is not None and type(tensor._view.base._node) is AccumulateGrad:
        what = "a view of a leaf Variable"
    else:
        return
    raise AutogradError(f"{what} that requires grad is being used in an in-place operation.")


def overwrite(tensor: Any, op: Op, others: Sequence[Any] = (), attrs: Attrs | None = None) -> Any:
    """Set `tensor` to `op(tensor, *others)`, recorded if any of them requires grad."""
    check_writable(tensor)
    before = _alias(tensor)
    # an operand that is the tensor itself would make the node and the tensor hold each other
    operands = (before, *(_alias(tensor) if other is tensor else other for other in others))
    result = before.apply(op, operands, attrs or {})
    _check_result(tensor, result, operands)
    if result._array.dtype != tensor._array.dtype:
        result = ops.astype(result, tensor._array.dtype)
    node = result._node
    if type(node) is Node and node.saved is not None and node.saved[0] is tensor._array:
        # the rule reads the values from before
        node.saved = (tensor._array.copy(), *node.saved[1:])
        node.guards = (None, *node.guards[1:])
    np.copyto(tensor._array, result._array)
    touch(tensor)
    if mode.enabled:
        if type(node) is Node and node.recipe.keeps_output:
            assert node.saved is not None
            node.saved = (*node.saved[:-1], tensor._array)
            node.guards = (*node.guards[:-1], tensor._counter)
            node.versions = (*node.versions[:-1], tensor._counter[0])
        if node is not None or tensor._node is not None or tensor._view is not None:
            rebase(tensor, node)
    return tensor


def _alias(tensor: Any) -> Any:
    """Another tensor on the same memory, with the same history and version."""
    alias = tensor.constant(tensor._array)
    alias._node = tensor._node
    alias._counter = tensor._counter
    return alias


def _check_result(tensor: Any, result: Any, operands: Sequence[Any]) -> None:
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


def assign(tensor: Any, key: Any, value: Any) -> None:
    """`tensor[key] = value`: recorded on the tensor, which the key makes a view of."""
    selected = tensor._basic_key(key)
    if selected is not None:
        with_view = tensor.apply(eager_ops.select, (tensor,), {"key": selected})
        with_view.copy_(value)
        return
    places = tensor._places(key)
    if not isinstance(value, Operand):
        value = tensor.constant(np.asarray(value, tensor._array.dtype))
    overwrite(tensor, eager_ops.put, (value,), {"places": places})


def _method(op: Op) -> Any:
    def method(self: Any, *others: Any) -> Any:
        return overwrite(self, op, others)

    method.__doc__ = f"In place: {op.doc}"
    return method


def _operator(op: Op) -> Any:
    def method(self: Any, other: Any) -> Any:
        return overwrite(self, op, (other,))

    return method


def _scaled(op: Op) -> Any:
    def method(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return overwrite(self, op, (other if alpha == 1 else other * alpha,))

    method.__doc__ = f"In place, with b scaled by `alpha`: {op.doc}"
    return method


class InPlace(Operand):
    """PyTorch's methods that end in an underscore, the in-place operators, and `x[key] = y`."""

    __slots__ = ()

    _array: Any
    _counter: list[Any]

    add_, sub_ = _scaled(ops.add), _scaled(ops.subtract)
    mul_, div_ = _method(ops.multiply), _method(ops.divide)
    pow_ = _method(ops.power)
    neg_, abs_ = _method(ops.negative), _method(ops.absolute)
    exp_, log_, sqrt_ = _method(ops.exp), _method(ops.log), _method(ops.sqrt)
    sin_, cos_, tanh_ = _method(ops.sin), _method(ops.cos), _method(ops.tanh)
    sigmoid_, relu_ = _method(ops.sigmoid), _method(ops.relu)
    square_, reciprocal_ = _method(ops.square), _method(ops.reciprocal)
    floor_, ceil_, round_ = _method(ops.floor), _method(ops.ceil), _method(ops.round)

    __iadd__, __isub__ = _operator(ops.add), _operator(ops.subtract)
    __imul__, __itruediv__ = _operator(ops.multiply), _operator(ops.divide)
    __ipow__, __imod__ = _operator(ops.power), _operator(ops.remainder)
    __ifloordiv__ = _operator(ops.floor_divide)

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self, key, value)

    def zero_(self) -> Any:
        """Fill with zeros."""
        return overwrite(self, eager_ops.zero, (), {"value": 0})

    def fill_(self, value: Any) -> Any:
        """Fill with one number or a 0-d tensor."""
        if isinstance(value, Operand):
            return self.copy_(value)
        return overwrite(self, eager_ops.fill, (), {"value": value})

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Copy from `source`, which broadcasts to the shape and is cast to the dtype."""
        source = source if isinstance(source, Operand) else self.constant(np.asarray(source))
        return overwrite(self, eager_ops.copy, (source,))

    def clamp_(self, min: Any = None, max: Any = None) -> Any:
        """Limit to [min, max]."""
        dtype = self._array.dtype
        if dtype.kind == "f":
            low, high = -np.inf, np.inf
        else:
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        bounds = (low if min is None else min, high if max is None else max)
        return overwrite(self, ops.clamp, bounds)

    clip_ = clamp_

    @property
    def _version(self) -> int:
        """How often the memory was changed in place."""
        return int(self._counter[0])
