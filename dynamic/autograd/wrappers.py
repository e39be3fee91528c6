"""Tensors without memory of their own, whose class says what ops on them are: `__torch_dispatch__`.

Such a class (a wrapper subclass of PyTorch's) makes its instances by `_make_wrapper_subclass`. Ops
on them are recorded as those on other tensors, and their values are what the class's
`__torch_dispatch__(func, types, args, kwargs)` returns: `func` is the op, in the terms of this
library, which can be called with other tensors. Gradient rules are ops, and come there too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.autograd.function_node import FunctionNode
from staticgraph.dynamic.core import eager_ops, provided
from staticgraph.dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.pytorch import PYTORCH
from staticgraph.dynamic.fast_paths import METHODS
from staticgraph.dynamic.func.tracer import evaluated, innermost
from staticgraph.dynamic.tape.grad_mode import record_if, recording
from staticgraph.dynamic.tensors.autograd_methods import Autograd
from staticgraph.dynamic.tensors.tensor import Tensor, as_operands


class NoMemory:
    """The shape and dtype of a tensor that has no memory; reading it raises."""

    base = None
    flags = SimpleNamespace(writeable=True, c_contiguous=True)

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype
        self.ndim, self.size, self.itemsize = len(shape), math.prod(shape), dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Those of elements in row-major order."""
        steps, following = [], self.itemsize
        for size in reversed(self.shape):
            steps.append(following)
            following *= max(size, 1)
        return tuple(reversed(steps))

    def __len__(self) -> int:
        return self.shape[0]

    def item(self) -> Any:
        """RuntimeError."""
        raise AutogradError(_NO_MEMORY)

    tolist = item

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Any:
        raise AutogradError(_NO_MEMORY)


_NO_MEMORY = (
    "Cannot access data pointer of Tensor that doesn't have storage: a tensor of a class with "
    "__torch_dispatch__ has the values of what it holds"
)


class Overload:
    """An op as `__torch_dispatch__` gets it: called with tensors, it computes the op of them."""

    def __init__(self, op: Op) -> None:
        self.op = op

    @property
    def name(self) -> str:
        """PyTorch's name of the op, without its form."""
        row = PYTORCH.get(self.op)
        return row.in_place[0] if row is not None and row.in_place else self.op.name

    @property
    def __name__(self) -> str:
        return f"{self.name}.default"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value for these operands and attributes."""
        if any(_is_wrapped(one) for one in args):
            return dispatched(self.op, args, kwargs)
        return evaluated(self.op, as_operands(self.op, args)[0], kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Overload) and self.op is other.op

    def __hash__(self) -> int:
        return hash(self.op)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    __repr__ = __str__


class _Item(Overload):
    """What `item()` is to `__torch_dispatch__`."""

    name = "_local_scalar_dense"

    def __init__(self) -> None:
        super().__init__(eager_ops.clone)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The number that a tensor of one element has."""
        return args[0].item()


def _is_wrapped(value: object) -> bool:
    return isinstance(value, Tensor) and type(value._array) is NoMemory


def dispatched(op: Op, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """What the class of the first operand that has one says that an op is; TypeError if nothing."""
    return _handed_over(Overload(op), operands, attrs)


def _handed_over(func: Overload, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    classes = [type(one) for one in operands if _is_wrapped(one)]
    kind: Any = classes[0]
    before = record_if(False)
    try:
        found = kind.__torch_dispatch__(func, tuple(classes), tuple(operands), dict(attrs))
    finally:
        record_if(before)
    if found is NotImplemented:
        raise ArgumentError(f"{kind.__name__}.__torch_dispatch__ does not know {func.name}")
    return found


class _Dispatched(Function):
    """An op on tensors of such a class."""

    @staticmethod
    def forward(ctx: Any, op: Op, attrs: Attrs, *operands: Any) -> Any:
        """What the class says."""
        ctx.op, ctx.attrs, ctx.operands = op, attrs, operands
        return dispatched(op, operands, attrs)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        """The cotangents by the op's rules; its value is computed again where they read it."""
        op, attrs, operands = ctx.op, ctx.attrs, ctx.operands
        needed = [i for i, needs in enumerate(ctx.needs_input_grad[2:]) if needs]
        parts: list[Any] = [None] * len(operands)
        if op.vjp_items is not None:
            found = op.vjp_items(needed, gs, evaluated(op, operands, attrs), *operands, **attrs)
            for i, part in zip(needed, found, strict=True):
                parts[i] = part
            return None, None, *parts
        (g,) = gs
        reads = any("o" in op.saved(i) for i in needed)
        out = evaluated(op, operands, attrs) if reads else g
        for i in needed:
            rule = op.rule(i)
            parts[i] = None if rule is None else rule(g, out, *operands, **attrs)
        return None, None, *parts


class _DispatchedNode(FunctionNode):
    """The node of an op on tensors of such a class, with the op's name."""

    def name(self) -> str:
        """PyTorch's name of the node, as far as it depends on the op alone."""
        row = PYTORCH.get(self.ctx.op)
        stem = row.node if row is not None and isinstance(row.node, str) and row.node else None
        return f"{stem or self.ctx.op.name.title().replace('_', '')}Backward0"


_Dispatched._backward_cls = _DispatchedNode


def _apply(self: Any, op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
    tracer = innermost(operands)
    if tracer is not None:
        return tracer._apply(op, operands, attrs)
    given = as_operands(op, operands)[0]
    if recording() and any(one.requires_grad for one in given):
        return _Dispatched._called((op, attrs, *given))[1]
    return dispatched(op, given, attrs)


def _overwritten(self: Any, op: Op, others: Sequence[object], attrs: Attrs) -> Any:
    """The tensor, which holds from now on what the op makes of it."""
    changed = self._apply(op, (self, *others), attrs)
    for name in _slots(type(self)):
        setattr(self, name, getattr(changed, name))
    vars_of = getattr(changed, "__dict__", None)
    if vars_of is not None:
        vars(self).update(vars_of)
    if changed._maker is not None:
        self._maker = changed._maker
    return self


def _slots(kind: type) -> list[str]:
    own = [one for one in kind.__mro__ if issubclass(one, Tensor) and one is not Tensor]
    names = [vars(one).get("__slots__", ()) for one in own]
    return [name for some in names for name in ((some,) if isinstance(some, str) else some)]


def _detach(self: Any) -> Any:
    """A tensor of the class that holds the same, and requires no grad."""
    return dispatched(ops.reshape, (self,), {"shape": tuple(self.shape)})


def _item(self: Any) -> Any:
    """The number of a tensor of one element, as the class has it."""
    return _handed_over(_Item(), (self,), {})


def _numpy(self: Any, **options: object) -> Any:
    """RuntimeError: there is no memory."""
    raise AutogradError(_NO_MEMORY)


def _backward(self: Any, gradient: Any = None, *args: Any, **options: Any) -> None:
    """See `Tensor.backward`."""
    if gradient is None and not self.ndim:
        gradient = self._constant(np.ones((), self._array.dtype))
    Autograd.backward(self, gradient, *args, **options)


def wrapping(kind: Any) -> None:
    """Give a class with `__torch_dispatch__` the general methods, which lead every op there."""
    if "_make_wrapper" in vars(kind):
        return
    for name in METHODS:
        general = next((vars(one)[name] for one in Tensor.__mro__[1:] if name in vars(one)), None)
        if general is not None and name not in vars(kind):
            setattr(kind, name, general)
    for name, member in (
        ("_apply", _apply),
        ("detach", _detach),
        ("backward", _backward),
        ("item", _item),
        ("numpy", _numpy),
        ("_overwritten", _overwritten),
        ("__repr__", lambda self: f"{kind.__name__}(shape={tuple(self.shape)})"),
    ):
        if name not in vars(kind):
            setattr(kind, name, member)


def make_wrapper_subclass(
    cls: Any,
    size: Sequence[int],
    strides: object = None,
    storage_offset: object = None,
    memory_format: object = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: object = None,
    **others: object,
) -> Any:
    """A tensor of a class with `__torch_dispatch__`, of a shape and dtype, without memory.

    What says how elements lie in memory is accepted. RuntimeError for another class.
    """
    if getattr(cls, "__torch_dispatch__", None) is None:
        raise AutogradError(f"{cls.__name__} must define __torch_dispatch__")
    made: Any = object.__new__(cls)
    wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
    made._array = NoMemory(tuple(size), wanted)
    made._cell = made._home = made._maker = made._note = None
    if requires_grad:
        if not is_inexact(wanted):
            raise AutogradError("only Tensors of floating point dtype can require gradients")
        made.requires_grad = True
    return made


provided.wrapping.provide(wrapping)
