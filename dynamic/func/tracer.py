"""Tracers: tensors that stand for a batch of tensors or for a dual number, and their levels.

Every run of `vmap` or `jvp` opens a level, later ones being further inside; a tracer belongs to
one level and holds tensors of the levels around it (or plain ones). An op is handed to the
innermost level among its operands, as in functorch and in autodidax (the JAX tutorial). Reverse
mode needs no level: the tape records what the tracers hold.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MemberDescriptorType
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.whole_numbers import keeps_whole_numbers
from staticgraph.dynamic.fast_paths import METHODS
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor, as_operands

_numbers = itertools.count(1)


class Level:
    """One run of a transform.

    Attributes:
        number: larger for levels further inside.
        depth: how many levels were open when it was opened, it among them.
        size: how many examples a level of `vmap` has; None for dual numbers.
        open: whether the run has not ended.
        by_hand: whether it is one of `forward_ad`, inside of which the user may call `backward`.
        turned: the tensors that have become dual numbers of it, as they were overwritten by some.
        bases: those of them that others are views of, and maybe nothing else holds.
    """

    __slots__ = ("bases", "by_hand", "depth", "number", "open", "size", "turned")

    def __init__(self, size: Size | None, by_hand: bool = False) -> None:
        self.by_hand = by_hand
        self.number = next(_numbers)
        self.depth = len(_open.levels) + 1
        self.size = size
        self.open = True
        self.turned: list[weakref.ref[Tracer]] = []
        self.bases: list[Tracer] = []


class _Open(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_open = _Open()


def enter_level(size: Size | None = None, by_hand: bool = False) -> Level:
    """Open a level inside those that this thread has open."""
    level = Level(size, by_hand)
    _open.levels.append(level)
    return level


def exit_level(level: Level) -> None:
    """Close a level: its dual numbers count as their primals from now on.

    What became one, of a tensor, is the tensor again.
    """
    level.open = False
    _open.levels.remove(level)
    turned = [one for one in (reference() for reference in level.turned) if one is not None]
    bases = {id(tensor._held): tensor for tensor in turned}
    for tensor in turned:
        held = tensor._held
        move(held, tensor)
        if type(tensor) is Tensor and tensor._note is not None:
            base, *rest = tensor._note
            tensor._note = (bases.get(id(base), base), *rest)
    level.bases.clear()


@contextmanager
def new_level(size: Size | None = None) -> Iterator[Level]:
    """A level for the time of a block."""
    level = enter_level(size)
    try:
        yield level
    finally:
        exit_level(level)


def open_batches() -> list[Level]:
    """The open levels of `vmap`, outermost first."""
    return [level for level in _open.levels if level.size is not None]


class Tracer(Tensor, plain=False):
    """A tensor that belongs to a level, and is applied to by the rules of its transform.

    Abstract: `Dual` and `Batched` say what is inside. It has no ABCMeta, because that would make
    every `isinstance` of a tensor slower.
    """

    __slots__ = ()

    # what a tracer has is in the slots of a tensor, so that a tensor can become one
    _level: MemberDescriptorType = vars(Tensor)["_note"]

    def _apply(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Any:
        """The value of `op`, by the innermost level among the operands."""
        values = [settled(operand) for operand in operands]
        top = innermost(values)
        if top is None:
            return super()._apply(op, values, attrs)
        if mode.capture is not None:
            values = mode.capture.strong(op, values)
        if op.floating and len(values) == 1:
            dtype = np.dtype(top.dtype)
            if not is_inexact(dtype) and keeps_whole_numbers(op, dtype):
                return top.clone()
        return top._applied(op, as_operands(op, values)[0], attrs)

    def _kept_from_numpy(self) -> bool:
        return True

    def _applied(self, op: Op, operands: Sequence[Tensor], attrs: Attrs) -> Any:
        raise NotImplementedError

    def _inside(self, function: Callable[[Any], object]) -> Tracer:
        """The same kind of tracer, of what `function` makes of the tensor inside."""
        raise NotImplementedError

    def _with(self, held: object) -> Tracer:
        """The same kind of tracer of another primal or batch."""
        raise NotImplementedError

    def _pulled(
        self,
        outputs: Sequence[object],
        inputs: Sequence[object],
        cotangents: Sequence[object],
        record: bool | None,
    ) -> list[Any]:
        """What `dynamic.func.pull.pull` finds, where this is a tracer of the innermost level."""
        raise NotImplementedError

    def _taken_over(self, tensor: Any) -> None:
        """Have a tensor that is overwritten by this one become a tracer of its kind.

        RuntimeError where it cannot.
        """
        raise AutogradError(
            "a tensor that is no batch is overwritten by one: start from a tensor of that kind, as "
            "zeros_like(x) + x * 0, or use where, stack or concatenate"
        )

    def _exchanged(self, held: object) -> Any:
        """A tensor inside with the first axis behind that of the batch, and the other way."""
        return held

    @property
    def _held(self) -> Tensor:
        """The tensor inside: the primal or the batch."""
        raise NotImplementedError

    @property  # type: ignore[misc]
    def _node(self) -> Any:
        return self._held._node

    @property
    def _maker(self) -> Any:
        return self._held._maker

    @property
    def _home(self) -> Any:
        return self._held._home

    @property  # type: ignore[misc]
    def _counter(self) -> Any:  # type: ignore[override]
        return self._held._counter

    @property
    def _view(self) -> Any:
        return self._held._view

    @property
    def requires_grad(self) -> bool:
        """Whether what it holds requires grad."""
        return bool(self._held.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def grad(self) -> Any:
        """None: gradients of what a transform differentiates are what it gives."""
        return None

    @grad.setter
    def grad(self, value: object) -> None:
        raise AutogradError(
            "the gradient of a tensor is set inside of a function being transformed by func: set "
            "it outside"
        )

    @property
    def data(self) -> Any:
        """The tracer without its history: see `detach`."""
        return self.detach()

    @data.setter
    def data(self, value: object) -> None:
        raise AutogradError(
            "mutating directly with `.data` inside functorch transform is not allowed."
        )

    def detach(self) -> Any:
        """The tracer on the same memory, without the history of its reverse mode."""
        return self._inside(lambda held: held.detach())

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """RuntimeError: inside a transform the transforms make what requires grad."""
        raise AutogradError(
            "You are attempting to call Tensor.requires_grad_() inside of a function being "
            "transformed by func: use func.grad or func.vjp inside it instead"
        )

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """RuntimeError: inside a transform `func.grad` and `func.vjp` differentiate."""
        raise AutogradError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "func.grad or func.vjp instead or call backward() outside of functorch transforms."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.clone()


def _general(name: str) -> Any:
    """The method that Tensor inherits, and has a shorter way for, which reads the arrays."""
    return next((vars(base)[name] for base in Tensor.__mro__[1:] if name in vars(base)), None)


for _name in METHODS:
    if _general(_name) is not None:
        setattr(Tracer, _name, _general(_name))


_SLOTS = [vars(Tensor)[name] for name in ("_array", "_cell", "_home", "_maker", "_note")]


def move(source: Any, target: Any) -> None:
    """Have `target` become what `source` is: a tensor or a tracer, with all that it has."""
    values = [slot.__get__(source) if _is_set(slot, source) else None for slot in _SLOTS]
    target.__class__ = type(source)
    for slot, value in zip(_SLOTS, values, strict=True):
        slot.__set__(target, value)


def _is_set(slot: Any, owner: object) -> bool:
    try:
        slot.__get__(owner)
    except AttributeError:
        return False
    return True


def settled(value: object) -> Any:
    """`value`, or what it holds if its level is closed: tangents do not outlive their level."""
    while isinstance(value, Tracer) and not value._level.open and value._level.size is None:
        value = value._held
    return value


def innermost(values: Sequence[object]) -> Tracer | None:
    """The tracer of the innermost level, or None if there is no tracer."""
    tracers = [value for value in values if isinstance(value, Tracer)]
    return max(tracers, key=lambda one: one._level.number) if tracers else None


def evaluated(op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
    """`op` applied to tensors, with attributes that are complete already."""
    return operands[0]._apply(op, operands, attrs)


def zeros_of(x: Any) -> Any:
    """Zeros like `x`, a batch if it is one."""
    return evaluated(eager_ops.zero, [x.detach()], {"value": 0})


def batch_of(x: Any, level: Level) -> Any:
    """What `x` is on a level of `vmap`, the batch as first axis: x repeated if it is no batch."""
    if isinstance(x, Tracer):
        if x._level is level:
            return x._held
        if x._level.number > level.number:
            return x._inside(lambda held: x._exchanged(batch_of(held, level)))
    return ops.broadcast_to(x, (level.size, *x.shape))
