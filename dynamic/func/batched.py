"""Batched: a tensor that stands for one example of a batch, and the ops on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.ops.batching import Example
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError, ControlError
from staticgraph.dynamic.func.layouts import last_step, layout_of
from staticgraph.dynamic.func.pull import pull
from staticgraph.dynamic.func.tracer import Level, Tracer, batch_of, evaluated, open_batches
from staticgraph.dynamic.tensors.inplace import overwrite
from staticgraph.dynamic.tensors.strided import may_overlap
from staticgraph.dynamic.tensors.tensor import Tensor

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations."
)
_CONTROL = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
    "We don't support that yet: use where(condition, a, b)."
)
_VALUES = (
    "vmap: a batch of tensors is used where the values of one tensor are needed: as an index (use "
    "take or take_along_axis), or to be written into a tensor that is no batch"
)


class Abstract:
    """The shape and dtype of an example; reading its values, of which there are many, raises.

    Comparisons and extrema are those of all examples: functions check their arguments by them.
    """

    __slots__ = ("_batch", "dtype", "shape")

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.shape = tuple(batch.shape[1:])
        self.dtype = batch.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def flags(self) -> Any:
        """The flags of the memory of the batch."""
        return self._batch.flags

    @property
    def base(self) -> Any:
        """What the batch is a view of."""
        return self._batch.base

    def __len__(self) -> int:
        return int(self.shape[0])

    def item(self) -> Any:
        """RuntimeError: there is one value per example."""
        raise AutogradError(_ITEM)

    tolist = item

    def __eq__(self, other: object) -> Any:
        return self._batch == other

    def __ne__(self, other: object) -> Any:
        return self._batch != other

    def __lt__(self, other: Any) -> Any:
        return self._batch < other

    def __gt__(self, other: Any) -> Any:
        return self._batch > other

    def __le__(self, other: Any) -> Any:
        return self._batch <= other

    def __ge__(self, other: Any) -> Any:
        return self._batch >= other

    def __getitem__(self, key: Any) -> Any:
        # what a comparison selects
        if isinstance(key, np.ndarray) and key.dtype == np.bool_ and key.ndim == self.ndim + 1:
            return self._batch[key]
        raise AutogradError(_VALUES)

    __hash__ = None  # type: ignore[assignment]

    def min(self) -> Any:
        """The least element of all examples."""
        return self._batch.min()

    def max(self) -> Any:
        """The largest element of all examples."""
        return self._batch.max()

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Any:
        raise AutogradError(_VALUES)


class Batched(Tracer, plain=False):
    """One example of a batch: the tensor `data` without its first axis."""

    __slots__ = ()

    _data: MemberDescriptorType = vars(Tensor)["_cell"]

    def __init__(self, level: Level, data: Any) -> None:
        self._level = level
        self._data = data

    @property
    def _held(self) -> Tensor:
        return self._data

    @property
    def _array(self) -> Any:
        return Abstract(self._data._array)

    def _pulled(
        self,
        outputs: Sequence[object],
        inputs: Sequence[object],
        cotangents: Sequence[object],
        record: bool | None,
    ) -> list[Any]:
        level = self._level
        pairs = [
            (out._held, batch_of(cotangent, level))
            for out, cotangent in zip(outputs, cotangents, strict=True)
            if isinstance(out, Tracer) and out._level is level
        ]
        batches = [x._held if isinstance(x, Tracer) and x._level is level else x for x in inputs]
        found = pull([out for out, _ in pairs], batches, [u for _, u in pairs], record)
        return [None if g is None else batched(g, level) for g in found]

    def _with(self, held: object) -> Batched:
        return Batched(self._level, held)

    def _exchanged(self, held: object) -> Any:
        return ops.swapaxes(held, 0, 1)

    def new_zeros(self, *size: Any, **options: Any) -> Any:
        """Zeros of a shape, which each example has its own of."""
        return self._of_each(self._data.new_zeros(*size, **options))

    def new_ones(self, *size: Any, **options: Any) -> Any:
        """Ones of a shape, which each example has its own of."""
        return self._of_each(self._data.new_ones(*size, **options))

    def _of_each(self, one: Any) -> Batched:
        return Batched(self._level, batch_of(one, self._level).clone())

    def _inside(self, function: Callable[[Any], Any]) -> Batched:
        return Batched(self._level, function(self._data))

    def _strided(self, size: Sequence[int], stride: Sequence[int], start: int | None) -> Batched:
        whole = layout_of(self._data)
        start = whole.start if start is None else start
        reach = start + last_step(size, stride) + 1
        own = whole.start + last_step(whole.shape[1:], whole.steps[1:]) + 1
        if 0 not in size and not whole.start <= start < reach <= own:
            raise AutogradError(
                f"result = tensor.as_strided({list(size)}, {list(stride)}, {start}) can access "
                "memory outside of `tensor`. `result` can access some memory in range "
                f"[{start}, {reach}], but `tensor` can only access some memory in range "
                f"[{whole.start}, {own}]. This is not supported inside of vmap, please try to "
                "rewrite the `as_strided` call as a sequence of PyTorch view operations"
            )
        count, step = whole.shape[0], whole.steps[0]
        if may_overlap(whole.shape, whole.steps):  # each example has a gradient of its own
            starts = [start + i * step for i in range(count)]
            each = [self._data[i].as_strided(size, stride, one) for i, one in enumerate(starts)]
            return self._with(evaluated(eager_ops.stack, each, {"axis": 0}))
        return self._with(self._data.as_strided((count, *size), (step, *stride), start))

    def _applied(self, op: Op, operands: Sequence[Tensor], attrs: Attrs) -> Any:
        level = self._level
        assert level.size is not None
        parts = [_example(operand, level) for operand in operands]
        rule = op.batching
        result = None if rule is None else rule(op, parts, level.size, attrs)
        if result is None and op.expand is not None:
            return op.expand(*operands, **attrs)
        if result is None:
            result = _one_by_one(op, parts, level.size, attrs)
        if isinstance(result, tuple):
            return tuple([Batched(level, one) for one in result])
        return Batched(level, result)

    def _overwritten(self, op: Op, others: Sequence[Any], attrs: Attrs) -> Any:
        """Every example, overwritten by `op` of it and of the others."""
        level = self._level
        assert level.size is not None
        values = [other if isinstance(other, Tensor) else self._constant(other) for other in others]
        parts = [_example(value, level) for value in (self, *values)]
        if any(other.ndim > self.ndim for other in parts[1:]):
            raise AutogradError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists "
                "a Tensor `other` in extra_args that has more elements than `self`"
            )
        rule = op.batching
        if rule is None:
            raise AutogradError(f"vmap: {op.name}: not in place: use the op that returns its value")
        changed = []

        def written(op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
            changed.append(overwrite(operands[0], op, operands[1:], attrs))
            return changed[0]

        rule(op, parts, level.size, attrs, written)
        return self

    def __bool__(self) -> bool:
        whole: Any = self
        while isinstance(whole, Tracer) and not isinstance(whole, Handle):
            whole = whole._held
        known = not isinstance(whole, Handle)
        raise ControlError(_CONTROL, bool(np.any(whole._array)) if known else None)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Batched) and key.ndim and key._array.dtype.kind in "iu":
            return ops.take(self, key, 0)
        return super().__getitem__(key)

    def __repr__(self) -> str:
        inside = repr(self._data).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self._level.depth}, bdim=0, value=\n    {inside}\n)"


def _example(value: Any, level: Level) -> Example:
    if isinstance(value, Batched) and value._level is level:
        return Example(value._data, True, value._data.ndim - 1)
    return Example(value, False, value.ndim)


def _one_by_one(op: Op, parts: Sequence[Example], size: int, attrs: Attrs) -> Any:
    """The op on one example after the other, for ops that have no batching rule."""
    if not size:
        raise AutogradError(f"vmap: {op.name} has no batching rule, and there is no example")
    results = [
        evaluated(op, [part.tensor[i] if part.batched else part.tensor for part in parts], attrs)
        for i in range(size)
    ]
    if isinstance(results[0], tuple):
        columns = zip(*results, strict=True)
        return tuple([evaluated(eager_ops.stack, [*one], {"axis": 0}) for one in columns])
    return evaluated(eager_ops.stack, results, {"axis": 0})


def batched(x: Any, level: Level) -> Any:
    """The example of which `x` is the batch, inside the tracers of levels further inside."""
    if isinstance(x, Tracer) and x._level.number > level.number:
        return x._inside(lambda held: batched(x._exchanged(held), level))
    return Batched(level, x)


def spread(x: Any) -> Any:
    """`x` as a batch on every open level of `vmap`: there each example has its own gradient."""
    for level in open_batches():
        if not _is_batch(x, level):
            x = batched(batch_of(x, level), level)
    return x


def _is_batch(x: object, level: Level) -> bool:
    while isinstance(x, Tracer) and not isinstance(x, Handle):
        if x._level is level:
            return True
        x = x._held
    return False
