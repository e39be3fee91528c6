"""Traced tensors, their views, and what they refuse."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OutOfRangeError, ShapeError, StaticGraphError
from staticgraph.compiler.core.messages import deferred_text
from staticgraph.compiler.core.op import Attrs, Op, is_registered
from staticgraph.compiler.core.refusals import refuse, remembered, user_place
from staticgraph.compiler.core.types import is_static
from staticgraph.compiler.core.watching import unwatched
from staticgraph.compiler.core.whose_code import by_user, is_called_by_own
from staticgraph.compiler.graph.expression import (
    Expression,
    Handle,
    constant,
    construct,
    is_symbolic,
)
from staticgraph.compiler.ops.programs.control import items
from staticgraph.compiler.ops.programs.regions import gradient_to
from staticgraph.dynamic.capture.asked import Asked
from staticgraph.dynamic.capture.indexing import (
    by_values,
    fill_where,
    is_mask,
    lifted_key,
    parts,
    positions,
)
from staticgraph.dynamic.capture.known import evaluated_alone
from staticgraph.dynamic.capture.links import Link
from staticgraph.dynamic.capture.moved import Moved
from staticgraph.dynamic.capture.numbers import Numbers, of_numbers
from staticgraph.dynamic.capture.on_tape import OnTape, refuse_tape
from staticgraph.dynamic.capture.operands import on_whole_numbers, operand, promoted
from staticgraph.dynamic.capture.unknown import Unknown, refuse_values
from staticgraph.dynamic.capture.written import written
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import SizeError
from staticgraph.dynamic.core.pytorch import VIEWS, size_error
from staticgraph.dynamic.core.results import no_view_of_nothing, sizes_of
from staticgraph.dynamic.core.whole_numbers import keeps_whole_numbers, refuse_difference
from staticgraph.dynamic.func.tracer import Tracer, evaluated, innermost, settled
from staticgraph.dynamic.tape.grad_mode import mode, record_if, recording
from staticgraph.dynamic.tensors.devices import check_format
from staticgraph.dynamic.tensors.inplace import check_result
from staticgraph.dynamic.tensors.mixed import refuse_mixed
from staticgraph.dynamic.tensors.narrowing import NARROWED, narrowed
from staticgraph.dynamic.tensors.tensor import Tensor

_new = object.__new__
_plain_constant = Tensor._constant


_PLAIN = (bool, int, float, np.ndarray)
_put = object.__setattr__


def _is_plain(operand: object) -> bool:
    """Whether no method of a class of the user's makes a tensor of it."""
    return type(operand) in _PLAIN or isinstance(operand, Handle | Tensor)


class Traced(Handle, OnTape, Asked, Numbers, Moved, Tracer, plain=False):
    """A tensor of a function that is captured: see the module.

    Attributes:
        _value: an expression, or the array of a known one.
        _link: how it is a view, or None.
        _stamp: how often its value changed.
        _moved: its stamp when it got other memory, which views of before are not on.
        _seen: the stamp of what it is a view of when it was made of it.
        _lost: where its memory may have been changed, or "".
        _changed: where its value was changed the last time, or "".
        _outside: whether it stands for a tensor that exists outside.
        _body: the function in which it was made.
        _viewed: whether another one was made as a view of it.
    """

    __slots__ = (
        "_body", "_changed", "_link", "_lost", "_moved", "_outside", "_seen", "_stamp", "_value",
        "_viewed",
    )  # fmt: skip

    _value: Any
    _link: Link | None
    _stamp: int
    _moved: int
    _seen: int
    _lost: str
    _changed: str
    _outside: bool
    _body: object
    _viewed: bool

    @classmethod
    def made(cls, value: object, link: Link | None = None, outside: bool = False) -> Any:
        """The tensor of a value."""
        result: Traced = _new(cls)
        seen = 0
        if link is not None:
            link.parent._viewed = True
            seen = link.parent._stamp
        level, body = mode.capture.level, mode.capture.body
        values = value, link, outside, 0, 0, False, "", "", seen, level, body
        for put, one in zip(_SETTERS, values, strict=True):
            put(result, one)
        return result

    def like(self, expression: Expression) -> Any:
        """The tensor of an expression."""
        return Traced.made(_recorded(expression))

    @contextmanager
    def in_body(self) -> Iterator[None]:
        """Inside the block tensors from outside must not be changed."""
        before, mode.capture.body = mode.capture.body, object()
        try:
            yield
        finally:
            mode.capture.body = before

    def __getattr__(self, name: str) -> Any:
        """What the user has put on the operand that it stands for."""
        asks = name not in _NAMES and by_user() and self._outside
        place = mode.capture.place_of(self) if asks else None
        if place is None:
            raise AttributeError(f"'Tensor' object has no attribute {name!r}", name=name, obj=self)
        return mode.capture.attribute(place, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _NAMES and self._outside:
            refuse(
                f"puts {name!r} on a tensor from outside, once and not at each call",
                "do it outside, before or after the call",
            )
        _put(self, name, value)

    @property
    def expression(self) -> Any:
        """Its value as an expression."""
        value = self._current()
        return value if isinstance(value, Expression) else constant(value)

    @property
    def latest(self) -> Any:
        """Its value as it was last asked for; None if it has to be made again."""
        link = self._link
        if link is not None and (link.parent._stamp != self._seen or link.parent.latest is None):
            return None
        return None if self._lost else self._value

    def _current(self) -> Any:
        """The value, made again if that of which this is a view was changed."""
        if mode.capture is None or self._level is not mode.capture.level:
            refuse("a traced tensor outlived the function that it belongs to", "return its value")
        link = self._link
        if link is not None:
            link.parent._current()
            if link.parent._stamp != self._seen:
                if link.op is None or not link.sure or link.parent._moved > self._seen:
                    self._refuse_copy(link.parent._changed)
                self._value = evaluated(link.op, [link.parent], link.attrs)._value
                self._seen, self._stamp = link.parent._stamp, self._stamp + 1
                self._changed = link.parent._changed
        if self._lost:
            self._refuse_copy(self._lost)
        if self._outside:
            mode.capture.check_current(self)
        return self._value

    def becomes(self, value: Expression) -> None:
        """Have another value from now on, as an optimizer has changed it."""
        self._value = value
        self._changed = user_place()
        self._stamp += 1

    def _refuse_copy(self, changed: str) -> NoReturn:
        refuse(
            "reads a tensor after another, which may or may not be on its memory, was changed here",
            "clone() one of them first",
            changed,
        )

    @property
    def _array(self) -> Any:
        value = self._current()
        return Unknown(value.type) if isinstance(value, Expression) else value

    @property
    def _held(self) -> Any:
        self._current()
        refuse_tape("a transform of dynamic.func")

    @property
    def _weak(self) -> bool:
        """Whether it stands for a Python number."""
        return isinstance(self._value, Expression) and self._value.weak

    def _apply(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Any:
        """The value of `op`: an expression, or an array if all operands are known."""
        if mode.autocast is not None and op in NARROWED:
            operands = narrowed(op, operands)
        if all(map(_is_plain, operands)):
            return self._unwatched(op, operands, attrs)
        return self._value_of(op, operands, attrs)

    def _value_of(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Any:
        if not operands:  # what gradient rules and compositions make of sizes alone
            return Traced.made(_expression(op, [], attrs))
        values = [settled(one) for one in operands]
        top = innermost(values)
        if not isinstance(top, Traced):
            assert top is not None
            return top._apply(op, values, attrs)
        if "out" in attrs:
            refuse("writes to out=", "return the result")
        given = [operand(op, value) for value in values]
        if all(not isinstance(one, Traced) or one._weak for one in given):
            return of_numbers(op, given, attrs)
        refuse_mixed(op, [one for one in given if not getattr(one, "_weak", False)])
        if op is ops.subtract:
            refuse_difference(*given)
        op = on_whole_numbers(op, given)
        if op.floating and len(given) == 1:
            dtype = given[0]._array.dtype
            if not is_inexact(dtype) and keeps_whole_numbers(op, dtype):
                return given[0].clone()
        tensors = promoted(op, given)
        if op.vjp_items is not None:
            return self._several(op, tensors, attrs)
        grows = op is ops.broadcast_to and not is_static(attrs["shape"])
        if not grows and all(not isinstance(one._current(), Expression) for one in tensors):
            value = evaluated_alone(op, tensors, attrs)._array
        else:
            value = _recorded(_expression(op, [one.expression for one in tensors], attrs))
        link = None
        if tensors[0] is given[0] and (op in VIEWS or op is eager_ops.contiguous):
            sure = op is not ops.reshape and op is not eager_ops.contiguous
            link = Link(tensors[0], op, attrs, sure)
        return Traced.made(value, link)

    _unwatched = unwatched(_value_of)

    @staticmethod
    def _several(op: Op, tensors: Sequence[Any], attrs: Attrs) -> tuple[Any, ...]:
        """The results of an op whose value is a tuple."""
        if all(not isinstance(one._current(), Expression) for one in tensors):
            return tuple([Traced.made(one._array) for one in evaluated_alone(op, tensors, attrs)])
        whole = _expression(op, [one.expression for one in tensors], attrs)
        return tuple([Traced.made(_recorded(one)) for one in items(whole)])

    def _overwritten(self, op: Op, others: Sequence[object], attrs: Attrs) -> Any:
        """Itself, whose value becomes that of `op` of it and the others."""
        self._check_writable()
        result = self._apply(op, (self, *others), attrs)
        check_result(self, result)
        if result._array.dtype != self._array.dtype:
            result = ops.astype(result, self._array.dtype)
        self._write(result._current())
        return self

    def _write(self, value: object) -> None:
        """Set the value, and so that of what this is a view of.

        Where nothing is recorded, the gradient stays that of the value before.
        """
        link = self._link
        before = self._value
        if link is not None and link.sure:
            if link.op is ops.stop_gradient:
                recorded = record_if(False)
                try:
                    link.parent._write(value)
                finally:
                    record_if(recorded)
            else:
                link.parent._write(written(link.parent, link.op, link.attrs, Traced.made(value)))
            self._seen = link.parent._stamp
        elif link is not None:  # from now on it is a tensor of its own
            root = link.parent
            while root._link is not None:
                root = root._link.parent
            root._lost, self._link = user_place(), None
        if not recording() and isinstance(before, Expression) and is_inexact(before.dtype):
            new = value if isinstance(value, Expression) else constant(value)
            value = construct(gradient_to, (new, before), {})
        self._value = value
        self._changed = user_place()
        self._stamp += 1

    def view(self, *shape: object) -> Any:
        """A view of another shape."""
        if not shape:
            raise no_view_of_nothing()
        result = ops.reshape(self, *shape)
        if result._link is not None:
            result._link = result._link._replace(sure=True)
        return result

    def reshape(self, *shape: object) -> Any:
        """A view of another shape, or a copy."""
        return ops.reshape(self, *sizes_of(shape, "reshape", "shape"))

    def contiguous(self, memory_format: object = None) -> Any:
        """The tensor itself, or a copy: which of them depends on its memory."""
        check_format("contiguous", memory_format)
        return self._apply(eager_ops.contiguous, (self,), {})

    def __getitem__(self, key: object) -> Any:
        key = lifted_key(key)
        keys: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        if not keys or not is_symbolic(keys[-1]) or keys[-1].dtype.kind not in "iu":
            return super().__getitem__(key)
        if any(one != slice(None) for one in keys[:-1]):
            return super().__getitem__(key)
        taken = ops.take(self, keys[-1], len(keys) - 1)
        if not keys[-1].ndim:
            taken.as_view_of(self)
        return taken

    def __setitem__(self, key: Any, value: object) -> None:
        key = lifted_key(key)
        if any(map(is_mask, key if isinstance(key, tuple) else (key,))) and by_values(key):
            fill_where(self, key, value)
        else:
            super().__setitem__(key, value)

    def _parts(self, key: object) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        key = lifted_key(key)
        return parts(self, key) if by_values(key) else super()._parts(key)

    def _places(self, key: tuple[object, ...]) -> Any:
        return positions(self, key) if by_values(key) else super()._places(key)

    @staticmethod
    def _constant(array: object) -> Any:
        """A known tensor; what is traced already as it is."""
        return array if isinstance(array, Traced) else _plain_constant(array)

    def numpy(self, *, force: bool = False) -> Any:
        """The array, if it is known."""
        array = self._array
        return refuse_values("__array__") if isinstance(array, Unknown) else array

    def __iter__(self) -> Iterator[Any]:
        if self._weak:  # a number that is looked through for axes
            refuse_values()
        return super().__iter__()

    def __format__(self, spec: str) -> str:
        if not _is_known(self) and (spec or by_user()):
            text = None if self.ndim else deferred_text(self.expression, spec, True)
            return refuse_values("a text") if text is None else text
        return super().__format__(spec) if _is_known(self) else repr(self)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told: to the user's code a number that was given is a number."""
        kind = type(self)
        if self._weak and by_user():
            return _PYTHON[self._value.dtype.kind]
        return kind

    def __repr__(self) -> str:
        if not (is_called_by_own() or _is_known(self)):
            refuse_values("a text")
        value = self._value
        return f"traced({value.type if isinstance(value, Expression) else value!r})"


def refuse_attributes(results: Sequence[object]) -> None:
    """Refuse results on which the function has put something, which those of a call have not."""
    for one in results:
        if isinstance(one, Traced) and (found := vars(one)):
            refuse(
                f"returns a tensor on which it has put {', '.join(map(repr, found))}",
                "put it on what the call returns",
            )


_NAMES = frozenset(dir(Traced))
_SETTERS = [
    getattr(Traced, name).__set__
    for name in (
        "_value", "_link", "_outside", "_stamp", "_moved", "_viewed", "_lost", "_changed", "_seen",
        "_level", "_body",
    )
]  # fmt: skip
"""What sets the slots of a new one: it takes a third of the time of `__setattr__`."""
_PYTHON: dict[str, type] = {"b": bool, "i": int, "f": float}
"""The Python numbers that are given by position, by the kind of their dtypes."""


def _is_known(x: Any) -> bool:
    return not isinstance(x._current(), Expression)


def _has_no_gradient(x: Traced) -> bool:
    value = x._current()
    return not is_inexact(value.dtype) or (
        value.op is ops.stop_gradient if isinstance(value, Expression) else True
    )


def _of_tape(name: str, known: bool) -> property:
    """An attribute of tensors on the tape, None if `known` and there is no gradient."""

    def get(self: Any) -> Any:
        if known and _has_no_gradient(self):
            return None
        refuse_tape("this")

    def set(self: object, value: object) -> None:
        refuse_tape("this")

    return property(get, set)


for _name, _known in {
    "_node": True, "_home": True, "_cell": False, "_counter": False, "_maker": True, "_note": False,
    "_view": False,
}.items():  # fmt: skip
    setattr(Traced, _name, _of_tape(_name, _known))


@functools.cache
def _kind(cls: type) -> Any:
    """The class of what stands for a tensor of a class, of which it is an instance too."""
    try:
        return type(f"Traced{cls.__name__}", (Traced, cls), {"__slots__": ()}, plain=False)
    except TypeError:  # it has slots of its own
        return Traced


def traced(cls: type, expression: Expression, argument: bool) -> Any:
    """What stands for an expression that is a tensor of a class."""
    return mode.capture.enter(class_of(cls), expression, argument)


def class_of(cls: type) -> Any:
    """The class of what stands for a tensor of a class."""
    return Traced if cls is Tensor else _kind(cls)


def _recorded(expression: Expression) -> Expression:
    """The expression, without a gradient if nothing is recorded."""
    if recording() or not is_inexact(expression.dtype):
        return expression
    made: Expression = ops.stop_gradient(expression)
    return made


def _expression(op: Op, operands: Sequence[Expression], attrs: Attrs) -> Expression:
    """The expression of an op; RuntimeError, as eagerly, where shapes do not fit."""
    if not is_registered(op) and op.expand is None:
        refuse(
            f"{op.name} has no form that can be compiled",
            "compute it outside of the captured function",
        )
    try:
        if is_registered(op):
            return construct(op, operands, attrs)
        assert op.expand is not None
        made: Expression = op.expand(*operands, **attrs)
        return made
    except StaticGraphError as error:
        if not all(is_static(one.shape) for one in operands):
            remembered(error)  # it may not be one of the sizes of the call
        if not isinstance(error, ShapeError | OutOfRangeError):
            refuse(str(error), "an eager call may forgive that, a captured one does not")
        if isinstance(error, ShapeError) and not isinstance(error, SizeError):
            raise size_error(op, operands, error) from None
        raise
